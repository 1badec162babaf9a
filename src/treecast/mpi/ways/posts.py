"""Messages under way: they are posted one after the other, and waited for together, past peers that die or fall silent."""

import os
import time
from typing import Any

from treecast.mpi.ways.call import Call, Piece

VOID = b""
_QUIET = 1e-3  # seconds of nothing after which a rank naps between looks
_NAP = 2e-4
_LAST_LOOKS = 20  # at requests that were cancelled
SENT = -1  # the key of what is sent, or dropped


class Posts:
    """The messages of the next stage of a call; ``finish`` waits for them, and returns what came whole.

    Every message tells ``about`` a rank, which is part of its tag. When nothing has moved for the deadline of the call, who is
    waited for counts as silent, and is added to ``call.suspects``; who is found dead, to ``call.fallen``. Each further stage
    waits a deadline longer than the one before: others may have spent that in it. ``begun``: the stage is not the next, but the
    one under way.
    """

    __slots__ = ("_byte", "_call", "_came", "_drained", "_landing", "_notes", "_patience", "_requests", "_tag")

    def __init__(self, call: Call, begun: bool = False) -> None:
        self._call, self._byte = call, call.mpi.BYTE
        self._tag = call.tag if begun else call.next_stage()
        self._patience = None if call.deadline is None else call.deadline * (1 + call.stage)
        self._requests: list[Any] = []
        self._notes: list[
            tuple[int, int, int]
        ] = []  # of each request: the peer, the key, the length of what is received
        self._drained: list[tuple[int, int]] = []  # source and tag of what has no place here
        self._landing: list[tuple[int, Piece, Piece]] = []  # what is copied to its place once it is there
        self._came: set[int] = set()

    def send(self, piece: Piece, to: int, about: int) -> None:
        """Begin to send; a rank whose arguments were refused sends a void."""
        call = self._call
        if call.refused:
            piece = VOID
        try:
            self._requests.append(call.comm.Isend([piece, len(piece), self._byte], to, self._tag + about))
            self._notes.append((to, SENT, 0))
        except call.mpi.Exception as error:
            note_failure(call, to, error.Get_error_class())

    def receive(self, piece: Piece, source: int, about: int, key: int | None = None) -> None:
        """Begin to receive what ``finish`` calls by its key, ``about`` by default.

        A rank whose arguments were refused has no place for it, and drops it.
        """
        call, tag, key = self._call, self._tag + about, about if key is None else key
        if call.refused:
            self._drained.append((source, tag))
            return
        length = len(piece)
        if self._patience is not None:  # what comes when nobody waits any more must not touch the buffer
            landing = call.scratch(length)
            self._landing.append((key, piece, landing))
            piece = landing
        try:
            self._requests.append(call.comm.Irecv([piece, length, self._byte], source, tag))
            self._notes.append((source, key, length))
        except call.mpi.Exception as error:
            note_failure(call, source, error.Get_error_class())

    def finish(self) -> set[int]:
        """Wait for all that was posted; return the keys of what came whole."""
        if self._patience is None and not self._drained:
            self._wait()
        else:
            self._watch()
        for key, piece, landing in self._landing:
            if key in self._came:
                self._call.copy(piece, landing)
        return self._came

    def _wait(self) -> None:
        """Wait inside MPI. A wait that a death ends tells which requests are over, and how; the others are waited for again."""
        mpi = self._call.mpi
        while self._requests:
            requests, notes, statuses = self._requests, self._notes, self._call.statuses(len(self._requests))
            self._requests, self._notes = [], []
            try:
                mpi.Request.Waitall(requests, statuses)
            except mpi.Exception:
                self.take_over(requests, notes, statuses)
                continue
            for (_, key, length), status in zip(notes, statuses, strict=True):
                if key != SENT and status.Get_count(self._byte) == length:
                    self._came.add(key)

    def take_over(
        self, requests: list[Any], notes: list[tuple[int, int, int]], statuses: list[Any], error: int = 0
    ) -> None:
        """Go on with requests after an error: of waiting for all of them or, where there are more notes, of posting the next."""
        if len(notes) > len(requests):
            note_failure(self._call, notes[len(requests)][0], error)
        for request, note, status in zip(requests, notes, statuses, strict=False):
            peer, key, length = note
            if request:
                self._requests.append(request)
                self._notes.append(note)
            elif status.Get_error():
                note_failure(self._call, peer, status.Get_error())
            elif key != SENT and status.Get_count(self._byte) == length:
                self._came.add(key)

    def _watch(self) -> None:
        """Look again and again, and give up whoever is silent for too long."""
        last = time.monotonic()
        while self._requests or self._drained:
            if self._look() or self._drain():
                last = time.monotonic()
                continue
            os.sched_yield()
            idle = time.monotonic() - last
            if idle > _QUIET:
                time.sleep(_NAP)
            if self._patience is not None and idle > self._patience:
                self._give_up()
                return

    def _look(self) -> bool:
        """Take the requests that are over; return whether there were any.

        Each is asked by itself: Open MPI's Testany does not notice that the rank has died which a pending request waits for.
        """
        mpi, status, moved = self._call.mpi, self._call.statuses(1)[0], False
        for place in reversed(range(len(self._requests))):
            error = 0
            try:
                if not self._requests[place].Test(status):
                    continue
            except mpi.Exception as exception:
                error = exception.Get_error_class()
            moved = True
            self._requests.pop(place)
            peer, key, length = self._notes.pop(place)
            if error:
                note_failure(self._call, peer, error)
            elif key != SENT and status.Get_count(mpi.BYTE) == length:
                self._came.add(key)
        return moved

    def _drain(self) -> bool:
        """Begin to drop what has come for a rank without a place for it: Open MPI writes past a buffer that is too short."""
        call, moved = self._call, False
        mpi, status = call.mpi, call.mpi.Status()
        for source, tag in self._drained.copy():
            try:
                message = call.comm.Improbe(source, tag, status)
            except mpi.Exception as error:
                note_failure(call, source, error.Get_error_class())
                self._drained.remove((source, tag))
                continue
            if message is not None:
                count = status.Get_count(mpi.BYTE)
                self._requests.append(message.Irecv([call.scratch(count), count, mpi.BYTE]))
                self._notes.append((source, SENT, 0))
                self._drained.remove((source, tag))
                moved = True
        return moved

    def _give_up(self) -> None:
        """Count all that are waited for as silent, and keep the memory of what never ends from being used again."""
        call = self._call
        requests = self._requests
        call.suspects.update(peer for peer, *_ in (*self._notes, *self._drained))
        for request, (_, key, _) in zip(requests, self._notes, strict=True):
            if key != SENT:
                self._try(request.Cancel)
        for _ in range(_LAST_LOOKS):
            requests = [request for request in requests if not self._try(request.Test)]
            if not requests:
                return
            time.sleep(_NAP)
        call.given_up.extend(requests)
        call.taken.clear()  # the requests keep it

    def _try(self, ask: Any) -> bool:
        """Return what a question to MPI answers; an error says that the request is over."""
        try:
            return bool(ask())
        except self._call.mpi.Exception:
            return True


def note_failure(call: Call, peer: int, error: int) -> None:
    """Note what an error of a message tells of the other rank: that it has failed, or that nothing gets through."""
    if error in (call.mpi.ERR_PROC_FAILED, call.mpi.ERR_PROC_FAILED_PENDING):
        call.fallen.add(peer)
    elif error != call.mpi.ERR_TRUNCATE:  # a socket that broke, say
        call.suspects.add(peer)
