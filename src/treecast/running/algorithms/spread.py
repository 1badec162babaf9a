"""Data that all ranks want: broadcast and allgather, and ``share`` for who comes back.

Little data costs no message more than without survival.
"""

from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise

from treecast.errors import DeliveryError
from treecast.running.algorithms.little import Little, Pieces, copy_here, little, of_allgather, of_broadcast
from treecast.running.groups.group import Group
from treecast.running.groups.memory import scratch
from treecast.running.groups.shape import Shape, lost_with_root
from treecast.running.transport.base import Piece, Steps
from treecast.running.transport.together import Together

# The first rank of the tree passes all bytes of all. So only few go that way.
_SHARED = 1 << 20  # bytes
Places = Mapping[int, Piece]
"""The pieces, or the places for them, of some ranks."""
Missing = Steps[tuple[int, ...]]
"""The steps of a call, in the end the failed ranks whose data is missing."""


@little(of_broadcast)
def broadcast(group: Group, data: Piece, root: int, name: str = "") -> Missing:
    """Bring the bytes of the root to all ranks, straight from it, or down the tree of a wide group: N - 1 messages.

    ``data``: the root's bytes, or their place; of one length on all ranks. ``name``: of the call in errors. Returns (): only the
    root has data. Raises DeliveryError, at every rank that lives, when nobody has the data.
    """
    shape = Shape(name or broadcast.__name__, source=root, spread=True)
    # Before anything is sent: all know alike who the members are, so all raise alike.
    if root not in group.agreement.members:
        raise lost_with_root(shape, group.made)
    if together := group.goes_together(len(data)):
        if group.rank == root:
            group.hold(root, data)
        yield from group.came(together.broadcast(data, root), {root: data} if group.rank != root else {})
    else:
        yield from hand_down(group, data, root)
    return (yield from group.settle(shape)) or ()


def is_shared(group: Group, count: int) -> bool:
    """Return whether so many bytes are few enough to go to all ranks of a wide group by a tree."""
    return group.is_wide and count <= _SHARED


def bring(group: Group, plan: Little | None, shape: Shape) -> Steps[tuple[int, ...] | None]:
    """Bring little data to all, though each wants some of it alone, and have this rank take its part.

    Returns the failed ranks whose piece is missing; None where it does not go to all.
    """
    count = 0 if plan is None else plan.count(group.size)
    if plan is None or plan.at is not None or not (is_shared(group, count) or group.goes_together(count)):
        return None
    return (yield from bring_at_once(group, plan, shape))


def bring_at_once(group: Group, plan: Little, shape: Shape) -> Missing:
    """Do so, whatever the length."""
    me, root = group.rank, plan.root
    rows = scratches(group, group.agreement.members if root is None else [root], plan.length)
    if plan.mine is not None:
        copy_here(rows[me], plan.mine[0] if len(plan.mine) == 1 else b"".join(plan.mine))
    failed = yield from collect(group, rows, shape) if root is None else broadcast(group, rows[root], root, shape.name)
    plan.take({rank: row for rank, row in rows.items() if rank not in failed})
    return failed


def scratches(group: Group, ranks: Sequence[int], count: int) -> dict[int, Piece]:
    """Return ``count`` bytes of this call's memory for each of some ranks."""
    whole = group.memory.take(count * len(ranks))
    return {rank: whole[k * count : (k + 1) * count] for k, rank in enumerate(ranks)}


def hand_down(group: Group, data: Piece, root: int, stage: int = 0, is_there: bool = True) -> Steps[None]:
    """Bring bytes that the root has, if they are there, to all members, by the group's ways."""
    ways, me = group.ways(group.agreement.members), group.rank
    if me != root:
        group.want(ways.above(me, root), root, data, stage)
        is_there = not (yield from group.exchanged())
    elif is_there:
        group.hold(root, data)
    else:
        group.lack(root, data)
    if below := ways.below(me, root):
        # Also when nothing has come: a void lets those below stop waiting, and settle.
        for rank in below:
            group.give(rank, root, data if is_there else b"", stage)
        yield from group.exchanged()


