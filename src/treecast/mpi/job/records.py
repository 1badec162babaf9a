"""Records: each rank of a run leaves one behind when its transfer is over, so that a report needs no MPI.

A record is a file in the run's folder, written whole. A rank on another host, which does not see that folder, prints its record
as one marked line. Beside the records lie notes of the processes, by which those that have ended are told from those that are
stopped or still at work.
"""

import json
import os
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from treecast.errors import FormatError
from treecast.files import write_whole
from treecast.mpi.job.ending import Process, is_alive, is_stopped, this_process

Record = Mapping[str, Any]
"""The report of a rank, as JSON can hold it; ``error`` alone when it could not take part."""

MARK = "treecast-record: "
_NEVER_READ = -1
_LOOK = 0.05  # seconds


def note_process(folder: Path, rank: int) -> None:
    """Note in the run's folder, if it is here, which process is a rank."""
    if folder.is_dir():
        write_whole(folder / f"process-{rank}", json.dumps([*this_process(), _space()]).encode())


def _space() -> int:
    """Return the number of the space in which processes are numbered here: other hosts, or containers, have others."""
    try:
        return os.stat("/proc/self/ns/pid").st_ino
    except OSError:
        return _NEVER_READ


def write_record(folder: Path, rank: int, record: Record) -> None:
    """Write the record of a rank into the run's folder; print it, marked, when that cannot be done."""
    text = json.dumps({"rank": rank, **record})
    try:
        if not folder.is_dir():
            raise FormatError("it is on another host")
        write_whole(folder / f"record-{rank}", text.encode())
    except FormatError:
        sys.stdout.write(f"{MARK}{text}\n")
        sys.stdout.flush()


def read_records(folder: Path) -> dict[int, Record]:
    """Return the records that lie in a folder, by rank."""
    found: dict[int, Record] = {}
    for path in folder.glob("record-*"):
        record = json.loads(path.read_text())
        found[int(record["rank"])] = record
    return found


def marked_records(text: str) -> tuple[dict[int, Record], str]:
    """Return the records that ranks on other hosts have printed, and all else that was printed.

    >>> marked_records('hello\\ntreecast-record: {"rank": 3, "error": "no"}\\n')
    ({3: {'rank': 3, 'error': 'no'}}, 'hello\\n')
    """
    found: dict[int, Record] = {}
    other = list[str]()
    for line in text.splitlines(keepends=True):
        before, mark, words = line.partition(MARK)
        if mark:
            record = json.loads(words)
            found[int(record["rank"])] = record
        other.append(before if mark else line)
    return found, "".join(other)


def processes_in(folder: Path) -> dict[int, Process]:
    """Return the processes of the ranks on this host, by rank."""
    found: dict[int, Process] = {}
    for path in folder.glob("process-*"):
        *process, space = json.loads(path.read_text())
        if space == _space() != _NEVER_READ:
            found[int(path.name.partition("-")[2])] = Process(*process)
    return found


def has_record(folder: Path, rank: int) -> bool:
    """Return whether the record of a rank lies in a folder."""
    return (folder / f"record-{rank}").exists()


def dead_in(folder: Path) -> set[int]:
    """Return the ranks of this host that have ended without a record."""
    processes = processes_in(folder)
    return {rank for rank, process in processes.items() if not is_alive(process) and not has_record(folder, rank)}


def awaited(folder: Path, ranks: Iterable[int]) -> set[int]:
    """Return those of some ranks that may still leave a record: they have none, and have neither ended nor been stopped."""
    processes = processes_in(folder)
    return {
        rank
        for rank in ranks
        if not has_record(folder, rank)
        and not (rank in processes and (is_stopped(processes[rank]) or not is_alive(processes[rank])))
    }


def await_records(folder: Path, ranks: Iterable[int], patience: float) -> None:
    """Wait until every one of some ranks has left a record, has ended or is stopped, or none has for ``patience`` seconds."""
    left, since = awaited(folder, ranks), time.monotonic()
    while left and time.monotonic() - since < patience:
        time.sleep(_LOOK)
        still = awaited(folder, left)
        left, since = still, since if still == left else time.monotonic()


def claim_report(folder: Path) -> bool:
    """Return whether it is up to this process to report: True for the first of all that asks, with the folder in sight."""
    try:
        os.close(os.open(folder / "claimed", os.O_CREAT | os.O_EXCL))
    except OSError:
        return False
    return True
