"""A picture on a dark ground: every colour of a finished picture is changed, so that no picture need know of it.

Greys and pale fills change places with what is dark; strong colours stay as they are, or become light enough to be seen.
Lightness is that of OKLab (Ottosson 2020), which grows as people see it grow.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

GROUND = "#181818"
"""What white becomes."""
ON_COLOUR = "on:"
"""The label of a text that stands on a colour begins with this; behind it stands the colour."""

_TO_CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_TO_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)
_GREY, _PALE, _LIGHT = (
    0.012,
    (0.855, 0.05),
    0.62,
)  # chroma; lightness and chroma; the least lightness of a strong colour
Colours = NDArray[np.float64]


def on_dark(colours: Colours) -> Colours:
    """Return colours for a dark ground: float64 (colours, 4), red, green, blue and alpha in 0 … 1."""
    lab = _lab(colours[:, :3])
    light, chroma = lab[:, 0], np.hypot(lab[:, 1], lab[:, 2])
    flips = (chroma < _GREY) | ((light > _PALE[0]) & (chroma < _PALE[1]))
    strong = np.where(light >= 0.5, np.maximum(light, _LIGHT), 1.12 - light)  # dark ones become tints of their own
    lab[:, 0] = np.where(flips, _turned(light), strong)
    return np.column_stack([_rgb(lab), colours[:, 3]])


def turned(colours: Colours) -> Colours:
    """Return a scale of shades whose lightness runs the other way: float64 (colours, 4)."""
    lab = _lab(colours[:, :3])
    lab[:, 0] = _turned(lab[:, 0])
    return np.column_stack([_rgb(lab), colours[:, 3]])


def _turned(light: Colours) -> Colours:
    return 0.21 + 0.8 * np.maximum(1 - light, 0) ** 0.75


def _lab(rgb: Colours) -> Colours:
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return np.cbrt(linear @ _TO_CONES.T) @ _TO_LAB.T


def _rgb(lab: Colours) -> Colours:
    linear = np.clip((lab @ np.linalg.inv(_TO_LAB).T) ** 3 @ np.linalg.inv(_TO_CONES).T, 0, 1)
    return np.where(linear <= 0.0031308, linear * 12.92, 1.055 * linear ** (1 / 2.4) - 0.055)


def darken(top: Any) -> None:
    """Change the colours of a figure or axes of matplotlib, and of all that is in it, to those for a dark ground."""
    from matplotlib.axes import Axes

    for artist in top.findobj():
        _darken(artist)
    for axes in top.findobj(Axes):
        for axis, name in ((axes.xaxis, "x"), (axes.yaxis, "y")):
            for which in ("major", "minor"):  # ticks are made anew when the figure is drawn
                known = axis.get_tick_params(which=which)
                inks = {key: _one(known.get(key, "black")) for key in ("color", "labelcolor")}
                inks |= {"grid_color": _one(known["grid_color"])} if "grid_color" in known else {}
                axes.tick_params(axis=name, which=which, **inks)


def _one(ink: Any) -> tuple[float, ...]:
    from matplotlib.colors import to_rgba

    return tuple(on_dark(np.array([to_rgba(ink)]))[0].tolist())


def _darken(artist: Any) -> None:
    from matplotlib.collections import Collection
    from matplotlib.image import AxesImage
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    from matplotlib.text import Text

    if isinstance(artist, Text):
        _darken_text(artist)
    elif isinstance(artist, Line2D):
        parts = ("color", "markerfacecolor", "markeredgecolor")
        inks: dict[str, Any] = {part: getattr(artist, f"get_{part}")() for part in parts}  # before one changes another
        for part, ink in inks.items():
            if not isinstance(ink, str) or ink not in ("none", "auto"):
                getattr(artist, f"set_{part}")(_one(ink))
    elif isinstance(artist, AxesImage) or (isinstance(artist, Collection) and artist.get_array() is not None):
        _turn_scale(artist)
    elif isinstance(artist, Collection | Patch):
        for part in ("facecolor", "edgecolor"):
            given = np.atleast_2d(np.asarray(getattr(artist, f"get_{part}")(), np.float64))
            if given.size:
                changed = on_dark(given)
                getattr(artist, f"set_{part}")(changed if isinstance(artist, Collection) else tuple(changed[0]))


def _darken_text(text: Any) -> None:
    label = text.get_label()
    box = text.get_bbox_patch()
    if box is not None:
        _darken(box)
    if label.startswith(ON_COLOUR):
        red, green, blue, _ = _one(label.removeprefix(ON_COLOUR))
        text.set_color("#1A1A1A" if 0.3 * red + 0.59 * green + 0.11 * blue > 0.5 else "white")
    else:
        text.set_color(_one(text.get_color()))
    from matplotlib.patheffects import withStroke

    if text.get_path_effects():
        text.set_path_effects([withStroke(linewidth=3, foreground=GROUND)])


def _turn_scale(shaded: Any) -> None:
    from matplotlib.colors import ListedColormap

    scale = shaded.get_cmap()
    shaded.set_cmap(ListedColormap(turned(scale(np.arange(scale.N)))))
