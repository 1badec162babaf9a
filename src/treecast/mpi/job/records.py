"""Records: each rank of a run leaves one behind when its transfer is over, so that a report needs no MPI.

A record is a note in the run's folder, beside those of the processes (``jobs.watch``). A rank on another host, which does not see
that folder, prints its record as one marked line.
"""

import json
import shutil
import sys
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from treecast.running.jobs.program import note
from treecast.running.jobs.watch import Spell, letters

Record = Mapping[str, Any]
"""The report of a rank, as JSON can hold it; ``error`` alone when it could not take part."""

MARK = "treecast-record: "
_LOOK = 0.05  # seconds


def write_record(folder: Path, rank: int, record: Record) -> None:
    """Write the record of a rank into the run's folder; print it, marked, when that cannot be done."""
    text, place = json.dumps({"rank": rank, **record}), folder / f"record-{rank}"
    note("record", text, place)
    if not place.exists():
        sys.stdout.write(f"{MARK}{text}\n")
        sys.stdout.flush()


def read_records(folder: Path) -> dict[int, Record]:
    """Return the records that lie in a folder, by rank."""
    return _by_rank(path.read_text() for path in folder.glob("record-*"))


def _by_rank(texts: Iterable[str]) -> dict[int, Record]:
    return {int(record["rank"]): record for record in map(json.loads, texts)}


def marked_records(text: str) -> tuple[dict[int, Record], str]:
    """Return the records that ranks on other hosts have printed, and all else that was printed.

    >>> marked_records('hello\\ntreecast-record: {"rank": 3, "error": "no"}\\n')
    ({3: {'rank': 3, 'error': 'no'}}, 'hello\\n')
    """
    lines = [line.partition(MARK) for line in text.splitlines(keepends=True)]
    return _by_rank(words for _, mark, words in lines if mark), "".join(before for before, _, _ in lines)


def has_record(folder: Path, rank: int) -> bool:
    """Return whether the record of a rank lies in a folder."""
    return (folder / f"record-{rank}").exists()


def awaited(folder: Path, ranks: Iterable[int]) -> set[int]:
    """Return those of some ranks that may still leave a record: they have none, and have neither ended nor been stopped."""
    known = letters(folder)
    return {rank for rank in ranks if not has_record(folder, rank) and known.get(rank, "R") not in "ZXTt"}


def await_records(folder: Path, ranks: Iterable[int], patience: float) -> None:
    """Wait until every one of some ranks has left a record, has ended or is stopped, or none has for ``patience`` seconds."""
    lasted = Spell()
    while (left := awaited(folder, ranks)) and lasted(str(sorted(left))) < patience:
        time.sleep(_LOOK)


def remove(folder: Path) -> None:
    """Remove a run's folder, and all claims to it: nobody finds it while its files go one by one, and claims it again."""
    with suppress(OSError):
        shutil.rmtree(folder.rename(folder.with_name(f"{folder.name}-over")), ignore_errors=True)


def claim_report(folder: Path) -> bool:
    """Return whether it is up to this process to report: True for the first of all that asks, with the folder in sight."""
    try:
        (folder / "claimed").touch(exist_ok=False)
    except OSError:
        return False
    return True
