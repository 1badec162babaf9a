"""From how many bytes on a call goes the straight ways, and is not left to MPI: one table, of what ``make bench-mpi`` measures.

Below, MPI's own calls are faster than Python can post messages. What is asked here all ranks know alike: the name of the call,
the bytes where MPI demands them equal, the options, and whether all ranks share one memory.
"""

from types import MappingProxyType

_KIB, _MIB = 1 << 10, 1 << 20

OWN_FROM = MappingProxyType(
    {
        "Bcast": 4 * _MIB,
        "Allgather": 4 * _MIB,
        "Allgatherv": 4 * _MIB,
        "Alltoall": 16 * _MIB,
        "Scatter": 16 * _MIB,
        "Gather": 16 * _MIB,
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


def least_bytes(near: bool) -> dict[str, int]:
    """Return from how many bytes on a call goes straight that is to survive nothing, by its name in mpi4py; others are MPI's.

    Bytes are those of the whole buffer of a broadcast or a sum, all blocks of a rank together of the others.
    ``near``: whether all ranks share one memory, and no network is named.

    Examples
    --------
    >>> least_bytes(near=True)["Bcast"], least_bytes(near=False)["Bcast"], "Scan" in least_bytes(near=True)
    (4194304, 65536, False)
    """
    return dict(OWN_FROM) if near else dict.fromkeys(OWN_FROM, FAR_FROM)
