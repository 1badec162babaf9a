"""The last calls of this rank: what each was, when it began and ended, and for whom it waited."""

import os
from collections import deque
from time import time_ns

from treecast.groups.words import NO_WORDS, Words, site

KEPT = 1000
"""Calls of a rank that are kept."""
_SITES = os.environ.get("TREECAST_SITES", "") not in ("", "0")


class Made:
    """A call of this rank: its number in its group, its words, nanoseconds since 1970 at its begin and its end, 0 before it.

    ``waited``: ranks for which it waited long. ``error``: the one it raised. ``site``: the line of the program that makes it,
    where TREECAST_SITES asks for it.
    """

    __slots__ = ("began", "call", "ended", "error", "group", "refused", "site", "waited", "words")

    def __init__(self, group: int, call: int, words: Words = NO_WORDS, refused: str = "") -> None:
        self.group, self.call, self.words, self.refused = group, call, words, refused
        self.began, self.ended, self.error = time_ns(), 0, ""
        self.waited: tuple[int, ...] = ()
        self.site = site() if _SITES else ""

    @property
    def digest(self) -> int:
        """The digest of its words; 0 where its arguments are wrong."""
        return 0 if self.refused else self.words.digest

    def __str__(self) -> str:
        name = self.words.name or "a call"
        return (f"{name}, whose arguments are wrong" if self.refused else str(self.words) or name) + (
            f" at {self.site}" if self.site else ""
        )


class Record:
    """The calls of a process, the last ``KEPT`` of them."""

    def __init__(self) -> None:
        self.calls: deque[Made] = deque(maxlen=KEPT)

    def begin(self, group: int, call: int, words: Words, refused: str) -> Made:
        """Keep a call that begins; return it."""
        made = Made(group, call, words, refused)
        self.calls.append(made)
        return made
