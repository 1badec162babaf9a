"""Data from one rank to one rank: alltoall, scatter and gather, straight. Nobody else has it, so a full stage ends each call."""

from collections.abc import Sequence

from treecast.algorithms.spread import Missing, Pieces, Places, broadcast, collect, copy_here, exchange
from treecast.groups.group import Group
from treecast.groups.shape import Shape, lost_with_root
from treecast.transport.base import Piece


def alltoall(group: Group, outgoing: Pieces, incoming: Pieces, equal: bool = False) -> Missing:
    """Bring a piece from every rank to every rank: N (N - 1) messages.

    ``outgoing[t]`` goes to rank t, ``incoming[s]`` comes from rank s; each pair knows the lengths. ``equal``: all pieces have one
    length; then little data goes to all ranks, so that nobody waits for the end of the call. Returns the failed ranks of which
    some rank lacks a piece. Raises as ``allgather``.
    """
    if outgoing is not None and incoming is not None:
        copy_here(incoming[group.rank], outgoing[group.rank])
        if equal and group.goes_together(len(outgoing[0]) * group.size**2):
            return (yield from _alltoall_together(group, outgoing, incoming))
    others = [rank for rank in group.agreement.members if rank != group.rank]
    pieces = {r: outgoing and outgoing[r] for r in others}
    return (yield from move(group, pieces, {r: incoming and incoming[r] for r in others}, Shape("alltoall")))


def _alltoall_together(group: Group, outgoing: Sequence[Piece], incoming: Sequence[Piece]) -> Missing:
    me, length = group.rank, len(outgoing[0])
    rows = {rank: group.memory.take(length * group.size) for rank in range(group.size)}
    rows[me][:] = b"".join(outgoing)
    yield from collect(group, rows)
    failed = (yield from group.settle(Shape("alltoall", spread=True))) or ()
    for rank, row in rows.items():
        if rank not in failed and not group.refused:
            copy_here(incoming[rank], row[me * length : (me + 1) * length])
    return failed


def scatter(group: Group, outgoing: Pieces, mine: Piece | None, root: int, equal: bool = False) -> Missing:
    """Bring a piece from the root to every rank: N - 1 messages, of any lengths.

    ``outgoing`` is None but at the root. ``mine`` is None at the root
    when its piece stays where it is. Raises DeliveryError at every rank that lives when some rank lacks its piece.
    """
    shape, me = Shape("scatter", source=root), group.rank
    if root not in group.agreement.members:
        raise lost_with_root(shape)
    length = len(outgoing[me]) if outgoing is not None else 0 if mine is None else len(mine)
    if equal and (outgoing is not None or mine is not None) and group.goes_together(length * group.size):
        whole = group.memory.take(length * group.size)
        if outgoing is not None:
            whole[:] = b"".join(outgoing)
        failed = yield from broadcast(group, whole, root, shape.name)
        if mine is not None:
            copy_here(mine, whole[me * length : (me + 1) * length])
        return failed
    if me != root:
        return (yield from move(group, {}, {root: mine}, shape))
    if outgoing is not None and mine is not None:
        copy_here(mine, outgoing[me])
    pieces = {r: outgoing and outgoing[r] for r in group.agreement.members if r != me}
    return (yield from move(group, pieces, {}, shape))


def gather(group: Group, mine: Piece | None, incoming: Pieces, root: int, equal: bool = False) -> Missing:
    """Bring a piece from every rank to the root: N - 1 messages, of any lengths.

    ``incoming`` is None but at the root. ``mine`` is None at the root
    when its piece is there already. Returns the failed ranks whose piece is missing, the root alone when it has failed.
    """
    shape, me = Shape("gather", target=root), group.rank
    if root not in group.agreement.members:
        return (root,)
    own = incoming[me] if mine is None and incoming is not None else mine
    if equal and own is not None and group.goes_together(len(own) * group.size):
        blocks = {
            rank: group.memory.take(len(own)) if incoming is None else incoming[rank] for rank in range(group.size)
        }
        copy_here(blocks[me], own)
        yield from collect(group, blocks)
        return (yield from group.settle(shape._replace(spread=True))) or ()
    if me != root:
        return (yield from move(group, {root: mine}, {}, shape))
    if incoming is not None and mine is not None:
        copy_here(incoming[me], mine)
    places = {r: incoming and incoming[r] for r in group.agreement.members if r != me}
    return (yield from move(group, {}, places, shape))


def move(group: Group, pieces: Places, places: Places, shape: Shape) -> Missing:
    """Send pieces to ranks, receive from ranks into places, and settle."""
    yield from exchange(group, pieces, places)
    return (yield from group.settle(shape)) or ()
