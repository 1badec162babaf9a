"""Networks of words: a node is a word, and its arcs lead to the words that it becomes when a letter is shifted in.

Their arcs lead one way. What the de Bruijn and the Kautz network share stands here.
"""

from abc import abstractmethod

import numpy as np
from numpy.typing import ArrayLike

from treecast.errors import NetworkError
from treecast.networks.core import Ints, Network, ints

_MOST_NODES = 2**40


class Words(Network):
    """A network of words of some length, at most 2^40 of them, whose nodes are numbered in the order of their words.

    Parameters
    ----------
    degree : int
        The number of letters d that can be shifted in behind a word, at least 2.
    letters : int
        The number of different letters.
    length : int
        The length of words k, at least 1.

    Raises
    ------
    NetworkError
        When there is no such network.

    Examples
    --------
    >>> from treecast import network
    >>> words = network("debruijn:2,3")
    >>> words.label(words.neighbor(words.node("011"), 0))
    '110'
    """

    def __init__(self, degree: int, letters: int, length: int) -> None:
        if degree < 2 or length < 1:
            raise NetworkError(
                f"{self.family}:{degree},{length} is no network: write {self.family}:D,K with D from 2 and K from 1"
            )
        self.d, self.letters, self.length = degree, letters, length
        if length > 40 or self.nodes > _MOST_NODES:
            raise NetworkError(f"{self.described} has at most 2^40 nodes: choose fewer letters or shorter words")

    @property
    def spec(self) -> str:
        """``debruijn:d,k`` or ``kautz:d,k``."""
        return f"{self.family}:{self.d},{self.length}"

    @property
    def ports(self) -> int:
        """d: each port shifts another letter in."""
        return self.d

    @property
    def diameter(self) -> int:
        """The length of words k."""
        return self.length

    def distance(self, u: ArrayLike, v: ArrayLike) -> Ints:
        """Return by how many letters ``u`` must be shifted until its last letters are the first of ``v``."""
        u, v = np.broadcast_arrays(ints(u), ints(v))
        found = np.full(u.shape, self.length)
        for kept, ending in enumerate(self._endings(u), 1):
            shifted = self.length - kept
            found[ending == v // self.d**shifted] = shifted
        return found

    def label(self, u: int) -> str:
        """Return the word: ``0120``, or ``0.11.1`` where there are more than ten letters."""
        word = self._letters(ints(self.check_node(u))).tolist()
        return ("" if self.letters <= 10 else ".").join(map(str, word))

    def _parse_label(self, text: str) -> int | None:
        parts = list(text) if self.letters <= 10 else text.split(".")
        if len(parts) != self.length or not all(
            part.isascii() and part.isdigit() and len(part) <= 13 for part in parts
        ):
            return None
        word = [int(part) for part in parts]
        return None if max(word) >= self.letters else self._number(word)

    @abstractmethod
    def _letters(self, u: Ints) -> Ints:
        """Return the letters of the words of some nodes, the first one first: int64 (k, …)."""

    @abstractmethod
    def _number(self, word: list[int]) -> int | None:
        """Return the node of a word of k letters, or None when it is the word of no node."""

    @abstractmethod
    def _endings(self, u: Ints) -> list[Ints]:
        """Return the last letter, the last two … and all letters of some words, as numbers of words of their own."""
