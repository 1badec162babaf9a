"""Reading files, and writing them whole: a temporary file beside the target, then a rename; nothing half-written is left."""

import os
import re
import secrets
import shutil
import stat
import sys
from collections.abc import Callable, Iterable
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, Protocol, cast

from treecast.errors import FormatError


def write_whole(path: str | os.PathLike[str], *parts: bytes | memoryview) -> None:
    """Write ``parts`` to ``path``, all or nothing. Raises FormatError when the file cannot be written.

    A link is followed, and an existing file keeps its permissions. A pipe or device (``/dev/null``) is written to.
    """
    try:
        target = Path(os.path.realpath(path))
        mode = target.stat().st_mode if target.exists() else None
        if mode is None:
            _replace(target, None, *parts)
        elif stat.S_ISDIR(mode):
            raise IsADirectoryError(21, "it is a folder")
        elif not os.access(target, os.W_OK):
            raise PermissionError(13, "it is read-only")
        elif stat.S_ISREG(mode):
            _replace(target, stat.S_IMODE(mode), *parts)
        else:
            with target.open("wb") as file:
                file.writelines(parts)
    except (OSError, ValueError) as error:
        raise FormatError(f"{spell_path(path)} cannot be written: {_reason(error)}") from None


def _replace(target: Path, mode: int | None, *parts: bytes | memoryview) -> None:
    temporary = target.parent / f".treecast-{secrets.token_hex(8)}"
    try:  # before the file is there, so that Ctrl-C at any moment removes it
        with temporary.open("xb") as file:
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            file.writelines(parts)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def check_new_folder(path: str | os.PathLike[str]) -> Path:
    """Return where a new folder goes. Raises FormatError where files are already; an empty folder is taken, too."""
    if str(path) == "-":
        raise FormatError("a folder cannot go to standard output: name a new folder")
    target = Path(os.path.realpath(path))
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise FormatError(f"{spell_path(path)} is there already, and not empty: name a new folder")
    return target


def write_folder(path: str | os.PathLike[str], files: Iterable[tuple[str, bytes]]) -> None:
    """Write files, given by name and contents one after another, to a new folder ``path``, all or nothing.

    An empty folder is taken, too. Raises FormatError when it cannot be written, or is there and not empty.
    """
    try:
        target = check_new_folder(path)
        temporary = target.parent / f".treecast-{secrets.token_hex(8)}"
        try:
            temporary.mkdir()
            for name, data in files:
                # no file outside of the folder
                if name != os.path.basename(name) or name in ("", ".", ".."):
                    raise ValueError(f"{name!r} is no name of a file")
                (temporary / name).write_bytes(data)
            temporary.replace(target)  # it takes the place of an empty folder, too
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    except FormatError:
        raise
    except (OSError, ValueError) as error:
        raise FormatError(f"{spell_path(path)} cannot be written: {_reason(error)}") from None


class Open(Protocol):
    """A file that is open for reading, of bytes or of text."""

    def read(self, size: int = -1, /) -> bytes | str:
        """Return what is left of it, or so much."""
        ...


Source = str | os.PathLike[str] | Open
"""A file that is read: its name, ``-`` for standard input, or an open file."""


def read_whole(path: Source, head: int = 0, refuse: Callable[[bytes], str] = lambda head: "") -> bytes:
    """Return the contents of a file.

    ``refuse`` sees the first ``head`` bytes, or all of a shorter file, before more is read. It returns why the file will not
    do, behind the file's name, or an empty text. Raises FormatError when the file cannot be read or is refused.
    """
    try:
        if not isinstance(path, str | os.PathLike):
            said = path.read()
            return _read(BytesIO(said.encode() if isinstance(said, str) else said), path, head, refuse)
        if str(path) == "-":
            return _read(_stdin(), path, head, refuse)
        with Path(path).open("rb") as file:
            return _read(file, path, head, refuse)
    except FormatError:
        raise
    except (OSError, ValueError) as error:
        raise FormatError(f"{spell_path(path)} cannot be read: {_reason(error)}") from None


_MOST_FOLDER = 2**32


def read_folder(path: str | os.PathLike[str], listing: str) -> bytes:
    """Return the contents of the files of a folder that one of them lists, a name a line, one behind the other.

    Of a pattern as ``*.et`` those are taken whose names fit, in the order of the numbers in them, with nothing between them.
    Raises FormatError when a file cannot be read, lies outside the folder, or all are too large.
    """
    folder, parts, total = Path(path), list[bytes](), 0
    if "*" in listing:
        fitting = [file.name for file in folder.glob(listing)]
        names = sorted(fitting, key=lambda name: [int(part[:9]) for part in re.findall(r"\d+", name)])
    else:
        names = read_whole(folder / listing).decode(errors="replace").split()
    for name in names:
        if Path(name).name != name:
            raise FormatError(f"{listing} in {spell_path(path)} names {name[:60]!r}, which is no file of that folder")
        parts.append(read_whole(folder / name))
        total += len(parts[-1])
        if total > _MOST_FOLDER:
            raise FormatError(f"the files of {spell_path(path)} are too large: the most are {_MOST_FOLDER:,} bytes")
    return (b"" if "*" in listing else b"\n").join(parts)


def _stdin() -> BinaryIO:
    stream = cast("BinaryIO | None", getattr(sys.stdin, "buffer", None))  # it is None when the caller closed it
    if stream is None:
        raise OSError(9, "it is closed")
    return stream


def _read(file: BinaryIO, path: Source, head: int, refuse: Callable[[bytes], str]) -> bytes:
    start = file.read(head)
    if why := refuse(start):
        raise FormatError(f"{spell_path(path)} {why}")
    return start + file.read()


def spell_path(path: Source) -> str:
    """Return a path as messages name it, or an open file by its own name, if it has one."""
    if not isinstance(path, str | os.PathLike):
        return repr(str(getattr(path, "name", "the open file")))
    return "standard input" if str(path) == "-" else repr(str(path))


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
