"""The files that go out: a file alone, or all of a folder, with its links as far as they lead to places inside."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

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
            yield CastSource(name, 0, 0, 0, os.path.relpath(top / there.relative_to(top.resolve()), folder))
        elif file.is_dir():
            yield from _files_in(file, top, (*above, here))
        elif file.is_file():
            yield _source(name, file)
        else:
            raise PlanError(f"{file} is no file, and no folder of files")
