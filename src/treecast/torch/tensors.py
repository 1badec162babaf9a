"""Tensors as the arguments of collectives: their bytes in place where they are contiguous, and torch's own operations on them."""

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from treecast.running.calls.reader import Entries, Place
from treecast.tcp.library import buffer

torch: Any = import_module("torch")
_BITWISE = {"BAND": torch.bitwise_and, "BOR": torch.bitwise_or, "BXOR": torch.bitwise_xor}
OPS = {"SUM": torch.add, "AVG": torch.add, "PRODUCT": torch.mul, "MIN": torch.minimum, "MAX": torch.maximum} | _BITWISE


class TensorOp:
    """An operation of torch's on the bytes of two contributions; AVG adds, and is divided where it is known by how many."""

    is_predefined = False  # in MPI

    def __init__(self, name: str) -> None:
        if name not in OPS:
            raise ValueError(f"treecast has no {name}: {', '.join(OPS)}")
        self.name, self._do = name, OPS[name]

    def Is_commutative(self) -> bool:  # noqa: N802
        """Return that it may be added in any order."""
        return True

    def Reduce_local(self, one: Any, other: Any) -> None:  # noqa: N802
        """Leave the result of two buffers, ``[bytes, entries, dtype]`` each, in the second."""
        # views of the bytes: nothing is copied
        first, second = (torch.frombuffer(piece[0], dtype=piece[2], count=piece[1]) for piece in (one, other))
        self._do(first, second, out=second)


def packed(tensor: Any) -> Any:
    """Return a tensor itself where its memory is contiguous, else a copy that is.

    Raises ValueError for one that is not dense memory of the CPU.
    """
    if tensor.device.type != "cpu":
        raise ValueError(
            f"treecast carries tensors of the CPU, not of {tensor.device}: make two groups, one for each device"
        )
    if tensor.layout is not torch.strided:
        raise ValueError(f"treecast carries dense tensors, and sparse ones in all_reduce alone, not {tensor.layout}")
    # Conjugates and negatives are flags of torch's on memory that says something else: they are written out first.
    return tensor.detach().resolve_conj().resolve_neg().contiguous()


def once(tensor: Any) -> tuple[slice, ...]:
    """Return the index of the first of the entries that lie in one place, where a tensor was expanded: of all in others."""
    # stride 0: all entries of this dimension are one
    return tuple(slice(None if stride else 1) for stride in tensor.stride())


class _Memory:
    """The memory of a contiguous tensor, by its address: a view of torch's would forbid to resize the tensor ever after."""

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor  # which lives as long as this does
        # numpy reads addresses by this interface
        where = {"data": (tensor.data_ptr(), False), "shape": (tensor.nbytes,), "typestr": "|u1"}
        self.__array_interface__ = {**where, "version": 3}


def piece_of(tensor: Any) -> Any:
    """Return the bytes of a contiguous tensor."""
    return np.asarray(_Memory(tensor)).data if tensor.numel() else buffer.allocate(0)  # an empty tensor has no address


def _places(tensors: Sequence[Any]) -> tuple[list[Any], Callable[[], None] | None]:
    """Return contiguous memory for data to tensors, and the function that brings it there, None where it is there."""
    there = [packed(tensor) for tensor in tensors]
    # Another address: torch has made a copy, and what comes has to be brought back.
    apart = [(tensor, box) for tensor, box in zip(tensors, there, strict=True) if box.data_ptr() != tensor.data_ptr()]

    def finish() -> None:
        for tensor, box in apart:
            tensor.detach()[once(tensor)].copy_(box[once(tensor)])  # entries that lie in one place are written once

    return there, finish if apart else None


class Reader:
    """Reads tensors where mpi4py's methods take buffers: one tensor as a simple argument, a list of them as one with blocks."""

    def send(self, argument: Any, form: str = "") -> Any:
        """Return the bytes of a tensor that is sent, or of each."""
        return [piece_of(packed(each)) for each in argument] if form else piece_of(packed(argument))

    def receive(self, argument: Any, form: str = "") -> Place:
        """Return where a tensor is received, or each."""
        there, finish = _places(argument if form else [argument])
        return Place([piece_of(each) for each in there], finish)

    def entries(self, argument: Any, blocks: int = 0, *, writable: bool) -> Entries:
        """Return the entries of a tensor that is added, or of several, one behind the other."""
        if not isinstance(argument, torch.Tensor):
            # blocks of a reduce-scatter lie apart
            argument = torch.cat([packed(each).reshape(-1) for each in argument])
        (there,), finish = _places([argument]) if writable else ([packed(argument)], None)
        return Entries(piece_of(there), there.numel(), there.dtype, finish)

    def type_of(self, argument: Any, form: str = "") -> str:
        """Return the type of the entries of a tensor, or of several; "" of none."""
        first: Any = argument if isinstance(argument, torch.Tensor) else next(iter(argument or ()), None)
        return "" if first is None else self.spell(first.dtype)

    def spell(self, datatype: Any) -> str:
        """Return a dtype in words."""
        return str(datatype).removeprefix("torch.")

    def check_sum(self, datatype: Any, op: TensorOp) -> None:
        """Raise RuntimeError for an operation that does not take a dtype."""
        if op.name in _BITWISE and (datatype.is_floating_point or datatype.is_complex):
            raise RuntimeError(f"Cannot use bitwise operations on {datatype}")
        if op.name in ("MIN", "MAX") and datatype.is_complex:
            raise RuntimeError(f"all_reduce does not support {op.name} on complex tensors")
