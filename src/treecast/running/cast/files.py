"""The files of a cast: those that go out, a file alone or all of a folder, and their pieces at one host.

Links inside a folder go along as far as they lead to places inside. At a host pieces are written beside the target, as
``NAME.part``, which grows as they come, and is renamed when it is whole.
"""

import os
import shutil
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from treecast.errors import PlanError

_LEAST, _MOST = 1 << 18, 1 << 22  # bytes of a piece
_EACH = 16  # pieces for each host, where there are enough bytes


class CastSource(NamedTuple):
    """A file that goes out: its name below the target, "." for the target itself; bytes, mode, time of its last change.

    ``link``: where it leads, when it is a link. The name of an empty folder ends with "/".
    """

    name: str
    size: int
    mode: int
    changed: int
    link: str = ""

    @property
    def is_file(self) -> bool:
        """Whether it has bytes, and is no link or folder."""
        return not self.link and not self.name.endswith("/")

    def is_at(self, file: Path) -> bool:
        """Return whether a file has its size and time: then it is taken for the same, as rsync does."""
        said = file.stat() if file.is_file() else None
        return said is not None and (said.st_size, said.st_mtime_ns) == (self.size, self.changed)


def piece_of(size: int, hosts: int) -> int:
    """Return how many bytes a piece has: from 256 KiB to 4 MiB, the more the larger the files and the fewer the hosts.

    >>> piece_of(25_000_000, 16) >> 10, piece_of(1 << 30, 16) >> 10, piece_of(1 << 40, 1000) >> 10
    (256, 4096, 4096)
    """
    # A power of two, so that pieces begin at whole blocks of the disk.
    return 1 << (min(max(size // (_EACH * max(1, hosts)), _LEAST), _MOST)).bit_length() - 1


def sources_of(path: Path) -> list[CastSource]:
    """Return the files of a path. Links to places inside stay links; those that lead elsewhere become what is there.

    Raises PlanError when there is no file, or something that is none.
    """
    try:
        found = [_source(".", path)] if path.is_file() else list(_files_in(path, path)) if path.is_dir() else []
    except OSError as error:
        raise PlanError(f"{error.filename} cannot be read: {error.strerror}") from None
    if all(each.name.endswith("/") for each in found):
        raise PlanError(f"{path} is no file, and no folder of files")
    return found


def _source(name: str, file: Path) -> CastSource:
    with file.open("rb"):  # it can be read
        said = file.stat()
    # no bits but those of who may read, write and run it
    return CastSource(name, said.st_size, said.st_mode & 0o777, said.st_mtime_ns)


def _files_in(folder: Path, top: Path, above: tuple[Path, ...] = ()) -> Iterator[CastSource]:
    here, every = folder.resolve(), sorted(folder.iterdir())
    if here in above:
        raise PlanError(f"{folder} is a link to a folder in which it lies")
    if not every:
        yield CastSource(f"{folder.relative_to(top)}/", 0, 0, 0)
    for file in every:
        name, there = str(file.relative_to(top)), file.resolve()
        if file.is_symlink() and there.is_relative_to(top.resolve()):
            # relative, so that it leads there wherever the folder goes
            yield CastSource(name, 0, 0, 0, os.path.relpath(top / there.relative_to(top.resolve()), folder))
        elif file.is_dir():
            yield from _files_in(file, top, (*above, here))
        elif file.is_file():
            yield _source(name, file)
        else:
            raise PlanError(f"{file} is no file, and no folder of files")


Bytes = np.ndarray[Any, np.dtype[np.uint8]]
Pieces = np.ndarray[Any, np.dtype[np.int64]]
Marks = np.ndarray[Any, np.dtype[np.bool_]]
_SPARE = 1 << 20  # bytes that stay free on the disk


class CastFiles:
    """The files at this host, cut into pieces that are numbered through all of them.

    ``own``: where they are read, at the host that has them; None elsewhere. ``file_of``, ``starts``, ``lengths``: of each piece
    its file, where it begins there, and its bytes. ``held``: which pieces are here. ``error``: that of this host alone, or "".
    """

    def __init__(self, sources: Sequence[CastSource], piece: int, target: Path, own: Path | None = None) -> None:
        self.sources, self.piece, self.own, self._target, self.error, self.came = sources, piece, own, target, "", 0
        sizes = np.array([each.size for each in sources], np.int64)
        counts = -(-sizes // piece)
        self.file_of = np.repeat(np.arange(len(sources)), counts)
        self.starts = (np.arange(len(self.file_of)) - (np.cumsum(counts) - counts)[self.file_of]) * piece
        self.lengths = np.minimum(piece, sizes[self.file_of] - self.starts)
        self.held: Marks = np.full(len(self.file_of), own is not None)
        self._whole = set[int]()  # files that are in their place

    @property
    def size(self) -> int:
        """How many bytes there are."""
        return int(self.lengths.sum())

    def name_of(self, pieces: Pieces) -> str:
        """Return the name of the file of the first of some pieces."""
        return self._place(int(self.file_of[pieces[0]])).name

    def _place(self, number: int) -> Path:
        return (self._target if self.own is None else self.own) / self.sources[number].name

    def _reads(self, number: int) -> Path:
        """Return where the bytes of a file are that are here."""
        file, part = self._place(number), _part(self._place(number))
        return part if self.own is None and number not in self._whole and part.exists() else file

    @contextmanager
    def _noting(self) -> Generator[None]:
        """Keep an error of a file in the work inside as that of this host."""
        try:
            yield
        except OSError as error:
            self.error = self.error or f"{error.filename or self._target}: {error.strerror}"

    def begin(self, sure: bool) -> Marks:
        """Look which files are here by size and time, not where they are to be ``sure``; return which have bytes to compare."""
        some: Marks = np.zeros(len(self.sources), bool)
        with self._noting():
            for number, source in enumerate(self.sources if self.own is None else ()):
                file = self._place(number)
                if not source.is_file:
                    continue
                if not sure and source.is_at(file):
                    self._whole.add(number)
                    self.held[self.file_of == number] = True
                with suppress(OSError):
                    some[number] = number not in self._whole and self._reads(number).stat().st_size > 0
            self.error = self.error or self._room()
        return some

    def _room(self) -> str:
        """Return why the rest does not go here, "" when it does."""
        if self.own is not None or self.held.all():
            return ""
        # the nearest folder that is there already
        folder = next(each for each in (self._target.absolute(), *self._target.absolute().parents) if each.is_dir())
        if not os.access(folder, os.W_OK):
            return f"{folder} cannot be written"
        parts = (_part(self._place(number)) for number in set(self.file_of[~self.held].tolist()))
        # parts that are there are filled, and need no more room
        free = shutil.disk_usage(folder).free + sum(each.stat().st_size for each in parts if each.is_file())
        lacks = int(self.lengths[~self.held].sum())
        return f"{folder} has room for {free:,} bytes, not for {lacks:,}" if free < lacks + _SPARE else ""

    def digests(self, files: Sequence[int]) -> dict[int, list[bytes]]:
        """Return the digest of each piece of some files, of what there is of it; none of files that cannot be read."""
        found = dict[int, list[bytes]]()
        for number in files:
            with suppress(OSError), self._reads(number).open("rb") as file:
                found[number] = [sha256(file.read(size)).digest() for size in self.lengths[self.file_of == number]]
        return found

    def compare(self, mine: Mapping[int, Sequence[bytes]], told: Mapping[int, Sequence[bytes]]) -> None:
        """Find which pieces of some files are here, by their digests at the source. Files with other bytes become parts."""
        with self._noting():
            for number in mine.keys() & told.keys():
                here = np.array([a == b for a, b in zip(mine[number], told[number], strict=True)], bool)
                self.held[self.file_of == number] = here
                file = self._place(number)
                if self._reads(number) == file and here.all() and file.stat().st_size == self.sources[number].size:
                    self._finish(number, file)
                # The file itself stays as it is until the new one is whole.
                elif self._reads(number) == file:
                    shutil.copyfile(file, _part(file))

    def read(self, pieces: Pieces, memory: Bytes) -> None:
        """Read pieces, one behind the other. Raises OSError where they are not there whole."""
        for number, start, part in self._spots(pieces, memory):
            with self._reads(number).open("rb", buffering=0) as file:
                file.seek(start)
                left = part.data
                while left:
                    got = file.readinto(left)
                    if not got:
                        raise OSError(0, "is shorter than it was", str(file.name))
                    left = left[got:]
                with suppress(AttributeError):  # what probably comes next is read meanwhile
                    os.posix_fadvise(file.fileno(), file.tell(), len(memory), os.POSIX_FADV_WILLNEED)

    def write(self, pieces: Pieces, memory: Bytes) -> None:
        """Write those of some pieces that are not here."""
        with self._noting():
            for number, start, part in self._spots(pieces, memory):
                file = _part(self._place(number))
                file.parent.mkdir(parents=True, exist_ok=True)
                # r+b keeps what is there
                with open(file, "r+b" if file.exists() else "w+b") as to:
                    to.seek(start)
                    to.write(part.data)

    def _spots(self, pieces: Pieces, memory: Bytes) -> Iterator[tuple[int, int, Bytes]]:
        """Yield the file of each run of pieces, where it begins there, and its part of the memory."""
        ends = np.cumsum([0, *self.lengths[pieces]])
        # in a run pieces differ from their places by the same
        runs = groupby(range(len(pieces)), lambda k: (self.file_of[pieces[k]], pieces[k] - k))
        for (number, _), each in runs:
            places = list(each)
            yield (
                int(number),
                int(self.starts[pieces[places[0]]]),
                memory[ends[places[0]] : ends[places[-1] + 1]],
            )

    def changed(self) -> set[int]:
        """Return the files that have changed at the source since their sizes were told."""
        files = enumerate(self.sources if self.own is not None else ())
        return {n for n, each in files if each.is_file and not each.is_at(self._place(n))}

    def end(self, changed: Collection[int]) -> None:
        """Put files that are whole in their places, but those that have changed at the source; make links and empty folders."""
        with self._noting():
            for number, source in enumerate(self.sources if self.own is None else ()):
                file, here = self._place(number), self.held[self.file_of == number]
                if not here.all() or number in self._whole:
                    continue
                if number in changed:
                    self.error = self.error or f"{file} was changed at its source while it was read"
                    continue
                file.parent.mkdir(parents=True, exist_ok=True)
                if source.link:
                    _lead(file, source.link)
                elif not source.is_file:
                    file.mkdir(exist_ok=True)
                else:
                    # an empty file has no piece that would have made it
                    _part(file).touch()
                    self._finish(number, _part(file))
        if not self.error and not self.held.all():
            lost = int(np.argmin(self.held))
            where = f"{self._place(int(self.file_of[lost]))}: pieces from {self.starts[lost]:,} on"
            self.error = f"{where} are lost with their last holder"

    def _finish(self, number: int, file: Path) -> None:
        source = self.sources[number]
        # a part of an older file may be longer
        if file.stat().st_size != source.size:
            os.truncate(file, source.size)
        file.chmod(source.mode)
        # On the disk before it gets its name: after a crash there is the old file or the new one, and no half one.
        with file.open("rb") as whole:
            os.fsync(whole.fileno())
        os.utime(file, ns=(source.changed, source.changed))
        file.replace(self._place(number))
        self._whole.add(number)


def _part(file: Path) -> Path:
    return file.with_name(f"{file.name}.part")


def _lead(file: Path, to: str) -> None:
    """Make a link, in one go in the place of what is there."""
    if not file.is_symlink() or os.readlink(file) != to:
        # Made beside it, and renamed: at no moment is there no link.
        part = _part(file)
        part.unlink(missing_ok=True)
        part.symlink_to(to)
        part.replace(file)
