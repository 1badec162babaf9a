"""Reads what people have of a job: folders, files and archives of records, with the ranks that their names tell."""

import os
import pickle
import re
import tarfile
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, cast

from treecast.errors import FormatError
from treecast.files.records.dump import Dump, Tables, read_dump
from treecast.files.records.logs import read_log, read_stack
from treecast.files.records.plain import BROKEN, MOST_BYTES, Plain
from treecast.files.records.ras import CallCounts, is_ras, read_ras
from treecast.files.records.ring import MAGIC, read_ring
from treecast.writing import write_whole

_TEXTS = (".log", ".txt", ".err", ".out", ".stack", ".pyspy")
_PACKED = re.compile(r"\.(gz|json|pkl|pickle)$")


class _Source(NamedTuple):
    """A file: its name, contents, and when it was written, in seconds since 1970."""

    name: str
    data: bytes
    written: float
    place: str = ""


@dataclass
class Found:
    """All that was read. ``refused``: a line for each file that was not. ``counts``: what NCCL's RAS tells
    of communicators whose ranks differ, ``has_counts``: whether it was asked."""

    dumps: list[Dump] = field(default_factory=list[Dump])
    tables: Tables = field(default_factory=Tables)
    refused: list[str] = field(default_factory=list[str])
    counts: list[CallCounts] = field(default_factory=list[CallCounts])
    has_counts: bool = False


def _sources(path: str | os.PathLike[str], found: Found) -> Iterator[_Source]:
    """Yield the files of a folder, an archive, or one alone. Raises FormatError where there is nothing to read."""
    place = Path(path)
    try:
        files = sorted(place.iterdir()) if place.is_dir() else [place]
        for file in files:
            if file.name.startswith(".") or (place.is_dir() and not file.is_file()):
                continue
            status = file.stat()
            # Looked at before it is read: a stranger's file must not take all memory.
            if status.st_size > MOST_BYTES:
                found.refused.append(f"{file.name}: it is longer than {MOST_BYTES >> 30} GiB")
            elif file.name.endswith((".tar", ".tar.gz", ".tgz")):
                yield from _members(file, found)
            else:
                yield _Source(file.name, file.read_bytes(), status.st_mtime, str(file))
    except OSError as error:
        raise FormatError(f"{str(path)!r} cannot be read: {error.strerror or error}") from None


def _members(file: Path, found: Found) -> Iterator[_Source]:
    left = MOST_BYTES
    try:
        with tarfile.open(file) as archive:
            for member in archive:
                # The sizes that the archive says, before anything is unpacked.
                left -= member.size
                if left < 0:
                    raise FormatError(f"it holds more than {MOST_BYTES >> 30} GiB")
                if member.isfile() and (opened := archive.extractfile(member)):
                    yield _Source(Path(member.name).name, opened.read(), float(member.mtime))
    except (tarfile.TarError, FormatError, EOFError, ValueError) as error:
        found.refused.append(f"{file.name}: {error}")


def ranks_of(names: Sequence[str], pattern: str = "") -> list[int]:
    """Return the rank of each file: the number behind ``rank``, else the last number that differs in every name.

    ``pattern``: a regular expression whose first group is the rank. Raises FormatError where no number tells the ranks.

    >>> ranks_of(["nccl_trace_rank_3", "nccl_trace_rank_12"]), ranks_of(["host1-7.json", "host1-9.json"])
    ([3, 12], [7, 9])
    """
    if pattern:
        try:
            said = [re.search(pattern, name) for name in names]
            return [int(match[1]) for match in cast(list[re.Match[str]], said)]
        except (re.error, TypeError, IndexError, ValueError):
            raise FormatError(f"{pattern!r} finds no rank in each file name: write one such as 'node-(\\d+)'") from None
    said = [re.search(r"rank[_\-.=]?(\d+)", name) for name in names]
    if all(said):
        return [int(match[1][:9]) for match in said if match]
    numbers = [[int(each[:9]) for each in re.findall(r"\d+", _PACKED.sub("", _PACKED.sub("", name)))] for name in names]
    # The last number first: names end with the rank more often than they begin with it.
    for k in range(1, min(map(len, numbers), default=0) + 1):
        column = [row[-k] for row in numbers]
        if len(set(column)) == len(names):
            return column
    raise FormatError("no number in the file names tells the rank: name a pattern, as in --ranks-from 'node-(\\d+)'")


