"""The star network S_n: the permutations of 1 … n, joined where one swap with the first symbol leads from one to the other.

Not networkx's ``star_graph``, which is K(1,n). Source: Akers, Harel & Krishnamurthy 1987; the notation here is that of
Fragopoulou & Akl, "Edge-Disjoint Spanning Trees on the Star Network with Applications to Fault Tolerance" (1996).
Inside, positions and symbols count from 0; labels and dimensions count from 1, as the paper does.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache
from math import comb, factorial
from random import Random
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treecast.errors import NetworkError
from treecast.networks import permutations as perm
from treecast.networks.cayley import Rotational
from treecast.networks.core import Ints, ints
from treecast.networks.family import counted, family
from treecast.networks.kept import kept

_SMALL = 7  # so many symbols make tables of words and neighbours that are worth keeping


@family(
    "star",
    "N",
    example="star:5",
    summary="the N! permutations, swapped with their first symbol (not K(1,N))",
    nodes="N!",
    degree="N - 1",
    diameter="⌊3(N - 1)/2⌋",
    members=counted(factorial),
)
class Star(Rotational):
    """The star network on n symbols, 2 ≤ n ≤ 15: n! nodes of degree n-1; node number = lexicographic rank.

    Port p swaps the first symbol with the one at position p+2 (counted from 1): the paper's dimension p+2.

    >>> from treecast import network
    >>> star = network("star:5")
    >>> star.labels(star.neighbors(star.node("21345")))
    ['12345', '31245', '41325', '51342']
    >>> star.cycle_notation(star.node("34152"))
    '(13)(245)'
    """

    described: ClassVar[str] = "a star network"

    def __init__(self, n: int) -> None:
        if not 2 <= n <= perm.MAX_SYMBOLS:
            raise NetworkError(f"star:{n} is no network: write star:N with N from 2 to {perm.MAX_SYMBOLS}")
        self.n = n
        super().__init__(f"star:{n}", factorial(n), n - 1, 3 * (n - 1) // 2)

    def words(self, u: ArrayLike) -> Ints:
        """Return the permutations of the nodes ``u`` as words (see treecast.networks.permutations)."""
        return perm.unrank(u, self.n) if self.n > _SMALL else self._all_words[ints(u)]

    @cached_property
    def _all_words(self) -> Ints:
        return perm.unrank(np.arange(self.nodes), self.n)

    def _beyond(self, u: Ints, port: Ints) -> Ints:
        """Return the node over dimension ``port`` + 2."""
        return (
            self._all_neighbors[u, port] if self.n <= _SMALL else perm.rank(perm.swap(self.words(u), port + 1), self.n)
        )

    @cached_property
    def _all_neighbors(self) -> Ints:
        return perm.rank(perm.swap(self._all_words[:, None], np.arange(1, self.n)), self.n)

    def neighbor_table(self, start: int = 0, stop: int | None = None) -> NDArray[np.int32]:
        """Return ``neighbor`` of the nodes ``start … stop-1`` at every port: int32, (stop - start, n-1). Compiled if n > 7."""
        stop = self.nodes if stop is None else stop
        if self.n <= _SMALL or self.nodes >= 2**31:
            return super().neighbor_table(start, stop)
        from treecast.compiled import in_parallel
        from treecast.networks.kernels.star import fill_neighbors

        # the kernel works in whole blocks: parts that lie beyond are cut
        low, high = start - start % 24, stop + -stop % 24  # 24 nodes: blocks of 4! permutations with a common front
        table = np.empty((high - low, self.ports), np.int32)
        places = perm.place_values(self.n)
        in_parallel(lambda a, b: fill_neighbors(low + a, low + b, places, table[a:b]), high - low, 24 << 12)
        return table[start - low : stop - low]

    def _port(self, u: Ints, v: Ints) -> Ints:
        """Return the port of the swap that leads from ``u`` to ``v``, or -1 where no single swap does."""
        a, b = self.words(u), self.words(v)
        # where the first symbol of v stands in u
        target = perm.symbol_at(perm.inverse(a, self.n), perm.symbol_at(b, 0))
        return np.where((a != b) & (perm.swap(a, target) == b), target - 1, -1)

    def distance(self, u: ArrayLike, v: ArrayLike) -> Ints:
        """Return s + c, or s + c - 2 where symbol 1 is misplaced; s symbols misplaced in c cycles, seen from ``u``.

        Source: Akers, Harel & Krishnamurthy; section 2 of the paper.
        """
        a, b = self.words(u), self.words(v)
        # v as seen from u: distances are those from the identity
        seen = perm.compose(perm.inverse(a, self.n), b, self.n)
        misplaced, cycles = perm.misplaced_and_cycles(seen, self.n)
        return misplaced + cycles - 2 * (perm.symbol_at(seen, 0) != 0)

    def levels(self, u: int) -> tuple[int, ...]:
        """Return how many nodes are 0, 1, 2 … arcs away from ``u``."""
        self.check_node(u)
        found = Counter[int]()
        for (distance, _), count in self.shortest_starts().items():
            found[distance] += count
        return tuple(found[distance] for distance in range(self.diameter + 1))

    @kept(1)
    def shortest_starts(self) -> Mapping[tuple[int, int], int]:
        """Return how many nodes are h arcs from node 0, f of whose arcs begin a shortest path, as {(h, f): nodes}.

        Seen from such a node, s symbols are misplaced in c cycles: a swap leads nearer if it sends the first symbol home, or
        joins another cycle to that of the first position.
        """
        n, found = self.n, Counter[tuple[int, int]]()
        cycles: list[list[int]] = [[0] * (n + 2) for _ in range(n + 1)]  # permutations of s in c cycles, none of one
        cycles[0][0] = 1
        for s in range(2, n + 1):
            for c in range(1, s // 2 + 1):  # without cycles of one, s symbols have at most s // 2
                # the last symbol joins a cycle, or makes one of two
                cycles[s][c] = (s - 1) * (cycles[s - 1][c] + cycles[s - 2][c - 1])
        for s in range(n):
            for c in range(s // 2 + 1):
                # symbol 1 at home: each of the s misplaced symbols begins a way
                found[s + c, s] += comb(n - 1, s) * cycles[s][c]
                for own in range(2, n - s + 1):  # symbol 1 in a cycle of that length, s and c those of the others
                    ways = comb(n - 1, own - 1) * factorial(own - 1) * comb(n - own, s) * cycles[s][c]
                    # symbol 1 is one of those misplaced: 2 swaps less, and the own cycle counts as one
                    found[own + s + c + 1 - 2, s + 1] += ways
        return {kind: count for kind, count in found.items() if count}

    def types(self) -> dict[int, int]:
        """Return a node for each length of symbol 1's cycle and lengths of the others, and how many nodes are like it.

        Renaming the symbols 2 … n, and their positions alike, keeps node 0 and arcs, and carries it to those.
        """
        found = dict[int, int]()
        for own in range(1, self.n + 1):
            for others in _partitions(self.n - own, self.n):
                count = factorial(self.n - 1)
                for length, times in Counter(others).items():
                    # a cycle can begin at any of its symbols, and equal cycles change places
                    count //= length**times * factorial(times)
                found[_of_cycles(self.n, (own, *others))] = count
        del found[0]  # node 0 itself
        return found

    def renaming(self, u: int, chance: Random | None = None) -> tuple[int, tuple[int, ...]]:
        """Return the node of ``types`` with such cycles as ``u``, and where positions go: cycles onto cycles, turned any way."""
        word = int(self.words(self.check_node(u)))
        known = {symbol: cycle for cycle in perm.cycles(word, self.n) for symbol in cycle}
        own = known.get(0, (0,))  # a symbol at home is in no cycle that is listed
        others = [cycle for cycle in dict.fromkeys(known.get(s, (s,)) for s in range(self.n)) if cycle != own]
        if chance is not None:  # another renaming of the same kind, by chance
            chance.shuffle(others)
            others = [cycle[turn:] + cycle[:turn] for cycle in others for turn in [chance.randrange(len(cycle))]]
        others.sort(key=len, reverse=True)
        names = [symbol for cycle in (own, *others) for symbol in cycle]
        return _of_cycles(self.n, tuple(map(len, (own, *others)))), tuple(symbol - 1 for symbol in names[1:])

    def first_child_port(self, tree: int) -> int:
        """Return ``tree``: the paper's order of children in T_k is dimension k, k+1, …, n, 2, …"""
        return tree

    def _moved(self, u: Ints, h: Ints, way: int) -> Ints:
        """Return ``T_h(u)``: every symbol s of ``u`` becomes the s-th symbol of ``h`` (Definition 2, Lemma 1); or its inverse."""
        by = self.words(h) if way > 0 else perm.inverse(self.words(h), self.n)
        return perm.rank(perm.compose(by, self.words(u), self.n), self.n)

    def rotate(self, u: ArrayLike, times: int = 1) -> Ints:
        """Return ``R^times(u)``: the symbols 2 … n and their positions all move on by one, cyclically (Definition 3).

        An arc of port p becomes one of port p + ``times`` modulo n - 1; distances to node 0 stay (Lemma 2).
        """
        turn = [0, *(1 + (k + times) % self.ports for k in range(self.ports))]
        r = perm.pack(turn)
        return perm.rank(perm.compose(perm.compose(r, self.words(u), self.n), perm.inverse(r, self.n), self.n), self.n)

    def cycle_notation(self, u: int) -> str:
        """Return the cycles of length ≥ 2 as the paper writes them: ``(13)(245)`` for 341526 (Definition 1)."""
        between = "" if self.n <= 9 else " "
        cycles = perm.cycles(int(self.words(self.check_node(u))), self.n)
        return "".join("(" + between.join(str(s + 1) for s in cycle) + ")" for cycle in cycles)

    def label(self, u: int) -> str:
        """Return the permutation: ``2143``, or ``2,1,4,3,…`` when n > 9."""
        return self._labels(np.array([self.check_node(u)]))[0]

    def _labels(self, nodes: Ints) -> list[str]:
        symbols = perm.unpack(self.words(nodes), self.n) + 1
        return [("" if self.n <= 9 else ",").join(map(str, row)) for row in symbols.tolist()]

    def _parse_label(self, text: str) -> int | None:
        # in plain Python: for one label, numpy takes ten times as long
        parts = text.split(",") if "," in text else list(text)
        left = [str(symbol) for symbol in range(1, self.n + 1)]
        if sorted(parts) != sorted(left):
            return None
        number = 0
        for part in parts:
            number = number * len(left) + left.index(part)
            left.remove(part)
        return number

    def why_no_label(self, text: str) -> str:
        """Return which symbol stands in a text of n symbols that should not."""
        parts = text.split(",") if "," in text else list(text)
        if len(parts) != self.n or not all(part.isascii() and part.isalnum() for part in parts):
            return ""
        symbols = [str(symbol) for symbol in range(1, self.n + 1)]
        strange = [part for part in parts if part not in symbols]
        wrong = f"{strange[0]} is none of them" if strange else f"{Counter(parts).most_common(1)[0][0]} stands twice"
        return f"a label has each of the symbols 1 to {self.n} once, as {self.label(self.nodes - 1)}: {wrong}"

    def port_name(self, port: int) -> str:
        """Return the dimension, ``port`` + 2."""
        return str(port + 2)


@lru_cache(1024)
def _of_cycles(n: int, lengths: tuple[int, ...]) -> int:
    """Return the node whose cycles have these lengths and go over the positions from the first on, one behind the other."""
    symbols = list[int]()
    for length in lengths:
        begin = len(symbols)
        symbols += [*range(begin + 1, begin + length), begin]  # a cycle over these positions: each holds the next
    return int(perm.rank(perm.pack(symbols), n))


def _partitions(total: int, most: int) -> Iterator[tuple[int, ...]]:
    """Yield the ways to write a number as a sum of numbers of at most ``most``, the largest first."""
    if total == 0:
        yield ()
    for first in range(min(total, most), 0, -1):
        for rest in _partitions(total - first, first):
            yield (first, *rest)
