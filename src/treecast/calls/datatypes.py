"""The MPI datatype of a buffer's entries, by its own word; of memory on a GPU as well."""

import ctypes
from typing import Any

_DLPACK_KINDS = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}


class _Tensor(ctypes.Structure):
    """The first members of DLPack's DLTensor."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
    )


def datatype_of(mpi: Any, buffer: Any) -> Any:
    """Return the datatype of a buffer's entries, as mpi4py finds it: buffer protocol, DLPack, ``__cuda_array_interface__``.

    Raises TypeError for a thing that is no buffer, ValueError for entries that MPI has no datatype for.
    """
    try:
        code = (memoryview(buffer).format or "B").lstrip("@")
    except (TypeError, BufferError):
        if hasattr(buffer, "__dlpack__"):
            code = _read_dlpack(buffer)
        elif hasattr(buffer, "__cuda_array_interface__"):
            code = buffer.__cuda_array_interface__["typestr"][1:]
        else:
            raise
    return mpi.Datatype.fromcode(code)


def _read_dlpack(buffer: Any) -> str:
    """Return the type of entries as numpy spells it, without the order of bytes."""
    capsule = buffer.__dlpack__()
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    tensor = _Tensor.from_address(pointer(capsule, b"dltensor"))
    return f"{_DLPACK_KINDS.get(tensor.code, '')}{tensor.bits // 8}"
