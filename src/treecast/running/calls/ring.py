"""The last calls of a rank in a file that it maps: whatever ends the process, they stay, and readers see that it has ended.

``records.ring`` says what the file holds. The process locks it, and the system unlocks it when the process ends. So a file that
is neither locked nor said to be closed is of a process that ended in the middle. A child that it forks, and that runs no other
program, keeps the lock, too: the rank is not said to have ended before both have.
"""

import fcntl
import json
import mmap
import os
import socket
from collections import Counter
from collections.abc import Sequence
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any
from zlib import crc32

from treecast.files.records.ring import ENDED, HEAD, MAGIC, NUMBER, ROW
from treecast.running.calls.dump import CommGroups, entry_of
from treecast.running.groups.record import KEPT, Made
from treecast.running.groups.waiting import Waiting

_HEAD, _ROW = 1 << 16, 512


class Ring:
    """The file of a process in a folder, ``rank-RANK.ring``, for the calls of all its communicators."""

    def __init__(self, rank: int, folder: str) -> None:
        Path(folder).mkdir(parents=True, exist_ok=True)
        self.file = Path(folder, f"rank-{rank}.ring")
        # Not the old file: a reader may have it open, and a process that lives may have it locked.
        self.file.unlink(missing_ok=True)
        self._descriptor = os.open(self.file, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.ftruncate(self._descriptor, _HEAD + KEPT * _ROW)
        self._map, self._rank, self.parts = mmap.mmap(self._descriptor, _HEAD + KEPT * _ROW), rank, list[CommGroups]()
        # numbers of rows go on from 1, so that 0 is no row
        self._number, self._groups, self._known = count(1), dict[str, dict[str, str]](), dict[Any, bytes]()
        self._alike = Counter[tuple[int, ...]]()

    def join(self, waiting: Waiting, ranks: Sequence[int], size: int | None = None) -> CommGroups:
        """Have the calls of a communicator kept, whose ranks are ``ranks`` of a job of so many; else it is the job.

        A job begins the file anew where nothing else of the process is kept. Names of groups are alike at all ranks, as these
        make communicators of the same ranks in the same order.
        """
        if size is None and not self.parts:
            self._alike, self._groups = Counter[tuple[int, ...]](), dict[str, dict[str, str]]()
            self._map[_HEAD:] = bytes(KEPT * _ROW)  # rows of an earlier job would be read as of this one
        alike, whole = tuple(ranks), range(len(ranks) if size is None else size)
        number, self._alike[alike] = self._alike[alike], self._alike[alike] + 1
        first = alike == tuple(whole) and not number
        # the same ranks again: a number tells them apart
        part = CommGroups(waiting, alike, "" if first else f"{crc32(repr(alike).encode()):08x}.{number}.")
        self.parts.append(part)
        self._write_head()
        waiting.record.note = partial(self._note, part)
        return part

    def leave(self, part: CommGroups) -> None:
        """Say that a communicator makes no calls any more, and the process, if it was the last."""
        if part in self.parts:
            # before it goes, so that the groups that it made meanwhile stand in the head
            self._write_head()
            self.parts.remove(part)
            self._write_head()

    def _write_head(self) -> None:
        """Write the head; members that do not fit are left out."""
        for part in self.parts:
            self._groups |= part.configs()
        about = {"rank": self._rank, "host": socket.gethostname(), "pid": os.getpid(), "closed": not self.parts}
        about["file"] = os.fstat(self._descriptor).st_ino
        for config in (self._groups, {}):  # twice at most: with all groups, then with none
            text = json.dumps({"treecast": about, "pg_config": config}).encode()
            if HEAD.size + len(text) <= _HEAD:
                break
        self._map[HEAD.size : HEAD.size + len(text)] = text
        # The length last: whoever reads in between finds the text that was there before, or one that is no JSON.
        HEAD.pack_into(self._map, 0, MAGIC, len(text), _HEAD, _ROW, KEPT)

    def _note(self, part: CommGroups, made: Made) -> None:
        """Keep a call, or its end if it still has its row. A row is 0 while it is written: the process may end there."""
        if made.place > 0:
            at = _HEAD + (made.place - 1) % KEPT * _ROW
            if NUMBER.unpack_from(self._map, at) == (made.place,):  # else the row has become another call's
                ENDED.pack_into(self._map, at + NUMBER.size + ENDED.size, made.ended)
                self._map[at + ROW.size - 1] = bool(made.error)  # the last byte of the row
        elif made.call:
            about = self._known.get(key := (part.prefix, made.group, made.words, made.site))
            if about is None:
                if part.name(part.waiting.groups[made.group]) not in self._groups:
                    self._write_head()  # a group that the head does not name yet
                about = self._known[key] = self._describe(part, made)
            number = next(self._number)  # at once, as several threads may make calls
            at = _HEAD + (number - 1) % KEPT * _ROW
            # number 0: a row that is being written
            ROW.pack_into(self._map, at, 0, made.began, made.ended, made.call, len(about), bool(made.error))
            self._map[at + ROW.size : at + ROW.size + len(about)] = about
            made.place = number
            NUMBER.pack_into(self._map, at, made.place)  # now the row counts

    def _describe(self, part: CommGroups, made: Made) -> bytes:
        if len(self._known) > KEPT:  # words that change with each call would fill the memory
            self._known.clear()
        entry = entry_of(made, part, 0)
        kept = {name: entry[name] for name in ("profiling_name", "process_group", "pg_id", "frames")}
        kept |= {name: entry[name] for name in ("input_sizes", "output_sizes", "input_dtypes", "output_dtypes")}
        kept["treecast"] = {
            name: said for name, said in entry["treecast"].items() if name in ("name", "op", "root", "splits")
        }
        bare: dict[str, object] = {"treecast": {**kept["treecast"], "splits": None}}
        placeless: dict[str, object] = {**bare, "frames": []}
        nameless: dict[str, object] = {**placeless, "process_group": [f"{part.prefix}{made.group}", ""]}
        shorter: list[dict[str, object]] = [{}, bare, placeless, nameless]  # the less a row says, the shorter it is
        for more in shorter:
            text = json.dumps(kept | more, separators=(",", ":")).encode()
            if len(text) <= _ROW - ROW.size:
                return text
        return b'{"profiling_name":""}'
