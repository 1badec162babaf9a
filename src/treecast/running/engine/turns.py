"""Turns: where all that a rank sends goes over one port, few of its messages are under way at once, in the order of their steps.

A one-port schedule has a node send one chunk in a step. Were all messages begun that may begin, they would share the port, and
each would arrive late; so would chunks that others are to pass on.
"""

from collections.abc import Collection, Sequence
from heapq import heappop, heappush
from itertools import count
from typing import Generic, TypeVar

AT_ONCE = 2
"""The messages of a rank that are under way at once: one is on the wire while the word comes back that the other is there."""
_FRONT, _OFTEN = 24, 16  # messages that are looked at, and every how many looks all are

Sending = TypeVar("Sending")


class Turns(Generic[Sending]):
    """Which transfers of a rank may send.

    ``most``: messages under way at once, 0 for any number. ``beside``: the ranks on the same host, which other ways than the port
    lead to. A rank may be silent, and messages to it under way for ever: so there are no turns where failures are to be
    survived.

    Examples
    --------
    >>> turns = Turns[str](1)
    >>> turns.take("first", 3, 8), turns.take("third", 5, 8), turns.take("second", 4, 9)
    (True, False, False)
    >>> turns.end(8)
    >>> turns.next()
    'second'
    """

    def __init__(self, most: int = 0, beside: Collection[int] = ()) -> None:
        self._most, self._beside = most, frozenset(beside)
        self._busy, self._looks = 0, 0
        self._waiting: list[tuple[int, int, Sending]] = []
        self._order = count()

    def limits(self, peer: int) -> bool:
        """Return whether sends to a rank take turns."""
        return bool(self._most) and peer not in self._beside

    def take(self, sending: Sending, step: int, peer: int) -> bool:
        """Return whether a message of this step may begin; if not, ``next`` gives its sender back when it may."""
        if not self.limits(peer):
            return True
        # Not past one that waits with an earlier step, which others need sooner.
        if self._busy < self._most and not (self._waiting and self._waiting[0][0] < step):
            self._busy += 1
            return True
        heappush(self._waiting, (step, next(self._order), sending))
        return False

    def end(self, peer: int) -> None:
        """Note that a message to a rank is there, or given up."""
        self._busy -= self.limits(peer)

    def next(self) -> Sending | None:
        """Return who may send now, the earliest step first; None when nobody may, or nobody waits."""
        return heappop(self._waiting)[2] if self._waiting and self._busy < self._most else None

    def worth_a_look(self, going: Sequence[Sending]) -> Sequence[Sending]:
        """Return the transfers, in the order of their steps, in which something may have moved: mostly the first of them."""
        self._looks += 1
        # Transfers are in the order of steps. Looking at each of thousands every time would take longer than sending.
        return going[:_FRONT] if self._most and self._looks % _OFTEN else going
