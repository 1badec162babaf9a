"""The common parts of all figures: an empty figure, colours, titles, and how long texts may get. Sizes are in inches."""

from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treecast.description import count_of
from treecast.errors import TreecastError
from treecast.networks import Network
from treecast.networks.kept import kept
from treecast.schedule import Schedule
from treecast.schedule.description import message_count
from treecast.simulation.faults import Faults

MONO = "DejaVu Sans Mono"
"""A family that comes with matplotlib, so that pictures look alike everywhere."""
TITLE, SUBTITLE = "title", "subtitle"
"""The names of the two lines above a figure, in the figure."""
MARGIN = 0.25
MOST_NAMED = 12
"""Trees that a legend names."""

# Okabe & Ito's colours without black: people with any colour vision can tell them apart
_PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442")
_DASHES = (), (5, 2), (1.5, 1.5), (7, 2, 1.5, 2), (9, 3), (3, 3), (1, 3)
_LONGEST_LABEL = 16
_MOST_COMPARED = 100_000  # labels
_MOST_FAULTS = 5
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


def empty_figure() -> Any:
    """Return an empty matplotlib Figure that no global state knows of. Raises TreecastError where matplotlib is missing.

    Any: matplotlib's own types leave too much unknown for a strict check.
    """
    return matplotlib("figure").Figure(facecolor=theme().ground)


def colour(tree: int, darker: float = 0.0) -> str:
    """Return the colour of a tree in the theme in force: see ``hue``."""
    return theme().of(hue(tree, darker)) if tree >= 0 else theme().grey


