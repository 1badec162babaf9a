"""The transport over MPI: the messages of a communicator, polled in the thread of the caller.

``wait`` takes messages that have come, hands frames of control on, and finds out who has died. A call holds ``lock`` from begin
to end. A side thread takes it when it is free, and answers ranks that are behind while the program computes.
With no deadline messages land in their places at once, and only the dead are shut, whose messages MPI ends itself.
"""

import os
import struct
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import Any, Self

from treecast.mpi.library import abandon, failed_ranks, is_under_way, tags_of
from treecast.mpi.together import MpiTogether
from treecast.running.transport.base import DIRECT, FrameError, FrameKind, Key, Piece, Ticket, Transport, words_of
from treecast.running.transport.marks import PARTS

_HEAD = struct.Struct("<BBHIHHI")  # as over sockets, without a length
_COUNT = struct.Struct("<Q")
#   0                  frames of control, with a head of their own
#   1 ... F - 1        1 + (((call mod calls) * 64 + stage) * 2 + group) * 2^bits + some bits of the digest
#   F ... 2 F - 1      fetched data, by the number of the fetch
_CONTROL = 0  # the tag of frames of control
_STAGES = 1 << 6  # of a call, whose messages have tags of their own
_DIGEST = 12  # bits of a digest that a tag has, where there are enough tags
_LEAST = 1 << 10  # calls after which tags are used again, at least
_ASKED = 1 << 15  # stages from there on are counted by who asks
_QUIET = 1e-3  # seconds of nothing after which a rank naps between looks
_SOON = 5e-5  # the same where ranks pass things on to one another
_NAP_SHARE, _SHORTEST_NAP, _LONGEST_NAP = 0.25, 1e-4, 1e-3  # of the time since something moved, in seconds
_CHECK = 1e-2  # seconds of nothing after which MPI is asked who has failed
# The eldest end first, as a rule. A test of each of thousands in every look would take all the time.
_FRONT, _OFTEN = 64, 16  # messages that are looked at, the eldest, and every how many looks all are


class _Posted:
    """A message under way. ``place``: where it is received, None of one that is sent; ``landing`` is copied there at its end."""

    __slots__ = ("landing", "peer", "place", "request", "tag", "ticket")

    def __init__(self, peer: int, tag: int, ticket: Ticket, place: Piece | None, landing: Piece | None = None) -> None:
        self.peer, self.tag, self.ticket, self.place, self.landing = peer, tag, ticket, place, landing
        self.request: Any = None


