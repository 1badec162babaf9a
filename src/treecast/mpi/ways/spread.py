"""Data that all ranks want: broadcast and allgather. It goes straight; what a failure keeps back is fetched from who has it."""

from collections.abc import Mapping, Sequence

from treecast.mpi.ways.call import Call, Piece
from treecast.mpi.ways.outcome import Shape, settle, verdict_of_deaths
from treecast.mpi.ways.posts import VOID, Posts
from treecast.mpi.ways.quick import is_quick, receive_from, send_to_all, swap
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
    me = call.rank
    lacks: set[int] = set()
    if is_quick(call):
        if me == root:
            send_to_all(call, data, root)
        elif not receive_from(call, data, root):
            lacks.add(root)
    elif root in call.dead:
        return verdict_of_deaths(call, Shape("broadcast", source=root))
    else:
        posts = Posts(call)
        for other in call.ahead if me == root else ():
            if not call.is_cut(me, other):
                posts.send(data, other, root)
        if me != root and not call.is_cut(me, root):
            posts.receive(data, root, root)
        lacks = {root} - {me} - posts.finish()
    if not call.survive and not lacks:
        return ()
    return settle(
        call, lacks, Shape("broadcast", source=root), lambda states: hand_on(call, states, lacks, {root: data})
    )


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
    me = call.rank
    if blocks is None:
        blocks = [VOID] * call.size
    elif mine is not None:
        call.copy(blocks[me], mine)
    own, held = blocks[me], blocks
    lacks = exchange(call, dict.fromkeys(call.ahead, own), {other: held[other] for other in call.behind})
    if not call.survive and not lacks:
        return ()
    return settle(call, lacks, Shape("allgather"), lambda states: hand_on(call, states, lacks, dict(enumerate(held))))


def exchange(call: Call, pieces: Mapping[int, Piece], places: Mapping[int, Piece]) -> set[int]:
    """Send pieces to ranks and receive from ranks into places, straight; return the ranks whose piece has not come.

    The order is that of the pieces and places.
    """
    if is_quick(call):
        return swap(call, pieces, places)
    me, posts = call.rank, Posts(call)
    for source, place in places.items():
        if not call.is_cut(me, source):
            posts.receive(place, source, source)
    for target, piece in pieces.items():
        if not call.is_cut(me, target):
            posts.send(piece, target, me)
    return set(places) - posts.finish()


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
