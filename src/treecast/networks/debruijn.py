"""The de Bruijn network: the words of k letters out of d, each with arcs to the words it becomes when a letter is shifted in.

Its arcs lead one way. Source: de Bruijn, "A combinatorial problem" (1946); as an interconnection network Pradhan & Reddy,
"A fault-tolerant communication architecture for distributed systems" (1982).
"""

from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from treecast.errors import NetworkError
from treecast.networks.core import Ints, Network, ints
from treecast.networks.family import family

_MOST_NODES = 2**40


class DeBruijn(Network):
    """The de Bruijn network of words of k ≥ 1 letters out of d ≥ 2: d^k nodes of degree d, at most 2^40.

    Node number = the word read as a number to base d. Port p leads to the word without its first letter and with letter p
    behind it: u · d + p modulo d^k. A word of equal letters would lead to itself: that port leads nowhere.

    Parameters
    ----------
    letters : int
        The number of letters d.
    length : int
        The length of words k.

    Raises
    ------
    NetworkError
        When there is no such network.

    Examples
    --------
    >>> from treecast import network
    >>> words = network("debruijn:2,3")
    >>> words.nodes, words.degree, words.diameter, words.both_ways
    (8, 2, 3, False)
    >>> words.labels(words.neighbors(words.node("011")))
    ['110', '111']
    >>> words.neighbor(words.node("000"), [0, 1]).tolist()
    [-1, 1]
    """

    family = "debruijn"
    described: ClassVar[str] = "a de Bruijn network"

    def __init__(self, letters: int, length: int) -> None:
        if letters < 2 or length < 1:
            raise NetworkError(
                f"debruijn:{letters},{length} is no network: write debruijn:D,K with D from 2 and K from 1"
            )
        if length > 40 or letters**length > _MOST_NODES:
            raise NetworkError("a de Bruijn network has at most 2^40 nodes: choose fewer letters or shorter words")
        self.letters, self.length = letters, length

    @property
    def spec(self) -> str:
        """``debruijn:d,k``."""
        return f"debruijn:{self.letters},{self.length}"

    @property
    def nodes(self) -> int:
        """d^k."""
        return self.letters**self.length

    @property
    def ports(self) -> int:
        """The number of letters d."""
        return self.letters

    @property
    def degree(self) -> int:
        """d; d - 1 where words have one letter, since each of them would lead to itself."""
        return self.letters if self.length > 1 else self.letters - 1

    @property
    def diameter(self) -> int:
        """The length of words k."""
        return self.length

    @cached_property
    def arcs(self) -> int:
        """d^(k+1), less the d that would lead to their own source."""
        return self.letters * (self.nodes - 1)

    def neighbor(self, u: ArrayLike, port: ArrayLike) -> Ints:
        """Return ``u`` · d + ``port`` modulo d^k; -1 where that is ``u``."""
        u, port = np.broadcast_arrays(ints(u), ints(port))
        there = (u >= 0) & (u < self.nodes) & (port >= 0) & (port < self.letters)
        v = np.where(there, u, 0) % (self.nodes // self.letters) * self.letters + np.where(there, port, 0)
        return np.where(there & (v != u), v, -1)

    def port_between(self, u: ArrayLike, v: ArrayLike) -> Ints:
        """Return the last letter of ``v`` where the letters before it are the last of ``u``; else -1."""
        port = ints(v) % self.letters
        return np.where((ints(v) >= 0) & (self.neighbor(u, port) == v), port, -1)

    def distance(self, u: ArrayLike, v: ArrayLike) -> Ints:
        """Return by how many letters ``u`` must be shifted until its last letters are the first of ``v``."""
        u, v = np.broadcast_arrays(ints(u), ints(v))
        found = np.full(u.shape, self.length)
        for kept in range(1, self.length + 1):
            shifted = self.length - kept
            found[u % self.letters**kept == v // self.letters**shifted] = shifted
        return found

    def label(self, u: int) -> str:
        """Return the word: ``0110``, or ``0.11.1`` where there are more than ten letters."""
        left, word = self.check_node(u), list[str]()
        for _ in range(self.length):
            left, letter = divmod(left, self.letters)
            word.append(str(letter))
        return ("" if self.letters <= 10 else ".").join(reversed(word))

    def _parse_label(self, text: str) -> int | None:
        word = text.split(".") if self.letters > 10 else list(text)
        number = 0
        for part in word:
            if not (part.isascii() and part.isdigit()) or len(part) > 13 or int(part) >= self.letters:
                return None
            number = number * self.letters + int(part)
        return number if len(word) == self.length else None


@family(
    "debruijn", "D,K", example="debruijn:2,4", what="words of K letters out of D, shifted by one letter: arcs lead one way",
    nodes="D^K", degree="D", diameter="K",
)  # fmt: skip
def debruijn(letters: int, length: int) -> DeBruijn:
    """Return the de Bruijn network of words of some length."""
    return DeBruijn(letters, length)
