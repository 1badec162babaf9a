"""Messages under way: they are posted one after the other, and waited for together, past peers that die or fall silent."""

import os
import time
from typing import Any

from treecast.mpi.ways.call import Call, Piece

VOID = b""
_QUIET = 1e-3  # seconds of nothing after which a rank naps between looks
_NAP = 2e-4
_LAST_LOOKS = 20  # at requests that were cancelled
_SENT = -1  # the key of what is sent, or dropped


class Posts:
    """The messages of the next stage of a call; ``finish`` waits for them, and returns what came whole.

    Every message tells ``about`` a rank, which is part of its tag. When nothing has moved for the deadline of the call, who is
    waited for counts as silent, and is added to ``call.suspects``; who is found dead, to ``call.fallen``. Each further stage
    waits a deadline longer than the one before: others may have spent that in it.
    """

    __slots__ = ("_call", "_came", "_drained", "_landing", "_patience", "_tag", "_waiting")

    def __init__(self, call: Call) -> None:
        self._call, self._tag = call, call.next_stage()
        self._patience = None if call.deadline is None else call.deadline * (1 + call.stage)
        self._waiting: tuple[list[Any], list[int], list[int], list[int]] = (
            [],
            [],
            [],
            [],
        )  # requests, peers, keys, lengths
        self._drained: list[tuple[int, int]] = []  # source and tag of what has no place here
        self._landing: list[tuple[int, Piece, Piece]] = []  # what is copied to its place once it is there
        self._came = set[int]()

    def send(self, piece: Piece, to: int, about: int) -> None:
        """Begin to send; a rank whose arguments were refused sends a void."""
        call = self._call
        if call.refused:
            piece = VOID
        try:
            request = call.comm.Isend([piece, len(piece), call.mpi.BYTE], to, self._tag + about)
        except call.mpi.Exception as error:
            self._note(to, error.Get_error_class())
            return
        self._wait_for(request, to, _SENT, 0)

    def receive(self, piece: Piece, source: int, about: int, key: int | None = None) -> None:
        """Begin to receive what ``finish`` calls by its key, ``about`` by default.

        A rank whose arguments were refused has no place for it, and drops it.
        """
        call, tag, key = self._call, self._tag + about, about if key is None else key
        if call.refused:
            self._drained.append((source, tag))
            return
        if self._patience is not None:  # what comes when nobody waits any more must not touch the buffer
            landing = call.scratch(len(piece))
            self._landing.append((key, piece, landing))
            piece = landing
        try:
            request = call.comm.Irecv([piece, len(piece), call.mpi.BYTE], source, tag)
        except call.mpi.Exception as error:
            self._note(source, error.Get_error_class())
            return
        self._wait_for(request, source, key, len(piece))

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

    def _wait_for(self, request: Any, peer: int, key: int, length: int) -> None:
        for column, value in zip(self._waiting, (request, peer, key, length), strict=True):
            column.append(value)

    def _wait(self) -> None:
        """Wait inside MPI. A wait that a death ends tells which requests are over, and how; the others are waited for again."""
        mpi = self._call.mpi
        while self._waiting[0]:
            requests, peers, keys, lengths = self._waiting
            statuses = self._call.statuses(len(requests))
            failed = False
            try:
                mpi.Request.Waitall(requests, statuses)
            except mpi.Exception:
                failed = True
            self._waiting = [], [], [], []
            for request, peer, key, length, status in zip(requests, peers, keys, lengths, statuses, strict=True):
                if failed and request:
                    self._wait_for(request, peer, key, length)
                elif failed and status.Get_error():
                    self._note(peer, status.Get_error())
                elif key != _SENT and status.Get_count(mpi.BYTE) == length:
                    self._came.add(key)

    def _watch(self) -> None:
        """Look again and again, and give up whoever is silent for too long."""
        last = time.monotonic()
        while self._waiting[0] or self._drained:
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
        """Take one request that is over; return whether there was one."""
        requests = self._waiting[0]
        if not requests:
            return False
        mpi, status, error = self._call.mpi, self._call.statuses(1)[0], 0
        try:
            place, over = mpi.Request.Testany(requests, status)
        except mpi.Exception as exception:  # nothing tells which one it was, but that it has become null
            error = exception.Get_error_class()
            place, over = next((p for p, request in enumerate(requests) if not request), -1), True
        if not over or not 0 <= place < len(requests):
            return False
        _, peer, key, length = (column.pop(place) for column in self._waiting)
        if error:
            self._note(peer, error)
        elif key != _SENT and status.Get_count(mpi.BYTE) == length:
            self._came.add(key)
        return True

    def _drain(self) -> bool:
        """Begin to drop what has come for a rank without a place for it: Open MPI writes past a buffer that is too short."""
        call, moved = self._call, False
        mpi, status = call.mpi, call.mpi.Status()
        for source, tag in self._drained.copy():
            try:
                message = call.comm.Improbe(source, tag, status)
            except mpi.Exception as error:
                self._note(source, error.Get_error_class())
                self._drained.remove((source, tag))
                continue
            if message is not None:
                count = status.Get_count(mpi.BYTE)
                self._wait_for(message.Irecv([call.scratch(count), count, mpi.BYTE]), source, _SENT, 0)
                self._drained.remove((source, tag))
                moved = True
        return moved

    def _note(self, peer: int, error: int) -> None:
        mpi = self._call.mpi
        if error in (mpi.ERR_PROC_FAILED, mpi.ERR_PROC_FAILED_PENDING):
            self._call.fallen.add(peer)
        elif error != mpi.ERR_TRUNCATE:  # a socket that broke, say
            self._call.suspects.add(peer)

    def _give_up(self) -> None:
        """Count all that are waited for as silent, and keep the memory of what never ends from being used again."""
        call = self._call
        requests, peers, keys, _ = self._waiting
        call.suspects.update(peers, (source for source, _ in self._drained))
        for request, key in zip(requests, keys, strict=True):
            if key != _SENT:
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
