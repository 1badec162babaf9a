"""c10d's calls, from the table of collectives: each is one or several of those, and most have its algorithm's name."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from inspect import signature
from itertools import zip_longest
from typing import Any, NamedTuple

from treecast.running.algorithms import personal, spread, sums
from treecast.running.calls.collectives import ROWS
from treecast.running.calls.table import Algorithm, MethodRow
from treecast.tcp.library import IN_PLACE
from treecast.torch.tensors import torch
from treecast.torch.work import dist, seconds_of


class CallOptions(NamedTuple):
    """The options of a call, in whatever form they come."""

    op: str = "SUM"
    root: int = 0
    seconds: float | None = None
    is_async: bool = True

    @classmethod
    def read(cls, options: Sequence[Any]) -> "CallOptions":
        """Return the words of c10d's options, or an operation, a root and a timeout by themselves."""
        asked = cls()
        for each in options:
            if isinstance(each, int):
                asked = asked._replace(root=each)
            elif isinstance(each, timedelta):
                asked = asked._replace(seconds=seconds_of(each))
            elif isinstance(each, (dist.ReduceOp, dist.ReduceOp.RedOpType)):
                asked = asked._replace(op=_name_of(each))
            elif each is not None:  # an options object of c10d's
                asked = cls(
                    _name_of(getattr(each, "reduceOp", dist.ReduceOp.SUM)),
                    getattr(each, "rootRank", 0),
                    seconds_of(getattr(each, "timeout", None)),
                    getattr(each, "asyncOp", True),  # older ones have no such field: they were all asynchronous
                )
        return asked


def _name_of(op: Any) -> str:
    return str(getattr(op, "op", op).name)


class One(NamedTuple):
    """A collective: its row of the table, the arguments of mpi4py's method, and its result: a tensor, or one for each rank."""

    row: MethodRow
    arguments: tuple[Any, ...]
    out: Any = None


# of each algorithm the one of blocks of any length where there are several
BY_ALGORITHM = {row.algorithm: row for row in ROWS.values() if row.blocks in ("", "vector")}


def _parts(tensor: Any, sizes: Sequence[int], count: int) -> list[Any]:
    """Return the blocks of a tensor along its first dimension, equal ones where no sizes are given."""
    if not tensor.is_contiguous():
        raise RuntimeError("treecast: a tensor of all blocks has to be contiguous")
    if sizes:
        if sum(sizes) != tensor.shape[0]:
            raise RuntimeError(f"Split sizes doesn't match total dim 0 size: {list(sizes)}, {tensor.shape[0]}")
        return list(tensor.split(list(sizes)))
    if tensor.numel() % count:
        raise RuntimeError(f"treecast: {tensor.numel()} entries do not divide into {count} equal blocks")
    # empty tensors have as many empty blocks
    return list(tensor.reshape(-1).split(tensor.numel() // count)) if tensor.numel() else [tensor] * count


def _transposed(count: int, outs: Any, mine: Any) -> tuple[Any, Any]:
    """Return the tensors of an allgather of several, whose results come in the order of ranks."""
    return [list(each) for each in zip(*outs, strict=True)], mine


def _split(count: int, out: Any, mine: Any, *sizes: Sequence[int]) -> tuple[Any, Any]:
    """Return the tensors of an alltoall of the parts of one."""
    for tensor, given in zip((out, mine), sizes, strict=True):
        if not given and tensor.shape[0] % count:
            raise RuntimeError("Tensor's dim 0 does not divide equally across group size")
    return _parts(out, sizes[0], count), _parts(mine.contiguous(), sizes[1], count)


class Form:
    """A call of c10d: a collective for each device of a rank. Here there is one, whose list may be left out.

    ``tensors``: how many arguments it has before its options: the result, and the data unless the result takes its place; or as
    many as ``arrange`` makes these of, from the number of ranks.
    """

    def __init__(self, algorithm: Algorithm, tensors: int = 0, arrange: Callable[..., Any] | None = None) -> None:
        self._row, self._arrange = BY_ALGORITHM[algorithm], arrange
        self._names = [*signature(self._row.make).parameters][1:]
        self.tensors = tensors or (2 if self._row.blocks else min(len(self._names), 1))

    def collectives(self, group: Any, asked: CallOptions, *things: Any) -> list[One]:
        """Return the collectives of a call. Raises RuntimeError for tensors that do not fit."""
        if not things:
            return [One(self._row, ())]  # a barrier
        if self._arrange is not None:
            things = self._arrange(group.size(), *things)
        if self._row.algorithm is personal.alltoall or any(isinstance(each, torch.Tensor) for each in things):
            things = tuple([each] for each in things)  # a list for the one device
        return [self._one(group, asked, *each) for each in zip_longest(*things)]

    def _one(self, group: Any, asked: CallOptions, out: Any, mine: Any = IN_PLACE) -> One:
        kind = self._row.kind
        given: dict[str, Any] = {"op": asked.op, "root": asked.root}
        if self._row.algorithm is spread.allgather and isinstance(out, torch.Tensor):
            out = _parts(out, (), group.size())  # one tensor for all blocks
        if self._row.algorithm is sums.reduce_scatter:
            given["recvcounts"] = out.numel() if isinstance(mine, torch.Tensor) else [each.numel() for each in mine]
        # only one end has the data there: at the other ranks that argument is None
        if "root" in self._names and group.rank() != asked.root and kind is not None and not kind.spreads:
            ends = kind.direction == "to"
            mine, out = (out if mine is IN_PLACE else mine, None) if ends else (None, out)
        given |= {"buf": out, "sendbuf": mine, "recvbuf": out}
        return One(self._row, tuple(given[name] for name in self._names), out)


_MORE = (
    (Form(sums.allreduce), "allreduce_coalesced"),
    (Form(spread.allgather), "all_gather_single all_gather_single_coalesced allgather_into_tensor_coalesced"),
    (Form(spread.allgather), "_allgather_base"),
    (Form(spread.allgather, arrange=_transposed), "allgather_coalesced"),
    (Form(sums.reduce_scatter), "reduce_scatter_single reduce_scatter_single_coalesced"),
    (Form(sums.reduce_scatter), "_reduce_scatter_base reduce_scatter_tensor_coalesced"),
    (Form(personal.alltoall, 4, _split), "all_to_all_single alltoall_base"),
)
CALLS = {one.__name__: Form(one) for one in BY_ALGORITHM if hasattr(dist.ProcessGroup, one.__name__)} | {
    name: form for form, names in _MORE for name in names.split()
}
"""By c10d's name: mostly that of the algorithm. torch renames now and then; the older names stay."""
