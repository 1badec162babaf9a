"""Files of schedules: a text format to read, diff and write by hand, and a binary one for millions of rows.

What is loaded is verified again, and a changed byte is noticed.
"""

import os
import sys
from pathlib import Path

from treecast.errors import FormatError
from treecast.files import named, read_whole, write_whole
from treecast.formats.native import binary, text
from treecast.schedule import Schedule
from treecast.verification.report import Report
from treecast.verification.verifier import verify

__all__ = ["decode", "encode", "load", "load_verified", "read", "save"]

BINARY_SUFFIX = ".tcb"
"""Files with this ending are written in the binary format, all others as text."""


def encode(schedule: Schedule, as_text: bool = True) -> bytes:
    """Return a schedule as the bytes of a file. Raises FormatError when its network has no spelling to find it by again."""
    return text.encode(schedule) if as_text else binary.encode(schedule)


def decode(data: bytes) -> Schedule:
    """Return the schedule that the bytes of a file hold, in either format. It is not verified.

    Raises FormatError when they are no schedule, are cut off, or were changed since they were written.
    """
    return binary.decode(data) if data.startswith(binary.MAGIC) else text.decode(data)


def save(schedule: Schedule, path: str | os.PathLike[str]) -> None:
    """Write a schedule to a file, whole or not at all; ``-`` is standard output. The suffix ``.tcb`` chooses binary."""
    data = encode(schedule, as_text=Path(path).suffix != BINARY_SUFFIX)
    if str(path) == "-":
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    else:
        write_whole(path, data)


def read(path: str | os.PathLike[str]) -> Schedule:
    """Read a schedule from a file (``-`` is standard input) without verifying it.

    Raises FormatError when the file holds no schedule.
    """
    return decode(read_whole(path, (text.MAGIC, binary.MAGIC)))


def load_verified(path: str | os.PathLike[str]) -> tuple[Schedule, Report]:
    """Read a schedule from a file and verify it; return it with the verifier's report.

    Raises FormatError when the file holds no schedule, or a wrong one.
    """
    schedule = read(path)
    report = verify(schedule)
    if not report:
        raise FormatError(f"{named(path)} holds a schedule that is wrong: {report.violations[0].text}")
    return schedule, report


def load(path: str | os.PathLike[str]) -> Schedule:
    """Read a schedule from a file and verify it. Raises FormatError when it holds no schedule, or a wrong one."""
    return load_verified(path)[0]
