"""The lines of a description as plain text, for the terminal and for ``print``."""

from collections.abc import Iterable, Mapping
from typing import cast

from treecast.description.words import spell

_WIDTH, _LINES = 78, 22  # less than a screen of 80 x 24 characters; long lines are broken in two


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
