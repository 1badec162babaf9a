"""Data from one rank to one rank: alltoall, scatter and gather, straight. Nobody else has it, so a full stage ends each call."""

from treecast.algorithms.spread import Missing, Pieces, Places, broadcast, collect, copy_here, exchange, goes_to_all
from treecast.groups.group import Group
from treecast.groups.shape import Shape, lost_with_root
from treecast.transport.base import Piece


def alltoall(group: Group, outgoing: Pieces, incoming: Pieces, equal: bool = False) -> Missing:
    """Bring a piece from every rank to every rank: N (N - 1) messages.

    ``outgoing[t]`` goes to rank t, ``incoming[s]`` comes from rank s; each pair knows the lengths. ``equal``: all pieces have one
    length; then little data goes to all ranks, so that nobody waits for the end of the call. Returns the failed ranks of which
    some rank lacks a piece. Raises as ``allgather``.
    """
    copy_here(incoming[group.rank], outgoing[group.rank])
    if equal and goes_to_all(group, len(outgoing[0]) * group.size**2):
        return (yield from _alltoall_together(group, outgoing, incoming))
    pieces, places = ({rank: blocks[rank] for rank in group.peers} for blocks in (outgoing, incoming))
    return (yield from _move(group, pieces, places, Shape("alltoall")))


def _alltoall_together(group: Group, outgoing: Pieces, incoming: Pieces) -> Missing:
    me, length = group.rank, len(outgoing[0])
    rows = {rank: group.memory.take(length * group.size) for rank in range(group.size)}
    rows[me][:] = b"".join(outgoing)
    failed = yield from collect(group, rows, Shape("alltoall"))
    for rank, row in rows.items():
        if rank not in failed:
            copy_here(incoming[rank], row[me * length : (me + 1) * length])
    return failed


def scatter(group: Group, outgoing: Pieces | None, mine: Piece | None, root: int, equal: bool = False) -> Missing:
    """Bring a piece from the root to every rank: N - 1 messages, of any lengths.

    ``outgoing`` is None but at the root. ``mine`` is None at the root when its piece stays where it is. Raises DeliveryError at
    every rank that lives when some rank lacks its piece.
    """
    shape, me = Shape("scatter", source=root), group.rank
    if root not in group.agreement.members:
        raise lost_with_root(shape)
    own: Piece = mine if outgoing is None else outgoing[me]
    length = len(own)
    if equal and goes_to_all(group, length * group.size):
        whole = group.memory.take(length * group.size)
        if outgoing is not None:
            whole[:] = b"".join(outgoing)
        failed = yield from broadcast(group, whole, root, shape.name)
        if mine is not None:
            copy_here(mine, whole[me * length : (me + 1) * length])
        return failed
    if outgoing is None:
        return (yield from _move(group, {}, {root: mine}, shape))
    if mine is not None:
        copy_here(mine, outgoing[me])
    return (yield from _move(group, {rank: outgoing[rank] for rank in group.peers}, {}, shape))


def gather(group: Group, mine: Piece | None, incoming: Pieces | None, root: int, equal: bool = False) -> Missing:
    """Bring a piece from every rank to the root: N - 1 messages, of any lengths.

    ``incoming`` is None but at the root. ``mine`` is None at the root when its piece is there already. Returns the failed ranks
    whose piece is missing, the root alone when it has failed.
    """
    shape, me = Shape("gather", target=root), group.rank
    if root not in group.agreement.members:
        return (root,)
    if incoming is not None and mine is not None:
        copy_here(incoming[me], mine)
    own: Piece = mine if incoming is None else incoming[me]
    if equal and goes_to_all(group, len(own) * group.size):
        every = range(group.size)
        blocks = dict(enumerate(incoming or [own if rank == me else group.memory.take(len(own)) for rank in every]))
        return (yield from collect(group, blocks, shape))
    if incoming is None:
        return (yield from _move(group, {root: own}, {}, shape))
    return (yield from _move(group, {}, {rank: incoming[rank] for rank in group.peers}, shape))


def _move(group: Group, pieces: Places, places: Places, shape: Shape) -> Missing:
    """Send pieces to ranks, receive from ranks into places, and settle."""
    yield from exchange(group, pieces, places)
    return (yield from group.settle(shape)) or ()
