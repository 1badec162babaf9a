"""Exchange of short messages among the ranks of a run at its end, when any of them may die and any link may be cut."""

import time
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

import numpy as np

from treecast.execution.layout import Bytes
from treecast.mpi.deaths import abandon, cancel, failed_ranks, has_ended
from treecast.networks import Network

_RECORD = 1 << 16  # bytes that a rank's closing words may have
_TAGS = 16  # from here on: of what is passed on, by exchange and rank
_NAP_SHARE, _SHORTEST_NAP, _LONGEST_NAP = 0.1, 0.0005, 0.02  # of the time since something was heard, in seconds
_LOOK = 0.05  # seconds after which MPI is asked again who has failed
_RELAYS = 16  # neighbours at most who pass on what they hear


class Circle(NamedTuple):
    """Who takes part: all ranks of a communicator that returns errors. A rank passes on what is new to it to those ``near``.

    ``patience``: an exchange ends when nothing has arrived for so many seconds.
    """

    mpi: Any
    comm: Any
    patience: float
    near: frozenset[int]


def relays_of(network: Network, rank: int, peers: Iterable[int]) -> frozenset[int]:
    """Return the ranks to which a rank passes messages on: its neighbours and those with whom it has transfers (``peers``).

    Where neighbours are many, it is some ranks whose links join all of them.
    """
    if network.degree <= _RELAYS:
        return frozenset(network.neighbors(rank)) | frozenset(peers)
    ways = [1 << place for place in range((network.nodes - 1).bit_length())]
    return frozenset((rank + way) % network.nodes for away in ways for way in (away, -away))


IsOver = Callable[[Mapping[int, bytes], AbstractSet[int]], bool]
"""Says of what has been received, and of who is dead, whether that will do."""


def _never(received: Mapping[int, bytes], dead: AbstractSet[int]) -> bool:
    return False


def exchange(
    circle: Circle, words: bytes, tag: int, dead: set[int], is_over: IsOver = _never
) -> tuple[dict[int, bytes], set[int]]:
    """Send ``words`` to every living rank and receive those of each; return all of them by rank, and who is dead.

    Messages go point to point. So a rank that dies meanwhile just sends nothing, and the others need not agree on who that is.
    A cut link delays nothing, since ranks pass on what they receive. The exchange ends when the words of every other rank have
    arrived or it has failed, when ``is_over`` says so, or when nothing has arrived for so long as the circle says. ``tag``: from
    0 to 15, another one for each exchange.
    """
    return _Exchange(circle, words, tag, dead).run(is_over)


class _Exchange:
    """An exchange under way. A message is known by its sender and by the rank whose words it holds."""

    def __init__(self, circle: Circle, words: bytes, tag: int, dead: set[int]) -> None:
        self._mpi, self._comm, self._patience, near = circle
        self._me, self._size, self._tag = int(self._comm.Get_rank()), int(self._comm.Get_size()), tag
        self._near, self._dead, self._received = near - {self._me}, set(dead), {self._me: words}
        self._room = _RECORD if words else 0
        self._incoming: dict[tuple[int, int], tuple[Any, Bytes]] = {}
        self._outgoing: list[tuple[int, Any, Bytes]] = []

    def run(self, is_over: IsOver) -> tuple[dict[int, bytes], set[int]]:
        """Send and receive until all has arrived, or nothing more does."""
        self._post_all()
        moved = looked = time.monotonic()
        while time.monotonic() - moved < self._patience:
            still = [
                (peer, request, out) for peer, request, out in self._outgoing if has_ended(self._mpi, request) is False
            ]
            self._outgoing = still
            if self._receive():
                moved = time.monotonic()
            if self._is_done():
                break
            # others may still need the processor
            time.sleep(min(max(_NAP_SHARE * (time.monotonic() - moved), _SHORTEST_NAP), _LONGEST_NAP))
            if time.monotonic() - looked > _LOOK:
                looked = time.monotonic()
                self._dead.update(failed_ranks(self._mpi, self._comm))
                if is_over(self._received, self._dead):
                    break
        for request, _ in self._incoming.values():  # another rank has passed it on, or it will never come
            cancel(self._mpi, request)
        outgoing = ((request, out) for _, request, out in self._outgoing)
        abandon(self._mpi, [*self._incoming.values(), *outgoing])
        return self._received, self._dead - set(self._received)

    def _post_all(self) -> None:
        """Post receives for the words of all ranks, from themselves and from those near; send the own words to all."""
        for peer in (p for p in range(self._size) if p != self._me and p not in self._dead):
            self._post_receive(peer, peer)
            for of in range(self._size) if peer in self._near else ():
                if of not in (self._me, peer):
                    self._post_receive(peer, of)
            self._send(peer, self._me)

    def _receive(self) -> bool:
        """Take in what has arrived, and pass on what is new; return whether anything is."""
        news = False
        for (peer, of), (request, place) in list(self._incoming.items()):
            status = self._mpi.Status()
            over = has_ended(self._mpi, request, status)
            if over is False:
                continue
            del self._incoming[peer, of]
            if over is None:
                self._dead.add(peer)
            elif of not in self._received:
                self._received[of] = place[: status.Get_count(self._mpi.BYTE)].tobytes()
                news = True
                for other in self._near - self._dead - {peer, of}:
                    self._send(other, of)
        return news

    def _is_done(self) -> bool:
        all_sent = all(peer in self._dead or peer not in self._near for peer, _, _ in self._outgoing)
        return all_sent and all(peer in self._received or peer in self._dead for peer in range(self._size))

    def _tag_of(self, sender: int, of: int) -> int:
        return self._tag if sender == of else _TAGS + self._tag * self._size + of

    def _post_receive(self, peer: int, of: int) -> None:
        place = np.empty(self._room, np.uint8)
        try:
            request = self._comm.Irecv([place, self._mpi.BYTE], peer, self._tag_of(peer, of))
        except self._mpi.Exception:
            self._dead.add(peer)
        else:
            self._incoming[peer, of] = request, place

    def _send(self, peer: int, of: int) -> None:
        out = np.frombuffer(self._received[of], np.uint8)
        try:
            request = self._comm.Isend([out, self._mpi.BYTE], peer, self._tag_of(self._me, of))
        except self._mpi.Exception:
            self._dead.add(peer)
        else:
            self._outgoing.append((peer, request, out))