def hue(tree: int, darker: float = 0.0) -> str:
    """Return the colour of a tree, mixed with black (0 … 1) or with white (-1 … 0); from the eighth tree on, darker ones."""
    base = np.array([int(_PALETTE[tree % len(_PALETTE)][i : i + 2], 16) for i in (1, 3, 5)], float)
    base *= 0.65 ** (tree // len(_PALETTE))
    mixed = base * (1 - darker) if darker >= 0 else base + (255 - base) * -darker
    return "#" + "".join(f"{int(c + 0.5):02X}" for c in mixed.tolist())


def dashes(tree: int) -> Any:
    """Return how the lines of a tree are dashed: trees differ in this as they do in colour."""
    pattern = _DASHES[max(tree, 0) % len(_DASHES)]
    return (0, pattern) if pattern else "-"


def short_spec(network: Network) -> str:
    """Return how a network is spelled in a title: a file by its name alone, and the end of a long spelling left out."""
    spec = Path(network.spec).name if network.spec.startswith("file:") else network.spec
    spec = spec.removeprefix("file:")
    return spec if len(spec) <= 40 else spec[:39] + "…"


def short_label(network: Network, node: int) -> str:
    """Return the label of a node; where it is too long for a picture, with a part left out, so that no two are alike."""
    label = network.label(node)
    if len(label) <= _LONGEST_LABEL:
        return label
    kept, alike = _cuts(network)
    short = _cut(label, kept)
    return f"{label[:6]}…#{node}" if short in alike else short


def _cut(label: str, kept: int) -> str:
    """Return a label with its first characters, as many as are kept, and its last ones."""
    tail = _LONGEST_LABEL - 1 - kept
    return label if len(label) <= _LONGEST_LABEL else label[:kept] + "…" + label[len(label) - tail :]


@kept(4)
def _cuts(network: Network) -> tuple[int, frozenset[str]]:
    """Return how many characters long labels keep at their beginning, and which labels are alike even so."""
    labels = network.labels(np.arange(min(network.nodes, _MOST_COMPARED)))
    # the first of these by which most labels differ
    kept = max((8, 4, 0, 12, 15), key=lambda kept: len({_cut(label, kept) for label in labels}))
    count = Counter(_cut(label, kept) for label in labels)
    return kept, frozenset(label for label, many in count.items() if many > 1)


def title(figure: Any, schedule: Schedule, faults: Faults, more: str = "") -> None:
    """Write its subject at the top of a figure: collective and network, and below them M, copies, steps and faults."""
    collective, network = schedule.collective, schedule.network
    source = f" {collective.direction} {short_label(network, collective.root)}"
    if collective.all_source:
        source = f": the part of {short_label(network, 0)}" if schedule.orbit else ""
    copies = "1 copy" if schedule.copies == 1 else f"{schedule.copies} copies"
    numbers = [f"M = {count_of(collective.messages, 'chunk')}", copies, count_of(schedule.steps, "step")]
    if collective.demand is not None:
        numbers[0] = f"{count_of(collective.demand.chunks, 'chunk')} in {count_of(len(collective.demand), 'class')}"
    elif collective.lengths is not None:
        some = int((collective.lengths.flits > 0).sum())
        null = message_count(collective) - some
        told = f"{count_of(collective.lengths.total, 'flit')} in {count_of(some + null, 'message')}"
        numbers[:2] = [told + (f", {null} of them null" if null else ""), schedule.builder]
        numbers = [number for number in numbers if number]
    if faults:
        named = faults.describe(network)
        numbers.append(
            "faults: "
            + ", ".join(named[:_MOST_FAULTS])
            + ("" if len(named) <= _MOST_FAULTS else f" and {len(named) - _MOST_FAULTS} more")
        )
    heading(figure, f"{collective.kind} on {short_spec(network)}{source}{more}", "  ·  ".join(numbers))


def heading(figure: Any, text: str, more: str) -> None:
    """Write a title at the top of a figure, and more text below it in smaller letters; both shrink where they are too long."""
    width, _ = figure.get_size_inches()
    lines = (text, 0.28, theme().ink, "bold", TITLE), (more, 0.54, theme().grey, "normal", SUBTITLE)
    for line, below, ink, weight, gid in lines:
        size = _fitting(line, width - 2 * MARGIN, gid)
        write_below(figure, -below, line, size, color=ink, weight=weight, va="center", gid=gid)


def add_panel(figure: Any, corner: tuple[float, float], size: tuple[float, float]) -> Any:
    """Return new axes on a figure: their lower left corner, and their width and height, in inches."""
    width, height = figure.get_size_inches()
    return figure.add_axes((corner[0] / width, corner[1] / height, size[0] / width, size[1] / height))


def write(axes: Any, at: Sequence[float], words: str, size: float, **look: Any) -> Any:
    """Write words amid a place of axes, in the ink of letters where ``look`` has no other.

    ``offset``: so many points aside of the place; ``halo``: on a ground so many points wider than the letters.
    """
    look = {"color": theme().ink, "ha": "center", "va": "center", "parse_math": False, "fontsize": size} | look
    if halo := look.pop("halo", 0):
        outline = matplotlib("patheffects").withStroke(linewidth=halo, foreground=theme().ground)
        look["path_effects"] = [outline]
    if offset := look.pop("offset", None):
        return axes.annotate(words, tuple(at), offset, textcoords="offset points", **look)
    return axes.text(*at, words, **look)


def add_many(axes: Any, kind: str, shapes: Any, **look: Any) -> Any:
    """Draw many shapes as one, and return it; they do not change the limits of the axes.

    ``kind``: of matplotlib's collections, ``Line`` or ``Poly`` by their points. With ``Path`` they are curves of three or four
    points: from the first to the last, on the way to those between; or of four with a straight way before and behind.
    """
    if kind == "Path":
        path = matplotlib("path").Path
        codes = {3: [path.MOVETO, *[path.CURVE3] * 2], 4: [path.MOVETO, *[path.CURVE4] * 3]}
        codes[6] = [path.MOVETO, path.LINETO, *codes[4][1:], path.LINETO]
        shapes = [path(shape, codes[len(shape)]) for shape in shapes]
    found = getattr(matplotlib("collections"), f"{kind}Collection")(list(shapes), **look)
    axes.add_collection(found, autolim=False)
    return found


def write_below(figure: Any, high: float, words: str, size: float = 8, **look: Any) -> None:
    """Write a note at the left margin of a figure, so many inches above its lower end; below its upper end where less than 0."""
    width, height = figure.get_size_inches()
    look = {"color": theme().grey, "ha": "left", "va": "baseline"} | look
    write(figure, (MARGIN / width, high / height + (high < 0)), words, size, **look)


def entry(label: str, **look: Any) -> Any:
    """Return the entry of a legend that is a line, or a mark alone where ``look`` has a marker and no line."""
    lines = matplotlib("lines")
    return lines.Line2D([], [], label=label, **({"linestyle": "none" if "marker" in look else "-"} | look))


def remark(words: str) -> Any:
    """Return the entry of a legend that is words alone."""
    return entry(words, color="none", linewidth=0)


def draw_legend(figure: Any, handles: list[Any], *, bottom: float, column: float, **look: Any) -> None:
    """Draw a legend at the lower left of a figure, in as many lines as it needs.

    ``bottom``: how high it lies, ``column``: how wide a column is where one line is not enough, both in inches.
    """
    if not handles:
        return
    width, height = figure.get_size_inches()
    # a letter of 8 points is about 0.065 inches wide
    long = sum(0.65 + 0.065 * len(str(handle.get_label())) for handle in handles)
    columns = len(handles) if long < width else max(1, int(width / column))
    place = (MARGIN / width, bottom / height)
    look = {"loc": "lower left", "frameon": False, "fontsize": 8, "ncols": columns, "labelcolor": theme().ink} | look
    figure.legend(handles=handles, bbox_to_anchor=place, **look)


def name_axes(axes: Any, across: str, up: str) -> None:
    """Name the axes of a chart, and keep the left and the lower line of its frame alone."""
    axes.set_xlabel(across, fontsize=9, color=theme().grey)
    axes.set_ylabel(up, fontsize=9, color=theme().grey)
    axes.tick_params(which="both", labelsize=8, colors=theme().grey)
    for side, spine in axes.spines.items():
        spine.set(visible=side in ("left", "bottom"), color=theme().pale)


def _fitting(text: str, room: float, gid: str) -> float:
    """Return in how many points a text fits into so many inches."""
    most, wide = (13.0, 0.0098) if gid == TITLE else (9.0, 0.0085)  # wide: inches that a character takes per point
    return min(most, room / (wide * max(len(text), 1)))


def fit_title(title: Any, room: float, scale: float) -> None:
    """Give the text of a title the size in which it fits into so many inches, on a page of a scale."""
    title.set_fontsize(_fitting(title.get_text(), room, TITLE) * scale)


# -- themes: the colours on white, and on a dark ground. A picture is drawn in the theme that is in force -------------
# On a dark ground greys and pale fills change places with dark colours; strong colours stay as they are, or become light
# enough to be seen. Lightness is that of OKLab (Ottosson 2020), which grows as people see it grow.


def _linear(colour: str | Sequence[float]) -> Colours:
    rgb = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)] if isinstance(colour, str) else colour[:3])
    # from sRGB to linear light
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
