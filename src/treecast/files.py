"""Writing files whole: a temporary file beside the target, then a rename, so that nothing half-written is ever left."""

import os
import tempfile
from pathlib import Path

from treecast.errors import FormatError


def write_whole(path: str | os.PathLike[str], *parts: bytes | memoryview) -> None:
    """Write ``parts`` to ``path``, all or nothing. Raises FormatError when the file cannot be written."""
    target = Path(path)
    try:
        if target.is_dir():
            raise IsADirectoryError(21, "it is a folder")
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as error:
        raise FormatError(f"{path} cannot be written: {error.strerror}") from None
    try:
        with os.fdopen(handle, "wb") as file:
            for part in parts:
                file.write(part)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, target)
    except OSError as error:
        raise FormatError(f"{path} cannot be written: {error.strerror}") from None
    finally:
        Path(temporary).unlink(missing_ok=True)


def read_whole(path: str | os.PathLike[str]) -> bytes:
    """Return the contents of a file. Raises FormatError when it cannot be read."""
    try:
        return Path(path).read_bytes()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise FormatError(f"{str(path)!r} cannot be read: {reason}") from None
