"""The Kautz network: the words of k letters out of d + 1, no two neighbouring ones equal, with arcs to their left shifts.

Its arcs lead one way. Source: Kautz, "Bounds on directed (d, k) graphs" (1968). It has d^(k-1) more nodes than the
de Bruijn network of the same degree and diameter, and no word leads to itself.
"""

from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from treecast.networks.core import Ints, ints
from treecast.networks.family import family
from treecast.networks.members import words
from treecast.networks.words import Words


class Kautz(Words):
    """The Kautz network of degree d ≥ 2 and diameter k ≥ 1: d^k + d^(k-1) nodes, at most 2^40.

    Nodes are numbered in the order of their words: the first letter is 0 … d, each later one counts as its place, 0 … d-1,
    among the letters other than the one before. Port p leads to the word without its first letter and with the letter of
    place p behind it.

    Parameters
    ----------
    degree : int
        The number of letters but one, d.
    length : int
        The length of words k.

    Raises
    ------
    NetworkError
        When there is no such network.

    Examples
    --------
    >>> from treecast import network
    >>> words = network("kautz:2,3")
    >>> words.nodes, words.degree, words.diameter, words.both_ways
    (12, 2, 3, False)
    >>> words.labels(words.neighbors(words.node("012")))
    ['120', '121']
    """

    family = "kautz"
    described: ClassVar[str] = "a Kautz network"

    def __init__(self, degree: int, length: int) -> None:
        super().__init__(degree, degree + 1, length)

    @property
    def nodes(self) -> int:
        """d^k + d^(k-1)."""
        return (self.d + 1) * self.d ** (self.length - 1)

    @property
    def degree(self) -> int:
        """d."""
        return self.d

    @cached_property
    def arcs(self) -> int:
        """d for each node."""
        return self.d * self.nodes

    def neighbor(self, u: ArrayLike, port: ArrayLike) -> Ints:
        """Return the node whose word is that of ``u`` without its first letter, with the letter of place ``port`` behind it."""
        u, port = np.broadcast_arrays(ints(u), ints(port))
        there = (u >= 0) & (u < self.nodes) & (port >= 0) & (port < self.d)
        u, port = np.where(there, u, 0), np.where(there, port, 0)
        first, rest = np.divmod(u, self.d ** (self.length - 1))
        places = rest * self.d + port  # of all letters behind the first, and of the new one
        second, behind = np.divmod(places, self.d ** (self.length - 1))
        return np.where(there, (second + (second >= first)) * self.d ** (self.length - 1) + behind, -1)

    def port_between(self, u: ArrayLike, v: ArrayLike) -> Ints:
        """Return the place of the last letter of ``v`` where the letters before it are the last of ``u``; else -1."""
        u, v = np.broadcast_arrays(ints(u), ints(v))
        port = v % self.d
        if self.length == 1:  # the letter is a first one: its place is counted from u
            port = np.where(v > u, v - 1, v)
        return np.where((v >= 0) & (self.neighbor(u, port) == v), port, -1)

    def _letters(self, u: Ints) -> Ints:
        """Return the letters of the words of some nodes, the first one first: int64 (k, …)."""
        places = [u // self.d**behind % self.d for behind in range(self.length - 2, -1, -1)]
        letters = [u // self.d ** (self.length - 1)]
        for place in places:
            letters.append(place + (place >= letters[-1]))
        return np.stack(letters)

    def _number(self, word: list[int]) -> int | None:
        number, before = 0, self.letters  # no letter: the first one counts as itself
        for letter in word:
            if letter == before:
                return None
            number, before = number * self.d + letter - (letter > before), letter
        return number

    def _endings(self, u: Ints) -> list[Ints]:
        first, places = self._letters(u), [self.d**behind for behind in range(self.length)]
        return [letter * place + u % place for letter, place in zip(first[::-1], places, strict=True)]


@family(
    "kautz",
    "D,K",
    example="kautz:2,3",
    what="words of K letters out of D + 1, neighbouring ones different, shifted by one letter: arcs lead one way",
    nodes="D^K + D^(K-1)",
    degree="D",
    diameter="K",
    members=words(lambda d, k: d**k + d ** (k - 1)),
)
def kautz(degree: int, length: int) -> Kautz:
    """Return the Kautz network of words of some length."""
    return Kautz(degree, length)
