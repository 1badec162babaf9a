"""Axes that can be drawn on as a figure can, so that one function draws a picture on either.

The picture lies in the middle of the axes, in its own proportions. Its letters and lines shrink, or grow, with it.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

_SIZES = {"fontsize": 1, "linewidth": 1, "markersize": 1, "markeredgewidth": 1, "sizes": 2}  # the last are areas
_TICK_SIZES = ("length", "width", "pad", "grid_linewidth")


class Inset:
    """A page inside axes, whose frame and ticks are hidden.

    It has those methods of a matplotlib figure that pictures use; their units are those of a figure.
    """

    def __init__(self, ax: Any) -> None:
        self.ax = ax
        self.axes: list[Any] = []
        self._size = self._part = 1.0, 1.0
        self._scale = 1.0
        ax.set_axis_off()

    @property
    def figure(self) -> Any:
        """The figure that the axes belong to."""
        return self.ax.figure

    @property
    def texts(self) -> list[Any]:
        """The texts on the page."""
        return list(self.ax.texts)

    @property
    def scale(self) -> float:
        """By how much the page was made smaller or larger."""
        return self._scale

    def set_size_inches(self, width: float, height: float) -> None:
        """Fit a page of this size into the axes."""
        box, dpi = self.ax.get_window_extent(), self.ax.figure.dpi
        wide, high = box.width / dpi, box.height / dpi
        self._size = width, height
        self._scale = min(wide / width, high / height)
        self._part = self._scale * width / wide, self._scale * height / high

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
            *self._place(x, y), text, fontsize=fontsize * self._scale, transform=self.ax.transAxes, **look
        )

    def legend(self, *, bbox_to_anchor: tuple[float, float], fontsize: float, **look: Any) -> Any:
        """Draw a legend on the page."""
        found = self.ax.legend(
            bbox_to_anchor=self._place(*bbox_to_anchor),
            bbox_transform=self.ax.transAxes,
            fontsize=fontsize * self._scale,
            markerscale=self._scale,
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
                    _shrink(artist, self._scale)
            for axis, name in ((axes.xaxis, "x"), (axes.yaxis, "y")):
                _shrink(axis.label, self._scale)
                axes.tick_params(axis=name, labelsize=axis.get_major_ticks(1)[0].label1.get_fontsize() * self._scale)
                for which in ("major", "minor"):
                    sizes = axis.get_tick_params(which=which)
                    less = {key: sizes[key] * self._scale for key in _TICK_SIZES if key in sizes}
                    axes.tick_params(axis=name, which=which, **less)


def _shrink(artist: Any, scale: float) -> None:
    """Change the sizes of an artist that are given in points."""
    for name, power in _SIZES.items():
        if hasattr(artist, f"get_{name}"):
            getattr(artist, f"set_{name}")(np.multiply(getattr(artist, f"get_{name}")(), scale**power))
    if hasattr(artist, "get_bbox_patch") and artist.get_bbox_patch() is not None:
        _shrink(artist.get_bbox_patch(), scale)
    if hasattr(artist, "xyann"):
        artist.xyann = tuple(np.multiply(artist.xyann, scale))
