"""Exchange of short words among the ranks of a run, when any of them may die and any link may be cut."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet

from treecast.mpi.transport import MpiTransport
from treecast.networks import Network
from treecast.running.transport.base import FrameKind, Key

_LOOK = 0.05  # seconds after which it is asked again whether the words that are there will do
_RELAYS = 16  # neighbours at most who pass on words that they hear


def relays_of(network: Network, rank: int, peers: Iterable[int]) -> frozenset[int]:
    """Return the ranks to which a rank passes words on: its neighbours and those with whom it has transfers (``peers``).

    Where neighbours are many, it is some ranks whose links join all of them.
    """
    if network.degree <= _RELAYS:
        return frozenset(network.neighbors(rank)) | frozenset(peers)
    ways = [1 << place for place in range((network.nodes - 1).bit_length())]
    return frozenset((rank + way) % network.nodes for away in ways for way in (away, -away)) - {rank}


class Circle:
    """All ranks of a run, and the words that each says in one exchange after another.

    Words go from each rank to every other, and a rank passes on words that are new to it to those ``near``. So a cut link delays
    nothing, a rank that dies just says nothing, and nobody need agree on who that is.
    """

    def __init__(self, transport: MpiTransport, near: AbstractSet[int]) -> None:
        self.near = near
        self._transport, self._heard = transport, defaultdict[int, dict[int, bytes]](dict)
        transport.on(FrameKind.FLOOD, self._hear)

    def _hear(self, source: int, key: Key, body: bytes) -> None:
        heard = self._heard[key.call]
        # Only what is new is passed on. So words die out, whatever the ways are.
        if key.about not in heard:
            heard[key.about] = body
            self._say(self.near - {source, key.about}, key, body)

    def _say(self, ranks: Iterable[int], key: Key, body: bytes) -> None:
        for rank in ranks:
            if rank not in self._transport.lost:
                self._transport.send(rank, key, body)

    def exchange(
        self,
        number: int,
        words: bytes,
        patience: float,
        dead: AbstractSet[int] = frozenset(),
        is_over: Callable[[Mapping[int, bytes], AbstractSet[int]], bool] | None = None,
    ) -> tuple[dict[int, bytes], set[int]]:
        """Say ``words`` to every living rank, and hear those of each; return all of them by rank, and who is dead.

        It ends when the words of every other rank have come or it is dead, when ``is_over`` says of the words, and of who
        is dead, that they will do, or when nothing has come for ``patience`` seconds. ``number``: which exchange it is, the same
        at all ranks.
        """
        transport, heard = self._transport, self._heard[number]
        others = set(range(transport.size)) - {transport.rank}
        heard[transport.rank] = words
        self._say(others - dead, Key(FrameKind.FLOOD, number, about=transport.rank), words)

        def all_there() -> bool:
            return others <= heard.keys() | transport.lost.keys() | dead and transport.has_said(self.near - dead)

        moved = looked = now = time.monotonic()
        # It ends when all is there, when that will do, or after `patience` seconds without anything new: never later.
        while now - moved < patience and not all_there():
            count = len(heard)
            transport.wait(lambda count=count: len(heard) > count or all_there(), _LOOK)
            now = time.monotonic()
            moved = now if len(heard) > count else moved
            if now - looked > _LOOK:
                looked = now
                if is_over is not None and is_over(heard, dead | transport.lost.keys()):
                    break
        return dict(heard), {*dead, *transport.lost} - heard.keys()
