"""A carrier in one file, outside of treecast, by nothing but the public contract: ranks of one process, each with an inbox."""

from collections import deque
from threading import Condition
from time import monotonic

from treecast.errors import PlanError
from treecast.running.transport.base import DIRECT, SMALL, FrameError, FrameKind, Ticket, Transport


class Inbox(Transport):
    """A rank; ``inboxes``: of all, by rank. A message that nobody may buffer stays with its sender until it is taken."""

    def __init__(self, rank, inboxes, deadline=None):
        super().__init__(rank, len(inboxes), deadline)
        self.inboxes, self.inboxes[rank] = inboxes, self
        self.came, self.rings = deque(), Condition()
        self.posted, self.early, self.held, self.moving, self.sleeps = {}, {}, {}, Condition(self.lock), False

    def _put(self, to, what, key, body):
        with self.inboxes[to].rings:
            self.inboxes[to].came.append((self.rank, what, key, body))
            self.inboxes[to].rings.notify_all()

    def send(self, to, key, piece, lent=False):
        ticket = Ticket()
        if key.kind != FrameKind.DATA:
            self._put(to, "frame", key, bytes(piece))
            ticket.end(len(piece))
        elif to in self.lost:
            ticket.end(lost=True)
        elif len(piece) > SMALL or key.instance == DIRECT:
            self.held[to, key] = piece, ticket
            self._put(to, "offer", key, len(piece))
        else:
            self._put(to, "data", key, bytes(piece))
            ticket.end(len(piece))
        return ticket

    def receive(self, source, key, place):
        ticket, came = Ticket(), self.early.pop((source, key), None)
        if isinstance(came, bytes):
            self._fill(place, came, ticket)
        elif source in self.lost:
            ticket.end(lost=True)
        else:
            self.posted[source, key] = place, ticket
            if came is not None:
                self._put(source, "take", key, None)
        return ticket

    def cancel(self, source, key=None):
        for each in [each for each in self.posted if each == (source, key) or (each[0] == source and key is None)]:
            self.posted[each][1].end(lost=True)
            self.posted[each] = None, Ticket()
        if key is None:
            self._end(self.held, source)

    def waits(self, source, key):
        return len(found) if isinstance(found := self.early.get((source, key)), bytes) else found

    def shut(self, rank, why="shut"):
        if rank not in self.lost:
            self.early = {key: body for key, body in self.early.items() if key[0] != rank}
            self._lose(rank, False, why)

    def wait(self, until, seconds=None):
        end = None if seconds is None else monotonic() + seconds
        nap = 1.0 if self.deadline is None else self.deadline / 8
        while not until():
            if self.is_closed:
                raise PlanError("the inbox is closed")
            left = nap if end is None else min(nap, end - monotonic())
            if not self.sleeps:
                self._look(left)
                self.watch_time()
                self.raise_error()
            elif left > 0:  # another thread looks into the inbox
                self.moving.wait(left)
            if left <= 0:
                return

    def close(self):
        super().close()
        with self.rings:
            self.rings.notify_all()
        for other in self.peers:
            self._put(other, "end", None, None)
            self._end(self.held, other)
            self._end(self.posted, other)

    def _look(self, seconds):
        """Take what has come; sleep without the lock while there is nothing."""
        if seconds > 0:
            self.sleeps = True
            self.lock.release()
            with self.rings:
                self.rings.wait_for(lambda: self.came or self.is_closed, seconds)
            self.lock.acquire()
            self.sleeps = False
        while self.came and not self.is_closed:
            source, what, key, body = self.came.popleft()
            self.heard[source] = monotonic()
            try:
                getattr(self, f"_take_{what}")(source, key, body)
            except FrameError:
                self.shut(source, "frame")
        self.moving.notify_all()

    def _take_frame(self, source, key, body):
        if key.kind != FrameKind.ALIVE:
            self._hear(source, key, body)

    def _take_data(self, source, key, body):
        if (source, key) in self.posted:
            place, ticket = self.posted.pop((source, key))
            self._fill(place, body, ticket)
        elif source not in self.lost:
            self.early[source, key] = body

    def _take_offer(self, source, key, length):
        if (source, key) in self.posted:
            self._put(source, "take", key, None)
        elif source not in self.lost:
            self.early[source, key] = length

    def _take_take(self, source, key, _):
        piece, ticket = self.held.pop((source, key), (None, None))
        if ticket is not None:
            self._put(source, "data", key, bytes(piece))
            ticket.end(len(piece))

    def _take_end(self, source, key, _):
        if not self.lost.get(source):
            self.early = {key: body for key, body in self.early.items() if key[0] != source or isinstance(body, bytes)}
            self._lose(source, True, "eof")

    def _fill(self, place, body, ticket):
        if place is not None and len(place) == len(body):
            place[:] = body
        ticket.end(len(body))

    def _end(self, tickets, rank):
        for each in [each for each in tickets if each[0] == rank]:
            tickets.pop(each)[1].end(lost=True)

    def _lose(self, rank, proof, why):
        self._end(self.posted, rank)
        self._end(self.held, rank)
        super()._lose(rank, proof, why)
