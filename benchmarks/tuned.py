"""The algorithms of Open MPI's component ``tuned``, asked of Open MPI itself and chosen in mid-run, by MPI's tool interface.

Open MPI chooses an algorithm when a communicator is made. So a new communicator is made for each, in one run, beside ours.
It has to be started with OMPI_MCA_coll_tuned_use_dynamic_rules=1, as ``benchmarks/mpi.py`` does for itself.
"""

import contextlib
import ctypes
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

_NAMES = {"broadcast": "bcast"}  # the others are called alike
_TEXT = 256


class RefusedError(Exception):
    """The algorithm cannot be chosen."""


@cache
def _library() -> ctypes.CDLL:
    """Return the libmpi that this process has loaded already, ready for its tool interface."""
    maps = Path("/proc/self/maps").read_text().splitlines()
    path = next((line.split()[-1] for line in maps if "libmpi.so" in line), None)
    if path is None:
        raise RefusedError("there is no libmpi.so in this process")
    library = ctypes.CDLL(path)
    _check(library.MPI_T_init_thread(0, ctypes.byref(ctypes.c_int())), "MPI_T_init_thread")
    return library


def _check(error: int, what: str) -> None:
    if error:
        raise RefusedError(f"{what} ended with {error}")


def _variable(name: str) -> ctypes.c_int:
    index = ctypes.c_int()
    _check(_library().MPI_T_cvar_get_index(name.encode(), ctypes.byref(index)), f"{name}: MPI_T_cvar_get_index")
    return index


def _write(name: str, value: int) -> None:
    handle, count = ctypes.c_void_p(), ctypes.c_int()
    library, index = _library(), _variable(name)
    _check(library.MPI_T_cvar_handle_alloc(index, None, ctypes.byref(handle), ctypes.byref(count)), name)
    _check(library.MPI_T_cvar_write(handle, ctypes.byref(ctypes.c_int(value))), f"{name}: MPI_T_cvar_write")
    library.MPI_T_cvar_handle_free(ctypes.byref(handle))


def algorithms(collective: str) -> dict[int, str]:
    """Return the algorithms of a collective, by number; none when the component has no choice of them, or none in mid-run."""
    name = f"coll_tuned_{_NAMES.get(collective, collective)}_algorithm"
    try:
        index = _variable(name)
        _write(name, 0)
    except RefusedError:
        return {}
    text, length = ctypes.create_string_buffer(_TEXT), ctypes.c_int(_TEXT)
    ignored, enumeration = [ctypes.c_int() for _ in range(4)], ctypes.c_void_p()
    datatype, describes, long = ctypes.c_void_p(), ctypes.create_string_buffer(_TEXT), ctypes.c_int(_TEXT)
    library = _library()
    _check(
        library.MPI_T_cvar_get_info(
            index, text, ctypes.byref(length), ctypes.byref(ignored[0]), ctypes.byref(datatype), ctypes.byref(enumeration),
            describes, ctypes.byref(long), ctypes.byref(ignored[1]), ctypes.byref(ignored[2]),
        ), name,
    )  # fmt: skip
    items = ctypes.c_int()
    length.value = _TEXT
    _check(library.MPI_T_enum_get_info(enumeration, ctypes.byref(items), text, ctypes.byref(length)), name)
    found: dict[int, str] = {}
    for item in range(items.value):
        value, length = ctypes.c_int(), ctypes.c_int(_TEXT)
        _check(library.MPI_T_enum_get_item(enumeration, item, ctypes.byref(value), text, ctypes.byref(length)), name)
        found[value.value] = text.value.decode()
    return {number: called for number, called in found.items() if number}  # 0 leaves the choice to Open MPI


@contextlib.contextmanager
def chosen(comm: Any, collective: str, number: int, segment: int) -> Iterator[Any]:
    """Give a duplicate of a communicator on which a collective has this algorithm, in segments of so many bytes (0: whole)."""
    name = f"coll_tuned_{_NAMES.get(collective, collective)}_algorithm"
    settings = {name: number, f"{name}_segmentsize": segment}
    try:
        for setting, value in settings.items():
            _write(setting, value)
        other = comm.Dup()
    finally:
        for setting in settings:
            _write(setting, 0)
    try:
        yield other
    finally:
        other.Free()
