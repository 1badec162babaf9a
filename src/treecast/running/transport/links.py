"""Streams between any two ranks of a network whose links are the only connections: each piece is flooded.

A rank numbers its pieces, and sends each over all its links. Whoever gets one for the first time sends it on over all its other
links, and takes the pieces of a rank in the order of their numbers. So a piece comes by every way at once, and cut links and dead
ranks on the way delay nothing while some way is left. ``Sockets`` runs over these streams as over sockets, with ``Links`` in
the place of its selector. Data of plans goes over single links, by ``direct``.

Source: flooding with sequence numbers, as in link-state routing (Perlman 1983); no routes are kept here.
"""

import selectors
from collections import deque
from collections.abc import Collection, Sequence
from selectors import SelectorKey
from time import monotonic
from typing import Any

from treecast.running.transport.base import FrameError, FrameKind, Key, Piece
from treecast.running.transport.sockets import Sockets

# A piece is the body of a frame of control, which has 64 KiB at most. Every link carries every piece, so `_WINDOW`
# limits what one rank may have under way to another.
_PIECE = 1 << 15  # bytes of a piece at most
_WINDOW = 1 << 17  # bytes on their way to a rank that has not taken them yet
_CREDIT = _WINDOW // 4  # bytes taken after which the sender is told so
_EARLY = 1 << 14  # pieces of a rank that may come before their turn
_CLOSING = 10.0  # seconds for which others are waited for at the end
# The topics of a piece: bytes of the stream; so many bytes were taken; this rank has ended; its sender waits for
# nothing more.
_BYTES, _TAKEN, _GONE, _DONE = range(4)


class Stream:
    """The bytes to and from one rank; as much of a non-blocking socket as ``Wire`` and ``Sockets`` ask for."""

    def __init__(self, links: "Links", peer: int) -> None:
        self._links, self.peer = links, peer
        self._came = deque[memoryview]()
        self._room, self._taken, self.is_over = _WINDOW, 0, False
        self.next, self.early = 0, dict[int, tuple[Key, bytes]]()  # of the pieces of this rank to anybody

    def close(self) -> None:
        """Let nothing more out."""
        self.is_over = True

    def sendmsg(self, pieces: Sequence[Piece]) -> int:
        """Send as much of some pieces of memory as goes at once; return how much that is."""
        return self.send(b"".join(pieces))

    def send(self, piece: Piece) -> int:
        """Send as much as goes at once; return how much. Raises OSError when the rank has ended, or has not taken enough."""
        if self.is_over:
            raise BrokenPipeError  # as a socket of a process that is gone
        if not self._room:
            raise BlockingIOError
        part = bytes(piece[: min(_PIECE, self._room)])
        self._room -= len(part)
        self._links.flood(self.peer, _BYTES, part)
        return len(part)

    def recv_into(self, place: memoryview) -> int:
        """Take bytes that have come; return how many, 0 at the end. Raises BlockingIOError when there are none yet."""
        if not self._came:
            if self.is_over:
                return 0
            raise BlockingIOError  # not yet: somebody else may come first
        piece = self._came.popleft()
        count = min(len(piece), len(place))
        place[:count] = piece[:count]
        if count < len(piece):
            self._came.appendleft(piece[count:])  # what did not fit stays in front
        self._taken += count
        # Not after each piece: a word of credit is flooded over all links, too.
        if self._taken >= _CREDIT:
            self._links.flood(self.peer, _TAKEN, self._taken.to_bytes(4, "little"))
            self._taken = 0
        return count

    def take(self, topic: int, body: bytes) -> None:
        """Take a piece that the rank has sent. Raises FrameError for one that makes no sense."""
        if topic == _BYTES:
            self._came.append(memoryview(body))  # bytes are copied once, when they are taken
        else:
            self._room += int.from_bytes(body, "little")
            if self._room > _WINDOW:  # so many are on their way at most: more is a lie
                raise FrameError("more was taken than was sent")

    def events(self, wanted: int) -> int:
        """Return which of the wanted events are there."""
        reads = selectors.EVENT_READ if self._came or self.is_over else 0
        writes = selectors.EVENT_WRITE if self._room or self.is_over else 0
        return wanted & (reads | writes)


