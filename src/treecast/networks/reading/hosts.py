"""Lists of hosts with ranges in brackets, as Slurm and SimGrid write them."""

import re
from itertools import product
from math import prod

MOST = 1 << 16  # names of a list
_RANGE = re.compile(r"([0-9]{1,19})(?:-([0-9]{1,19}))?")


def hosts_of(text: str, most: int = MOST) -> list[str]:
    """Return the names of a list, the leftmost brackets slowest; at most so many, which are counted before they are made.

    A range ``01-10`` keeps the width of its first number, ``9-10`` has none. Raises ValueError for a bracket that is open or in a
    bracket, a range that falls, and too many names.

    >>> hosts_of("n1,n[08-10]b[1,3]")
    ['n1', 'n08b1', 'n08b3', 'n09b1', 'n09b3', 'n10b1', 'n10b3']
    """
    parts = [_pieces(part) for part in _apart(text)]
    brackets = ([piece for piece in pieces if not isinstance(piece, str)] for pieces in parts)
    total = sum(prod(sum(each.stop - each.start for each, _ in piece) for piece in some) for some in brackets)
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
    opened = 0
    for found in re.finditer(r"[\[\]]", text):
        if found[0] == "[" and opened:
            raise ValueError(f"{text[:60]!r} has a bracket in a bracket, at its character {found.end()}")
        if found[0] == "]" and not opened:
            raise ValueError(f"{text[:60]!r} closes a bracket that is not open, at its character {found.end()}")
        opened = found.end() if found[0] == "[" else 0
    if opened:
        raise ValueError(f"{text[:60]!r} does not close the bracket at its character {opened}")
    parts = re.findall(r"(?:[^,\[]|\[[^\]]*\])+", text)
    return [part.strip() for part in parts if part.strip()]


def _pieces(part: str) -> list[str | list[tuple[range, int]]]:
    """Return a part as texts and brackets, in order."""
    pieces = re.findall(r"([^\[\]]+)|\[([^\[\]]*)\]", part)
    return [outside or [_range(each, part) for each in inside.split(",")] for outside, inside in pieces]


def _range(text: str, part: str) -> tuple[range, int]:
    """Return some numbers, and of how many digits they are at least."""
    found = _RANGE.fullmatch(text.strip())
    if not found:
        raise ValueError(f"{part[:60]!r} has {text[:40]!r} in brackets: write numbers and ranges, as in [1-3,7]")
    first, last = int(found[1]), int(found[2] or found[1])
    if last < first:
        raise ValueError(f"{part[:60]!r} has the range {text[:40]!r}, which falls: write the smaller number first")
    return range(first, last + 1), len(found[1]) if found[1].startswith("0") or not found[2] else 0
