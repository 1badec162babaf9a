"""Data from one rank to one rank: alltoall, scatter and gather, straight. Nobody else has it, so a full stage ends each call."""

from treecast.running.algorithms.little import Pieces, copy_here, little, of_alltoall, of_gather, of_scatter
from treecast.running.algorithms.spread import Missing, Places, bring, exchange
from treecast.running.groups.group import Group
from treecast.running.groups.shape import Shape, lost_with_root
from treecast.running.transport.base import Piece


@little(of_alltoall)
def alltoall(group: Group, outgoing: Pieces, incoming: Pieces, equal: bool = False) -> Missing:
    """Bring a piece from every rank to every rank: N (N - 1) messages.

    ``outgoing[t]`` goes to rank t, ``incoming[s]`` comes from rank s; each pair knows the lengths. ``equal``: all pieces have one
    length; then little data goes to all ranks, so that nobody waits for the end of the call. Returns the failed ranks of which
    some rank lacks a piece. Raises as ``allgather``.
    """
    failed = yield from bring(group, of_alltoall(group.rank, group.size, outgoing, incoming, equal), Shape("alltoall"))
    if failed is not None:
        return failed
    copy_here(incoming[group.rank], outgoing[group.rank])
    pieces, places = ({rank: blocks[rank] for rank in group.peers} for blocks in (outgoing, incoming))
    return (yield from _move(group, pieces, places, Shape("alltoall")))


@little(of_scatter)
def scatter(group: Group, outgoing: Pieces | None, mine: Piece | None, root: int, equal: bool = False) -> Missing:
    """Bring a piece from the root to every rank: N - 1 messages, of any lengths.

    ``outgoing`` is None but at the root. ``mine`` is None at the root when its piece stays where it is. Raises DeliveryError at
    every rank that lives when some rank lacks its piece.
    """
    shape, me = Shape("scatter", source=root), group.rank
    if root not in group.agreement.members:
        raise lost_with_root(shape, group.made)
    failed = yield from bring(group, of_scatter(me, group.size, outgoing, mine, root, equal), shape)
    if failed is not None:
        return failed
    if outgoing is None:
        return (yield from _move(group, {}, {root: mine}, shape))
    if mine is not None:
        copy_here(mine, outgoing[me])
    return (yield from _move(group, {rank: outgoing[rank] for rank in group.peers}, {}, shape))


@little(of_gather)
def gather(group: Group, mine: Piece | None, incoming: Pieces | None, root: int, equal: bool = False) -> Missing:
    """Bring a piece from every rank to the root: N - 1 messages, of any lengths.

    ``incoming`` is None but at the root. ``mine`` is None at the root when its piece is there already. Returns the failed ranks
    whose piece is missing, the root alone when it has failed.
    """
    shape, me = Shape("gather", target=root), group.rank
    if root not in group.agreement.members:
        return (root,)
    failed = yield from bring(group, of_gather(me, group.size, mine, incoming, root, equal), shape)
    if failed is not None:
        return failed
    if incoming is not None and mine is not None:
        copy_here(incoming[me], mine)
    own: Piece = mine if incoming is None else incoming[me]
    if incoming is None:
        return (yield from _move(group, {root: own}, {}, shape))
    return (yield from _move(group, {}, {rank: incoming[rank] for rank in group.peers}, shape))


def _move(group: Group, pieces: Places, places: Places, shape: Shape) -> Missing:
    """Send pieces to ranks, receive from ranks into places, and settle."""
    yield from exchange(group, pieces, places)
    return (yield from group.settle(shape)) or ()
