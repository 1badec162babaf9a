"""The same messages in as few lines of Python as go: what a call does while nobody has failed.

Ranks that share cores wait for each other's Python, so it counts several times. At the first error the messages that were posted
are handed over to ``Posts``, which goes on from there.
"""

from collections.abc import Mapping
from typing import Any

from treecast.mpi.ways.call import Call, Piece
from treecast.mpi.ways.posts import SENT, Posts, note_failure


def is_quick(call: Call) -> bool:
    """Return whether a call can begin so: nobody is known to have failed, there is no deadline, and the arguments are right."""
    return call.deadline is None and not call.dead and not call.cuts and not call.refused


def send_to_all(call: Call, piece: Piece, about: int) -> None:
    """Send a piece to all other ranks, and wait until that is done, or they have failed."""
    tag, isend, what = call.next_stage() + about, call.comm.Isend, [piece, len(piece), call.mpi.BYTE]
    requests: list[Any] = []
    statuses = call.statuses(len(call.ahead))
    try:
        for other in call.ahead:
            requests.append(isend(what, other, tag))
        call.mpi.Request.Waitall(requests, statuses)
    except call.mpi.Exception as error:
        posts = Posts(call, begun=True)
        posts.take_over(requests, [(other, SENT, 0) for other in call.ahead], statuses, error.Get_error_class())
        for other in call.ahead[len(requests) + 1 :]:
            posts.send(piece, other, about)
        posts.finish()


def receive_from(call: Call, piece: Piece, source: int) -> bool:
    """Receive a piece about its source; return whether it has come whole."""
    status, byte, tag = call.statuses(1)[0], call.mpi.BYTE, call.next_stage() + source
    try:
        call.comm.Recv([piece, len(piece), byte], source, tag, status)
    except call.mpi.Exception as error:
        note_failure(call, source, error.Get_error_class())
        return False
    return bool(status.Get_count(byte) == len(piece))


def swap(call: Call, pieces: Mapping[int, Piece], places: Mapping[int, Piece]) -> set[int]:
    """Send pieces to ranks, receive from ranks into places; return the ranks whose piece has not come whole."""
    tag, comm, byte = call.next_stage(), call.comm, call.mpi.BYTE
    irecv, isend, about = comm.Irecv, comm.Isend, tag + call.rank
    requests: list[Any] = []
    statuses = call.statuses(len(places) + len(pieces))
    try:
        for source, place in places.items():
            requests.append(irecv([place, len(place), byte], source, tag + source))
        for target, piece in pieces.items():
            requests.append(isend([piece, len(piece), byte], target, about))
        call.mpi.Request.Waitall(requests, statuses)
    except call.mpi.Exception as error:
        posts = Posts(call, begun=True)
        notes = [(r, r, len(place)) for r, place in places.items()] + [(r, SENT, 0) for r in pieces]
        posts.take_over(requests, notes, statuses, error.Get_error_class())
        for peer, key, _ in notes[len(requests) + 1 :]:
            if key == SENT:
                posts.send(pieces[peer], peer, call.rank)
            else:
                posts.receive(places[peer], peer, peer)
        return set(places) - posts.finish()
    both = zip(places.items(), statuses, strict=False)
    return {source for (source, place), status in both if status.Get_count(byte) != len(place)}
