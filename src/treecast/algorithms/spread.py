"""Data that all ranks want: broadcast, allgather and barrier. A small one costs no message more than without survival."""

from collections.abc import Mapping, Sequence

from treecast.groups.group import Group, Shape, lost_with_root
from treecast.transport.base import Piece, Steps


def broadcast(group: Group, data: Piece | None, root: int) -> Steps[tuple[int, ...]]:
    """Bring the bytes of the root to all ranks, straight from it: N - 1 messages.

    Model: complete network of ranks, any number of ports.

    Parameters
    ----------
    group : Group
        Its call has begun.
    data : Piece or None
        What the root sends, and the others fill; of one length on all ranks.
    root : int
        The rank that sends.

    Returns
    -------
    tuple of int
        The ranks that failed in earlier calls: only the root has data.

    Raises
    ------
    DeliveryError
        Nobody has the data; at every rank that lives.
    """
    shape = Shape("broadcast", source=root, spread=True)
    if root not in group.agreement.members:
        raise lost_with_root(shape)
    if group.rank != root:
        group.want(root, root, data)
    else:
        if data is not None:
            group.hold(root, data)
        for other in group.agreement.others():
            group.give(other, root, data)
    yield from group.exchanged()
    return (yield from group.settle(shape)) or ()


def allgather(group: Group, mine: Piece | None, blocks: Sequence[Piece] | None) -> Steps[tuple[int, ...]]:
    """Bring the block of every rank to all ranks, straight from rank to rank: N (N - 1) messages.

    Model: complete network of ranks, any number of ports.

    Parameters
    ----------
    group : Group
        Its call has begun.
    mine : Piece or None
        This rank's block; None when it is in ``blocks`` already.
    blocks : sequence of Piece
        Block r is that of rank r; all ranks know the lengths, which may differ.

    Returns
    -------
    tuple of int
        The failed ranks whose block is missing.

    Raises
    ------
    DeliveryError
        More ranks failed than are to be survived, or arguments were refused; at every rank that lives.
    """
    me = group.rank
    if blocks is not None:
        if mine is not None:
            copy_here(blocks[me], mine)
        group.hold(me, blocks[me])
    others = [rank for rank in group.agreement.members if rank != me]
    own = None if blocks is None else blocks[me]
    yield from exchange(group, dict.fromkeys(others, own), {r: blocks and blocks[r] for r in others})
    return (yield from group.settle(Shape("allgather", spread=True))) or ()


def barrier(group: Group) -> Steps[tuple[int, ...]]:
    """Return when all ranks that live have called this."""
    places = memoryview(bytearray(group.size))
    return (yield from allgather(group, None, [places[r : r + 1] for r in range(group.size)]))


def exchange(
    group: Group, pieces: Mapping[int, Piece | None], places: Mapping[int, Piece | None], stage: int = 0
) -> Steps[set[int]]:
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
