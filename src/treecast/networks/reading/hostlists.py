"""Slurm's lists of hosts: ``n1,n[1-3,7]b[01-02]``."""

import re
from itertools import product

MOST = 1 << 16
"""The most names of a file."""
_RANGE = re.compile(r"([0-9]{1,19})(?:-([0-9]{1,19}))?")

_Numbers = tuple[range, int]
"""Some numbers, and of how many digits they are at least."""


def hosts_of(text: str, most: int = MOST) -> list[str]:
    """Return the names of a list, the leftmost brackets slowest; at most so many, which are counted before they are made.

    A range ``01-10`` keeps the width of its first number, ``9-10`` has none. Raises ValueError for a bracket that is open or in a
    bracket, a range that falls, and too many names.

    >>> hosts_of("n1,n[08-10]b[1,3]")
    ['n1', 'n08b1', 'n08b3', 'n09b1', 'n09b3', 'n10b1', 'n10b3']
    """
    parts = [_pieces(part) for part in _apart(text)]
    total = 0
    for pieces in parts:
        many = 1
        for piece in pieces:
            many *= 1 if isinstance(piece, str) else sum(each.stop - each.start for each, _ in piece)
        total += many
    if total > most:
        raise ValueError(f"{text[:60]!r} has {total:,} names: the most are {most:,}")
    found = list[str]()
    for pieces in parts:
        choices = [
            [piece] if isinstance(piece, str) else [str(n).zfill(width) for each, width in piece for n in each]
            for piece in pieces
        ]
        found += map("".join, product(*choices))
    return found


def _apart(text: str) -> list[str]:
    """Return the parts between commas outside of brackets."""
    parts, start, opened = list[str](), 0, -1
    for place, sign in enumerate(text):
        if sign == "[":
            if opened >= 0:
                raise ValueError(f"{text[:60]!r} has a bracket in a bracket, at its character {place + 1}")
            opened = place
        elif sign == "]":
            if opened < 0:
                raise ValueError(f"{text[:60]!r} closes a bracket that is not open, at its character {place + 1}")
            opened = -1
        elif sign == "," and opened < 0:
            parts.append(text[start:place].strip())
            start = place + 1
    if opened >= 0:
        raise ValueError(f"{text[:60]!r} does not close the bracket at its character {opened + 1}")
    return [part for part in [*parts, text[start:].strip()] if part]


def _pieces(part: str) -> list[str | list[_Numbers]]:
    """Return a part as texts and brackets, in order."""
    found = list[str | list[_Numbers]]()
    for text, inside in re.findall(r"([^\[\]]+)|\[([^\[\]]*)\]", part):
        found.append(text or [_range(each, part) for each in inside.split(",")])
    return found


def _range(text: str, part: str) -> _Numbers:
    found = _RANGE.fullmatch(text.strip())
    if not found:
        raise ValueError(f"{part[:60]!r} has {text[:40]!r} in brackets: write numbers and ranges, as in [1-3,7]")
    first, last = int(found[1]), int(found[2] or found[1])
    if last < first:
        raise ValueError(f"{part[:60]!r} has the range {text[:40]!r}, which falls: write the smaller number first")
    return range(first, last + 1), len(found[1]) if found[1].startswith("0") or not found[2] else 0
