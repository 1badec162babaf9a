"""The de Bruijn network: the words of k letters out of d, each with arcs to the words it becomes when a letter is shifted in.

Its arcs lead one way. Source: de Bruijn, "A combinatorial problem" (1946); as an interconnection network Pradhan & Reddy,
"A fault-tolerant communication architecture for distributed systems" (1982).
"""

from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from treecast.networks.core import Ints, ints
from treecast.networks.family import family
from treecast.networks.members import words
from treecast.networks.words import Words


class DeBruijn(Words):
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
        super().__init__(letters, letters, length)

    @property
    def nodes(self) -> int:
        """d^k."""
        return self.d**self.length

    @property
    def degree(self) -> int:
        """d; d - 1 where words have one letter, since each of them would lead to itself."""
        return self.d if self.length > 1 else self.d - 1

    @cached_property
    def arcs(self) -> int:
        """d^(k+1), less the d that would lead to their own source."""
        return self.d * (self.nodes - 1)

    def neighbor(self, u: ArrayLike, port: ArrayLike) -> Ints:
        """Return ``u`` · d + ``port`` modulo d^k; -1 where that is ``u``."""
        u, port = np.broadcast_arrays(ints(u), ints(port))
        there = (u >= 0) & (u < self.nodes) & (port >= 0) & (port < self.d)
        v = np.where(there, u, 0) % (self.nodes // self.d) * self.d + np.where(there, port, 0)
        return np.where(there & (v != u), v, -1)

    def port_between(self, u: ArrayLike, v: ArrayLike) -> Ints:
        """Return the last letter of ``v`` where the letters before it are the last of ``u``; else -1."""
        port = ints(v) % self.d
        return np.where((ints(v) >= 0) & (self.neighbor(u, port) == v), port, -1)

    def _letters(self, u: Ints) -> Ints:
        return np.stack([u // self.d**behind % self.d for behind in range(self.length - 1, -1, -1)])

    def _number(self, word: list[int]) -> int | None:
        number = 0
        for letter in word:
            number = number * self.d + letter
        return number

    def _endings(self, u: Ints) -> list[Ints]:
        return [u % self.d**kept for kept in range(1, self.length + 1)]


@family(
    "debruijn",
    "D,K",
    example="debruijn:2,4",
    what="words of K letters out of D, shifted by one letter: arcs lead one way",
    nodes="D^K",
    degree="D",
    diameter="K",
    members=words(lambda d, k: d**k),
)
def debruijn(letters: int, length: int) -> DeBruijn:
    """Return the de Bruijn network of words of some length."""
    return DeBruijn(letters, length)
