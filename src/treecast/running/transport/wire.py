"""The connection to one peer: frames out, frames in, and the memory that they come from and go to.

A message above 64 KiB waits for a GRANT, so nothing large is ever buffered; words of a rank ahead of time cannot stand
before an answer. It goes in frames of 1 MiB, between which others pass. A rank that can read the memory of the other (``cma``)
copies it from there instead, and says that it has taken it.

A frame is 20 bytes, little endian, and its body: kind u8, instance u8, about u16, call u32, group u16, stage u16, length u32, and
the digest of the call u32.
"""

import socket
import ssl
import struct
from collections import deque
from contextlib import suppress
from functools import partial
from itertools import islice

from treecast.running.transport.base import DIRECT, SMALL, FrameError, FrameKind, Key, Piece, Ticket, words_of
from treecast.running.transport.cma import Mark, PeerMemory, address_of
from treecast.running.transport.marks import Marks

#   0        1          2        4       8       10      12       16       20
#   | kind u8 | inst. u8 | about  | call  | group | stage | length | digest | body of `length` bytes
#   |         |          | u16    | u32   | u16   | u16   | u32    | u32    |
#
#  A long message, where memory cannot be read, and where it can:
#
#   sender                 receiver            sender                    receiver
#   OFFER(length) ------->                     OFFER(length, address) ->
#                <------- GRANT(length)                              [reads memory, and the mark]
#   DATA 1 MiB, ... ----->                                           <- TAKEN, unless it is lent
#
#  GRANT may come first: a receiver that knows the length asks at once, and the sender then needs no OFFER.
HEAD = struct.Struct("<BBHIHHII")
_LENGTH = struct.Struct("<Q")
_OFFER = struct.Struct("<3Q?")  # length, address, 0 where it cannot be read, number of the mark, and whether it is lent
FRAME = 1 << 20
"""Bytes of a frame of a long message at most."""
# Twice what a short message in each of the 64 calls takes that a rank may be ahead.
AHEAD = 8 << 20
"""Bytes that are buffered of a peer, for which nobody has asked yet."""
# A peer that names more messages than any program has under way is not one of ours: it must not fill our memory.
_KEYS = 1 << 14  # messages that wait to be asked for, or are asked for too early
ROOM = 1 << 17
"""Bytes that are read at once, more than a short frame has."""
_JOINED = 16  # pieces that one system call sends
_JOINED_BYTES = 4096  # up to which a body is copied behind its head
_AGAIN = (BlockingIOError, InterruptedError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


class _Asked:
    """A message that is asked for: where it goes, unless it is cancelled; its length, how much has come, if it was granted."""

    __slots__ = ("done", "granted", "length", "place", "ticket")

    def __init__(self, place: Piece, ticket: Ticket) -> None:
        self.place: Piece | None = place
        self.ticket, self.length, self.done, self.granted = ticket, len(place), 0, False


class Wire:
    """A connection to a peer.

    ``sock``: None until there is one; what is said waits for it. ``is_shut``: messages are dropped. ``is_mute``: nothing can be
    sent any more. ``mark``: tells the other side whether what it reads from the memory of this one still stands. ``marks``: the
    digests of calls; messages of unlike ones are dropped. ``room``: where bytes come in; wires that read by turns share it.
    """

    def __init__(
        self, sock: socket.socket | None, peer: int, marks: Marks | None = None, room: Piece | None = None
    ) -> None:
        self.peer, self._marks, self.sock = peer, marks or Marks(), sock
        self.is_shut = self.is_mute = self.is_gone = False
        self._out = deque[tuple[memoryview, Ticket]]()
        self._streams = deque[tuple[Key, memoryview, Ticket]]()  # asked for: what is left to send of each
        self._held: dict[Key, tuple[memoryview, Ticket]] = {}  # long ones, until they are asked for
        self._granted: dict[Key, int] = {}  # asked for before there is a message
        self.asked: dict[Key, _Asked] = {}
        # Short messages, and offers of long ones, that came before anybody asked for them.
        self.early, self._early_bytes = dict[Key, bytes](), 0
        self.offers: dict[Key, tuple[int, int, int, bool]] = {}
        self.mark = Mark()
        self._memory: PeerMemory | None = None  # of the other side, where it can be read
        self._buffer: memoryview = memoryview(bytearray(ROOM)) if room is None else room
        self._rest = b""  # the begin of a frame of which more comes
        self._into: memoryview | None = None  # where the rest of a frame goes
        self._of = Key(FrameKind.DATA)  # the message that it is part of

    @property
    def _secure(self) -> ssl.SSLSocket | None:
        return self.sock if isinstance(self.sock, ssl.SSLSocket) else None

    @property
    def wants_out(self) -> bool:
        """Whether bytes wait to go out."""
        return bool(self._out or self._streams) and not self.is_mute

    def say(self, key: Key, body: Piece = b"") -> None:
        """Send a frame; the rest that cannot go out at once is kept."""
        if not self.is_mute:
            # A copy: the caller's memory is free at once, though the bytes may go out later.
            self._append(key, memoryview(bytes(body)), Ticket())
            self.flush()

    def send(self, key: Key, piece: Piece, ticket: Ticket, lent: bool = False) -> None:
        """Begin to send a message, or a frame of control."""
        is_data, ticket.length = key.kind == FrameKind.DATA, len(piece)
        if self.is_mute or (self.is_shut and is_data):
            ticket.end(lost=True)
        elif not is_data or (len(piece) <= SMALL and key.instance != DIRECT):
            self.say(key, piece)
            ticket.end(len(piece))
        elif self._granted.pop(key, None) == len(piece):  # its length was asked for already: no OFFER
            self._streams.append((key, memoryview(piece), ticket))
            self.flush()
        else:
            self._held[key] = memoryview(piece), ticket
            address = 0 if self._memory is None else address_of(piece)  # 0: it cannot be read here
            if address and lent:
                ticket.lent = partial(self._take_back, key)
            offer = _OFFER.pack(len(piece), address, self.mark.taken_back, ticket.lent is not None)
            self.say(key._replace(kind=FrameKind.OFFER), offer)

    def _take_back(self, key: Key, is_read: bool) -> None:
        """Take a message back that was offered; ``is_read``: all that live have read it."""
        if key in self._held:  # gone already, or being sent
            piece, ticket = self._held.pop(key)
            ticket.end(len(piece), lost=not is_read)
            # Somebody may be reading it right now. The mark tells that reader that its bytes do not count.
            if not is_read:
                self.mark.take_back()

    def _append(self, key: Key, body: memoryview, ticket: Ticket) -> None:
        kind, call, stage, about, instance, group = key
        head = HEAD.pack(kind, instance, about, call, group, stage, len(body), self._marks.of(key))
        if len(body) > _JOINED_BYTES:
            self._out.append((memoryview(head), Ticket()))
            self._out.append((body, ticket))
        else:
            self._out.append((memoryview(head + body), ticket))

    def flush(self) -> None:
        """Send as much as goes at once."""
        while self.wants_out and self.sock is not None:
            # Only when all frames are out. So words of control pass between two frames of a long message, at most 1
            # MiB late.
            if not self._out:  # the next frame of a long message
                key, rest, ticket = self._streams.popleft()
                if rest[FRAME:]:
                    self._streams.appendleft((key, rest[FRAME:], ticket))
                    ticket = Ticket()
                self._append(key, rest[:FRAME], ticket)
            try:
                if self._secure is None and len(self._out) > 1:
                    sent = self.sock.sendmsg([piece for piece, _ in islice(self._out, _JOINED)])
                else:
                    sent = self.sock.send(self._out[0][0])
            except _AGAIN:
                return
            except OSError:  # frames that the peer sent before it ended are still to be read
                self.is_mute = True
                self._end_sends()
                return
            while self._out and sent >= len(self._out[0][0]):  # several pieces may have gone at once
                piece, ticket = self._out.popleft()
                sent -= len(piece)
                ticket.end(ticket.length)
            if sent:
                self._out[0] = self._out[0][0][sent:], self._out[0][1]

    def _end_sends(self) -> None:
        for key in [*self._held]:  # offers nobody will take
            self._take_back(key, False)
        for *_, ticket in [*self._streams, *self._out]:
            ticket.end(lost=True)
        self._streams.clear()
        # A frame of which half is out has to be finished, or the peer would read the next head in the middle of a
        # body.
        self._out = deque(
            (memoryview(bytes(piece)), Ticket()) for piece, _ in self._out
        )  # what has begun goes on from a copy

    def ask(self, key: Key, place: Piece, ticket: Ticket) -> None:
        """Begin to receive a message."""
        if key in self.early:
            body = self.early.pop(key)
            self._early_bytes -= len(body)
            if len(place) == len(body):
                place[:] = body
            ticket.end(len(body))
        elif self.is_shut or self.is_gone:
            ticket.end(lost=True)
        else:
            offered = self.offers.pop(key, None)
            self.asked[key] = asked = _Asked(place, ticket)
            if offered is not None:
                self._answer(key, asked, offered)
            # Without an offer yet it is asked for at once, which saves a round trip. Where memory can be read the
            # address is awaited instead.
            elif asked.length > SMALL and self._memory is None:
                self._grant(key, asked)

    def waits(self, key: Key) -> int | None:
        """Return the length of a message that nobody has asked for, None where there is none."""
        return len(self.early[key]) if key in self.early else self.offers.get(key, [None])[0]

    def cancel(self, key: Key | None) -> None:
        """Drop a message that was asked for, None for all, and those that go out; nothing touches its memory any more."""
        if key is None:
            self._end_sends()
        for each in self.asked if key is None else self.asked.keys() & {key}:
            asked = self.asked[each]
            asked.ticket.end(lost=True)
            # It stays among those asked for: the message may be on its way, and its bytes have to be taken from the
            # stream and dropped.
            asked.place, asked.ticket = None, Ticket()
            if self._into is not None and self._of == each:
                # The frame that is being read goes on into memory that nobody looks at.
                self._into = memoryview(bytearray(len(self._into)))

    def forget(self, call: int, group: int) -> None:
        """Drop messages that nobody has asked for, or taken, of calls of a group before one."""
        for key in {*self.early, *self._held, *self.offers, *self._granted}:
            if key.call < call and key.group == group and key.instance != DIRECT:
                self._early_bytes -= len(self.early.pop(key, b""))
                self._take_back(key, False)
                self.offers.pop(key, None)
                self._granted.pop(key, None)

    def _answer(self, key: Key, asked: _Asked, offer: tuple[int, int, int, bool]) -> None:
        """Answer an offer of a message that was asked for, and not granted yet, or of another length."""
        length, address, number, lent = offer
        # Cancelled: a message of any length is taken, and dropped.
        if asked.place is None:
            asked.length = length
        if asked.length != length:
            del self.asked[key]
            asked.ticket.end(length)
            self.say(key._replace(kind=FrameKind.REFUSE))
        # When the read fails, or the mark has changed, the message comes by the connection, or it was taken back and
        # never comes.
        elif self._memory is not None and address and self._memory.read(asked.place or b"", address, number):
            del self.asked[key]
            asked.ticket.end(length)
            if not lent:
                self.say(key._replace(kind=FrameKind.TAKEN))
        else:
            self._grant(key, asked)

    def _grant(self, key: Key, asked: _Asked) -> None:
        asked.granted = True
        self.say(key._replace(kind=FrameKind.GRANT), _LENGTH.pack(asked.length))

    def read(self) -> list[tuple[Key, bytes]] | None:
        """Take bytes that have come; return the frames for handlers, None at the end of the connection.

        Raises FrameError for bytes that no rank sends.
        """
        found: list[tuple[Key, bytes]] = []
        while self.sock is not None:
            into = self._buffer[len(self._rest) :] if self._into is None else self._into
            try:
                got = self.sock.recv_into(into)
            except _AGAIN:
                return found
            except OSError:
                got = 0
            if not got:
                return found or None  # after frames the next look finds the end again
            if self._into is None:
                self._buffer[: len(self._rest)] = self._rest
                self._parse(found, len(self._rest) + got)
            else:
                self._into = self._into[got:] if got < len(self._into) else None
                if self._into is None:
                    self._end_frame()
            # The selector sees the socket alone. Bytes that TLS has decoded already would wait there unseen.
            if self._secure is None or not self._secure.pending():
                break
        return found

    def _parse(self, found: list[tuple[Key, bytes]], last: int) -> None:
        first, buffer = 0, self._buffer
        while last - first >= HEAD.size:
            kind, instance, about, call, group, stage, length, digest = HEAD.unpack_from(buffer, first)
            key, body = Key(kind, call, stage, about, instance, group), first + HEAD.size
            # A long message. Its last frame may be short, and is told by what has come of it. It goes straight to its
            # place, and its digest was looked at when it was offered or asked for.
            if kind == FrameKind.DATA and (length > SMALL or (key in self.asked and self.asked[key].done)):
                self._begin_frame(key, length, buffer[body : min(last, body + length)])
                first = min(last, body + length)
                continue
            if length > SMALL:
                raise FrameError("a frame that is too long")
            # The rest of a short frame comes later. With at most 64 KiB it fits into the room.
            if last - body < length:
                break
            # Frames for handlers pass in any case: by them ranks find out, and settle, that calls are unlike.
            if not digest or self._marks.fits(self.peer, key, digest) or kind >= FrameKind.STATE:
                self._take(key, bytes(buffer[body : body + length]), found)
            first = body + length
        self._rest = bytes(buffer[first:last])

    def _begin_frame(self, key: Key, length: int, there: memoryview) -> None:
        """Begin a frame of a long message: the bytes that are there go to their place, and the rest will."""
        asked = self.asked.get(key)
        # Each frame but the last has its full length. So the peer cannot write behind the place, whatever it says.
        if asked is None or length != min(FRAME, asked.length - asked.done):
            raise FrameError("a long message that was not asked for, or is longer")
        whole = memoryview(bytearray(length)) if asked.place is None else asked.place[asked.done :]
        place, self._of = whole[:length], key
        asked.done += length
        place[: len(there)] = there
        self._into = place[len(there) :] if len(there) < length else None
        if self._into is None:
            self._end_frame()

    def _end_frame(self) -> None:
        asked = self.asked[self._of]
        if asked.done == asked.length:
            del self.asked[self._of]
            asked.ticket.end(asked.length)

    def _take(self, key: Key, body: bytes, found: list[tuple[Key, bytes]]) -> None:
        """Take a short frame."""
        if key.kind == FrameKind.DATA:
            self._take_data(key, body)
        elif key.kind >= FrameKind.STATE:
            found.append((key, body))
        elif key.kind == FrameKind.ALIVE or self.is_shut:  # shut: nothing more of its data is answered
            pass
        elif key.kind == FrameKind.OFFER:
            self._take_offer(key._replace(kind=FrameKind.DATA), body)
        elif key.kind == FrameKind.GRANT:
            self._take_grant(key._replace(kind=FrameKind.DATA), body)
        elif key.kind in (FrameKind.REFUSE, FrameKind.TAKEN):
            piece, ticket = self._held.pop(key._replace(kind=FrameKind.DATA), (b"", Ticket()))
            ticket.end(len(piece) if key.kind == FrameKind.TAKEN else 0)
        elif key.kind == FrameKind.NEAR:
            memory = PeerMemory(body)
            self._memory = memory if memory.is_reached else None
        else:
            raise FrameError(f"a frame of kind {key.kind}")

    def _take_data(self, key: Key, body: bytes) -> None:
        asked = self.asked.get(key)
        if self.is_shut:  # its data touches no memory
            return
        if asked is None:
            self._early_bytes += len(body)
            if self._early_bytes > AHEAD or len(self.early) > _KEYS or key in self.early:
                raise FrameError("more than is buffered")
            self.early[key] = body
        else:
            if asked.place is not None and len(asked.place) == len(body):
                asked.place[:] = body
            del self.asked[key]
            asked.ticket.end(len(body))

    def _take_offer(self, key: Key, body: bytes) -> None:
        offer, asked = words_of(_OFFER, body), self.asked.get(key)
        if len(self.offers) > _KEYS:
            raise FrameError("more offers than there are calls")
        if asked is None:
            self.offers[key] = offer
        elif not asked.granted or asked.length != offer[0]:  # an OFFER that crossed its GRANT is answered already
            self._answer(key, asked, offer)

    def _take_grant(self, key: Key, body: bytes) -> None:
        (length,), held = words_of(_LENGTH, body), self._held.pop(key, None)
        if len(self._granted) > _KEYS:
            raise FrameError("more is asked for than there is")
        if held is None:
            self._granted[key] = length  # asked for too early: kept until it is sent
        elif length == len(held[0]):
            self._streams.append((key, *held))
            self.flush()
        else:  # the other side learns so from the offer
            held[1].end()

    def shut(self) -> None:
        """Take nothing more, and end all tickets."""
        # The connection stays open. Words of agreement still pass, and its end still proves a death.
        self.is_shut = True
        self._end_all()
        self.early.clear()

    def end(self) -> None:
        """Close the connection: all tickets are over; messages that have come before stay."""
        self.is_gone = self.is_mute = True
        self._end_all()
        self._out.clear()
        with suppress(OSError):
            if self.sock is not None:
                self.sock.close()

    def _end_all(self) -> None:
        self.cancel(None)
        self.offers.clear()
