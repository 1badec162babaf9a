"""Files of schedules: a text format to read, compare and write by hand, a binary one for millions of rows, and all others
that are registered (``registry``).

A loaded schedule is verified again. A changed byte of a file is noticed.
"""

import codecs
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from treecast.errors import FormatError
from treecast.files.formats.registry import (
    DEFAULT,
    HEAD,
    Told,
    exporter_named,
    format_of_bytes,
    format_of_name,
    importers,
    unknown_suffix,
)
from treecast.files.programs.verdict import FileVerdict
from treecast.models import Model
from treecast.networks import families
from treecast.networks.reading.registry import HEAD as HEAD_OF_NETWORKS
from treecast.networks.reading.registry import readers
from treecast.schedule import Schedule
from treecast.verification.report import Report
from treecast.verification.verifier import verify
from treecast.writing import Source, read_folder, read_whole, spell_path, write_folder, write_whole

_PLAN_FIRST = "a network, no plan: plan on it first, as in 'treecast plan broadcast NETWORK -o plan.tc'"

__all__ = [
    "FileVerdict",
    "Told",
    "decode",
    "digest_of",
    "encode",
    "format_of_name",
    "judge",
    "load",
    "load_verified",
    "read",
    "save",
    "unknown_suffix",
]


def encode(schedule: Schedule, to: str = DEFAULT, **settings: Any) -> bytes:
    """Return a schedule as the bytes of a file.

    Parameters
    ----------
    schedule : Schedule
        The schedule.
    to : str
        The name of the format: ``text``, ``binary``, ….
    **settings
        The settings of the format: docs/reference/formats/index.md lists them.

    Returns
    -------
    bytes
        The contents of the file that ``save`` writes.

    Raises
    ------
    FormatError
        When there is no such format, or when the format cannot hold the schedule: a network that is only in memory cannot
        be named in a file. Also when the format is a folder of several files.

    Examples
    --------
    >>> import treecast
    >>> from treecast.files.formats import encode
    >>> print(encode(treecast.plan("broadcast", "ring:3")).decode().splitlines()[2])
    network ring:3
    """
    found = exporter_named(to).write(schedule, settings)
    if not isinstance(found, bytes):
        raise FormatError(f"format {to} is a folder of several files: name one to write it to")
    return found


def decode(data: bytes) -> Schedule:
    """Return the schedule that the bytes of a file hold. It is not verified.

    The first bytes tell the format. Bytes that no format begins with are read as text, whose error says how a file begins.

    Parameters
    ----------
    data : bytes
        A whole file.

    Returns
    -------
    Schedule
        The schedule.

    Raises
    ------
    FormatError
        When the bytes are no schedule, are cut off, or were changed since they were written.

    Examples
    --------
    >>> import treecast
    >>> from treecast.files.formats import decode, encode
    >>> schedule = treecast.plan("broadcast", "star:4")
    >>> decode(encode(schedule, "binary")) == schedule
    True
    """
    return importers()[format_of_bytes(data) or DEFAULT].decode(data)


def save(schedule: Schedule, path: str | os.PathLike[str], to: str | None = None, **settings: Any) -> None:
    """Write a schedule to a file, whole or not at all.

    Parameters
    ----------
    schedule : Schedule
        The schedule.
    path : str or os.PathLike
        The file. ``-`` is standard output. An existing file is replaced. Where the format is a folder of several files: a new
        folder, or an empty one.
    to : str, optional
        The name of the format. By default the name of the file chooses it: ``.tcb`` is binary, and a name that ends in the suffix
        of no format (``.tc``, ``.txt``, no suffix) is text.
    **settings
        The settings of the format, as in ``size="16M"``: docs/reference/formats/index.md lists them.

    Raises
    ------
    FormatError
        When the file cannot be written, or the format cannot hold the schedule.

    Examples
    --------
    >>> import tempfile, treecast
    >>> schedule = treecast.plan("broadcast", "star:4", messages=6, survive=2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     treecast.save(schedule, f"{folder}/plan.tc")
    ...     treecast.load(f"{folder}/plan.tc") == schedule
    True
    """
    found = exporter_named(format_of_name(path) if to is None else to).write(schedule, settings)
    if not isinstance(found, bytes):
        write_folder(path, found)
    elif str(path) == "-":
        sys.stdout.buffer.write(found)
        sys.stdout.buffer.flush()
    else:
        write_whole(path, found)


