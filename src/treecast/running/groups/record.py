"""The last calls of this rank: what each was, when it began and ended, and for whom it waited."""

import os
from collections import deque
from collections.abc import Callable
from time import perf_counter_ns, time_ns

from treecast.running.groups.words import NO_WORDS, Words, site

KEPT = 1000
"""Calls of a rank that are kept."""
_SITES = os.environ.get("TREECAST_SITES", "") not in ("", "0")

Past = tuple[int, tuple[Words, int], float, float]
"""A call that has gone past its group: its number, its words with their digest, seconds of a clock at its begin and end."""


def site_hint() -> str:
    """Return what ends an error about calls: how their lines are found; "" where it has them."""
    # A look at the stack takes time in each call. So it has to be asked for, and the error says how.
    return "" if _SITES else " (TREECAST_SITES=1 names their lines)"


class Made:
    """A call of this rank: its number in its group, its words, nanoseconds since 1970 at its begin and its end, 0 before it.

    ``waited``: ranks for which it waited long. ``error``: the one it raised. ``site``: the line of the program that makes it,
    where TREECAST_SITES asks for it. ``place``: its number in a file that keeps the calls.
    """

    __slots__ = ("began", "call", "ended", "error", "group", "place", "site", "waited", "words")

    def __init__(self, group: int, call: int, words: Words = NO_WORDS) -> None:
        self.group, self.call, self.words = group, call, words
        self.began, self.ended, self.error = time_ns(), 0, ""
        self.waited: tuple[int, ...] = ()
        self.place = -1
        self.site = site() if _SITES else ""

    @classmethod
    def over(cls, group: int, past: Past, clock: int) -> "Made":
        """Return a call that has gone past its group; the clock of its times shows 0 at so many nanoseconds."""
        call, (words, _), began, ended = past
        made = cls(group, call, words)
        made.began, made.ended = clock + int(began * 1e9), clock + int(ended * 1e9)
        return made

    def __str__(self) -> str:
        return f"{self.words}{f' at {self.site}' if self.site else ''}" if self.words.name else "a call"


class Record:
    """The calls of a process, the last ``KEPT`` of them. ``note``: who else keeps a call that begins, ends or fails."""

    def __init__(self) -> None:
        self.calls: deque[Made] = deque(maxlen=KEPT)
        self.note: Callable[[Made], None] | None = None

    def begin(self, group: int, call: int, words: Words) -> Made:
        """Keep a call that begins; return it."""
        made = Made(group, call, words)
        self.calls.append(made)
        self.tell(made)
        return made

    def end(self, made: Made) -> None:
        """Note the end of a call, or of a part of it."""
        made.ended = time_ns()
        self.tell(made)

    def tell(self, made: Made) -> None:
        """Have who else keeps calls note one."""
        if self.note is not None:
            self.note(made)

    def tell_past(self, last: Made, group: int, past: Past) -> None:
        """Tell of a call that has gone past its group; ``last``: this one, if it was described."""
        if self.note is not None:
            # the clock of the times counts from anywhere, so its zero is found by that of the day
            clock = time_ns() - perf_counter_ns()
            made = Made.over(group, past, clock)
            made.place = last.place if last.call == made.call else -1  # the same call keeps its line in the file
            self.note(made)
