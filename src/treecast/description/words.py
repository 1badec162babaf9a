"""How numbers, ranges, lists, and the lines of a description are written for people."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

_WIDTH, _LINES = 78, 22  # less than a screen of 80 x 24 characters; long lines are broken in two


def spell(value: object) -> str:
    """Return a value as people read it.

    >>> spell(1234567), spell(0.01234), spell(12345.6), spell(True)
    ('1,234,567', '0.0123', '12,346', 'yes')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return str(value)


def count_of(number: int, noun: str) -> str:
    """Return a number of things, the noun in its plural where there is not one.

    >>> count_of(1, "node"), count_of(1200, "node"), count_of(2, "class")
    ('1 node', '1,200 nodes', '2 classes')
    """
    return f"{number:,} {noun}" + ("" if number == 1 else "es" if noun.endswith("s") else "s")


def spell_range(first: int, stop: int) -> str:
    """Return the chunks ``first … stop-1`` by the first and the last of them.

    >>> spell_range(0, 4), spell_range(7, 8)
    ('0-3', '7')
    """
    return str(first) if stop == first + 1 else f"{first}-{stop - 1}"


def spell_ranges(ranges: Iterable[tuple[int, int]]) -> str:
    """Return ranges (first, stop) of chunks, "" for none; of many only the first are written."""
    words = [spell_range(first, stop) for first, stop in ranges]
    return list_few(words) if words else ""


def spell_counts(counts: Mapping[Any, int]) -> str:
    """Return how many there are of each, as in tables of nodes: chunks by tree.

    >>> spell_counts({0: 8, 2: 52})
    '0:8 2:52'
    """
    return " ".join(f"{noun}:{count}" for noun, count in counts.items())


def list_few(words: Sequence[str], most: int = 20) -> str:
    """Return words behind commas, of many only the first, "none" of none.

    >>> list_few(["a", "b", "c"], most=2), list_few([])
    ('a, b and 1 more', 'none')
    """
    left = len(words) - most
    return ", ".join(words[:most]) + (f" and {left:,} more" if left > 0 else "") or "none"


def spell_lines(pairs: Mapping[str, object]) -> list[str]:
    """Return names and values, a line each; the values of a list stand below one another.

    >>> spell_lines({"heads": 1234, "tails": ["none", "that counts"]})
    ['heads  1,234', 'tails  none', '       that counts']
    """
    width, lines = max(map(len, pairs), default=0), list[str]()
    for name, value in pairs.items():
        values = list(cast("Iterable[object]", value)) if isinstance(value, list | tuple) else [value]
        lines += [f"{'' if place else name:<{width}}  {spell(each)}" for place, each in enumerate(values)]
    return lines


def to_text(pairs: Mapping[str, object]) -> str:
    """Return names and values, a line each, as far as they fit on a screen.

    >>> print(to_text({"heads": 1234, "tails": "none"}))
    heads  1,234
    tails  none
    """
    lines, kept, left = spell_lines(pairs), list[str](), _LINES
    for line in lines:
        short = line if len(line) <= 2 * _WIDTH else line[: 2 * _WIDTH - 1] + "…"
        left -= -(-len(short) // _WIDTH)
        if left < 0:
            break
        kept.append(short)
    return "\n".join([*kept, *(["…"] if len(kept) < len(lines) else [])])
