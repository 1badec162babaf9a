"""Which members of a family have so many ranks."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import count
from math import isqrt

Members = Callable[[int], Iterable[str]]
"""From a number of ranks to the arguments of each member with so many."""


def any_from(least: int) -> Members:
    """Return a rule that lists the one member of each size from ``least`` on.

    >>> list(any_from(3)(5)), list(any_from(3)(2))
    (['5'], [])
    """
    return lambda ranks: [str(ranks)] if ranks >= least else []


def counted(size: Callable[[int], int], spell: Callable[[int], str] = str, least: int = 1) -> Members:
    """Return a rule that lists the member K, from ``least``, with ``size(K)`` ranks, which grow with K; ``spell`` writes it.

    >>> list(counted(lambda k: 2**k)(64)), list(counted(lambda k: 2**k)(65))
    (['6'], [])
    """

    def members(ranks: int) -> Iterable[str]:
        k = next(k for k in count(least) if size(k) >= ranks)
        return [spell(k)] if size(k) == ranks > 1 else []

    return members


def words(size: Callable[[int, int], int], most: int = 9) -> Members:
    """Return a rule that lists the members D,K with ``size(D, K)`` ranks, for D from 2 to ``most`` and K from 2.

    >>> list(words(lambda d, k: d**k)(64))
    ['2,6', '4,3', '8,2']
    """
    each = [counted(partial(size, d), f"{d},{{}}".format, 2) for d in range(2, most + 1)]
    return lambda ranks: [text for members in each for text in members(ranks)]


def sides(least: int, most_axes: int = 4) -> Members:
    """Return a rule that lists, for each number of axes from 2, the member with sides from ``least`` on that are most alike.

    >>> list(sides(3)(64)), list(sides(3)(36)), list(sides(3)(35)), list(sides(3)(37))
    (['8x8', '4x4x4'], ['6x6', '4x3x3'], ['7x5'], [])
    """

    def members(ranks: int) -> Iterable[str]:
        # the greatest side first, and as small as it can be
        every = sorted(found[::-1] for found in products(ranks, least))
        for axes in range(2, most_axes + 1):
            for found in [some for some in every if len(some) == axes][:1]:
                yield "x".join(map(str, found))

    return members


def products(number: int, least: int) -> Iterator[tuple[int, ...]]:
    """Yield all ascending tuples of numbers from ``least`` on with this product."""
    yield (number,)
    for side in range(least, isqrt(number) + 1):
        if number % side == 0:
            yield from ((side, *rest) for rest in products(number // side, side))
