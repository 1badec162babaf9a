"""Messages between two ranks, as MPI has them: each goes to the first receive that names its sender and its tag, or any.

A message of up to 64 KiB goes out at once, and is kept where it comes until it is received: 8 MiB of a sender at most, whose
further ones wait, as long ones do. These are announced, stay at their sender until they are received, and go straight to their
place. Source: the eager and the rendezvous protocol of MPI's implementations.
"""

from collections import Counter, defaultdict
from collections.abc import Callable
from struct import Struct
from typing import Any, NamedTuple

from treecast.errors import DeliveryError, PlanError, UnlikeCallsError
from treecast.running.calls.deaths import end_of
from treecast.running.groups.group import Group
from treecast.running.groups.memory import scratch
from treecast.running.transport.base import (
    DIRECT,
    SMALL,
    FrameError,
    FrameKind,
    Key,
    Piece,
    Ticket,
    Transport,
    Until,
    words_of,
)

ANY, NOBODY = -1, -2
"""The source, or the tag, of a receive that takes any; the rank with whom messages are over at once, and bring nothing."""
#   tag i64 | length u64 | is it here? u8 | bytes, if they are
_HEAD = Struct("<qQ?")  # the tag, the length, and whether the bytes follow
_ROOM = Struct("<Q")
_AHEAD = 8 << 20  # bytes of a sender that are kept
_COST = 64  # bytes that a message takes beside its own
_MOST = 1 << 13  # messages to a rank that wait there to be received
_NUMBERS = (1 << 32) - 1
# stages of a frame: how many bytes are received; is there more? and, behind the last, no
_FREED, _ASK, _NO_MORE = range(1, 4)


class Came(NamedTuple):
    """A message that has come, or is announced, from a rank of the transport; ``data``: None where its sender has it.

    ``ticket``: of the sender, where that is this rank.
    """

    seat: int
    tag: int
    length: int
    data: Piece | None
    key: Key
    ticket: Ticket


class PeerMessage:
    """A message under way: to the rank ``peer``, or, where it ``receives``, from it. Who waits moves the bytes.

    ``piece``: its bytes, or their place, None for one of any length. ``name``: of the call. ``finish``: returns what that does.
    ``is_exact``: no shorter message will do. ``unlike``: makes the error of another length. ``waits``: it is over when it is
    received. ``came``: the message that is received.
    """

    messages: "Mailbox"
    came: Came | None = None
    finish: Callable[[], Any] | None = None
    is_exact = is_cancelled = waits = False
    _why = ""
    unlike: Callable[[str], Exception] = UnlikeCallsError

    def __init__(self, group: Group, name: str, peer: int, tag: int, piece: Piece | None, *, receives: bool) -> None:
        self.group, self.name, self.peer, self.tag, self.piece = group, name, peer, tag, piece
        self.receives, self.ticket = receives, Ticket()
        self.ticket.over = peer == NOBODY  # with nobody it is over at once

    def fits(self, came: Came) -> bool:
        """Return whether it receives a message."""
        source = self.group.rank_at.get(came.seat)
        return (
            not self.ticket.over and source is not None and self.peer in (ANY, source) and self.tag in (ANY, came.tag)
        )

    @property
    def source(self) -> int:
        """From, or to, which rank it is."""
        return self.peer if self.came is None else self.group.rank_at[self.came.seat]

    def done(self) -> bool:
        """Return whether it is over. The caller holds the transport's lock."""
        # only while no message has come: what came is delivered
        if not self.ticket.over and self.came is None and (why := self.messages.why_gone(self.group, self.peer)):
            self._why = why
            self.ticket.end(lost=True)
        return self.ticket.over or self.group.agreement.is_out

    def cancel(self) -> None:
        """Receive no message, unless one has come."""
        with self.group.transport.lock:
            if self.receives and self.came is None and not self.ticket.over:
                self.is_cancelled = self.ticket.over = True  # one that has come is received all the same

    def wait(self, until: Until, seconds: float | None = None) -> None:
        """Move bytes until a condition holds, or the time is up; tell when that is long."""
        transport, slow = self.group.transport, self.group.waiting.slow
        with transport.lock:
            # First as long as is usual. Then it is told that this takes long, and the wait goes on.
            transport.wait(until, slow if seconds is None else seconds)
            if seconds is None and not until():
                text = f"rank {self.group.rank} has waited {slow:g} s in {self.name}, rank {self.peer}, tag {self.tag}"
                transport.events.tell("slow", text, self.group.ident)
                transport.wait(until)

    def result(self) -> Any:
        """Return what the call does, when it is over.

        Raises DeliveryError when the other rank has ended, UnlikeCallsError for another length, Evicted.
        """
        agreement, here, there, came = self.group.agreement, self.piece, self.ticket.length, self.came
        if agreement.is_out and not self.ticket.over:
            self.group.transport.events.tell("evicted", f"rank {self.group.rank} is cut off", self.group.ident)
            agreement.check_in()
        if self.is_cancelled:
            return None
        if self.ticket.lost:
            why = self._why or self.messages.why_gone(self.group, self.source) or f"rank {self.source} is lost"
            raise DeliveryError(f"{self.name}: {why}, and the message is lost")
        if here is not None and self.is_unlike(there):  # lengths are compared where both are known
            tag, count = self.tag if came is None else came.tag, f"{len(here):,}"
            sent = f"{count} bytes are sent to rank {self.peer}, tag {tag}, which receives another number"
            come = f"{there:,} bytes come from rank {self.source}, tag {tag}, where {count} are received"
            raise self.unlike(f"{self.name}: {come if self.receives else sent}")
        return self.finish() if self.finish is not None else None

    def is_unlike(self, length: int) -> bool:
        """Return whether a message of a length has no place here."""
        room = 0 if self.piece is None else len(self.piece)
        # a shorter one fits, unless it has to be exact
        return self.piece is not None and (length > room or (self.is_exact and length < room))


