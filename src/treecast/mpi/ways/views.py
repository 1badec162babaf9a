"""What all living ranks know alike at the end of a call: a state of each of them, the same set of states at every rank.

Without a deadline a failure is a death, and MPI tells of it: states go straight from rank to rank, and MPI's agreement (ULFM)
says whose state has come everywhere. With a deadline a rank may also be stopped, or a link cut, of which MPI knows nothing, and
its agreement would wait for ever. Then states are flooded: in f + 1 stages every rank passes on what it has heard. When at most
f ranks fail, some stage is free of new failures, so all who are heard know the same after it (Lynch, Distributed Algorithms,
1996, 6.2). Calls that a thread carries out beside the program's flood their states too.
"""

from collections.abc import Iterable
from itertools import product
from typing import Any, NamedTuple

from treecast.groups.members import bits_of, ranks_of
from treecast.mpi.ways.call import Call
from treecast.mpi.ways.posts import Posts

_BITS = 31  # that one agreement carries


class State(NamedTuple):
    """What a rank says of itself: the ranks whose data it lacks, and those that it found dead or silent, as sets of bits."""

    lacks: int = 0
    fallen: int = 0
    suspects: int = 0
    refused: bool = False


def agree(call: Call, flag: int) -> int:
    """Return the bits that all living ranks have set; deaths that come to light meanwhile are acknowledged.

    Raises mpi4py's exception when MPI fails otherwise.
    """
    while True:
        try:
            return int(call.comm.Agree(flag))
        except call.mpi.Exception as error:
            if error.Get_error_class() != call.mpi.ERR_PROC_FAILED:
                raise
            call.comm.Ack_failed()


def see_all(call: Call, lacks: Iterable[int]) -> dict[int, State]:
    """Return the states of the ranks that take part still, the same ones at each of them; all living ranks call this together.

    Who is not among them is dead or cut off, and ``call.dead`` and ``call.cuts`` say so afterwards; a rank that the others go on
    without finds that in ``call.cut_off``.
    """
    own = State(bits_of(lacks), bits_of(call.fallen), bits_of(call.suspects), bool(call.refused))
    refused, call.refused = call.refused, ""  # this is no data: it is sent and received all the same
    found = _flooded(call, own) if call.floods else _exchanged(call, own)
    call.refused = refused
    call.cut_off |= call.rank not in found
    _note_absent(call, found)
    return found


def _note_absent(call: Call, found: dict[int, State]) -> None:
    """Learn from the states who is dead, and who does not hear whom: the same at all ranks that have the same states."""
    fallen = 0
    for state in found.values():
        fallen |= state.fallen
    absent = set(range(call.size)) - set(found)
    call.dead |= absent & set(ranks_of(fallen)) if call.floods else absent
    for rank, state in found.items():
        for other in {*ranks_of(state.suspects), *absent} - call.dead:
            call.cuts.add((min(rank, other), max(rank, other)))
    call.fallen |= call.dead


def _exchanged(call: Call, own: State) -> dict[int, State]:
    width = _width(call.size)
    posts, states = Posts(call), {call.rank: _packed(own, width)}
    others = [rank for rank in range(call.size) if rank != call.rank and rank not in call.dead]
    for other in others:
        states[other] = bytearray(_length(width))
        posts.receive(states[other], other, other)
    for other in others:
        posts.send(states[call.rank], other, call.rank)
    heard = bits_of([call.rank, *posts.finish()])
    everywhere = 0
    for low in range(0, call.size, _BITS):
        everywhere |= agree(call, heard >> low & (1 << _BITS) - 1) << low
    return {rank: _unpacked(states[rank], width) for rank in ranks_of(everywhere)}


def _flooded(call: Call, own: State) -> dict[int, State]:
    size, width = call.size, _width(call.size)
    room = 1 + _length(width)  # a state, behind a byte that says whether it is known
    known = {call.rank: _packed(own, width)}
    near = {r for r in range(size) if r != call.rank and not call.is_cut(call.rank, r)}
    hears = set[int]()  # who has heard this rank, and is heard
    for _ in range(call.survive + 1):
        posts = Posts(call)
        others = sorted(near - call.fallen - call.suspects)
        said = bytearray(room * size)
        for rank, state in known.items():
            said[rank * room : (rank + 1) * room] = b"\1" + state
        heard = {other: bytearray(room * size) for other in others}
        for other in others:
            posts.receive(heard[other], other, other)
        for other in others:
            posts.send(said, other, call.rank)
        came = posts.finish()
        hears = {other for other in came if heard[other][call.rank * room]}
        for other, rank in product(came, range(size)):
            if heard[other][rank * room]:
                known.setdefault(rank, heard[other][rank * room + 1 : (rank + 1) * room])
    if len(near - hears - call.fallen) > call.survive:
        call.cut_off = True
    return {rank: _unpacked(state, width) for rank, state in sorted(known.items())}


def _width(size: int) -> int:
    return (size + 7) // 8


def _length(width: int) -> int:
    return 1 + 3 * width


def _packed(state: State, width: int) -> bytearray:
    sets = (state.lacks, state.fallen, state.suspects)
    return bytearray([state.refused]) + b"".join(bits.to_bytes(width, "little") for bits in sets)


def _unpacked(packed: Any, width: int) -> State:
    lacks, fallen, suspects = (int.from_bytes(packed[1 + k * width : 1 + (k + 1) * width], "little") for k in range(3))
    return State(lacks, fallen, suspects, bool(packed[0]))
