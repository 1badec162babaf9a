"""By which ways the bytes of a job go: straight from rank to rank, or down the trees of a network."""

from collections.abc import Callable
from typing import Any, NamedTuple

from treecast.mpi.ways import outcome, personal, spread, sums

Way = Callable[..., Any]


class Ways(NamedTuple):
    """One way for each kind of collective; ``name`` and ``network`` are what ``Comm.last`` says."""

    name: str
    network: str
    barrier: Way
    broadcast: Way
    allgather: Way
    alltoall: Way
    scatter: Way
    gather: Way
    reduce: Way
    allreduce: Way
    reduce_scatter: Way
    scan: Way
    exscan: Way


STRAIGHT = Ways(
    "straight",
    "",
    outcome.barrier,
    spread.broadcast,
    spread.allgather,
    personal.alltoall,
    personal.scatter,
    personal.gather,
    sums.reduce,
    sums.allreduce,
    sums.reduce_scatter,
    sums.scan,
    sums.exscan,
)
