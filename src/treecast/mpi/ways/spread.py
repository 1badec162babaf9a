"""Data that all ranks want: broadcast and allgather. It goes straight; what a failure keeps back is fetched from who has it."""

from collections.abc import Mapping, Sequence

from treecast.mpi.ways.call import Call, Piece
from treecast.mpi.ways.outcome import Shape, settle, verdict_of_deaths
from treecast.mpi.ways.posts import Posts
from treecast.mpi.ways.views import State, ranks_of


def broadcast(call: Call, data: Piece, root: int) -> tuple[int, ...]:
    """Bring the bytes of the root to all ranks, straight from it.

    Model: complete network of ranks, any number of ports. With ``survive``, who lacks the data when the root has failed gets
    it from ranks that have it.

    Parameters
    ----------
    call : Call
        Has begun.
    data : Piece
        What the root sends, and the others fill; of one length on all ranks.
    root : int
        The rank that sends.

    Returns
    -------
    tuple of int
        Always (): only the root has data.

    Raises
    ------
    DeliveryError
        The data is missing somewhere; with ``survive`` at every living rank.
    """
    shape, me = Shape("broadcast", source=root), call.rank
    lacks: set[int] = set()
    if root in call.dead:
        return verdict_of_deaths(call, shape)
    posts = Posts(call)
    if me == root:
        for other in _around(call):
            posts.send(data, other, root)
        posts.finish()
    else:
        if not call.is_cut(me, root):
            posts.receive(data, root, root)
        lacks |= {root} - posts.finish()
    return settle(call, lacks, shape, lambda states: hand_on(call, states, lacks, {root: data}))


def allgather(call: Call, mine: Piece | None, blocks: Sequence[Piece] | None) -> tuple[int, ...]:
    """Bring the block of every rank to all ranks, straight from rank to rank.

    Model: complete network of ranks, any number of ports. With ``survive``, who lacks the block of a rank that has failed gets it
    from ranks that have it.

    Parameters
    ----------
    call : Call
        Has begun.
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
        The block of a living rank is missing somewhere; with ``survive`` at every living rank.
    """
    me, posts, around = call.rank, Posts(call), _around(call)
    blocks = [b""] * call.size if blocks is None else blocks
    if mine is not None and not call.refused:
        call.copy(blocks[me], mine)
    for other in around:
        posts.receive(blocks[other], other, other)
    for other in around:
        posts.send(blocks[me], other, me)
    lacks = set(range(call.size)) - {me} - posts.finish()
    held = dict(enumerate(blocks))
    return settle(call, lacks, Shape("allgather"), lambda states: hand_on(call, states, lacks, held))


def hand_on(call: Call, states: Mapping[int, State], lacks: set[int], held: Mapping[int, Piece]) -> bool:
    """Bring to every rank what it lacks from ranks that have it, as the states say who does.

    ``held[s]``: where the data of rank s is, or goes to. What comes is taken from ``lacks``. Returns whether there was any to
    bring; all ranks find the same answer, since they have the same states.
    """
    me, posts, moves = call.rank, Posts(call), _moves(call, states, held)
    for giver, taker, source in moves:
        if taker == me:
            posts.receive(held[source], giver, source)
    for giver, taker, source in moves:
        if giver == me:
            posts.send(held[source], taker, source)
    lacks -= posts.finish()
    return bool(moves)


def _moves(call: Call, states: Mapping[int, State], held: Mapping[int, Piece]) -> list[tuple[int, int, int]]:
    """Return who gives whom the data of which rank; the givers take turns."""
    poor = {rank: set(ranks_of(state.lacks)) for rank, state in states.items()}
    moves = list[tuple[int, int, int]]()
    for source in held:
        givers = [rank for rank in states if source not in poor[rank]]
        takers = [rank for rank in states if source in poor[rank]]
        for turn, taker in enumerate(takers):
            near = [giver for giver in givers if not call.is_cut(giver, taker)]
            if near:
                moves.append((near[turn % len(near)], taker, source))
    return moves


def _around(call: Call) -> list[int]:
    """Return the other ranks that this one hears, beginning with the next."""
    me, size = call.rank, call.size
    others = [(me + k) % size for k in range(1, size)]
    if not call.dead and not call.cuts:
        return others
    return [other for other in others if not call.is_cut(me, other)]
