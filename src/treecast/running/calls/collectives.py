"""The whole table of collectives, and from how many bytes on a call goes straight that is to survive nothing.

Below, MPI's own calls are faster than Python can post messages (``make bench-mpi``). All ranks know alike the things that are
asked here: the name of the call, the bytes where MPI demands them equal, the options, and whether all ranks share one memory.
"""

from treecast.collectives.kinds import COLLECTIVES
from treecast.running.calls import blocks, objects, sums
from treecast.running.calls.table import OBJECTS, ROWS

__all__ = ["FAR_FROM", "OBJECTS", "ROWS", "has_holes", "least_bytes"]
del blocks, objects, sums  # their rows are registered

_BLOCKS = {kind.mpi.lower() for kind in COLLECTIVES.values() if kind.mpi and kind.starts == "own"}
FAR_FROM = 64 << 10
"""Bytes from which on calls go straight between hosts, or over a network that the program names."""


def has_holes(name: str) -> bool:
    """Return whether the result of a call, by its name in mpi4py, has a place for each rank: that of a dead one is a hole."""
    return any(kind in name.lower() for kind in _BLOCKS)


def least_bytes(near: bool) -> dict[str, int]:
    """Return from how many bytes on a call goes straight that is to survive nothing, by its name in mpi4py; others are MPI's.

    Bytes are those of the whole buffer of a broadcast or a sum, all blocks of a rank together of the others.
    ``near``: whether all ranks share one memory, and no network is named.

    Examples
    --------
    >>> least_bytes(near=True)["Bcast"], least_bytes(near=False)["Bcast"], "Scan" in least_bytes(near=True)
    (4194304, 65536, False)
    """
    return {name: row.own_from if near else FAR_FROM for name, row in ROWS.items() if row.own_from is not None}