class Mailbox:
    """The messages from and to this rank, in all its groups. Whoever calls a method holds the transport's lock."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._came, self._posted = defaultdict[int, list[Came]](list), defaultdict[int, list[PeerMessage]](list)
        self._numbers, self._waiting = Counter[tuple[int, int]](), defaultdict[int, list[Ticket]](list)
        self._ahead, self._kept, self._freed = Counter[int](), Counter[int](), Counter[int]()
        self._asked, self._silent = set[int](), set[int]()
        transport.on(FrameKind.MESSAGE, self._hear)

    def why_gone(self, group: Group, peer: int) -> str:
        """Return in words why a rank, or with ``ANY`` all others, can send and take nothing any more; "" where it can."""
        agreement = group.agreement
        # ``ANY``: only when no other rank can send
        others = [rank for rank in range(group.size) if rank != group.rank and peer in (ANY, rank)]
        # they have left, but their last messages may be under way
        ended = [group.seats[rank] for rank in others if rank in agreement.byes and rank not in agreement.lost]
        if not all(rank in agreement.lost or rank in agreement.byes for rank in others):
            return ""
        for seat in set(ended) - self._asked:  # where others have told of an end, messages may still be under way
            self._asked.add(seat)
            self._transport.send(seat, Key(FrameKind.MESSAGE, stage=_ASK), b"")
        # Messages of a connection come in order: after its word that there are no more, none can come.
        return (
            ", ".join(f"rank {rank} {end_of(rank, group)}" for rank in others) if self._silent.issuperset(ended) else ""
        )

    def send(self, transfer: PeerMessage) -> None:
        """Begin to send. Raises PlanError when too many others are not received yet."""
        group, piece, waits, transfer.messages = transfer.group, transfer.piece or b"", transfer.waits, self
        if transfer.ticket.over:
            return
        # a rank of the transport, as connections have no groups
        seat, here, length = group.seats[transfer.peer], group.ident, len(piece)
        # Each message of a pair has a number, so the data of a long one is told from that of others.
        self._numbers[seat, here] += 1
        key = Key(FrameKind.MESSAGE, self._numbers[seat, here] % _NUMBERS or 1, 0, 0, DIRECT, here)
        if seat == self._transport.rank:  # to itself: kept as a copy, unless it waits to be received
            if not waits:
                piece = bytes(piece)
                transfer.ticket.end(length)
            self._match(Came(seat, transfer.tag, length, piece, key, transfer.ticket))
            return
        # as long as the receiver has room for it, and its head, in one frame of control
        is_free = not waits and length <= SMALL - _HEAD.size and self._ahead[seat] + length + _COST <= _AHEAD
        if len(self._waiting[seat]) >= _MOST:
            self._waiting[seat] = [ticket for ticket in self._waiting[seat] if not ticket.over]
            if len(self._waiting[seat]) >= _MOST:
                raise PlanError(
                    f"{_MOST:,} messages to rank {transfer.peer} wait to be received: wait for some of them"
                )
        head = _HEAD.pack(transfer.tag, length, is_free)
        self._transport.send(seat, key, head + piece if is_free else head)
        # The receiver keeps it until it is received, and then says how much room there is again.
        if is_free:
            self._ahead[seat] += length + _COST
            transfer.ticket.end(length, lost=seat in self._transport.lost)
        else:
            transfer.ticket = self._transport.send(seat, key._replace(kind=FrameKind.DATA), piece)
            self._waiting[seat].append(transfer.ticket)

    def receive(self, transfer: PeerMessage) -> None:
        """Begin to receive the first message that fits."""
        came = self.find(transfer, claims=True)
        if came is not None:
            self.take(transfer, came)
        elif not transfer.ticket.over:  # it waits in the order of posting
            self._posted[transfer.group.ident].append(transfer)

    def find(self, transfer: PeerMessage, *, claims: bool) -> Came | None:
        """Return the first message that has come and fits, None for none; no other finds one that this ``claims``."""
        transfer.messages, all_of_them = self, self._came[transfer.group.ident]
        found = next(filter(transfer.fits, all_of_them), None)
        if found is not None and claims:
            all_of_them.remove(found)  # ``claims``: a probe of MPI's leaves it where it is
        return found

    def forget(self, seats: set[int]) -> None:
        """Forget what ranks of the transport have sent, as others take their seats."""
        for here, all_of_them in self._came.items():
            self._came[here] = [came for came in all_of_them if came.seat not in seats]
        self._asked -= seats
        self._silent -= seats
        for count in (self._ahead, self._kept, self._freed):  # a newcomer has sent nothing, and has kept nothing
            count.subtract({seat: count[seat] for seat in seats})

    def _hear(self, seat: int, key: Key, body: bytes) -> None:
        """Hear of a message, or of room for others. Raises FrameError for a frame that makes no sense."""
        if key.stage == _ASK:
            # behind all that was sent before: the connection keeps the order
            self._transport.send(seat, key._replace(stage=_NO_MORE), b"")
        elif key.stage == _NO_MORE:
            self._silent.add(seat)
        elif key.stage == _FREED:
            self._ahead[seat] -= min(*words_of(_ROOM, body), self._ahead[seat])  # never below 0, whatever it says
        else:
            self._hear_of(seat, key, body)

    def _hear_of(self, seat: int, key: Key, body: bytes) -> None:
        tag, length, is_here = words_of(_HEAD, body[: _HEAD.size])  # the head, then the bytes if they are here
        data = body[_HEAD.size :] if is_here else None
        self._kept[seat] += (length + _COST) * is_here
        # its own limit is known to the sender: who goes beyond it is not one of ours
        if min(tag, length) < 0 or self._kept[seat] > _AHEAD or len(body) != _HEAD.size + length * is_here:
            raise FrameError("a message of another length, or more than are kept")
        self._match(Came(seat, tag, length, data, key, Ticket()))

    def _match(self, came: Came) -> None:
        posted = self._posted[came.key.group]
        # The first receive that was posted and fits, as MPI has it.
        for place, transfer in enumerate(posted):
            if transfer.fits(came):
                self.take(posted.pop(place), came)
                return
        # who was cancelled, or is over, waits no more
        self._posted[came.key.group] = [transfer for transfer in posted if not transfer.ticket.over]
        self._came[came.key.group].append(came)

    def take(self, transfer: PeerMessage, came: Came) -> None:
        """Bring a message to its place; one that does not fit goes nowhere."""
        transfer.messages, transfer.came, seat, length = self, came, came.seat, came.length
        if transfer.piece is None:
            transfer.piece = scratch(length)
        # nothing of a message of another length touches the buffer
        place = scratch(0) if transfer.is_unlike(length) else transfer.piece[:length]
        if came.data is None:  # announced only: now it comes
            transfer.ticket = self._transport.receive(seat, came.key._replace(kind=FrameKind.DATA), place)
            return
        place[:] = came.data[: len(place)]
        transfer.ticket.end(length)
        came.ticket.end(length)  # a message to itself: its sender may go on
        if seat != self._transport.rank and seat not in self._transport.lost:
            self._kept[seat] -= length + _COST
            self._freed[seat] += length + _COST
            # Not for each message: a word for every 2 MiB is enough to keep a sender going.
            if self._freed[seat] >= _AHEAD // 4:
                self._transport.send(seat, Key(FrameKind.MESSAGE, stage=_FREED), _ROOM.pack(self._freed.pop(seat)))
