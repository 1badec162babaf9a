"""Connections to ranks at first use, and the news that all hear where each rank has connections to few.

Who wants to send to a rank, or to hear from it, knocks there, proves who it is as at the start, and waits for a byte: so a
connection is there for both or for none. What its neighbours know of ends and goodbyes each rank hears from them: a fact is
told on by whoever hears it for the first time, with others that come soon after.
"""

import json
import socket
from collections.abc import Callable
from contextlib import suppress
from threading import Event, Thread
from time import monotonic, sleep

from treecast.running.groups.members import ranks_of
from treecast.running.groups.ways import ways_of
from treecast.running.transport.base import FrameError, FrameKind, Key
from treecast.running.transport.sockets import Sockets
from treecast.tcp.meeting import OPENS, Arrivals, Seat, connect
from treecast.tcp.proof import Trust, Who
from treecast.tcp.records import send_record

_TAKEN = b"+"
_NAP = 0.2  # seconds between two tries
_PACE = 1e-3  # seconds between two frames of news, at least, for each rank that there is
_FACTS = 64  # in a frame of news at most


class Reach:
    """The ranks of a ``table``, which this one reaches when it has to. ``arrivals``: who connects to it."""

    def __init__(self, table: list[Seat], own: Who, trust: Trust, arrivals: Arrivals) -> None:
        self._table, self._own, self._trust = {seat.rank: seat for seat in table}, own, trust
        self._begun, arrivals.take = Event(), self._take

    def begin(self, transport: Sockets) -> None:
        """Open connections for a transport, and take those that others open."""
        self._transport, transport.opens = transport, self._open
        self._begun.set()

    def _open(self, peer: int) -> None:
        Thread(target=self._knock, args=(peer,), name="treecast.open", daemon=True).start()

    def _knock(self, peer: int) -> None:
        """Knock until there is a connection, or none is wanted any more."""
        transport = self._transport
        # When both knock, one connection is refused. Then the other side's comes, and none is lacking any more.
        while transport.lacks(peer):
            with suppress(OSError):
                sock = connect(self._table[peer], self._own, self._trust, monotonic())  # one try: the loop tries again
                send_record(sock, OPENS)
                if self._is_taken(sock):  # "+": both sides have it now
                    with transport.lock:
                        transport.open(peer, sock)
                    return
                sock.close()
            sleep(_NAP)

    def _is_taken(self, sock: socket.socket) -> bool:
        """Wait for the word of the other side. It may be given late, and an end before it would be taken for a death."""
        sock.settimeout(1.0)
        while not self._transport.is_closed:
            with suppress(TimeoutError):
                return sock.recv(1) == _TAKEN
        return False

    def _take(self, sock: socket.socket, who: Who) -> None:
        """Take a connection that a rank has opened. Raises OSError where there is one."""
        self._begun.wait()  # before the transport is there nothing can be taken
        with self._transport.lock:
            seat = self._table.get(who.rank)
            # the process of the table, and not another in its seat
            if seat is None or seat.identity != who.identity.hex() or not self._transport.takes(who.rank):
                raise OSError("there is a connection, or will be")
            sock.sendall(_TAKEN)
            self._transport.open(who.rank, sock)


class Notices:
    """The facts that all ranks hear: who has ended, who makes no more calls in a group, and that the job is to end.

    ``byes``: who has left each group after each call, as bits. ``hear``: is told of goodbyes, and of that end.
    ``survive``: of the job.
    """

    def __init__(self, transport: Sockets, survive: int, hear: Callable[[int, Key, bytes], None]) -> None:
        self._transport, self._survive, self._told = transport, survive, hear
        self.byes, self._said = dict[tuple[int, int], int](), 0.0
        self._dead, self._fresh = 0, dict[tuple[int, int], int]()
        self._status: int | None = None
        transport.on(FrameKind.NEWS, self._hear)
        transport.beside = self.tell

    def note_end(self, rank: int) -> None:
        """Learn that a rank has ended."""
        self._dead |= 1 << rank
        self.tell()

    def note_byes(self, group: int, number: int, ranks: int) -> None:
        """Learn who has left a group after a call."""
        known = self.byes.get((group, number), 0)
        # Only what is new is told on, so news dies out.
        if fresh := ranks & ~known:
            self.byes[group, number] = known | ranks
            self._fresh[group, number] = self._fresh.get((group, number), 0) | fresh
            for rank in ranks_of(fresh & ~(1 << self._transport.rank)):  # this rank has said its own goodbye
                self._told(rank, Key(FrameKind.BYE, number, group=group), b"")

    def abort(self, status: int) -> None:
        """Have the job end, with a status."""
        self._status = status
        self._tell()

    def tell(self, at_once: bool = False) -> None:
        """Tell the neighbours what is new, unless they were told something a moment ago."""
        # A frame has few facts, and frames go at a pace: news of a thousand ranks must not crowd out their data.
        # at the end all of it
        while (self._dead or self._fresh) and (at_once or monotonic() - self._said >= _PACE * self._transport.size):
            self._tell()

    def _tell(self) -> None:
        transport, self._said = self._transport, monotonic()
        # what is over ``_FACTS`` goes in the next frame
        facts = [[*each, self._fresh.pop(each)] for each in list(self._fresh)[:_FACTS]]
        body, self._dead = json.dumps([self._status, self._dead, facts]).encode(), 0
        living = tuple(rank for rank in range(transport.size) if rank not in transport.lost)
        for near in ways_of(living, transport.size, self._survive).neighbours(transport.rank):
            transport.send(near, Key(FrameKind.NEWS), body)

    def _hear(self, source: int, key: Key, body: bytes) -> None:
        """Hear news. Raises FrameError for bytes that are none."""
        try:
            status, dead, facts = json.loads(body)
            status = None if status is None else int(status) & 0xFF
            facts = [(int(group), int(number), int(ranks)) for group, number, ranks in facts]
            sets = [int(dead), *(ranks for *_, ranks in facts)]
        except (ValueError, TypeError):
            raise FrameError("news that are none") from None
        if any(ranks >> self._transport.size for ranks in sets):  # a bit above the last rank
            raise FrameError("news of a rank that is none")
        for fact in facts:
            self.note_byes(*fact)
        for rank in set(ranks_of(int(dead))) - {self._transport.rank}:  # nobody buries itself
            self._transport.bury(rank)
        self.tell()
        if status is not None and self._status is None:  # once: then it is told on
            self.abort(status)
            self._told(source, Key(FrameKind.ABORT, status), b"")
