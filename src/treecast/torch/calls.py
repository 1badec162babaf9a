"""c10d's calls as a table: each of them one or several of mpi4py's collectives."""

# pyright: basic
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, NamedTuple

from treecast.torch.tensors import IN_PLACE
from treecast.torch.work import dist, seconds_of


class Asked(NamedTuple):
    """The options of a call, in whatever form they come."""

    op: str = "SUM"
    root: int = 0
    seconds: float | None = None
    is_async: bool = True

    @classmethod
    def read(cls, options: Sequence[Any]) -> "Asked":
        """Return the words of c10d's options, or an operation, a root and a timeout by themselves."""
        asked = cls()
        for each in options:
            if isinstance(each, int):
                asked = asked._replace(root=each)
            elif isinstance(each, timedelta):
                asked = asked._replace(seconds=seconds_of(each))
            elif isinstance(each, (dist.ReduceOp, dist.ReduceOp.RedOpType)):
                asked = asked._replace(op=_name_of(each))
            elif each is not None:
                asked = cls(
                    _name_of(getattr(each, "reduceOp", dist.ReduceOp.SUM)),
                    getattr(each, "rootRank", 0),
                    seconds_of(getattr(each, "timeout", None)),
                    getattr(each, "asyncOp", True),
                )
        return asked


def _name_of(op: Any) -> str:
    return str(getattr(op, "op", op).name)


class One(NamedTuple):
    """A collective: its name among mpi4py's, its arguments, and the tensor that a mean divides."""

    job: str
    arguments: tuple[Any, ...]
    out: Any = None


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
    return list(tensor.reshape(-1).split(tensor.numel() // count)) if tensor.numel() else [tensor] * count


def _all_to_all(n: int, out: Any, mine: Any, out_sizes: Sequence[int], sizes: Sequence[int]) -> list[One]:
    for tensor, given in ((out, out_sizes), (mine, sizes)):
        if not given and tensor.shape[0] % n:
            raise RuntimeError("Tensor's dim 0 does not divide equally across group size")
    return [One("Alltoallv", (_parts(mine.contiguous(), sizes, n), _parts(out, out_sizes, n)))]


def _scattered(out: Any, mine: Any, op: Any) -> One:
    """Return the reduce-scatter of a list of tensors, or of one with all blocks."""
    blocks = list(mine) if isinstance(mine, (list, tuple)) else []
    counts = [each.numel() for each in blocks] or None
    return One(
        "Reduce_scatter" if counts else "Reduce_scatter_block", (mine, out, *([counts] if counts else []), op), out
    )


class Form(NamedTuple):
    """A call of c10d: how many arguments it has before its options, and which collectives it is.

    ``nested``: the arguments are lists, one entry for each device of a rank; here there is one.
    """

    arguments: int
    collectives: "Callable[..., list[One]]"
    nested: bool = False


CALLS: dict[str, Form] = {
    "allreduce": Form(1, lambda g, a, ts: [One("Allreduce", (IN_PLACE, t, a.op), t) for t in ts], True),
    "broadcast": Form(1, lambda g, a, ts: [One("Bcast", (t, a.root)) for t in ts], True),
    "reduce": Form(
        1,
        lambda g, a, ts: [
            One("Reduce", (IN_PLACE, t, a.op, a.root), t)
            if g.rank() == a.root
            else One("Reduce", (t, None, a.op, a.root))
            for t in ts
        ],
        True,
    ),
    "allgather": Form(2, lambda g, a, os, ts: [One("Allgatherv", each) for each in zip(ts, os, strict=True)], True),
    "all_gather_single": Form(2, lambda g, a, o, t: [One("Allgatherv", (t, _parts(o, (), g.size())))]),
    "all_gather_single_coalesced": Form(
        2, lambda g, a, os, ts: [One("Allgatherv", (t, _parts(o, (), g.size()))) for o, t in zip(os, ts, strict=True)]
    ),
    "allgather_coalesced": Form(
        2, lambda g, a, os, ts: [One("Allgatherv", (t, [o[k] for o in os])) for k, t in enumerate(ts)]
    ),
    "gather": Form(
        2,
        lambda g, a, os, ts: [
            One("Gatherv", (t, os[k] if g.rank() == a.root else None, a.root)) for k, t in enumerate(ts)
        ],
        True,
    ),
    "scatter": Form(
        2,
        lambda g, a, os, ts: [
            One("Scatterv", (ts[k] if g.rank() == a.root else None, o, a.root)) for k, o in enumerate(os)
        ],
        True,
    ),
    "reduce_scatter": Form(2, lambda g, a, os, ts: [_scattered(o, t, a.op) for o, t in zip(os, ts, strict=True)], True),
    "reduce_scatter_single": Form(2, lambda g, a, o, t: [_scattered(o, t, a.op)]),
    "reduce_scatter_single_coalesced": Form(
        2, lambda g, a, os, ts: [_scattered(o, t, a.op) for o, t in zip(os, ts, strict=True)]
    ),
    "alltoall": Form(2, lambda g, a, os, ts: [One("Alltoallv", (ts, os))]),
    "all_to_all_single": Form(4, lambda g, a, *things: _all_to_all(g.size(), *things)),
    "barrier": Form(0, lambda g, a: [One("Barrier", ())]),
}
CALLS.update(
    {
        "allreduce_coalesced": CALLS["allreduce"],
        "_allgather_base": CALLS["all_gather_single"],
        "allgather_into_tensor_coalesced": CALLS["all_gather_single_coalesced"],
        "_reduce_scatter_base": CALLS["reduce_scatter_single"],
        "reduce_scatter_tensor_coalesced": CALLS["reduce_scatter_single_coalesced"],
        "alltoall_base": CALLS["all_to_all_single"],
    }
)
"""By c10d's name. torch renames now and then; the older names stay."""
