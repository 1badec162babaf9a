"""The laws of a file format: what is written is read again, and no changed file does harm."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from treecast.errors import FormatError, TreecastError
from treecast.files.formats import judge, save
from treecast.files.formats.registry import HEAD, Importer, exporters, format_of_name, importers
from treecast.plans import plan
from treecast.schedule import Schedule
from treecast.verification.laws.expecting import expect
from treecast.verification.verifier import verify


def check_format(name: str, schedules: Sequence[Schedule] | None = None, changes: int = 300, **settings: Any) -> None:
    """Check a format by its name: its writer, its reader and its judge, as far as it has them.

    What is written twice is the same, and its name leads to the format. A file is recognised by its first bytes, by no other
    format, and is read as a right plan of the same collective, unless the reader says why it cannot. A format with rules of its
    own finds the file right. A file that was changed or cut is refused in one line, or read; it raises nothing else.

    Parameters
    ----------
    name : str
        The name of the format.
    schedules : sequence of Schedule, optional
        What is written; by default small plans of several kinds, of which the format must hold one.
    changes : int
        How many times a file is changed.
    **settings
        Settings of the writer.

    Raises
    ------
    AssertionError
        For the first law that is broken.
    FormatError
        When there is no such format.

    Examples
    --------
    >>> from treecast.testing import check_format
    >>> check_format("binary", changes=20)
    """
    # 1. The format: it has to be written, and found by its suffix.
    writer, reader = exporters().get(name), importers().get(name)
    if writer is None:
        known = ", ".join(exporters())
        raise FormatError(
            f"{name} is no format that is written" + (": it is only read" if reader else f": there are {known}")
        )
    expect(format_of_name(f"plan{writer.suffix}"), name, f"the format of a file plan{writer.suffix}")
    # 2. Each schedule: written twice, read back, judged with changes.
    held, refused = 0, ""
    with TemporaryDirectory() as folder:
        for number, schedule in enumerate(_plans() if schedules is None else schedules):
            said = f"{name}, {schedule.collective.kind} on {schedule.network.spec}"
            paths = [Path(folder, f"{each}{number}{writer.suffix}") for each in "ab"]
            try:
                for path in paths:
                    save(schedule, path, **settings)
            except FormatError as error:  # a format may hold only some schedules
                refused = str(error)
                continue
            held += 1
            one, two = map(_contents, paths)
            # no clock, no order of a set goes into a file
            expect(two == one, True, f"{said}: whether the same is written twice")
            if reader is not None:
                _check_reading(reader.name, paths[0], schedule, said)
            if reader is not None and list(one) == [""]:  # one file of text: only such can be changed byte by byte
                _check_changes(reader, one[""], said, changes)
    # 3. A format that holds none proves nothing.
    if not held:
        raise AssertionError(f"{name} holds none of the schedules: {refused}")


def _plans() -> list[Schedule]:
    return [
        plan("broadcast", "ring:4", messages=3),
        plan("broadcast", "hypercube:3", messages=6, copies=3),
        plan("scatter", "tree:2,2"),
        plan("alltoall", "complete:4", messages=2),
        plan("allgather", "torus:3x3"),
        plan("allreduce", "ring:4", messages=2),
        plan("reduce", [("a", "b"), ("b", "c"), ("a", "c")]),
        plan("allgather", "hypercube:3", model="whispering"),
    ]


def _contents(path: Path) -> dict[str, bytes]:
    """Return the bytes of a file under an empty name, or those of the files of a folder."""
    return {part.name: part.read_bytes() for part in path.iterdir()} if path.is_dir() else {"": path.read_bytes()}


def _check_reading(name: str, path: Path, schedule: Schedule, said: str) -> None:
    """Check the reader of a file that was written of a schedule, and its judge."""
    if path.is_file():
        head = path.read_bytes()[:HEAD]
        recognised = [known.name for known in importers().values() if known.recognises(head)]
        expect(recognised, [name], f"{said}: the formats that recognise its first {HEAD} bytes")
    verdict, make = judge(path)
    expect(bool(verdict), True, f"{said}: whether it holds as a file ({verdict})")
    try:
        again = make()
    except TreecastError as error:  # it holds less than a schedule, and says so
        _check_line(error, said)
    else:
        expect(again.collective.kind, schedule.collective.kind, f"{said}: the collective that is read")
        expect(verify(again).holds, True, f"{said}: whether the schedule that is read holds")


def _check_changes(reader: Importer, data: bytes, said: str, changes: int) -> None:
    """Check that changed and cut files are refused, or read."""
    # The same changes in every run: what fails once fails again.
    chance = np.random.default_rng(0)
    for _ in range(changes):
        other = bytearray(data)
        for at in chance.integers(len(data), size=chance.integers(1, 4)).tolist():
            other[at] = int(chance.integers(256))
        start, stop = sorted(chance.integers(len(data) + 1, size=2).tolist())
        changed = bytes(other[:start] + other[stop:] if chance.integers(2) else other)
        # A change in the first bytes may make it another format's file, or none.
        if reader.recognises(changed[:HEAD]):
            try:
                reader.decode(changed)
            except TreecastError as error:
                _check_line(error, said)
            except Exception as error:
                raise AssertionError(f"{said}: a changed file raises {type(error).__name__}: {error}") from error


def _check_line(error: TreecastError, said: str) -> None:
    expect(
        str(error).isprintable() and bool(str(error)),
        True,
        f"{said}: whether its error is one line: {str(error)[:80]!r}",
    )
