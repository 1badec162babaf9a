"""How a figure looks, whatever it shows: its ground, its size, and its title."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from treecast.drawing.inset import Inset
from treecast.drawing.style import MARGIN, TITLE, empty_figure, fit_title
from treecast.drawing.theme import DARK, LIGHT, drawing_in
from treecast.errors import TreecastError

_SIZE = re.compile(r"(\d+(?:\.\d+)?)(?:x(\d+(?:\.\d+)?))?(in|cm)?")
_MOST_INCHES = 200.0
Size = tuple[float, float | None]
"""Width and height in inches; without a height, the one that the picture's proportions give."""


@dataclass(frozen=True, kw_only=True)
class Look:
    """How a figure looks.

    Parameters
    ----------
    dark
        Whether it is light on a dark ground.
    transparent
        Whether the page behind it shows through.
    size
        Its width and height in inches; None as large as it needs.
    title
        The text above it; None for the picture's own, empty for none.

    Examples
    --------
    >>> import tempfile
    >>> import treecast
    >>> slide = treecast.Look(dark=True, size=(8, 4.5), title="Two trees that share no arc")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     treecast.draw(treecast.plan("broadcast", "star:3", copies=2), f"{folder}/slide.svg", look=slide)
    """

    dark: bool = False
    transparent: bool = False
    size: Size | None = None
    title: str | None = None

    @property
    def plain(self) -> bool:
        """Whether nothing is asked for."""
        return self == Look()


PLAIN = Look()
"""The look of a picture where none is asked for."""


def drawn_on(draw: Callable[[Any], object], look: Look, ax: Any = None) -> Any:
    """Return a page on which a picture has been drawn: a figure that fits it, one of the size asked for, or axes.

    ``draw`` gets the page. Raises TreecastError where a size is asked for that axes of somebody's own cannot have.
    """
    if ax is not None and (look.size is not None or look.transparent):
        raise TreecastError("axes have the size and the ground of their figure: leave out size and transparent")
    with drawing_in(DARK if look.dark else LIGHT):
        page = _page(draw, look.size, ax)
        draw(page)
    if look.title is not None:
        _retitle(page, look.title)
    if isinstance(page, Inset):
        page.shrink()
    return page


def _page(draw: Callable[[Any], object], size: Size | None, ax: Any) -> Any:
    """Return an empty page."""
    if ax is not None:
        return Inset(ax)
    if size is None:
        return empty_figure()
    wide, high = check_size(size)
    return page_of(wide, wide * _proportion(draw) if high is None else high)


def _proportion(draw: Callable[[Any], object]) -> float:
    """Return by how much a picture is higher than wide."""
    page = empty_figure()
    draw(page)
    width, height = page.get_size_inches()
    return height / width


def page_of(width: float, height: float) -> Inset:
    """Return a page that fills a figure of this size, in inches."""
    figure = empty_figure()
    figure.set_size_inches(width, height)
    return Inset(figure.add_axes((0, 0, 1, 1)))


def read_size(text: str) -> Size:
    """Return the size that people write as ``8x4.5``, ``20x12cm`` or ``8``: width and height in inches.

    Raises TreecastError for other texts, and for sizes that no picture has.

    >>> read_size("8x4.5"), read_size("25.4cm")
    ((8.0, 4.5), (10.0, None))
    """
    found = _SIZE.fullmatch(text.strip().lower())
    if not found:
        raise TreecastError(
            f"{text!r} is no size: write width and height in inches, as in 8x4.5, or 20x12cm, or a width"
        )
    inch = 2.54 if found[3] == "cm" else 1.0
    return check_size((float(found[1]) / inch, float(found[2]) / inch if found[2] else None))


def check_size(size: Size) -> Size:
    """Return a size. Raises TreecastError for one that no picture has."""
    for side in size:
        if side is not None and not 0.5 <= side <= _MOST_INCHES:
            raise TreecastError(f"a picture is between 0.5 and {_MOST_INCHES:g} inches wide and high, not {side:g}")
    return size


def _retitle(page: Any, text: str) -> None:
    for found in page.texts:
        if found.get_gid() == TITLE:
            found.set_text(text)
            fit_title(found, page.get_size_inches()[0] - 2 * MARGIN, page.scale if isinstance(page, Inset) else 1.0)
