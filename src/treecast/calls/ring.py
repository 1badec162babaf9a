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
from pathlib import Path
from typing import Any

from treecast.calls.dump import entry_of, groups_of
from treecast.groups.record import KEPT, Made
from treecast.groups.waiting import Waiting
from treecast.records.ring import ENDED, HEAD, MAGIC, NUMBER, ROW

_HEAD, _ROW = 1 << 16, 512


class Ring:
    """The file of a rank in a folder, ``rank-RANK.ring``. ``note`` keeps a call that begins, ends or fails."""

    def __init__(self, waiting: Waiting, rank: int, folder: str) -> None:
        Path(folder).mkdir(parents=True, exist_ok=True)
        self.file = Path(folder, f"rank-{rank}.ring")
        self.file.unlink(missing_ok=True)
        self._descriptor = os.open(self.file, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.ftruncate(self._descriptor, _HEAD + KEPT * _ROW)
        self._map, self._waiting, self._rank = mmap.mmap(self._descriptor, _HEAD + KEPT * _ROW), waiting, rank
        self._many, self._groups, self._known = 0, 0, dict[Any, bytes]()
        self._write_head()

    def _write_head(self, *, closed: bool = False) -> None:
        """Write the head; members that do not fit are left out."""
        groups = list(self._waiting.groups.values())
        about = {"rank": self._rank, "host": socket.gethostname(), "pid": os.getpid(), "closed": closed}
        about["file"] = os.fstat(self._descriptor).st_ino
        for config in (groups_of(groups), {}):
            text = json.dumps({"treecast": about, "pg_config": config}).encode()
            if HEAD.size + len(text) <= _HEAD:
                break
        self._map[HEAD.size : HEAD.size + len(text)] = text
        HEAD.pack_into(self._map, 0, MAGIC, len(text), _HEAD, _ROW, KEPT)
        self._groups = len(groups)

    def note(self, made: Made) -> None:
        """Keep a call, or its end if it still has its row. A row is 0 while it is written: the process may end there."""
        if made.place > 0:
            at = _HEAD + (made.place - 1) % KEPT * _ROW
            if NUMBER.unpack_from(self._map, at) == (made.place,):
                ENDED.pack_into(self._map, at + NUMBER.size + ENDED.size, made.ended)
                self._map[at + ROW.size - 1] = bool(made.error)
        elif made.call:
            if len(self._waiting.groups) != self._groups:
                self._write_head()
            about = self._known.get(key := (made.group, made.words, made.site))
            if about is None:
                about = self._known[key] = self._describe(made)
            at, self._many = _HEAD + self._many % KEPT * _ROW, self._many + 1
            ROW.pack_into(self._map, at, 0, made.began, made.ended, made.call, len(about), bool(made.error))
            self._map[at + ROW.size : at + ROW.size + len(about)] = about
            made.place = self._many
            NUMBER.pack_into(self._map, at, made.place)

    def _describe(self, made: Made) -> bytes:
        if len(self._known) > KEPT:
            self._known.clear()
        entry = entry_of(made, self._waiting.groups[made.group], 0)
        kept = {name: entry[name] for name in ("profiling_name", "process_group", "pg_id", "frames")}
        kept |= {name: entry[name] for name in ("input_sizes", "output_sizes", "input_dtypes", "output_dtypes")}
        kept["treecast"] = {
            name: said for name, said in entry["treecast"].items() if name in ("name", "op", "root", "splits")
        }
        bare: dict[str, object] = {"treecast": {**kept["treecast"], "splits": None}}
        placeless: dict[str, object] = {**bare, "frames": []}
        nameless: dict[str, object] = {**placeless, "process_group": [str(made.group), ""]}
        shorter: list[dict[str, object]] = [{}, bare, placeless, nameless]
        for more in shorter:
            text = json.dumps(kept | more, separators=(",", ":")).encode()
            if len(text) <= _ROW - ROW.size:
                return text
        return b'{"profiling_name":""}'

    def close(self) -> None:
        """Say that the rank has ended its part."""
        self._write_head(closed=True)
