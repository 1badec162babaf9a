"""From how many bytes on a call goes the straight ways, and is not left to MPI: one table, of what ``make bench-mpi`` measures.

Below, MPI's own calls are faster than Python can post messages. What is asked here all ranks know alike: the name of the call,
the bytes where MPI demands them equal, the options, and whether all ranks share one memory.
"""

from types import MappingProxyType

_KIB, _MIB = 1 << 10, 1 << 20

OWN_FROM = MappingProxyType(
    {
        "Bcast": 256 * _KIB,
        "Allgather": 4 * _MIB,
        "Allgatherv": 4 * _MIB,
        "Alltoall": _MIB,
        "Scatter": _MIB,
        "Gather": _MIB,
        "Allreduce": 8 * _MIB,
        "Reduce": 8 * _MIB,
        "Reduce_scatter": 8 * _MIB,
        "Reduce_scatter_block": 8 * _MIB,
    }
)
"""Bytes of a call, all blocks of a rank together, from which on it goes straight where no failure is to be survived. A call that
is not here is MPI's."""

FAR_FROM = 64 * _KIB
"""The same for all of these between hosts, or over a network that the program names."""


def goes_straight(name: str, count: int, survive: int = 0, near: bool = True) -> bool:
    """Return whether a call goes the straight ways; else it is MPI's.

    Parameters
    ----------
    name : str
        Of mpi4py's method.
    count : int
        Bytes: the whole buffer of a broadcast or a sum, all blocks of a rank together of the others.
    survive : int
        How many failures the call is to survive: with any it goes straight.
    near : bool
        Whether all ranks share one memory, and no network is named.

    Examples
    --------
    >>> goes_straight("Bcast", 1 << 20), goes_straight("Bcast", 8), goes_straight("Bcast", 8, survive=1)
    (True, False, True)
    """
    if survive:
        return True
    least = OWN_FROM.get(name)
    return least is not None and count >= (least if near else FAR_FROM)
