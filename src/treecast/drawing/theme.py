"""The colours of pictures: on white, and on a dark ground. A picture is drawn in the theme that is in force.

On a dark ground greys and pale fills change places with dark colours; strong colours stay as they are, or become light
enough to be seen. Lightness is that of OKLab (Ottosson 2020), which grows as people see it grow.
"""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treecast.errors import TreecastError

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
_GREY = 0.012  # the chroma below which a colour is a grey
_PALE = 0.855, 0.05  # the lightness above which, and the chroma below which, a fill is pale
_LIGHT = 0.62  # the least lightness of a strong colour
_AXES = "text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"
Colours = NDArray[np.float64]


def _linear(colour: str | Sequence[float]) -> Colours:
    rgb = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)] if isinstance(colour, str) else colour[:3])
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def _lab(colour: str) -> Colours:
    return np.cbrt(_linear(colour) @ _TO_CONES.T) @ _TO_LAB.T


def _hex(lab: Colours) -> str:
    linear = np.clip((lab @ np.linalg.inv(_TO_LAB).T) ** 3 @ np.linalg.inv(_TO_CONES).T, 0, 1)
    rgb = np.where(linear <= 0.0031308, linear * 12.92, 1.055 * linear ** (1 / 2.4) - 0.055)
    return "#" + "".join(f"{round(255 * c):02X}" for c in rgb.tolist())


def _turned(light: float) -> float:
    return 0.21 + 0.8 * max(1 - light, 0) ** 0.75


class Theme:
    """The colours of a picture, which are written ``#RRGGBB``.

    ``ground``: behind everything; ``ink``: of letters and marks; ``grey``: of lesser ones; ``pale`` and ``band``: of lines
    and stripes behind.
    """

    def __init__(self, dark: bool) -> None:
        self.dark = dark
        self.ground, self.ink, self.grey, self.pale, self.band = map(
            self.of, ("#FFFFFF", "#222222", "#808080", "#D0D0D0", "#F3F3F3")
        )

    def of(self, colour: str) -> str:
        """Return the colour that stands for one on white."""
        if not self.dark:
            return colour
        lab = _lab(colour)
        light, chroma = float(lab[0]), float(np.hypot(lab[1], lab[2]))
        if chroma < _GREY or (light > _PALE[0] and chroma < _PALE[1]):
            lab[0] = _turned(light)
        else:
            lab[0] = max(light, _LIGHT) if light >= 0.5 else 1.12 - light  # dark ones become tints of their own
        return _hex(lab)

    def shades(self, name: str, colours: Sequence[str]) -> Any:
        """Return a scale of shades of matplotlib, from the first of these colours on white; the ground is its pale end."""
        from matplotlib.colors import LinearSegmentedColormap

        labs = [_lab(colour) for colour in colours] if self.dark else []
        flipped = [_hex(np.array([_turned(light), a, b])) for light, a, b in labs]
        return LinearSegmentedColormap.from_list(name, flipped or list(colours))


LIGHT, DARK = Theme(False), Theme(True)
_in_force = ContextVar("theme", default=LIGHT)


def theme() -> Theme:
    """Return the theme in force."""
    return _in_force.get()


@contextmanager
def drawing_in(chosen: Theme) -> Generator[None]:
    """Have pictures drawn in a theme, and the axes and ticks that matplotlib adds to them, too."""
    before = _in_force.set(chosen)
    try:
        with matplotlib().rc_context(dict.fromkeys(_AXES, chosen.of("#000000")) | {"axes.facecolor": chosen.ground}):
            yield
    finally:
        _in_force.reset(before)


def letters_on(fill: str | Sequence[float]) -> str:
    """Return which of black and white reads better on a colour: at a contrast, as WCAG 2 defines it, of 4.5 at least."""
    return "#000000" if _linear(fill) @ (0.2126, 0.7152, 0.0722) > 0.179 else "#FFFFFF"


def matplotlib(part: str = "") -> Any:
    """Return matplotlib, or a module of it. Raises TreecastError where it is missing."""
    try:
        return import_module(f"matplotlib.{part}" if part else "matplotlib")
    except ImportError:
        raise TreecastError("pictures need matplotlib: pip install matplotlib") from None
