"""Pictures of wormhole broadcasts on meshes and tori: a panel per step, and the least total distance by source.

The first of two axes goes down, the second to the right. One axis is a line; of three, the first numbers slices, which stand
side by side.
"""

from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treecast.draw.style import BAND, DARK, GREY, MARGIN, PALE, colour, counted, empty_figure, title
from treecast.errors import PlanError, TreecastError
from treecast.faults import Faults
from treecast.networks import Mesh, Torus
from treecast.networks.core import Ints
from treecast.plans.bisection import minimum
from treecast.plans.eyes import claimed, eyes, level, total_distance
from treecast.schedule import Schedule

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_NODES, _MOST_AXES, _MOST_STEPS = 2000, 3, 64
_MOST_WRITTEN = 256  # nodes of a heat map with numbers in its cells
_WIDEST = 14.0  # inches of panels side by side
_TALLEST = 3.4  # inches of a panel of two axes, of a large mesh
_FEWEST_NUMBERED = 0.17  # inches between nodes, from which on coordinates are written
_NEW, _EYE = colour(0), colour(1)
Floats = NDArray[np.float64]


def draw_steps(schedule: Schedule) -> "Figure":
    """Return a figure of a wormhole broadcast, a panel per step: who has been informed, and who sends to whom.

    A message is an arrow from its sender to its receiver, dashed where it goes round a torus. Rings are the eyes of a mesh
    whose sides are the same power of two. Raises TreecastError for any other schedule, and for one too large to draw.
    """
    grid = _drawable(schedule)
    figure = empty_figure()
    flat = _Flat.of(grid.sides)
    unit = flat.unit()
    left, top = (0.3 if flat.numbered(unit) else 0.15), 0.42 + (0.18 if flat.slices else 0.0)
    inner = flat.width * unit, flat.height * unit
    panel = inner[0] + left + 0.15, inner[1] + top + (0.2 if flat.numbered(unit) else 0.05)
    columns = max(1, min(schedule.steps, int(_WIDEST / panel[0])))
    lines = -(-schedule.steps // columns)
    columns = -(-schedule.steps // lines)
    head, foot = 0.75, 0.5
    width, height = max(columns * panel[0] + 2 * MARGIN, 6.5), lines * panel[1] + head + foot
    figure.set_size_inches(width, height)
    title(figure, schedule, Faults(), f": total distance {total_distance(grid, schedule.rows):,}")
    known = np.full(grid.nodes, schedule.steps)  # the step in which each node hears
    np.minimum.at(known, schedule.rows.dst, schedule.rows.step)
    known[schedule.collective.root] = -1
    at = flat.places(grid) * unit
    rings = _eyes_of(grid)
    for step in range(schedule.steps):
        corner = (
            (width - columns * panel[0]) / 2 + step % columns * panel[0],
            height - head - step // columns * panel[1],
        )
        box = (corner[0] / width, (corner[1] - panel[1]) / height, panel[0] / width, panel[1] / height)
        axes: Any = figure.add_axes(box)
        axes.set(xlim=(-left, panel[0] - left), ylim=(panel[1] - top, -top))  # a unit is an inch
        axes.set_axis_off()
        _draw_grid(axes, flat, unit)
        _draw_nodes(axes, at, known, step, unit, schedule.collective.root, rings)
        _draw_messages(axes, schedule, grid, at, step, unit, -top + 0.14)
    _draw_legend(figure, len(rings) > 0, bool(isinstance(grid, Torus)))
    return figure


def draw_sources(sides: tuple[int, ...]) -> "Figure":
    """Return a figure of the total distance of a broadcast on a mesh, by source, in the fewest steps: by bisection.

    Where the sides are the same power of two: also that of the paper, from eye to eye in the best order of dimensions, and
    by how much bisection differs. Raises TreecastError for more than three axes or 2,000 nodes.
    """
    grid = Mesh(sides)
    if len(sides) > _MOST_AXES or grid.nodes > _MOST_NODES:
        raise TreecastError(f"{grid.spec} cannot be drawn: choose {_MOST_AXES} axes and {_MOST_NODES:,} nodes at most")
    figure = empty_figure()
    ours = np.asarray(minimum(sides)[1].least)
    maps = [("by bisection", ours)]
    if len(_eyes_of(grid)):
        paper = claimed(level(grid), np.moveaxis(np.indices(sides), 0, -1), best_order=True)
        maps += [("from eye to eye, best order", paper), ("bisection minus eye to eye", ours - paper)]
    flat = _Flat.of(sides)
    written = prod(sides) <= _MOST_WRITTEN and max(sides) <= 16
    longest = max(len(f"{n:,}") for _, values in maps for n in (int(values.min()), int(values.max())))
    unit = max(0.32, 0.065 * longest + 0.08) if written else flat.unit()
    inner = flat.width * unit, flat.height * unit
    left, top, bar = 0.3, 0.45 + (0.15 if flat.slices else 0.0), 0.0 if written else 0.85
    panel = max(inner[0] + left + bar + 0.1, 2.9), inner[1] + top + 0.1
    columns = len(maps) if len(maps) * panel[0] <= _WIDEST + 4 else 1
    head, foot = 0.75, 0.2
    width = max(columns * panel[0] + 2 * MARGIN, 6.0)
    height = len(maps) // columns * panel[1] + head + foot
    figure.set_size_inches(width, height)
    steps = (grid.nodes - 1).bit_length()
    words = (
        (f"total distance of a broadcast on {grid.spec}, by source", 0.28, 13, DARK, "bold"),
        (
            f"one-port wormhole  ·  {counted(steps, 'step')}  ·  each cell: a broadcast from that node",
            0.54,
            9,
            GREY,
            "normal",
        ),
    )
    for text, below, size, ink, weight in words:
        figure.text(MARGIN / width, 1 - below / height, text, fontsize=size, color=ink, weight=weight, va="center",
                    parse_math=False)  # fmt: skip
    least, most = (int(f([f(values) for _, values in maps[:2]])) for f in (np.min, np.max))
    for i, (name, values) in enumerate(maps):
        x = MARGIN + i % columns * panel[0] + left
        y = height - head - i // columns * panel[1] - top - inner[1]
        axes: Any = figure.add_axes((x / width, y / height, inner[0] / width, inner[1] / height))
        low, high = (least, most) if i < 2 else (int(values.min()), 0)
        image = _draw_map(axes, flat, grid, values, (low, high), written, unit)
        axes.text(-0.5, -0.5 - (top - 0.12) / unit, name, fontsize=10, weight="bold", color=DARK, va="center")
        reach = f"{_number(int(values.min()))} … {_number(int(values.max()))}"
        axes.text(-0.5, -0.5 - (top - 0.29) / unit, reach, fontsize=8, color=GREY, va="center")
        if not written:
            beside = figure.add_axes(((x + inner[0] + 0.1) / width, y / height, 0.12 / width, inner[1] / height))
            shown = figure.colorbar(image, cax=beside)
            shown.outline.set_linewidth(0.3)
            beside.tick_params(length=0, labelsize=8)
    return figure


def _drawable(schedule: Schedule) -> Mesh | Torus:
    """Return the network of a schedule whose steps can be drawn. Raises TreecastError for others."""
    grid, rows = schedule.network, schedule.rows
    why = ""
    if not isinstance(grid, Mesh | Torus):
        why = f"{grid.spec} is neither mesh nor torus"
    elif schedule.collective.kind != "broadcast":
        why = f"this is a schedule of {schedule.collective.kind}"
    elif not schedule.model.routing or bool((rows.port >= 0).any()):
        why = "its messages go from port to port, not to any node"
    elif len(grid.sides) > _MOST_AXES:
        why = f"{grid.spec} has more than {_MOST_AXES} axes"
    elif grid.nodes > _MOST_NODES:
        why = f"{grid.spec} has more than {_MOST_NODES:,} nodes"
    elif schedule.steps > _MOST_STEPS:
        why = f"it has more than {_MOST_STEPS} steps"
    elif not len(rows):
        why = "nothing is sent"
    if why or not isinstance(grid, Mesh | Torus):
        raise TreecastError(f"its steps cannot be drawn: {why}; a picture of steps is one of a wormhole broadcast")
    return grid


class _Flat(NamedTuple):
    """How a mesh lies in a plane, in steps of one node: its rows and columns, and how many slices (0: no third axis)."""

    rows: int
    columns: int
    slices: int

    @staticmethod
    def of(sides: tuple[int, ...]) -> "_Flat":
        rows, columns = (1, 1, *sides)[-2:]
        return _Flat(rows, columns, sides[0] if len(sides) == 3 else 0)

    @property
    def starts(self) -> list[int]:
        """In which column each slice begins: there is one between two slices."""
        return [(self.columns + 1) * i for i in range(self.slices or 1)]

    @property
    def width(self) -> int:
        return self.starts[-1] + self.columns

    @property
    def bow(self) -> float:
        """The room above a line, in steps of one node: its arrows bend up."""
        return min(3.0, self.columns / 8) if self.rows == 1 and not self.slices else 0.0

    @property
    def height(self) -> float:
        return self.rows + self.bow

    def unit(self) -> float:
        """Return how many inches are between two nodes."""
        wide = _WIDEST - 1 if self.slices or self.rows == 1 else _TALLEST
        return max(0.02 if self.rows > 1 else 0.0, min(0.36, wide / self.width, _TALLEST * 2 / self.rows))

    def numbered(self, unit: float) -> bool:
        return unit >= _FEWEST_NUMBERED

    def places(self, grid: Mesh | Torus) -> Floats:
        """Return where the nodes lie, right and down: (nodes, 2)."""
        at = grid.coordinates(np.arange(grid.nodes))
        down = at[-2] if len(at) > 1 else np.zeros(grid.nodes, np.int64)
        right = at[-1] + (at[0] * (self.columns + 1) if self.slices else 0)
        return np.column_stack([right + 0.5, down + 0.5 + self.bow]).astype(np.float64)


def _eyes_of(grid: Mesh | Torus) -> Ints:
    """Return the numbers of the eyes of a mesh whose sides are the same power of two; of other networks, none."""
    none = np.empty(0, np.int64)
    if isinstance(grid, Torus):
        return none
    try:
        k = level(grid)
    except PlanError:
        return none
    return np.unique(eyes(k, len(grid.sides)) @ np.array(grid.strides, np.int64))


def _draw_grid(axes: Any, flat: _Flat, unit: float) -> None:
    """Draw the links of a mesh, and the coordinates beside it."""
    from matplotlib.collections import LineCollection

    y = flat.bow + 0.5
    lines: list[list[tuple[float, float]]] = []
    for start in flat.starts:
        lines += [[(start + 0.5, y + i), (start + flat.columns - 0.5, y + i)] for i in range(flat.rows)]
        lines += [[(start + i + 0.5, y), (start + i + 0.5, y + flat.rows - 1)] for i in range(flat.columns)]
    axes.add_collection(
        LineCollection(list(np.array(lines) * unit), colors=BAND, linewidths=1, zorder=0), autolim=False
    )
    small: dict[str, Any] = {"fontsize": 6, "color": GREY, "ha": "center", "va": "center"}
    if flat.slices:
        for i, start in enumerate(flat.starts):
            axes.text((start + flat.columns / 2) * unit, -0.1, f"{i},·,·", **(small | {"fontsize": 7}))
    if flat.numbered(unit):
        for i in range(flat.rows if flat.rows > 1 else 0):
            axes.text(-0.08, (y + i) * unit, str(i), **small)
        for start in flat.starts:
            for i in range(flat.columns):
                axes.text((start + i + 0.5) * unit, flat.height * unit + 0.06, str(i), **small)


def _draw_nodes(axes: Any, at: Floats, known: Ints, step: int, unit: float, root: int, rings: Ints) -> None:
    size = (0.36 * unit * 72) ** 2
    for name, which, ink in (
        ("later", known > step, PALE),
        ("new", known == step, _NEW),
        ("before", known < step, DARK),
    ):
        x, y = at[which].T
        axes.scatter(x, y, s=size, c=ink, linewidths=0, zorder=2, gid=f"{name}-{step}")
    axes.scatter(*at[root], s=size * 2.2, c=DARK, marker="s", linewidths=0, zorder=2, gid=f"root-{step}")
    if len(rings):
        x, y = at[rings].T
        axes.scatter(x, y, s=size * 4.2, facecolors="none", edgecolors=_EYE, linewidths=min(1.4, 5 * unit), zorder=3,
                     gid=f"eyes-{step}")  # fmt: skip


def _draw_messages(
    axes: Any, schedule: Schedule, grid: Mesh | Torus, at: Floats, step: int, unit: float, y: float
) -> None:
    """Draw an arrow for each message of a step, slightly bent, so that it passes beside the nodes between."""
    from matplotlib.collections import PathCollection, PolyCollection
    from matplotlib.path import Path

    rows = schedule.rows
    now = np.flatnonzero((rows.step <= step) & (rows.step + rows.steps > step))
    src, dst = rows.src[now], rows.dst[now]
    far = grid.distance(src, dst)
    text = f"{counted(len(now), 'message')}, distance {int(far.sum()):,}"
    axes.text(0, y, f"step {step}", fontsize=9, weight="bold", color=DARK, va="center")
    axes.text(0.55 if step < 10 else 0.62, y, text, fontsize=8, color=GREY, va="center")
    begin, end = at[src], at[dst]
    way = end - begin
    length = np.hypot(*way.T)[:, None]
    aside = np.column_stack([way[:, 1], -way[:, 0]])
    if len(grid.sides) == 1:  # all above the line, however long
        high = np.minimum(length * 0.45, 2 * (_Flat.of(grid.sides).bow + 0.1) * unit)
        middle = (begin + end) / 2 - high * np.array([0, 1])
    else:
        middle = (begin + end) / 2 + aside * np.minimum(0.16, 1.2 * unit / length)
    into = (end - middle) / np.hypot(*(end - middle).T)[:, None]
    tip, head = end - into * 0.2 * unit, min(0.11, 0.34 * unit)
    neck = tip - into * head
    beside = np.column_stack([into[:, 1], -into[:, 0]]) * head * 0.42
    wraps = np.abs(grid.coordinates(src) - grid.coordinates(dst)).sum(axis=0) > far
    for name, which, line in (("arrows", ~wraps, "-"), ("round", wraps, (0, (2.5, 1.5)))):
        curves = np.stack([begin, middle, neck], axis=1)[which]
        paths = [Path(curve, [Path.MOVETO, Path.CURVE3, Path.CURVE3]) for curve in curves]
        drawn = PathCollection(paths, facecolors="none", edgecolors=_NEW, linestyles=[line], zorder=4)
        drawn.set(linewidth=min(1.2, 4 * unit), gid=f"{name}-{step}")
        axes.add_collection(drawn, autolim=False)
    heads = np.stack([tip, neck + beside, neck - beside], axis=1)
    axes.add_collection(
        PolyCollection(list(heads), facecolors=_NEW, linewidths=0, zorder=4, gid=f"heads-{step}"), autolim=False
    )


def _draw_legend(figure: Any, rings: bool, wraps: bool) -> None:
    from matplotlib.lines import Line2D

    looks: list[tuple[str, dict[str, Any]]] = [
        ("root", {"marker": "s", "color": DARK, "markersize": 7}),
        ("informed before", {"marker": "o", "color": DARK, "markersize": 5}),
        ("hears now", {"marker": "o", "color": _NEW, "markersize": 5}),
        ("not yet", {"marker": "o", "color": PALE, "markersize": 5}),
    ]
    if rings:
        looks.append(("eye", {"marker": "o", "color": _EYE, "markerfacecolor": "none", "markersize": 8}))
    handles = [Line2D([], [], linestyle="none", label=label, **look) for label, look in looks]
    if wraps:
        handles.append(Line2D([], [], linestyle="--", color=_NEW, label="goes round the torus"))
    width, height = figure.get_size_inches()
    figure.legend(
        handles=handles, loc="lower left", bbox_to_anchor=(MARGIN / width, 0.08 / height), frameon=False, fontsize=8,
        ncols=len(handles), handlelength=1.4, handletextpad=0.4, columnspacing=1.3, borderpad=0,
    )  # fmt: skip


def _number(value: int) -> str:
    return f"{value:,}".replace("-", "−")


def _draw_map(
    axes: Any, flat: _Flat, grid: Mesh, values: Ints, limits: tuple[int, int], written: bool, unit: float
) -> Any:
    """Draw one heat map, and return its image: pale is low, of differences pale is none."""
    from matplotlib.colors import LinearSegmentedColormap

    low, high = limits
    below = high == 0 and low < 0
    base = 5 if below else 0
    inks = ["white", colour(base, -0.6), colour(base), colour(base, 0.45)]
    shades = LinearSegmentedColormap.from_list("distances", inks[:3][::-1] if below else inks)
    cells = np.full((flat.rows, flat.width), np.nan)
    where = flat.places(grid)
    right, down = (where - 0.5 - np.array([0, flat.bow])).astype(np.int64).T
    cells[down, right] = values.reshape(-1)
    image = axes.imshow(cells, cmap=shades, vmin=low, vmax=max(high, low + 1) if not below else 0, aspect="auto",
                        interpolation="nearest", gid="map")  # fmt: skip
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0, labelsize=6, labelcolor=GREY, pad=2)
    shown = max(1, int(0.17 / unit + 0.99))
    columns = [(start + i, str(i)) for start in flat.starts for i in range(0, flat.columns, shown)]
    axes.set_xticks([x for x, _ in columns], [label for _, label in columns])
    rows = range(0, flat.rows, shown) if flat.rows > 1 else ()
    axes.set_yticks(list(rows), [str(i) for i in rows])
    for i, start in enumerate(flat.starts if flat.slices else ()):
        axes.text(start + (flat.columns - 1) / 2, -0.5 - 0.1 / unit, f"{i},·,·", fontsize=7, color=GREY, ha="center",
                  va="center")  # fmt: skip
    if written:
        for value, x, y in zip(values.reshape(-1).tolist(), right.tolist(), down.tolist(), strict=True):
            share = (value - low) / max(high - low, 1)
            dark = share < 0.4 if below else share > 0.5
            axes.text(x, y, _number(value), fontsize=6.5, color="white" if dark else DARK, ha="center", va="center")
    return image