class MpiTransport(Transport):
    """The messages of one communicator of ``mpi``, mpi4py's module; see ``Transport`` for the verbs.

    ``comm``: a duplicate that nobody else uses; it returns errors from now on. ``deadline``: seconds of a wait after which a rank
    from which nothing has come is silent. With one, messages land in memory of the transport first: they may come when nobody
    waits for them any more. ``together``: calls that MPI carries out for all ranks at once. ``polite``: it naps also when
    messages are waited for, as looks cost the others time, who are to pass something on. Its words for the lost: "ulfm" (MPI says
    so), "broken" (MPI reaches it no more).
    """

    name, polite = "MPI", False

    def __init__(self, mpi: Any, comm: Any) -> None:
        comm.Set_errhandler(mpi.ERRORS_RETURN)
        super().__init__(int(comm.Get_rank()), int(comm.Get_size()))
        self.mpi, self.comm = mpi, comm
        self.together: MpiTogether | None = None
        self._posted: list[_Posted] = []
        self._left = set[tuple[int, int]]()  # calls that were left, as tags tell them, with their groups
        self._saying: list[tuple[int, Any]] = []  # to whom frames of control are not out yet
        self._fetches = tags_of(mpi) // 2
        room = (self._fetches - 1) // (2 * _STAGES)
        self._bits = max(0, min(_DIGEST, (room // _LEAST).bit_length() - 1))
        self._calls = max(1, room >> self._bits)
        self._status, self._byte = mpi.Status(), mpi.BYTE
        # Before the communicator is freed both sides compare these, as a message that is left would go to a later
        # communicator.
        self._sent, self._came = [0] * self.size, [0] * self.size  # messages, for ``settle``
        self._due: dict[int, int] = {}
        self._gave_up = False  # something that may still come
        self._checked, self._looks = 0.0, 0

    # -- messages ----------------------------------------------------------------------------------------------------

    def _tag(self, key: Key) -> int:
        """Return the tag of a message: its place, and some bits of the digest of its call."""
        if key.stage >= _ASKED:
            return self._fetches + key.stage % min(_ASKED, self._fetches)
        return 1 + (self._place(key) << self._bits | self.marks.bits(key, self._bits))

    def _place(self, key: Key) -> int:
        _, call, stage, _, _, group = key
        return (call % self._calls * _STAGES + stage % _STAGES) * 2 + group

    def _place_of(self, tag: int) -> int:
        return tag - 1 >> self._bits

    def send(self, to: int, key: Key, piece: Piece, lent: bool = False) -> Ticket:
        """Begin to send a message, or a frame of control; MPI says when it is over, whether it is lent or not."""
        ticket = Ticket()
        if key.kind != FrameKind.DATA:
            self._say(to, key, piece)
            ticket.end(len(piece))
        elif to in self.lost:
            ticket.end(lost=True)
        else:
            begin = self.comm.Issend if key.instance == DIRECT else self.comm.Isend
            self._post(begin, piece, _Posted(to, self._tag(key), ticket, None))
        return ticket

    def receive(self, source: int, key: Key, place: Piece) -> Ticket:
        """Begin to receive a message into its place."""
        ticket = Ticket()
        if self._left:
            self._drop_left(source, key)
        if source in self.lost:
            ticket.end(lost=True)
        else:
            # With a deadline a receive may be given up, and MPI still write: never into memory that the program has
            # back by then.
            landing = None if self.deadline is None else self.mpi.buffer.allocate(len(place))
            into = place if landing is None else landing
            self._post(self.comm.Irecv, into, _Posted(source, self._tag(key), ticket, place, landing))
        return ticket

    def _post(self, begin: Callable[..., Any], piece: Piece, posted: _Posted) -> None:
        try:
            posted.request = begin([piece, len(piece), self._byte], posted.peer, posted.tag)
        except self.mpi.Exception as error:
            posted.ticket.end(lost=True)
            self._note(posted.peer, error)
        else:
            self._posted.append(posted)
            self._sent[posted.peer] += posted.place is None

    def _say(self, to: int, key: Key, body: Piece) -> None:
        kind, call, stage, about, instance, group = key
        frame = _HEAD.pack(kind, instance, about, call, group, stage, self.marks.of(key)) + bytes(body)
        try:
            request = self.comm.Isend([frame, len(frame), self._byte], to, _CONTROL)
            self._sent[to] += 1
            if not request.Test():
                self._saying.append((to, request))
        except self.mpi.Exception as error:
            self._note(to, error)

    def has_said(self, ranks: Collection[int]) -> bool:
        """Return whether all frames of control are out that go to living ones of some ranks."""
        self._saying = [each for each in self._saying if is_under_way(self.mpi, each[1])]
        return not any(to in ranks and to not in self.lost for to, _ in self._saying)

    def waits(self, source: int, key: Key) -> int | None:
        """Return the length of a message that nobody has asked for yet, None where there is none."""
        if source in self.lost:
            return None
        try:
            found = self.comm.Iprobe(source, self._tag(key), self._status)
        except self.mpi.Exception as error:
            self._note(source, error)
            return None
        return int(self._status.Get_count(self._byte)) if found else None

    def shut(self, rank: int, why: str = "shut") -> None:
        """Take nothing more from a rank."""
        if rank not in self.lost:
            self._lose(rank, False, why)
        if self.deadline is not None:  # else MPI ends its messages: it has died
            self.cancel(rank)

    def cancel(self, source: int, key: Key | None = None) -> None:
        """End a message from a rank, or all from and to it; MPI may still use its memory."""
        self._gave_up, tag = True, None if key is None else self._tag(key)
        given_up = [
            posted
            for posted in self._posted
            if posted.peer == source
            and not posted.ticket.over
            and (key is None or (posted.place is not None and posted.tag == tag))
        ]
        for posted in given_up:
            posted.ticket.end(lost=True)
            if posted.place is not None:
                # A receive alone: MPI has no way to take back what is sent.
                with suppress(self.mpi.Exception):  # where MPI cannot any more
                    posted.request.Cancel()
        abandon(self.mpi, [(each.request, each.landing) for each in given_up])

    def forget(self, call: int, group: int) -> None:
        """Drop messages of the call before this one, which was left, before later calls have their tags."""
        self._left.add(((call - 1) % self._calls, group))

    # -- the only wait -----------------------------------------------------------------------------------------------

    def wait(self, until: Callable[[], bool], seconds: float | None = None) -> None:
        """Move messages and call handlers until ``until()`` holds or the time is up."""
        if until():
            return
        began = moved = time.monotonic()
        while True:
            # As long as something moves there is no nap, and nobody is judged.
            if self._move():
                moved = time.monotonic()
                self.raise_error()
                if until():
                    return
                continue
            if until():
                return
            now = time.monotonic()
            if seconds is not None and now - began >= seconds:
                return
            # Only in quiet: asking MPI takes longer than a look at a message.
            if now - max(moved, self._checked) > _CHECK:
                self.check(now)
            self.watch_time()
            self.raise_error()
            # There may be more ranks than cores, and the one that is waited for may need this one.
            os.sched_yield()
            naps = self.polite or self.deadline is not None or not self._posted
            if naps and now - moved > (_SOON if self.polite else _QUIET):
                time.sleep(min(max(_NAP_SHARE * (now - moved), _SHORTEST_NAP), _LONGEST_NAP))

    def _move(self) -> bool:
        """Take messages that are over; return whether there were any."""
        over = False
        self._looks += 1
        front = self._posted if self._looks % _OFTEN == 0 else self._posted[:_FRONT]
        for each in front:  # one by one: Open MPI's Testany overlooks deaths
            if not each.ticket.over:
                over |= self._take(each)
        if over:
            self._posted = [each for each in self._posted if not each.ticket.over]
        return self._take_frames() or over

    def _take(self, each: _Posted) -> bool:
        """Take a message if it is over; return whether it is."""
        try:
            if not each.request.Test(self._status):
                return False
        except self.mpi.Exception as error:
            # The message is over all the same: it was cut off, and its length tells both sides of the error.
            is_longer = error.Get_error_class() == self.mpi.ERR_TRUNCATE
            each.ticket.end(int(self._status.Get_count(self._byte)) if is_longer else 0, not is_longer)
            self._came[each.peer] += is_longer
            self._note(each.peer, error)
            return True
        self.heard[each.peer] = time.monotonic()
        if each.place is None:
            each.ticket.end()
            return True
        self._came[each.peer] += 1
        length = int(self._status.Get_count(self._byte))
        if each.landing is not None and length == len(each.place):
            each.place[:] = each.landing
        each.ticket.end(length)
        return True

    def _drop_left(self, source: int, key: Key) -> None:
        """Drop messages of calls that were left, which come before all others of a rank."""
        here = key.call % self._calls
        # Call numbers return after `calls`: what is more than half of them behind is forgotten, before it would mean
        # a later call.
        self._left = {each for each in self._left if (here - each[0]) % self._calls <= self._calls // 2}
        with suppress(self.mpi.Exception):
            # MPI keeps the messages of a sender in order: those that were left stand before the one that is asked for
            # now.
            while self.comm.Iprobe(source, self.mpi.ANY_TAG, self._status):
                place = self._place_of(tag := self._status.Get_tag())
                is_data = _CONTROL < tag < self._fetches
                if not is_data or (place // 2 // _STAGES, place % 2) not in self._left:
                    return
                if (message := self.comm.Improbe(source, tag, self._status)) is None:
                    return
                self._came[source] += 1
                count = self._status.Get_count(self._byte)
                self._posted.append(posted := _Posted(source, tag, Ticket(), None))
                posted.request = message.Irecv([self.mpi.buffer.allocate(count), count, self._byte])

    def _take_frames(self) -> bool:
        """Take frames of control, and when it is closed all that comes; return whether there were any."""
        if not (self._handlers or self.is_closed):
            return False
        moved, status = False, self.mpi.Status()
        # After the end data is taken, too, and dropped: `settle` waits until all that was sent has come.
        tag = self.mpi.ANY_TAG if self.is_closed else _CONTROL
        while True:
            try:
                # A matched probe: another thread cannot take the message between the probe and the receive.
                message = self.comm.Improbe(self.mpi.ANY_SOURCE, tag, status)
                if message is None:
                    return moved
                source, count = status.Get_source(), status.Get_count(self._byte)
                body = bytearray(count)
                message.Recv([body, count, self._byte])
            except self.mpi.Exception:
                self.check(time.monotonic())
                return moved
            moved = True
            self._came[source] += 1
            self.heard[source] = time.monotonic()
            if status.Get_tag() == _CONTROL:
                self._handle(source, bytes(body))

    def _handle(self, source: int, frame: bytes) -> None:
        try:
            if len(frame) < _HEAD.size:
                raise FrameError("a frame without a head")
            kind, instance, about, call, group, stage, digest = _HEAD.unpack_from(frame)
            key, body = Key(kind, call, stage, about, instance, group), frame[_HEAD.size :]
            if digest:
                self.marks.fits(source, key, digest)
            if kind == FrameKind.BYE:
                (self._due[source],) = words_of(_COUNT, body)
            elif kind != FrameKind.ALIVE and not self.is_closed:
                self._hear(source, key, body)
        except FrameError:
            self.shut(source, "frame")

    def _look_around(self) -> None:
        """Find messages that wait with another digest than that of the call that this rank is in."""
        status = self.mpi.Status()
        if not self.comm.Iprobe(self.mpi.ANY_SOURCE, self.mpi.ANY_TAG, status) or status.Get_tag() >= self._fetches:
            return
        source, place = status.Get_source(), self._place_of(status.Get_tag())
        group, number = place % 2, place // 2 // _STAGES
        call = self.marks.now(group)
        # The tag of a message that nobody takes has bits of its call's digest. Other bits than mine: the ranks make
        # unlike calls.
        bits = status.Get_tag() - 1 & ((1 << self._bits) - 1)
        mine = self.marks.bits(Key(FrameKind.DATA, call * PARTS, group=group), self._bits)
        is_now = any((call * PARTS + part) % self._calls == number for part in range(PARTS))
        if status.Get_tag() != _CONTROL and is_now and mine and bits and bits != mine:
            self.marks.tell(source, group, call)

    # -- failures ----------------------------------------------------------------------------------------------------

    def check(self, now: float) -> None:
        """Ask MPI who has failed."""
        self._checked = now
        with suppress(self.mpi.Exception):
            self._look_around()
        for rank in failed_ranks(self.mpi, self.comm):
            if not self.lost.get(rank):
                self._lose(rank, True, "ulfm")

    def _note(self, peer: int, error: Any) -> None:
        """Note the news that an error of a message is of the other rank: that it has failed, or that nothing gets through."""
        kind = error.Get_error_class()
        if kind == self.mpi.ERR_TRUNCATE:
            return
        proof = kind in (self.mpi.ERR_PROC_FAILED, self.mpi.ERR_PROC_FAILED_PENDING)  # else a socket may have broken
        if not self.lost.get(peer) and (proof or peer not in self.lost):
            self._lose(peer, proof, "ulfm" if proof else "broken")
            if not proof:
                self.cancel(peer)

    def _lose(self, rank: int, proof: bool, why: str) -> None:
        if self.together is not None:
            self.together.end()
        super()._lose(rank, proof, why)

    # -- its end -----------------------------------------------------------------------------------------------------

    def start(self) -> Self:
        """Begin to answer beside the program, where MPI allows threads; return this."""
        return super().start() if self.mpi.Query_thread() == self.mpi.THREAD_MULTIPLE else self

    def _answer(self) -> None:
        self._take_frames()

    def close(self) -> None:
        """Answer nobody any more; keep the memory of messages under way, as long as MPI may use it."""
        super().close()
        left = [request for _, request in self._saying] + [posted.request for posted in self._posted]
        abandon(self.mpi, [(request, None) for request in left])

    def settle(self) -> bool:
        """Take all that others have sent, after ``close``; return whether it has come, and the communicator can be freed.

        A message that nobody has asked for, say a copy for a call that was over without it, Open MPI would give to the next
        communicator that it numbers alike, or end the job for it.
        """
        others, fails = [rank for rank in range(self.size) if rank != self.rank], bool(self.lost) or self._gave_up
        # How many messages this rank has sent, with this one; 0: that cannot be told, so nobody is to wait for them.
        for rank in others:
            self._say(rank, Key(FrameKind.BYE), _COUNT.pack(0 if fails else self._sent[rank] + 1))
        self.awaited = lambda: [rank for rank in others if rank not in self._due]
        self.wait(lambda: bool(self.lost) or all(self._due.get(rank) in (0, self._came[rank]) for rank in others))
        return not (self.lost or fails) and all(self._due.values())

    def free(self) -> bool:
        """Free the communicators, after ``close``, unless something may still come on them: that could wait for ever."""
        if is_free := self.settle():
            self.comm.Free()
            if self.together is not None:
                self.together.comm.Free()
        self.close()
        return is_free
