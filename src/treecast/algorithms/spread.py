"""Data that all ranks want: broadcast and allgather, and ``share`` for who comes back.

Little data costs no message more than without survival.
"""

from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise

from treecast.errors import DeliveryError
from treecast.groups.group import Group
from treecast.groups.memory import scratch
from treecast.groups.shape import Shape, lost_with_root
from treecast.transport.base import Piece, Steps
from treecast.transport.together import Together

Pieces = Sequence[Piece]
"""A piece of each rank."""
Places = Mapping[int, Piece]
"""The pieces, or the places for them, of some ranks."""
Missing = Steps[tuple[int, ...]]
"""The steps of a call, in the end the failed ranks whose data is missing."""


def broadcast(group: Group, data: Piece, root: int, name: str = "") -> Missing:
    """Bring the bytes of the root to all ranks, straight from it: N - 1 messages.

    ``data``: the root's bytes, or their place; of one length on all ranks. ``name``: of the call in errors. Returns (): only the
    root has data. Raises DeliveryError, at every rank that lives, when nobody has the data.
    """
    shape = Shape(name or broadcast.__name__, source=root, spread=True)
    if root not in group.agreement.members:
        raise lost_with_root(shape)
    places = {root: data} if group.rank != root else {}
    if not places:
        group.hold(root, data)
    if together := group.goes_together(len(data)):
        yield from group.came(together.broadcast(data, root), places)
    else:
        yield from exchange(group, {} if places else dict.fromkeys(group.peers, data), places)
    return (yield from group.settle(shape)) or ()


def allgather(group: Group, mine: Piece | None, blocks: Pieces) -> Missing:
    """Bring the block of every rank to all ranks, straight from rank to rank: N (N - 1) messages.

    ``mine``: this rank's block; None when it is in ``blocks`` already. Block r is that of rank r; all ranks know the lengths,
    which may differ. Returns the failed ranks whose block is missing. Raises DeliveryError, at every rank that lives, when more
    ranks failed than are to be survived.
    """
    if mine is not None:
        copy_here(blocks[group.rank], mine)
    yield from collect(group, {rank: blocks[rank] for rank in group.agreement.members})
    return (yield from group.settle(Shape("allgather", spread=True))) or ()


def collect(group: Group, blocks: Places) -> Steps[None]:
    """Bring the block of each member to all members."""
    me, others = group.rank, group.peers
    group.hold(me, blocks[me])
    if together := group.goes_together(sum(map(len, blocks.values()))):
        yield from allgather_together(group, together, blocks)
    else:
        yield from exchange(group, dict.fromkeys(others, blocks[me]), {rank: blocks[rank] for rank in others})


def exchange(group: Group, pieces: Places, places: Places, stage: int = 0) -> Steps[set[int]]:
    """Send pieces to ranks and receive from ranks into places, by turns; return the ranks whose piece has not come."""
    me, size = group.rank, group.size
    for source in sorted(places, key=lambda rank: (me - rank) % size):
        group.want(source, source, places[source], stage)
    for target in sorted(pieces, key=lambda rank: (rank - me) % size):
        group.give(target, me, pieces[target], stage)
    return (yield from group.exchanged())


def copy_here(into: Piece, piece: Piece) -> None:
    """Copy bytes, unless they are the same ones."""
    if len(piece) and into is not piece:
        into[:] = piece


def share(group: Group, data: Piece, is_new: bool) -> Missing:
    """Bring bytes that all old members have to the new ones, in as many blocks as there are ranks; any holder may die.

    ``data``: the bytes, or their place; of one length on all ranks. ``is_new``: whether this rank lacks them. Returns the ranks
    that have failed before. Raises DeliveryError, at every rank that lives, when nobody who has the data lives, or more ranks
    failed than are to be survived.
    """
    bounds = [len(data) * k // group.size for k in range(group.size + 1)]
    for about in range(group.size):
        block = data[bounds[about] : bounds[about + 1]]
        if is_new:
            group.lack(about, block)
        else:
            group.hold(about, block)
    failed = yield from group.settle(Shape("share", spread=True))
    if failed is None or group.lacks:
        raise DeliveryError("share: nobody who has the data lives")
    return failed


def allgather_together(group: Group, together: Together, blocks: Places) -> Steps[None]:
    """Bring the blocks of all ranks to all; copies of them are kept."""
    lengths = [len(blocks[rank]) for rank in range(group.size)]
    whole = scratch(sum(lengths))
    copies = [whole[a:b] for a, b in pairwise(accumulate(lengths, initial=0))]
    others = {rank: block for rank, block in blocks.items() if rank != group.rank}
    if (yield from group.came(together.allgather(blocks[group.rank], whole, lengths), others)):
        for rank, block in others.items():
            block[:] = copies[rank]
        group.copies = dict(enumerate(copies))
