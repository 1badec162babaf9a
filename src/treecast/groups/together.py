"""Little data of all ranks at once, where a transport has calls for that: data that a rank does not get so, it lacks."""

from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise

import numpy as np

from treecast.groups.group import SAY_END, Group
from treecast.transport.base import Piece, Steps
from treecast.transport.together import Together


def broadcast_together(group: Group, together: Together, data: Piece, root: int) -> Steps[None]:
    """Bring the data of the root to all."""
    waits = group.agreement.number % SAY_END == 0
    yield from group.came(together.broadcast(data, root, waits), {root: data} if group.rank != root else {})


def allgather_together(group: Group, together: Together, blocks: Mapping[int, Piece]) -> Steps[None]:
    """Bring the blocks of all ranks to all; copies of them are kept."""
    lengths = [len(blocks[rank]) for rank in range(group.size)]
    whole = np.empty(sum(lengths), np.uint8).data
    copies = [whole[a:b] for a, b in pairwise(accumulate(lengths, initial=0))]
    others = {rank: block for rank, block in blocks.items() if rank != group.rank}
    if (yield from group.came(together.allgather(blocks[group.rank], whole, lengths), others)):
        for rank, block in others.items():
            block[:] = copies[rank]
        group.keep(dict(enumerate(copies)))


def alltoall_together(
    group: Group, together: Together, ends: tuple[Piece, Mapping[int, Piece]], lengths: Sequence[int]
) -> Steps[set[int]]:
    """Bring a block to each rank, of these lengths, into memory of one piece; return whose has not come."""
    (out, places), length = ends, lengths[group.rank]
    into = np.empty(length * group.size, np.uint8).data
    ticket = together.alltoall(out, lengths, into, length)
    yield from group.agreement.until(lambda: ticket.over)
    if ticket.lost:
        return set(places)
    for rank, place in places.items():
        place[:] = into[rank * length : (rank + 1) * length]
    return set()
