"""Networks of words: a node is a word, and its arcs lead to the words that it becomes when a letter is shifted in.

Their arcs lead one way. Sources: de Bruijn, "A combinatorial problem" (1946); as an interconnection network Pradhan & Reddy,
"A fault-tolerant communication architecture for distributed systems" (1982); Kautz, "Bounds on directed (d, k) graphs" (1968).
"""

import re
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from treecast.errors import NetworkError
from treecast.networks.core import Ints, Network, ints
from treecast.networks.family import family, words

_MOST_NODES = 2**40


class WordNetwork(Network):
    """A network of words of k ≥ 1 letters, at most 2^40 of them, whose nodes are numbered in the order of their words.

    The first letter counts as itself, each later one as its place, 0 … d-1, among those that may stand there. Port p leads to
    the word without its first letter and with the letter of place p behind it.

    >>> from treecast import network
    >>> words = network("debruijn:2,3")
    >>> words.label(words.neighbor(words.node("011"), 0))
    '110'
    """

    repeats: ClassVar[bool]
    """Whether a letter may stand behind itself: then there are d letters, else d + 1."""

    def __init__(self, degree: int, length: int) -> None:
        spec = f"{self.family}:{degree},{length}"
        if degree < 2 or length < 1:
            raise NetworkError(f"{spec} is no network: write {self.family}:D,K with D from 2 and K from 1")
        self.d, self.letters, self.length = degree, degree + (not self.repeats), length
        if length > 40 or (nodes := self.letters * degree ** (length - 1)) > _MOST_NODES:
            raise NetworkError(f"{self.described} has at most 2^40 nodes: choose fewer letters or shorter words")
        loops = degree * self.repeats  # words of equal letters, whose arcs would lead to themselves
        most = degree - (length == 1 and self.repeats)
        super().__init__(spec, nodes, degree, degree=most, diameter=length, arcs=degree * nodes - loops)

    def _beyond(self, u: Ints, port: Ints) -> Ints:
        most = self.d ** (self.length - 1)
        first, rest = np.divmod(u, most)
        # places: of the letters behind the first, and the new one
        second, behind = np.divmod(rest * self.d + port, most)
        v = self._letter(second, first) * most + behind
        return np.where(v != u, v, -1)

    def _port(self, u: Ints, v: Ints) -> Ints:
        """Return the place of the last letter of ``v`` where the letters before it are the last of ``u``; else -1."""
        # of words of one letter it is a first letter: its place is counted from u
        port = v - ((v > u) & (not self.repeats)) if self.length == 1 else v % self.d
        return np.where(self.neighbor(u, port) == v, port, -1)

    def distance(self, u: ArrayLike, v: ArrayLike) -> Ints:
        """Return by how many letters ``u`` must be shifted until its last letters are the first of ``v``."""
        u, v = np.broadcast_arrays(ints(u), ints(v))
        found = np.full(u.shape, self.length)
        for kept, letter in enumerate(self._letters(u)[::-1], 1):
            place = self.d ** (kept - 1)
            ending = letter * place + u % place  # the last letters, as a word of their own
            found[ending == v // self.d ** (self.length - kept)] = self.length - kept
        return found

    def label(self, u: int) -> str:
        """Return the word: ``0120``, or ``0.11.1`` where there are more than ten letters."""
        word = np.stack(self._letters(ints(self.check_node(u)))).tolist()
        return ("" if self.letters <= 10 else ".").join(map(str, word))

    def _parse_label(self, text: str) -> int | None:
        parts = list(text) if self.letters <= 10 else text.split(".")
        if len(parts) != self.length or not all(re.fullmatch("[0-9]{1,13}", part) for part in parts):
            return None
        number, before = 0, self.letters  # no letter: the first one counts as itself
        for letter in map(int, parts):
            if letter >= self.letters or (letter == before and not self.repeats):
                return None
            number, before = number * self.d + letter - (letter > before and not self.repeats), letter
        return number

    def _letter(self, place: Ints, before: Ints) -> Ints:
        """Return the letter of a place behind another letter."""
        return place if self.repeats else place + (place >= before)

    def _letters(self, u: Ints) -> list[Ints]:
        """Return the letters of the words of some nodes, the first one first."""
        letters = [u // self.d ** (self.length - 1)]
        for behind in range(self.length - 2, -1, -1):
            letters.append(self._letter(u // self.d**behind % self.d, letters[-1]))
        return letters


@family(
    "debruijn",
    "D,K",
    example="debruijn:2,4",
    summary="words of K letters out of D, shifted by one letter: arcs lead one way",
    nodes="D^K",
    degree="D",
    diameter="K",
    members=words(lambda d, k: d**k),
)
class DeBruijn(WordNetwork):
    """The de Bruijn network of words of k ≥ 1 letters out of d ≥ 2: d^k nodes of degree d, at most 2^40.

    Node number = the word read as a number to base d. A word of equal letters would lead to itself: that port leads nowhere.

    >>> from treecast import network
    >>> words = network("debruijn:2,3")
    >>> words.nodes, words.degree, words.diameter, words.both_ways
    (8, 2, 3, False)
    >>> words.labels(words.neighbors(words.node("011")))
    ['110', '111']
    >>> words.neighbor(words.node("000"), [0, 1]).tolist()
    [-1, 1]
    """

    described: ClassVar[str] = "a de Bruijn network"
    repeats: ClassVar[bool] = True


@family(
    "kautz",
    "D,K",
    example="kautz:2,3",
    summary="words of K letters out of D + 1, neighbouring ones different, shifted by one letter: arcs lead one way",
    nodes="D^K + D^(K-1)",
    degree="D",
    diameter="K",
    members=words(lambda d, k: d**k + d ** (k - 1)),
)
class Kautz(WordNetwork):
    """The Kautz network of degree d ≥ 2 and diameter k ≥ 1: d^k + d^(k-1) nodes, at most 2^40.

    Its words are those of k letters out of d + 1, no two neighbouring ones equal. It has d^(k-1) more nodes than the de Bruijn
    network of the same degree and diameter, and no word leads to itself.

    >>> from treecast import network
    >>> words = network("kautz:2,3")
    >>> words.nodes, words.degree, words.diameter, words.both_ways
    (12, 2, 3, False)
    >>> words.labels(words.neighbors(words.node("012")))
    ['120', '121']
    """

    described: ClassVar[str] = "a Kautz network"
    repeats: ClassVar[bool] = False