@contextmanager
def _naming(source: _Source, found: Found) -> Generator[None]:
    """Note among what is refused a file that cannot be read, and why."""
    try:
        yield
    except FormatError as error:
        found.refused.append(f"{source.name}: {error}")
    except BROKEN as error:
        found.refused.append(f"{source.name}: it cannot be read: {type(error).__name__}")


def read(paths: Sequence[str | os.PathLike[str]], pattern: str = "") -> Found:
    """Read records of one job. What is refused is named, and the rest is read. Raises FormatError where nothing is left."""
    found, stacks, seen = Found(), dict[str, str](), 0
    for source in (each for path in paths for each in _sources(path, found)):
        seen += 1
        with _naming(source, found):
            head = source.data[:4096].lstrip()
            if is_ras(head):
                found.counts += read_ras(source.data.decode(errors="replace"))
                found.has_counts = True
            # A text by its name, unless it begins as a pickle (0x80) or as JSON does.
            elif source.name.endswith(_TEXTS) and head[:1] not in (b"\x80", b"{"):
                text = source.data.decode(errors="replace")
                found.dumps += read_log(text, found.tables)
                if stack := read_stack(text):
                    stacks[source.name] = stack
            else:
                # A ring is read as the dump that PyTorch would have written: from there on all goes one way.
                is_ring = head.startswith(MAGIC)
                ring = read_ring(source.data, source.place, source.written) if is_ring else {}
                data = Plain(pickle.dumps(ring) if is_ring else source.data)
                found.dumps.append(read_dump(data, -1, found.tables, source.written))
                found.dumps[-1].name = source.name
    _name_ranks(found, pattern)
    try:
        ranks = ranks_of([*stacks], pattern) if stacks else []
    except FormatError:  # no number tells them apart: nobody knows whose they are
        ranks = [-1] * len(stacks)
    for rank, stack in zip(ranks, stacks.values(), strict=True):
        for dump in found.dumps:
            if dump.rank == rank:
                dump.stack = stack
    if not found.dumps and not found.has_counts:
        why = "; ".join(found.refused[:3]) or ("no file tells of calls" if seen else "there are no files")
        raise FormatError(
            f"no record of a job in {', '.join(map(repr, map(str, paths)))}: {why}; ranks of treecast leave them where "
            "TREECAST_DUMP=records is set, PyTorch's where TORCH_FR_BUFFER_SIZE=2000 is, and 'treecast why --help' lists others"
        )
    return found


def write_dumps(path: str | os.PathLike[str], into: str | os.PathLike[str]) -> list[str]:
    """Write the rings of a folder as dumps of PyTorch's flight recorder, ``treecast_rank_RANK``, for its tools.

    Return a line for each that cannot be read. Raises FormatError where there are no others.
    """
    found, dumps = Found(), dict[int, bytes]()
    for source in _sources(path, found):
        if source.name.endswith(".ring"):
            with _naming(source, found):
                data = read_ring(source.data, source.place, source.written)
                if not isinstance(rank := data["treecast"].get("rank"), int):
                    raise FormatError("its head does not tell the rank")
                dumps[rank] = pickle.dumps(data, protocol=4)
    if not dumps:
        why = "; ".join(found.refused[:3]) or "name a folder of TREECAST_DUMP"
        raise FormatError(f"there are no rings to write in {str(path)!r}: {why}")
    Path(into).mkdir(parents=True, exist_ok=True)
    for rank, dump in dumps.items():
        write_whole(Path(into, f"treecast_rank_{rank}"), dump)
    return found.refused


def _name_ranks(found: Found, pattern: str) -> None:
    """Give records of files their ranks; of two records of a rank, the newer is kept."""
    named = [dump for dump in found.dumps if dump.name]
    try:
        ranks = ranks_of([dump.name for dump in named], pattern) if named else []
    except FormatError:
        # The names tell nothing. Dumps may say it themselves, unless a pattern was asked for.
        ranks = [dump.rank for dump in named]
        if pattern or min(ranks) < 0:
            raise
    for dump, rank in zip(named, ranks, strict=True):
        dump.rank = rank
    kept = dict[int, Dump]()
    # Logs have no file of their own, and come first: a record with a file takes their place.
    for dump in sorted(found.dumps, key=lambda dump: (dump.name != "", dump.written)):
        if (older := kept.get(dump.rank)) and older.name and not older.backend == dump.backend == "treecast":
            found.refused.append(f"{older.name}: {dump.name} is newer, and of rank {dump.rank}, too")
        kept[dump.rank] = dump
    found.dumps = [kept[rank] for rank in sorted(kept)]
