"""The transport over TCP: non-blocking sockets, one a pair of ranks, moved in the thread of the caller.

A call holds ``lock``, but not while it sleeps: so several threads may have calls under way. One of those that wait moves the
bytes of all. A side thread does when nobody waits, to answer ranks that are behind and to say that this one is alive. The end
of a connection proves a death; after ``deadline`` seconds without a frame a rank is silent.
"""

import os
import selectors
import socket
import ssl
import weakref
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from threading import Condition, Event, Lock
from time import monotonic
from typing import Any

from treecast.errors import PlanError
from treecast.running.transport.base import FrameError, FrameKind, Key, Piece, Ticket, Transport, Until
from treecast.running.transport.wire import ROOM, Wire

_TURN = 1e-3  # seconds that a thread lets another move bytes, at least
_NAP = 1.0  # seconds that a wait without a deadline lasts at most
_OPEN: "weakref.WeakSet[Sockets]" = weakref.WeakSet()


class Sockets(Transport):
    """The connections of one rank, of ``size``, to all others; see ``Transport`` for its verbs.

    ``socks``: the connection to each other rank, on which both sides have proved who they are; they are the transport's from
    now on. ``trust_ends``: whether the end of a connection proves a death; not where somebody else may end connections. ``cma``:
    whether ranks of this host read long messages from one another's memory, where the kernel lets them. ``selector``: tells which
    connections are ready, where these are streams over links. ``opens``: begins to open a connection to a rank to which there
    is none, which ``open`` takes; None where each rank has all from the start.
    """

    def __init__(
        self,
        rank: int,
        size: int,
        socks: Mapping[int, Any],
        deadline: float | None = None,
        *,
        trust_ends: bool = True,
        cma: bool = False,
        selector: Any = None,
    ) -> None:
        super().__init__(rank, size, deadline)
        self.trust_ends, self._cma = trust_ends, cma
        self._over_links = selector is not None
        self.name = ("links" if self._over_links else "TCP") + " and shared memory" * cma
        # The streams move when their links do. With one lock for both no thread can hold one and wait for the other.
        if self._over_links:
            self.lock, self.heard = selector.direct.lock, selector.heard
        # `_moving`: a thread is in the selector. Others wait on the condition, and look at their own event when it
        # has moved bytes.
        self._moved, self._moving = Condition(self.lock), False
        self._selector: Any = selector or selectors.DefaultSelector()
        self._wires: dict[int, Wire] = {}
        # Wires are read one after the other, each to its end: one room serves all of them.
        self._room = memoryview(bytearray(ROOM))
        self._writing = set[int]()
        self.opens: Callable[[int], None] | None = None
        for peer, sock in socks.items():
            self.add(peer, sock)
        _OPEN.add(self)

    @property
    def peers(self) -> list[int]:
        """The ranks to which there are, or were, connections."""
        return list(self._wires)

    def has_said(self, ranks: Collection[int]) -> bool:
        """Return whether no bytes wait to go out to the living of some ranks."""
        # a rank to which nothing was ever said has no wire
        return not any(self._wires[rank].wants_out for rank in ranks if rank in self._wires)

    def add(self, peer: int, connection: Any) -> None:
        """Take a connection to a rank, in the place of an older one."""
        old = self._wires.pop(peer, None)
        if old is not None and not old.is_gone:  # its tickets end as lost: the newcomer knows nothing of them
            self._drop(old)
        self.lost.pop(peer, None)  # it lives again, as a newcomer
        self.whys.pop(peer, None)
        self.open(peer, connection)

    def open(self, peer: int, connection: Any) -> None:
        """Take the first connection to a rank; what waits to be said goes out now, unless the rank has ended meanwhile."""
        sock, self.heard[peer] = connection, monotonic()
        if not self._over_links:
            sock.setblocking(False)
            # Frames of control are small, and somebody waits for each. Nagle's algorithm would hold them back.
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # There is a wire already where this rank has said something to the other before the connection was there.
        wire = self._wires.setdefault(peer, Wire(None, peer, self.marks, self._room))
        wire.sock = wire.sock if wire.is_gone else sock  # the wire may have ended before it had a connection
        if wire.is_gone or self.is_closed:  # looked at last: who closes meanwhile finds the connection
            sock.close()
            return
        self._selector.register(sock, selectors.EVENT_READ, wire)
        wire.flush()  # what was said before there was a connection
        self._look_out(wire)
        with suppress(OSError):  # the other side may have ended meanwhile
            # the same address at both ends: one host; but what goes through TLS is not to be read past it
            if self._cma and sock.getpeername()[0] == sock.getsockname()[0] and not isinstance(sock, ssl.SSLSocket):
                wire.say(Key(FrameKind.NEAR), wire.mark.told())

    def lacks(self, peer: int) -> bool:
        """Return whether a connection to a rank is still wanted, and not there."""
        wire = self._wires.get(peer)
        return not self.is_closed and peer not in self.lost and wire is not None and wire.sock is None

    def takes(self, peer: int) -> bool:
        """Return whether a connection that a rank has opened is taken. When both open one, that of the higher rank is."""
        # Both sides use this rule. So of two connections that cross both drop the same one.
        return (
            not self.is_closed
            and peer not in self.lost
            and (peer not in self._wires or (self.lacks(peer) and self.rank < peer))
        )

    def _wire_to(self, peer: int) -> Wire | None:
        """Return the connection to a rank; one that is not there yet is opened."""
        if peer not in self._wires and self.opens is not None and peer not in self.lost:
            # `heard` begins now: a rank that never takes the connection is silent after the deadline, like any other.
            self._wires[peer], self.heard[peer] = Wire(None, peer, self.marks, self._room), monotonic()
            self.opens(peer)
        return self._wires.get(peer)

    def send(self, to: int, key: Key, piece: Piece, lent: bool = False) -> Ticket:
        """Begin to send a message, or a frame of control."""
        ticket, wire = Ticket(), self._wire_to(to)
        if wire is None:  # nobody opens one, or the rank is lost
            ticket.end(lost=True)
        else:
            wire.send(key, piece, ticket, lent)
            self._look_out(wire)
        return ticket

    def receive(self, source: int, key: Key, place: Piece) -> Ticket:
        """Begin to receive a message into its place."""
        ticket, wire = Ticket(), self._wire_to(source)
        if wire is None:
            ticket.end(lost=True)
        else:
            wire.ask(key, place, ticket)
            self._look_out(wire)
        return ticket

    def cancel(self, source: int, key: Key | None = None) -> None:
        """Drop a message that was asked for when it comes, or all from and to a rank; its memory is free."""
        if (wire := self._wires.get(source)) is not None:  # no connection: nothing can have been asked for
            wire.cancel(key)

    def forget(self, call: int, group: int) -> None:
        """Drop messages that calls of a group before this one have left."""
        for wire in self._wires.values():
            wire.forget(call, group)

    def waits(self, source: int, key: Key) -> int | None:
        """Return the length of a message that nobody has asked for yet, None where there is none."""
        wire = self._wires.get(source)
        return None if wire is None else wire.waits(key)

    def shut(self, rank: int, why: str = "shut") -> None:
        """Take nothing more from a rank, and touch no memory for it."""
        # with no wire yet, an opener could still make one
        if rank not in self.lost and (rank in self._wires or self.opens is not None):
            if rank in self._wires:
                self._wires[rank].shut()
            self._lose(rank, False, why)

    def bury(self, rank: int) -> None:
        """Learn from others that a rank has ended; where there is a connection, its end tells so, or it is a newcomer's."""
        wire = self._wires.get(rank)
        if wire is None and not self.lost.get(rank):  # a rank without a connection here has no end that could tell
            self._lose(rank, True, "told")
        # its wire waits for a connection that will never come
        elif wire is not None and wire.sock is None and not wire.is_gone:
            self._end(wire, True, "told")

    def wait(self, until: Until, seconds: float | None = None) -> None:
        """Move bytes and call handlers until ``until()`` holds or the time is up. The caller holds ``lock``."""
        end = None if seconds is None else monotonic() + seconds
        # A thread that moves bytes for others wakes often enough to say that this rank is alive (every quarter of the
        # deadline).
        nap = _NAP if self.deadline is None else min(_NAP, self.deadline / 8)
        while not until():
            left = nap if end is None else min(nap, end - monotonic())
            if self._closed.is_set():
                raise PlanError("the job is over: its connections are closed")
            # Two threads in one selector would take each other's events. This one looks again when the other has
            # moved something.
            if self._moving:  # by another thread
                self._moved.wait(max(left, _TURN))
            else:
                self.move(max(left, 0.0))
            if left <= 0:  # after one look: a wait of no seconds moves bytes, too
                return

    def move(self, seconds: float) -> None:
        """Move bytes, and watch the time; ``lock`` is free while this thread waits until some can move.

        Raises errors of handlers.
        """
        # Reset in `finally`: else an error of a handler would leave all other threads waiting for a mover that is
        # gone.
        self._moving = True
        try:
            self.progress(seconds)
        finally:
            self._moving = False
            self._moved.notify_all()
        # here and not in ``progress``: links count on moving bytes alone
        self.watch_time()
        self.raise_error()

    def progress(self, seconds: float) -> None:
        """Move bytes: wait until some can move, as long as given."""
        for key, events in self._select(seconds):
            wire: Wire = key.data
            # Writing first: a failed write only makes the wire mute. What the peer sent before its end is read after
            # that.
            if events & selectors.EVENT_WRITE and not wire.is_gone:
                wire.flush()
            if events & selectors.EVENT_READ and not wire.is_gone:
                self._read(wire)
            if not wire.is_gone:
                self._look_out(wire)

    def _select(self, seconds: float) -> list[tuple[selectors.SelectorKey, int]]:
        """Return the wires that can move. ``lock`` is free meanwhile, where this thread waits with it; links do so themselves."""
        # The side thread looks with no time to wait, and keeps the lock. Only a mover lets it go.
        if not self._moving or seconds <= 0 or self._over_links:
            return self._selector.select(seconds)
        self.lock.release()
        try:
            return self._selector.select(seconds)
        finally:
            self.lock.acquire()

    def _read(self, wire: Wire) -> None:
        self.heard[wire.peer] = monotonic()
        try:
            found = wire.read()
            if found is None:  # nothing more comes, and the peer closed it
                self._end(wire, self.trust_ends, "eof")
                return
            for key, body in found:
                self._hear(wire.peer, key, body)
        except FrameError:  # it counts as silent from now on
            self._end(wire, False, "frame")

    def _look_out(self, wire: Wire) -> None:
        """Have the selector tell when more can be sent, as long as more waits."""
        # asked only where that changes: a system call
        if wire.wants_out != (wire.peer in self._writing) and not wire.is_gone and wire.sock is not None:
            self._writing ^= {wire.peer}
            events = selectors.EVENT_READ | (selectors.EVENT_WRITE if wire.wants_out else 0)
            self._selector.modify(wire.sock, events, wire)

    def _drop(self, wire: Wire) -> None:
        if wire.sock is not None:
            self._selector.unregister(wire.sock)
        self._writing.discard(wire.peer)
        wire.end()

    def _end(self, wire: Wire, proof: bool, why: str) -> None:
        self._drop(wire)
        # A rank that was silent, or shut, may still be proved dead by the end of its connection: that is news.
        if proof or wire.peer not in self.lost:
            self._lose(wire.peer, proof, why)

    def _answer(self) -> None:
        # A thread that sleeps in the selector has let go of the lock, but moves bytes by itself as soon as some come.
        if not self._moving:  # else the mover does this itself
            self.progress(0)
            self.watch_time(False)

    def close(self) -> None:
        """Close all connections: for the others this rank has ended."""
        super().close()
        for wire in self._wires.values():
            if not wire.is_gone:
                self._drop(wire)
        self._selector.close()

    def let_go(self) -> None:
        """Close this process's copies of the connections, as a child of a fork has to, or a death would not end them."""
        self.lock, self._closed, self._helper = Lock(), Event(), None  # a thread of the parent may have held these
        self._closed.set()
        for wire in self._wires.values():
            if wire.sock is not None:
                wire.sock.close()


# in the child only: the parent goes on with its connections
os.register_at_fork(after_in_child=lambda: [each.let_go() for each in list(_OPEN)])
