"""Sums whose bits are not MPI's: its own calls bring contributions together, and they are folded here. Nothing is survived."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from mpi4py import MPI

from treecast.mpi.together import alltoall
from treecast.running.algorithms import sums
from treecast.running.algorithms.little import LITTLE, block, copy_here
from treecast.running.algorithms.sums import SumTask, fold, width_of
from treecast.running.calls.call import Call
from treecast.running.calls.table import Algorithm, Failed
from treecast.running.groups.group import Group
from treecast.running.groups.memory import scratch
from treecast.running.groups.shape import Shape
from treecast.running.transport.base import SMALL, Piece, Steps

_BYTE = MPI.BYTE
_PREFIXES = {sums.scan: sums.UP_TO, sums.exscan: sums.BEFORE}


def folded(comm: MPI.Intracomm, algorithm: Algorithm, begin: Callable[[Call], None] | None) -> Callable[..., Failed]:
    """Return the function that carries an algorithm out over a communicator that nobody else uses; ``begin``: is done before."""

    def carry(call: Call, mine: Piece | None, out: Piece | None, *rest: Any) -> Failed:
        if begin is not None:
            begin(call)
        call.run(_steps(call.group, lambda: fold_by_mpi(comm, algorithm, (mine, out), rest)))
        return ()

    return carry


def _steps(group: Group, work: Callable[[], None]) -> Steps[None]:
    yield from group.agreement.until(lambda: True)
    work()


def fold_by_mpi(comm: MPI.Intracomm, algorithm: Algorithm, ends: tuple[Any, Any], rest: Sequence[Any]) -> None:
    """Sum little data at all ranks, and else block b at rank b, who brings it to those who want it. MPI adds whole numbers.

    ``ends``: this rank's contribution, None where it is in the other, the place of the sum. ``rest``: as the algorithm takes it.
    """
    # 1. MPI's own sums, where the order of adding changes nothing.
    (mine, out), how, ranks, me = ends, rest[-1], range(comm.size), comm.rank
    given: Piece = out if mine is None else mine
    # The bits are the same in any order: MPI's own way is the quickest.
    if how.any_order and algorithm is sums.allreduce:
        entries = how.entries, how.datatype
        comm.Allreduce(MPI.IN_PLACE if mine is None else [mine, *entries], [out, *entries], how.op)
        return
    # 2. Little data: everybody gets all, and folds what it wants in the order of ranks.
    plan = LITTLE[algorithm](me, comm.size, mine, out, *rest)
    if plan is not None and plan.length * comm.size <= SMALL:
        whole = scratch(plan.length * comm.size)
        comm.Allgather([given, plan.length, _BYTE], [whole, plan.length, _BYTE])
        plan.take({rank: whole[block(rank, plan.length)] for rank in ranks})
        return
    width, is_scattered = width_of(given, how), algorithm is sums.reduce_scatter
    task = _PREFIXES.get(algorithm, SumTask(Shape("", target=rest[0] if algorithm is sums.reduce else None)))
    bounds = [how.entries * k // comm.size for k in range(comm.size + 1)]
    lengths = [width * count for count in (rest[0] if is_scattered else (b - a for a, b in pairwise(bounds)))]
    length = lengths[me]
    whole = scratch(length * comm.size)
    # 3. Much data: rank b folds block b.
    alltoall(comm, given, lengths, whole, length)
    parts = [whole[block(rank, length)] for rank in ranks]
    fold(how, parts, length // width if width else 0, prefix=task.prefix)
    # 4. Sums back: of prefixes each rank wants another, sent from its own place.
    if task.prefix:
        places = [task.place(taker, ranks) for taker in ranks]
        comes = lengths if places[me] is not None else [0] * comm.size
        goes = [0 if place is None else length for place in places]
        sums_of = [0 if place is None else place * length for place in places]
        comm.Alltoallv([whole, (goes, sums_of), _BYTE], [out, comes, _BYTE])
    elif is_scattered:  # its block is its result
        copy_here(out, parts[-1])
    elif task.shape.target is None:
        alike = lengths.count(length) == comm.size  # MPI has quicker ways for those
        comm.Allgather(parts[-1], out) if alike else comm.Allgatherv(parts[-1], [out, lengths])
    else:
        comm.Gatherv([parts[-1], length, _BYTE], None if out is None else [out, lengths, _BYTE], task.shape.target)
