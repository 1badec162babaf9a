"""Letters that the fonts of matplotlib lack, as in Chinese names of nodes: another font of the machine lends them."""

import warnings
from functools import cache
from importlib import import_module
from typing import Any


def lend_letters(top: Any) -> None:
    """Add to each text of a figure the fonts that have its letters, and warn of letters that no font here has."""
    from matplotlib.text import Text

    lacked = set[str]()
    for text in top.findobj(Text):
        families = list(text.get_fontfamily())
        missing = {letter for letter in text.get_text() if letter not in " \n" and not _has(families[0], letter)}
        lenders = {letter: _lender(letter) for letter in missing}
        lacked |= {letter for letter, lender in lenders.items() if lender is None}
        if found := sorted({lender for lender in lenders.values() if lender is not None}):
            text.set_fontfamily([*families, *found])
    if lacked:
        some = "".join(sorted(lacked)[:10])
        warnings.warn(f"no font here has the letters {some}: write an SVG, whose reader has them", stacklevel=4)


def _fonts() -> Any:
    return import_module("matplotlib.font_manager")


@cache
def _charmap(file: str) -> frozenset[int]:
    try:
        return frozenset(_fonts().get_font(file).get_charmap())
    except (OSError, RuntimeError):
        return frozenset()  # a file that FreeType cannot read


@cache
def _has(family: str, letter: str) -> bool:
    fonts = _fonts()
    return ord(letter) in _charmap(fonts.findfont(fonts.FontProperties(family=[family])))


@cache
def _lender(letter: str) -> str | None:
    """Return a family of this machine that has a letter; None where there is none."""
    # the last resort of matplotlib has a box for each letter
    known = [font for font in _fonts().fontManager.ttflist if not font.name.startswith("Last Resort")]
    fonts = sorted(known, key=lambda font: (font.weight not in (400, "normal"), font.style, font.name))
    return next((font.name for font in fonts if ord(letter) in _charmap(font.fname)), None)
