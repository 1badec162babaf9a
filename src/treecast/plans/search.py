"""Searches: attempts are made until one meets a lower bound, or the work of a search is done.

Every search has the same amount of work. It is counted, not measured, so plans are the same on every machine: an attempt costs
so many units for each thing that it looks at. The searches of a builder end after some tenths of a second, the longest after a
few seconds.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from treecast.errors import PlanError

Tried = TypeVar("Tried")

WORK = 2**29
"""The units of work of a search."""
HOP = 2**9
"""The units that it takes to find the step of a hop on a machine."""
_MOST_LOOKS = 2**24
MET = 0.001
"""The share of a time that nobody searches to gain, where times are no whole steps."""


def too_much(arcs: int, ways: int) -> str:
    """Return that a builder looks at too many arcs for each of its ways, or an empty text."""
    if arcs * ways <= _MOST_LOOKS:
        return ""
    return f"looks at {arcs:,} arcs for each of {ways:,} ways, {_MOST_LOOKS:,} times at most"


def affordable(attempts: Iterable[Tried], cost: Callable[[Tried], int]) -> Iterator[Tried]:
    """Yield attempts as long as another one like the last can be paid for; the first in any case.

    ``cost``: of an attempt, in units of work.

    >>> [number for number in affordable(range(5), lambda number: WORK // 3)]
    [0, 1, 2]
    """
    left = WORK
    for each in attempts:
        yield each
        left -= (last := cost(each))
        if left < last:
            return


def best_of(
    attempts: Iterable[Tried], cost: Callable[[Tried], tuple[int, ...]], least: int | Callable[[int], bool]
) -> Tried:
    """Return the attempt that costs least, steps first, and of equal ones the first; they are made until one takes ``least``.

    ``least``: a number of steps, or whether so many are the least, as a lower bound says. Raises PlanError when there is none.
    """
    best: tuple[tuple[int, ...], Tried] | None = None
    for each in attempts:
        if best is None or cost(each) < best[0]:
            best = cost(each), each
        if least(best[0][0]) if callable(least) else best[0][0] <= least:
            break
    if best is None:
        raise PlanError("no attempt was made")
    return best[1]
