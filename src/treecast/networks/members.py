"""Which members of a family have so many ranks: what families say who are asked for all of one size."""

from collections.abc import Callable, Iterable
from math import isqrt

Members = Callable[[int], Iterable[str]]
"""From a number of ranks to what stands behind the colon of each member with so many."""


def none(ranks: int) -> Iterable[str]:
    """Return no member: of families whose members nobody lists."""
    return ()


def any_from(least: int) -> Members:
    """Return what lists the one member of each size from ``least`` on.

    >>> list(any_from(3)(5)), list(any_from(3)(2))
    (['5'], [])
    """
    return lambda ranks: [str(ranks)] if ranks >= least else []


def listing(members: Members) -> Members:
    """Return what lists members by a rule of its own, with its type known to whoever checks types."""
    return members


def counted(size: Callable[[int], int], spell: Callable[[int], str] = str) -> Members:
    """Return what lists the member K, from 1, with ``size(K)`` ranks, which grow with K; ``spell``: how it is written.

    >>> list(counted(lambda k: 2**k)(64)), list(counted(lambda k: 2**k)(65))
    (['6'], [])
    """

    def members(ranks: int) -> Iterable[str]:
        k = 1
        while size(k) < ranks:
            k += 1
        return [spell(k)] if size(k) == ranks > 1 else []

    return members


def words(size: Callable[[int, int], int], most: int = 9) -> Members:
    """Return what lists the members D,K with ``size(D, K)`` ranks, for D from 2 to ``most`` and K from 2.

    >>> list(words(lambda d, k: d**k)(64))
    ['2,6', '4,3', '8,2']
    """

    def members(ranks: int) -> Iterable[str]:
        for d in range(2, most + 1):
            k = 2
            while size(d, k) < ranks:
                k += 1
            if size(d, k) == ranks:
                yield f"{d},{k}"

    return members


def sides(least: int, most_axes: int = 4) -> Members:
    """Return what lists, for each number of axes from 2, the member with sides from ``least`` on that are most alike.

    >>> list(sides(3)(64)), list(sides(3)(36)), list(sides(3)(35)), list(sides(3)(37))
    (['8x8', '4x4x4'], ['6x6', '4x3x3'], ['7x5'], [])
    """

    def members(ranks: int) -> Iterable[str]:
        for axes in range(2, most_axes + 1):
            found = _most_alike(ranks, axes, least)
            if found:
                yield "x".join(map(str, found))

    return members


def _most_alike(ranks: int, axes: int, least: int) -> tuple[int, ...]:
    """Return the sides whose product it is, the greatest first and as small as it can be; empty where there are none."""
    if axes == 1:
        return (ranks,) if ranks >= least else ()
    divisors = {part for low in range(1, isqrt(ranks) + 1) if ranks % low == 0 for part in (low, ranks // low)}
    for greatest in sorted(divisors):
        if greatest**axes >= ranks and greatest >= least:
            others = _most_alike(ranks // greatest, axes - 1, least)
            if others and others[0] <= greatest:
                return (greatest, *others)
    return ()
