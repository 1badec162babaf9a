"""Data from one rank to one rank: alltoall, scatter and gather. It goes straight; past a cut link it takes two hops."""

from collections.abc import Mapping, Sequence
from typing import Any

from treecast.mpi.ways.call import Call, Piece
from treecast.mpi.ways.outcome import Shape, settle, verdict_of_deaths
from treecast.mpi.ways.posts import VOID, Posts
from treecast.mpi.ways.spread import exchange
from treecast.mpi.ways.views import State, ranks_of

_HEAD = 8  # bytes that tell a relay how long a piece is


def alltoall(call: Call, outgoing: Sequence[Piece] | None, incoming: Sequence[Piece] | None) -> tuple[int, ...]:
    """Bring a piece from every rank to every rank, straight.

    Model: complete network of ranks, any number of ports. A piece is held by its rank alone: when that dies before it is sent,
    it is gone. With a deadline and ``survive``, a piece goes past a cut link over another rank.

    Parameters
    ----------
    call : Call
        Has begun.
    outgoing : sequence of Piece
        Piece t is for rank t; both know how long it is.
    incoming : sequence of Piece
        Piece s is the one from rank s.

    Returns
    -------
    tuple of int
        The failed ranks of which some rank lacks a piece.

    Raises
    ------
    DeliveryError
        The piece of a living rank is missing; with ``survive`` at every living rank.
    """
    if incoming is not None and outgoing is not None:
        call.copy(incoming[call.rank], outgoing[call.rank])
    pieces = {r: outgoing and outgoing[r] for r in call.ahead}
    return _move(call, pieces, {r: incoming and incoming[r] for r in call.behind}, Shape("alltoall"))


def scatter(call: Call, outgoing: Sequence[Piece] | None, mine: Piece | None, root: int) -> tuple[int, ...]:
    """Bring a piece from the root to every rank, straight; lengths may differ.

    Model: as of alltoall.

    Parameters
    ----------
    call : Call
        Has begun.
    outgoing : sequence of Piece or None
        At the root: piece t is for rank t. Elsewhere None.
    mine : Piece or None
        Where this rank's piece goes; None at the root: it stays where it is.
    root : int
        The rank that sends.

    Returns
    -------
    tuple of int
        Always (): only the root has data.

    Raises
    ------
    DeliveryError
        Some rank lacks its piece; with ``survive`` at every living rank.
    """
    shape, me = Shape("scatter", source=root), call.rank
    if root in call.dead:
        return verdict_of_deaths(call, shape)
    if me != root:
        return _move(call, {}, {root: mine}, shape)
    if outgoing is not None and mine is not None:
        call.copy(mine, outgoing[me])
    return _move(call, {r: outgoing and outgoing[r] for r in call.ahead}, {}, shape)


def gather(call: Call, mine: Piece | None, incoming: Sequence[Piece] | None, root: int) -> tuple[int, ...]:
    """Bring a piece from every rank to the root, straight; lengths may differ.

    Model: as of alltoall.

    Parameters
    ----------
    call : Call
        Has begun.
    mine : Piece or None
        This rank's piece; None at the root: it is there already.
    incoming : sequence of Piece or None
        At the root: where the piece of rank s goes. Elsewhere None.
    root : int
        The rank that receives.

    Returns
    -------
    tuple of int
        The failed ranks whose piece is missing; the root alone when it has failed.

    Raises
    ------
    DeliveryError
        The piece of a living rank is missing; with ``survive`` at every living rank.
    """
    shape, me = Shape("gather", target=root), call.rank
    if root in call.dead:
        return verdict_of_deaths(call, shape)
    if me != root:
        return _move(call, {root: mine}, {}, shape)
    if incoming is not None and mine is not None:
        call.copy(incoming[me], mine)
    return _move(call, {}, {r: incoming and incoming[r] for r in call.behind}, shape)


def _move(call: Call, pieces: Mapping[int, Any], places: Mapping[int, Any], shape: Shape) -> tuple[int, ...]:
    """Send pieces to ranks, receive from ranks into places, and settle."""
    lacks = exchange(call, pieces, places)
    if not call.survive and not lacks:
        return ()
    return settle(call, lacks, shape, lambda states: go_round(call, states, lacks, (pieces, places)))


def go_round(
    call: Call, states: Mapping[int, State], lacks: set[int], ends: tuple[Mapping[int, Piece], Mapping[int, Piece]]
) -> bool:
    """Bring pieces past cut links: from their ranks to relays, and from there to where they belong.

    Relays learn first how long the pieces are. Returns whether there was any to bring; the same at all ranks.
    """
    me, (pieces, places) = call.rank, ends
    ways = list(enumerate(_two_hops(call, states)))
    posts, lengths = Posts(call), dict[int, bytearray]()
    for place, (source, relay, target) in ways:
        if me == relay:
            lengths[place] = bytearray(_HEAD)
            posts.receive(lengths[place], source, target, place)
        elif me == source:
            posts.send(len(pieces[target]).to_bytes(_HEAD, "little"), relay, target)
    told, posts, passing = posts.finish(), Posts(call), dict[int, Piece]()
    for place, (source, relay, target) in ways:
        if place in told:
            passing[place] = call.scratch(int.from_bytes(lengths[place], "little"))
            posts.receive(passing[place], source, target, place)
        elif me == source:
            posts.send(pieces[target], relay, target)
    held, posts = posts.finish(), Posts(call)
    for place, (source, relay, target) in ways:
        if me == target:
            posts.receive(places[source], relay, source)
        elif me == relay:
            posts.send(passing[place] if place in held else VOID, target, source)
    lacks -= posts.finish()
    return bool(ways)


def _two_hops(call: Call, states: Mapping[int, State]) -> list[tuple[int, int, int]]:
    """Return the source, relay and target of each piece that a cut link keeps back; the relays take turns."""
    ways = list[tuple[int, int, int]]()
    for target, state in states.items():
        for source in ranks_of(state.lacks):
            if source in states and call.is_cut(source, target):
                relays = [r for r in states if not call.is_cut(source, r) and not call.is_cut(r, target)]
                if relays := [r for r in relays if r not in (source, target)]:
                    ways.append((source, relays[len(ways) % len(relays)], target))
    return ways
