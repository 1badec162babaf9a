"""How a figure looks, whatever it shows: its ground, its size, its title, and the axes of somebody's own that it fills."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from treecast.drawing.style import DARK, LIGHT, MARGIN, TITLE, drawing_in, empty_figure, fit_title, matplotlib
from treecast.errors import TreecastError

_SIZE = re.compile(r"(\d+(?:\.\d+)?)(?:x(\d+(?:\.\d+)?))?(in|cm)?")
_MOST_INCHES = 200.0
_LEAST_LETTERS = 6.0  # points
_SIZES = {"fontsize": 1, "linewidth": 1, "markersize": 1, "markeredgewidth": 1, "sizes": 2}  # the last are areas
_TICK_SIZES = ("length", "width", "pad", "grid_linewidth")
Size = tuple[float, float | None]
"""Width and height in inches; without a height, the one that the picture's proportions give."""


class Inset:
    """A page inside axes, whose frame and ticks are hidden; ``scale``: by how much it was made smaller or larger.

    It has those methods of a matplotlib figure that pictures use, in the units of a figure. So one function draws a picture on
    either. It lies in the middle of the axes, in its own proportions, and its letters and lines shrink, or grow, with it.
    """

    def __init__(self, ax: Any) -> None:
        self.ax = ax
        self.axes: list[Any] = []
        self._size = self._part = 1.0, 1.0
        self.scale = 1.0
        self.figure, self.texts = ax.figure, ax.texts
        ax.set_axis_off()

    def set_size_inches(self, width: float, height: float) -> None:
        """Fit a page of this size into the axes."""
        box, dpi = self.ax.get_window_extent(), self.ax.figure.dpi
        wide, high = box.width / dpi, box.height / dpi
        self._size = width, height
        self.scale = min(wide / width, high / height)
        self._part = self.scale * width / wide, self.scale * height / high

    def get_size_inches(self) -> tuple[float, float]:
        """Return the size of the page before it was fitted into the axes."""
        return self._size

    def _place(self, x: float, y: float) -> tuple[float, float]:
        """Return where a point of the page lies in the axes, both as fractions of their sizes."""
        wide, high = self._part
        return (1 - wide) / 2 + x * wide, (1 - high) / 2 + y * high

    def add_axes(self, box: Sequence[float]) -> Any:
        """Return new axes in a box of the page: left, bottom, width, height."""
        left, bottom, width, height = box
        found = self.ax.inset_axes((*self._place(left, bottom), width * self._part[0], height * self._part[1]))
        self.axes.append(found)
        return found

    def text(self, x: float, y: float, text: str, *, fontsize: float, **look: Any) -> Any:
        """Write on the page."""
        return self.ax.text(
            *self._place(x, y), text, fontsize=fontsize * self.scale, transform=self.ax.transAxes, **look
        )

    def legend(self, *, bbox_to_anchor: tuple[float, float], fontsize: float, **look: Any) -> Any:
        """Draw a legend on the page."""
        found = self.ax.legend(
            bbox_to_anchor=self._place(*bbox_to_anchor),
            bbox_transform=self.ax.transAxes,
            fontsize=fontsize * self.scale,
            markerscale=self.scale,
            **look,
        )
        found.set_in_layout(False)
        return found

    def shrink(self) -> None:
        """Give all letters and lines the size that they have on a page of this scale, once everything is drawn."""
        for axes in self.axes:
            of_axis = {id(artist) for axis in (axes.xaxis, axes.yaxis) for artist in (axis, *axis.findobj())}
            for artist in axes.findobj(include_self=False):
                if id(artist) not in of_axis:
                    _shrink(artist, self.scale)
            for axis, name in ((axes.xaxis, "x"), (axes.yaxis, "y")):
                _shrink(axis.label, self.scale)
                axes.tick_params(axis=name, labelsize=axis.get_major_ticks(1)[0].label1.get_fontsize() * self.scale)
                for which in ("major", "minor"):
                    sizes = axis.get_tick_params(which=which)
                    less = {key: sizes[key] * self.scale for key in _TICK_SIZES if key in sizes}
                    axes.tick_params(axis=name, which=which, **less)


def _shrink(artist: Any, scale: float) -> None:
    """Change the sizes of an artist that are given in points."""
    for name, power in _SIZES.items():
        if hasattr(artist, f"get_{name}"):
            getattr(artist, f"set_{name}")(np.multiply(getattr(artist, f"get_{name}")(), scale**power))
    if hasattr(artist, "get_bbox_patch") and artist.get_bbox_patch() is not None:
        _shrink(artist.get_bbox_patch(), scale)
    if hasattr(artist, "xyann"):  # how far the words of a note stand from it
        artist.xyann = tuple(np.multiply(artist.xyann, scale))


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
        if look.size is not None:
            _keep_letters(page)
    return page


def _keep_letters(page: Inset) -> None:
    """Give letters that became too small to read the least size, and leave out those that cover others then.

    Raises TreecastError where they would be less than a third of it: then the picture itself cannot be read.
    """
    figure, types = page.figure, matplotlib("text")
    figure.draw_without_rendering()  # now ticks and legends have their letters
    texts = [text for text in figure.findobj(types.Text) if text.get_text().strip() and text.get_visible()]
    small = [text for text in texts if text.get_fontsize() < _LEAST_LETTERS]
    least = min((text.get_fontsize() for text in small), default=_LEAST_LETTERS)
    if least < _LEAST_LETTERS / 3:
        wide, high = (side * page.scale * _LEAST_LETTERS / least for side in page.get_size_inches())
        raise TreecastError(
            f"its letters would be {least:.1f} points high: it takes {wide:.1f}x{high:.1f} inches, or show less of it "
            "(some steps, one tree)"
        )
    for text in small:
        text.set_fontsize(_LEAST_LETTERS)
    figure.draw_without_rendering()
    of_legends = set[Any]()
    for legend in figure.findobj(matplotlib("legend").Legend):
        of_legends.update(legend.get_texts())
        while legend.get_window_extent().x1 > figure.bbox.x1 and legend._ncols > 1:  # pyright: ignore[reportPrivateUsage]
            legend.set_ncols(legend._ncols - 1)
            figure.draw_without_rendering()
    kept = np.empty((0, 4))
    large = [text for text in texts if text not in small]
    for text in [*large, *sorted(small, key=lambda text: text not in of_legends)]:
        box = text.get_window_extent().extents
        # which boxes it does not touch: they end before it begins, or begin behind its end
        apart = (kept[:, 2:] <= box[:2]).any(axis=1) | (kept[:, :2] >= box[2:]).any(axis=1)
        if text in small and text not in of_legends and not apart.all():
            text.set_visible(False)
        else:
            kept = np.vstack([kept, box])


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
