"""Which event happens before which, however fast everybody is, and how surely the later one knows.

An event happens when all before it have. It may also raise a count, or lower one, which waits until that is above 0. Nothing else
lowers counts, so any order of turns comes to the same end. Only where several lanes lower one count may the order matter; there
they take it as they come.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from treecast.errors import FormatError

TOLD, RELAXED, ORDERED, TURNS = range(4)
"""A way is as strong as its weakest part. TOLD publishes data, RELAXED has a relaxed signal or wait in it, ORDERED orders data
that it does not publish, and TURNS say in which order a thread works, and nothing of its data."""
_MOST_EVENTS, _MOST_LINKS = 2**18, 2**20
_BITS, _MOST_BITS = 2**31, 2**33  # of a table of which targets follow each event: wanted, and at most


Count = tuple[int, ...] | tuple[int, str, int]
"""Whose count it is, and which."""


class Change(NamedTuple):
    """An event that raises or lowers a count, the lane that it is of, and whether it publishes data."""

    event: int
    lane: int
    plain: bool


class Events:
    """Events, in the order in which they were added; ``begins``: the counts at the beginning."""

    def __init__(self, begins: Mapping[Count, int]) -> None:
        self.begins = Counter(begins)
        self.raised = defaultdict[Count, list[Change]](list)
        self.lowered = defaultdict[Count, list[Change]](list)
        self._next: list[list[tuple[int, int]]] = []
        self._order = list[int]()

    def add(self, *before: int) -> int:
        """Add an event that comes after others, and return its number."""
        if len(self._next) >= _MOST_EVENTS:
            raise FormatError(f"this plan has more than {_MOST_EVENTS:,} parts to order: that is too many to judge")
        self._next.append([])
        for event in before:
            self.link(event, len(self._next) - 1)
        return len(self._next) - 1

    def link(self, before: int, after: int, level: int = TOLD) -> None:
        """Let an event come after another."""
        self._next[before].append((after, level))

    def block(self, event: int) -> None:
        """Let an event wait for ever."""
        self.lowered[()].append(Change(event, 0, True))

    def run(self) -> list[int]:
        """Return the events that happen, in an order in which they can; those that wait for ever are left out."""
        order = self._order = self._pass({change.event: key for key, all_ in self.lowered.items() for change in all_})
        if len(order) == len(self._next):
            self._link_counts()
            self._order = self._pass({})
        return order

    def _pass(self, needs: Mapping[int, Count]) -> list[int]:
        """Return the events in an order in which they can happen; ``needs``: the count that an event lowers."""
        wakes = {change.event: key for key, changes in self.raised.items() for change in changes}
        missing = Counter(event for follows in self._next for event, _ in follows)
        counts, waiting = self.begins.copy(), defaultdict[Count, deque[int]](deque)
        ready = deque(event for event in range(len(self._next)) if not missing[event])
        order = list[int]()
        while ready:
            event = ready.popleft()
            if event in needs:
                if not counts[needs[event]]:
                    waiting[needs[event]].append(event)
                    continue
                counts[needs[event]] -= 1
            order.append(event)
            if event in wakes:
                counts[wakes[event]] += 1
                if waiting[wakes[event]]:
                    ready.appendleft(waiting[wakes[event]].popleft())
            for other, _ in self._next[event]:
                missing[other] -= 1
                if not missing[other]:
                    ready.append(other)
        return order

    def _link_counts(self) -> None:
        """Let who lowers a count come after who raises it, wherever it cannot pass without that."""
        for key, lowered in self.lowered.items():
            raised, seen, turns = self.raised[key], Counter[int](), Counter[int]()
            if len(raised) * len(lowered) > _MOST_LINKS:
                words = f"{len(raised):,} signals to {len(lowered):,} waits of one count"
                raise FormatError(f"{words} are too many to judge")
            behind = list[int]()  # how many raise it behind each in its lane, itself included
            for one in reversed(raised):
                seen[one.lane] += 1
                behind.append(seen[one.lane])
            for late in lowered:
                turns[late.lane] += 1
                for early, later in zip(reversed(raised), behind, strict=True):
                    if len(raised) - later < turns[late.lane] - self.begins[key]:
                        self.link(early.event, late.event, TOLD if early.plain and late.plain else RELAXED)

    @property
    def at_once(self) -> int:
        """How many targets are best asked for together."""
        return _BITS // max(len(self._next), 1)

    def reach(self, targets: Iterable[int]) -> "Reach":
        """Return which of some events come after others. Raises FormatError when these are too many."""
        found = Reach(self._next, self._order, {event: k for k, event in enumerate(dict.fromkeys(targets))})
        if len(found.place) * len(self._next) > _MOST_BITS:
            words = f"{len(found.place):,} of {len(self._next):,} parts"
            raise FormatError(f"this plan is too large to judge: {words} are of one buffer")
        return found


class Reach:
    """Which targets come after events, as bits; ``place``: by the target, its bit."""

    def __init__(
        self, following: Sequence[Sequence[tuple[int, int]]], order: Sequence[int], place: Mapping[int, int]
    ) -> None:
        self._next, self._order, self.place = following, order, place
        self._found = dict[int, list[int]]()

    def bits(self, targets: Iterable[int]) -> int:
        """Return targets as bits."""
        return sum(1 << self.place[event] for event in set(targets))

    def follow(self, event: int, level: int) -> int:
        """Return the targets that come after an event by ways of which no part is weaker than ``level``, itself included."""
        if level not in self._found:
            ways = self._found[level] = [0] * len(self._next)
            for one in reversed(self._order):
                bits = 1 << self.place[one] if one in self.place else 0
                for other, kind in self._next[one]:
                    if kind <= level:
                        bits |= ways[other]
                ways[one] = bits
        return self._found[level][event]

    def reaches(self, before: int, after: int, level: int) -> bool:
        """Return whether there is a way from an event to a target, no part of it weaker than ``level``."""
        return bool(self.follow(before, level) >> self.place[after] & 1)
