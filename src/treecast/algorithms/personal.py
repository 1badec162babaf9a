"""Data from one rank to one rank: alltoall, scatter and gather, straight. Nobody else has it, so a full stage ends each call."""

from collections.abc import Mapping, Sequence

from treecast.algorithms.spread import copy_here, exchange
from treecast.groups.group import Group, Shape, lost_with_root
from treecast.transport.base import Piece, Steps


def alltoall(
    group: Group, outgoing: Sequence[Piece] | None, incoming: Sequence[Piece] | None
) -> Steps[tuple[int, ...]]:
    """Bring a piece from every rank to every rank: N (N - 1) messages.

    Model: complete network of ranks, any number of ports.

    Parameters
    ----------
    group : Group
        Its call has begun.
    outgoing, incoming : sequence of Piece
        ``outgoing[t]`` goes to rank t, ``incoming[s]`` comes from rank s; each pair knows the lengths.

    Returns
    -------
    tuple of int
        The failed ranks of which some rank lacks a piece.

    Raises
    ------
    DeliveryError
        More ranks failed than are to be survived, or arguments were refused; at every rank that lives.
    """
    if outgoing is not None and incoming is not None:
        copy_here(incoming[group.rank], outgoing[group.rank])
    others = [rank for rank in group.agreement.members if rank != group.rank]
    pieces = {r: outgoing and outgoing[r] for r in others}
    return (yield from move(group, pieces, {r: incoming and incoming[r] for r in others}, Shape("alltoall")))


def scatter(group: Group, outgoing: Sequence[Piece] | None, mine: Piece | None, root: int) -> Steps[tuple[int, ...]]:
    """Bring a piece from the root to every rank: N - 1 messages, of any lengths.

    Model: complete network of ranks, any number of ports. ``outgoing`` is None but at the root. ``mine`` is None at the root
    when its piece stays where it is. Raises DeliveryError at every rank that lives when some rank lacks its piece.
    """
    shape, me = Shape("scatter", source=root), group.rank
    if root not in group.agreement.members:
        raise lost_with_root(shape)
    if me != root:
        return (yield from move(group, {}, {root: mine}, shape))
    if outgoing is not None and mine is not None:
        copy_here(mine, outgoing[me])
    pieces = {r: outgoing and outgoing[r] for r in group.agreement.members if r != me}
    return (yield from move(group, pieces, {}, shape))


def gather(group: Group, mine: Piece | None, incoming: Sequence[Piece] | None, root: int) -> Steps[tuple[int, ...]]:
    """Bring a piece from every rank to the root: N - 1 messages, of any lengths.

    Model: complete network of ranks, any number of ports. ``incoming`` is None but at the root. ``mine`` is None at the root
    when its piece is there already. Returns the failed ranks whose piece is missing, the root alone when it has failed.
    """
    shape, me = Shape("gather", target=root), group.rank
    if root not in group.agreement.members:
        return (root,)
    if me != root:
        return (yield from move(group, {root: mine}, {}, shape))
    if incoming is not None and mine is not None:
        copy_here(incoming[me], mine)
    places = {r: incoming and incoming[r] for r in group.agreement.members if r != me}
    return (yield from move(group, {}, places, shape))


def move(
    group: Group, pieces: Mapping[int, Piece | None], places: Mapping[int, Piece | None], shape: Shape
) -> Steps[tuple[int, ...]]:
    """Send pieces to ranks, receive from ranks into places, and settle."""
    yield from exchange(group, pieces, places)
    return (yield from group.settle(shape)) or ()