def hand_up(group: Group, mine: Piece, lengths: Mapping[int, int], root: int) -> Steps[list[Piece]]:
    """Bring the block of each member to the root, by the group's ways; return them in the order of ranks, none elsewhere.

    None either when some have not come. Each has a byte more, as a message without bytes says that something is lacking.
    """
    ways, me = group.ways(group.agreement.members), group.rank
    under = ways.under(me, root)
    #   me      first below, and all under it      next below ...
    #   [b|data] [b|data] [b|data] ...             [b|data] ...      b: one byte before each block
    ends = list(accumulate((lengths[rank] + 1 for rank in under), initial=0))
    whole, first = group.memory.take(ends[-1]), 1
    copy_here(whole[1 : ends[1]], mine)
    for rank in ways.below(me, root):
        last = first + len(ways.under(rank, root))
        group.want(rank, rank, whole[ends[first] : ends[last]])
        first = last
    lacking = yield from group.exchanged()
    # What lies here is a row of several blocks: it must not be given to who lacks the block of one rank.
    group.clear()
    if me != root:
        group.give(ways.above(me, root), me, b"" if lacking else whole)
        return []
    blocks = {rank: whole[a + 1 : b] for rank, (a, b) in zip(under, pairwise(ends), strict=True)}
    return [] if lacking else [blocks[rank] for rank in sorted(blocks)]


@little(of_allgather)
def allgather(group: Group, mine: Piece | None, blocks: Pieces) -> Missing:
    """Bring the block of every rank to all ranks, straight from rank to rank: N (N - 1) messages.

    ``mine``: this rank's block; None when it is in ``blocks`` already. Block r is that of rank r; all ranks know the lengths,
    which may differ. Returns the failed ranks whose block is missing. Raises DeliveryError, at every rank that lives, when more
    ranks failed than are to be survived.
    """
    if mine is not None:
        copy_here(blocks[group.rank], mine)
    return (yield from collect(group, {rank: blocks[rank] for rank in group.agreement.members}, Shape("allgather")))


def collect(group: Group, blocks: Places, shape: Shape) -> Missing:
    """Bring the block of each member to all members, and settle; in a wide group little data goes up a tree, and down."""
    me, others, shape = group.rank, group.peers, shape._replace(spread=True)
    if is_shared(group, sum(map(len, blocks.values()))):
        return (yield from _collect_by_tree(group, blocks, shape._replace(redo=True)))
    group.hold(me, blocks[me])
    if together := group.goes_together(len(blocks) * max(map(len, blocks.values()))):
        yield from allgather_together(group, together, blocks)
    else:
        yield from exchange(group, dict.fromkeys(others, blocks[me]), {rank: blocks[rank] for rank in others})
    return (yield from group.settle(shape)) or ()


def _collect_by_tree(group: Group, blocks: Places, shape: Shape) -> Missing:
    while True:
        living = list(group.agreement.members)
        lengths = {rank: len(blocks[rank]) for rank in living}
        parts = yield from hand_up(group, blocks[group.rank], lengths, living[0])
        whole = group.memory.take(sum(lengths.values()))
        # Not the memory in which they came: a rank's own row has bytes between the blocks, in the order of the tree.
        whole[:] = b"".join(parts) if parts else whole
        yield from hand_down(group, whole, living[0], 1, bool(parts))
        failed = yield from group.settle(shape)
        if failed is not None:
            break
        group.restart()
    for rank, (a, b) in zip(living, pairwise(accumulate(lengths.values(), initial=0)), strict=True):
        copy_here(blocks[rank], whole[a:b])
    return failed if shape.target in failed else tuple(sorted(set(range(group.size)).difference(living)))


def exchange(group: Group, pieces: Places, places: Places, stage: int = 0) -> Steps[set[int]]:
    """Send pieces to ranks and receive from ranks into places, by turns; return the ranks whose piece has not come."""
    me, size = group.rank, group.size
    # By distance on the circle: the k-th target of rank r is r + k. So no rank is everybody's first.
    for source in sorted(places, key=lambda rank: (me - rank) % size):
        group.want(source, source, places[source], stage)
    for target in sorted(pieces, key=lambda rank: (rank - me) % size):
        group.give(target, me, pieces[target], stage)
    return (yield from group.exchanged())


def share(group: Group, data: Piece, is_new: bool) -> Missing:
    """Bring bytes that all old members have to the new ones, in as many blocks as there are ranks; any holder may die.

    ``data``: the bytes, or their place; of one length on all ranks. ``is_new``: whether this rank lacks them. Returns the ranks
    that have failed before. Raises DeliveryError, at every rank that lives, when nobody who has the data lives, or more ranks
    failed than are to be survived.
    """
    bounds = [len(data) * k // group.size for k in range(group.size + 1)]
    # As if all were blocks of a call: the agreement finds who has which, and spreads the fetching over all who live.
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