def read(path: Source, told: Told | None = None) -> Schedule:
    """Read a schedule from a file of any format, without verifying it.

    Parameters
    ----------
    path : str or os.PathLike
        The file. ``-`` is standard input.
    told : Told, optional
        The facts that a file of another tool does not say, as ``treecast.verify`` takes it.

    Returns
    -------
    Schedule
        The schedule, right or wrong: ``verify`` tells.

    Raises
    ------
    FormatError
        When the file cannot be read, or holds no schedule.

    Examples
    --------
    >>> import tempfile, treecast
    >>> from treecast.files.formats import read
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     treecast.save(treecast.plan("broadcast", "star:4"), f"{folder}/plan.tcb")
    ...     len(read(f"{folder}/plan.tcb"))
    23
    """
    if told is not None and told != Told():
        return judge(path, told)[1]()
    return decode(_bytes_of(path))


def judge(
    path: Source, told: Told | None = None, model: str | Model | None = None, method: str = "fast"
) -> tuple[Report | FileVerdict, Callable[[], Schedule]]:
    """Judge a file: by the rules of its own format, if that has some, and else as the schedule that it holds.

    Return the verdict, and a function that makes the schedule of a right file. The arguments are those of ``treecast.verify``,
    with ``-`` for standard input. Raises FormatError when the file cannot be read, says itself a fact that is told of it, or has
    rules of its own beside a model or method.
    """
    data, told = _bytes_of(path), told or Told()
    known = importers()[format_of_bytes(data) or DEFAULT]
    if known.judge is not None:
        if model is not None or method != "fast":
            raise FormatError(
                f"a file of format {known.name} is judged by its own rules: make a schedule of it for a model, or for expanded"
            )
        return known.judge(data, told)
    if told != Told():
        raise FormatError(
            f"a file of format {known.name} says its network and job in lines of its own: write them there alone"
        )
    schedule = known.decode(data)
    return verify(schedule, model, method), lambda: schedule


def _bytes_of(path: Source) -> bytes:
    if not isinstance(path, str | os.PathLike):
        return read_whole(path, max(HEAD, HEAD_OF_NETWORKS), _refuse_head)
    if os.path.isdir(path):
        for known in importers().values():
            if known.folder and any(Path(path).glob(known.folder)):
                return read_folder(path, known.folder)
    # star:5 is a network that nobody planned on
    if not os.path.exists(path) and os.fspath(path).partition(":")[0] in families():
        raise FormatError(f"{path} is {_PLAN_FIRST}")
    return read_whole(path, max(HEAD, HEAD_OF_NETWORKS), _refuse_head)


def _refuse_head(head: bytes) -> str:
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "is text in UTF-16: save it as UTF-8"
    if format_of_bytes(head):
        return ""
    network = next((each.summary for each in readers().values() if each.recognises(head)), "")
    if network:
        return f"holds {_PLAN_FIRST} (it is {network})"
    return f"is no treecast file: it does not begin like one ({', '.join(importers())})"


def load_verified(path: Source, told: Told | None = None) -> tuple[Schedule, Report]:
    """Read a schedule from a file, verify it, and return it with the verifier's report; else as ``load``."""
    schedule = read(path, told)
    report = verify(schedule)
    if not report:
        raise FormatError(f"{spell_path(path)} holds a schedule that is wrong: {report.violations[0].text}")
    return schedule, report


def digest_of(schedule: Schedule) -> str:
    """Return the digest of the text file of a schedule without the proof of a bound; empty where no file can hold it."""
    from treecast.files.formats import native  # it registers

    return native.digest_of(schedule)


def load(path: Source, told: Told | None = None) -> Schedule:
    """Read a schedule from a file and verify it.

    Parameters
    ----------
    path : str, os.PathLike or open file
        The file, in any format that can be read. ``-`` is standard input.
    told : Told, optional
        The facts that a file of another tool does not say, as ``treecast.verify`` takes it.

    Returns
    -------
    Schedule
        The schedule. It is right.

    Raises
    ------
    FormatError
        When the file cannot be read, or holds no schedule, or a wrong one.

    Examples
    --------
    >>> import tempfile, treecast
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     treecast.save(treecast.plan("allgather", "hypercube:4"), f"{folder}/plan.tc")
    ...     treecast.load(f"{folder}/plan.tc").collective.kind
    'allgather'
    """
    return load_verified(path, told)[0]
