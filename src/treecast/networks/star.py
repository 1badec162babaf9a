"""The star network S_n: the permutations of 1 … n, joined where one swap with the first symbol leads from one to the other.

Not networkx's ``star_graph``, which is K(1,n). Source: Akers, Harel & Krishnamurthy 1987; the notation here is that of
Fragopoulou & Akl, "Edge-Disjoint Spanning Trees on the Star Network with Applications to Fault Tolerance" (1996).
Inside, positions and symbols count from 0; labels and dimensions count from 1, as the paper does.
"""

from math import factorial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treecast.errors import NetworkError
from treecast.networks import permutations as perm
from treecast.networks.core import Ints, Rotational, ints


class Star(Rotational):
    """The star network on n symbols, 2 ≤ n ≤ 15: n! nodes of degree n-1; node number = lexicographic rank.

    Port p swaps the first symbol with the one at position p+2 (counted from 1): the paper's dimension p+2.
    """

    described = "a star network"

    def __init__(self, n: int) -> None:
        if not 2 <= n <= perm.MAX_SYMBOLS:
            raise NetworkError(f"star:{n} is no network: write star:N with N from 2 to {perm.MAX_SYMBOLS}")
        self.n = n

    @property
    def spec(self) -> str:
        """``star:n``."""
        return f"star:{self.n}"

    @property
    def nodes(self) -> int:
        """n!."""
        return factorial(self.n)

    @property
    def ports(self) -> int:
        """n - 1."""
        return self.n - 1

    @property
    def diameter(self) -> int:
        """⌊3(n-1)/2⌋."""
        return 3 * (self.n - 1) // 2

    def words(self, u: ArrayLike) -> Ints:
        """Return the permutations of the nodes ``u`` as words (see treecast.networks.permutations)."""
        return perm.unrank(u, self.n)

    def neighbor(self, u: ArrayLike, port: ArrayLike) -> Ints:
        """Return the node over dimension ``port`` + 2."""
        u, port = np.broadcast_arrays(ints(u), ints(port))
        there = (u >= 0) & (u < self.nodes) & (port >= 0) & (port < self.ports)
        swapped = perm.swap(self.words(np.where(there, u, 0)), np.where(there, port, 0) + 1)
        return np.where(there, perm.rank(swapped, self.n), -1)

    def neighbor_table(self, start: int = 0, stop: int | None = None) -> NDArray[np.int32]:
        """Return ``neighbor`` of the nodes ``start … stop-1`` at every port: int32, shape (stop - start, n-1). Compiled."""
        from treecast.kernels.compiled import in_parallel
        from treecast.kernels.star import fill_neighbors

        if self.nodes >= 2**31:
            raise NetworkError(f"{self.spec} has too many nodes for a table of neighbours")
        stop = self.nodes if stop is None else stop
        block = min(24, self.nodes)  # the kernel works in whole blocks: cut what it fills beyond
        low, high = start - start % block, stop + -stop % block
        table = np.empty((high - low, self.ports), np.int32)
        places = perm.place_values(self.n)
        in_parallel(lambda a, b: fill_neighbors(low + a, low + b, places, table[a:b]), high - low, 24 << 12)
        return table[start - low : stop - low]

    def port_between(self, u: ArrayLike, v: ArrayLike) -> Ints:
        """Return the port of the swap that leads from ``u`` to ``v``, or -1 where no single swap does."""
        a, b = np.broadcast_arrays(self.words(u), self.words(v))
        target = perm.symbol_at(perm.inverse(a, self.n), perm.symbol_at(b, 0))
        return np.where((a != b) & (perm.swap(a, target) == b), target - 1, -1)

    def distance(self, u: ArrayLike, v: ArrayLike) -> Ints:
        """Return s + c, or s + c - 2 where symbol 1 is misplaced; s symbols misplaced in c cycles, seen from ``u``.

        Source: Akers, Harel & Krishnamurthy; section 2 of the paper.
        """
        a, b = self.words(u), self.words(v)
        seen = perm.compose(perm.inverse(a, self.n), b, self.n)
        misplaced, cycles = perm.misplaced_and_cycles(seen, self.n)
        return misplaced + cycles - 2 * (perm.symbol_at(seen, 0) != 0)

    def translate(self, h: ArrayLike, u: ArrayLike) -> Ints:
        """Return ``T_h(u)``: every symbol s of ``u`` becomes the s-th symbol of ``h`` (Definition 2, Lemma 1)."""
        return perm.rank(perm.compose(self.words(h), self.words(u), self.n), self.n)

    def untranslate(self, h: ArrayLike, u: ArrayLike) -> Ints:
        """Return the node that ``T_h`` carries to ``u``."""
        return perm.rank(perm.compose(perm.inverse(self.words(h), self.n), self.words(u), self.n), self.n)

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
        symbols = perm.unpack(self.words(self.check_node(u)), self.n) + 1
        return ("" if self.n <= 9 else ",").join(map(str, symbols.tolist()))

    def labels(self, nodes: ArrayLike) -> list[str]:
        """Return the labels of many nodes."""
        symbols = perm.unpack(self.words([self.check_node(u) for u in ints(nodes).tolist()]), self.n) + 1
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

    def port_name(self, port: int) -> str:
        """Return the dimension, ``port`` + 2."""
        return str(port + 2)