class Links:
    """The links of a rank, and its streams to all others over them; ``direct``: the transport of the links alone.

    It is a selector of these streams, and moves bytes when it is asked which are ready. The end of a link that proves a death is
    flooded; a link that is silent for longer than the deadline of ``direct`` is shut, and only that.
    """

    def __init__(self, direct: Sockets) -> None:
        self.direct, self._rank, self._number = direct, direct.rank, 0
        self.streams = {peer: Stream(self, peer) for peer in range(direct.size) if peer != direct.rank}
        self._registered: dict[Stream, SelectorKey] = {}
        self._done = set[int]()  # who waits for nothing any more
        self.heard = dict.fromkeys(range(direct.size), monotonic())  # a piece to anybody is a sign of life
        direct.on(FrameKind.FLOOD, self._hear)
        direct.watch(self._lose)

    def flood(self, target: int, topic: int, body: bytes) -> None:
        """Send a piece to a rank by every way."""
        # A piece in the words of a key: call = its number, stage = for whom, about = from whom, instance = its topic.
        key = Key(FrameKind.FLOOD, self._number, target, self._rank, topic)
        self._number = (self._number + 1) % (1 << 32)
        self._send_on(key, body, self._rank)

    def _send_on(self, key: Key, body: bytes, source: int) -> None:
        for near in self.direct.peers:
            # Not back to where it came from, nor to who made it. Every other link carries it, which needs no
            # knowledge of routes.
            if near not in (source, key.about) and near not in self.direct.lost:
                self.direct.send(near, key, body)

    def _hear(self, source: int, key: Key, body: bytes) -> None:
        """Hear a piece over a link, and send it on when it is new. Raises FrameError for one that makes no sense."""
        origin, number = key.about, key.call
        if origin == self._rank:
            return
        if origin not in self.streams or key.stage >= self.direct.size:
            raise FrameError("a piece of a rank that is none")
        stream, self.heard[origin] = self.streams[origin], monotonic()
        # Numbers return after 2^32 pieces: the half behind `next` is old, the half before it is to come.
        ahead = (number - stream.next) % (1 << 32)  # 2^31: half of the numbers lie behind, half ahead
        if ahead >= 1 << 31 or number in stream.early:
            return  # old, or it waits for its turn
        if ahead > _EARLY:
            raise FrameError("a piece that is too far ahead")
        # Before it waits for its turn here: others may lack no earlier piece.
        self._send_on(key, body, source)
        stream.early[number] = key, body
        # In the order of numbers, whatever their targets: a later piece waits for the earlier ones.
        while stream.next in stream.early:
            key, body = stream.early.pop(stream.next)
            stream.next = (stream.next + 1) % (1 << 32)
            if key.instance == _GONE:  # a rank that has ended sends no more pieces
                self._end(key.stage)
            elif key.instance == _DONE:
                self._done.add(origin)
            elif key.stage == self._rank:
                stream.take(key.instance, body)

    def _lose(self, near: int, proof: bool, why: str) -> None:
        # A silent link may be a broken cable. Whether its rank is dead is then judged by all, over other ways.
        if proof:  # the end of a link is a proof, silence is none
            self.flood(near, _GONE, b"")
            self._end(near)

    def _end(self, rank: int) -> None:
        if rank in self.streams:
            self._done.add(rank)
            self.streams[rank].close()

    def register(self, stream: Stream, events: int, data: Any) -> None:
        """Look for events of a stream."""
        self._registered[stream] = SelectorKey(stream, stream.peer, events, data)  # type: ignore[arg-type]

    modify = register

    def unregister(self, stream: Stream) -> None:
        """Look for no more events of a stream."""
        del self._registered[stream]

    def select(self, seconds: float) -> list[tuple[SelectorKey, int]]:
        """Return the streams that are ready, with their events, after moving bytes over links; wait for some as long as given."""
        found = self._ready()
        # Streams that are ready already must not wait for links to move.
        self.direct.move(0 if found else seconds)
        return found or self._ready()

    def _ready(self) -> list[tuple[SelectorKey, int]]:
        looked = ((key, stream.events(key.events)) for stream, key in self._registered.items())
        return [(key, events) for key, events in looked if events]

    def linger(self, others: Collection[int]) -> None:
        """Send on pieces that others still wait for, until all others have said that they wait for nothing any more."""
        self.flood(self._rank, _DONE, b"")
        # A rank that goes takes its links with it. Others may still need them as the only way to one another.
        until, direct = monotonic() + _CLOSING, self.direct
        while monotonic() < until:
            is_awaited = len(direct.lost) < len(direct.peers) and not self._done.issuperset(others)
            # what it had to say has gone, and nobody asks for more
            if direct.has_said(direct.peers) and not is_awaited:
                return
            direct.progress(_CLOSING / 100)
            direct.watch_time()

    def close(self) -> None:
        """Close all links."""
        self.direct.close()
