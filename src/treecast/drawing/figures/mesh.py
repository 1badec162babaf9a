"""Pictures of wormhole broadcasts on meshes and tori: a panel per step, and the least total distance by source.

The first of two axes goes down, the second to the right. One axis is a line; of three, the first numbers slices, which stand
side by side.
"""

from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treecast.drawing.style import DARK, GREY, MARGIN, PALE, colour, counted, empty_figure, title
from treecast.errors import PlanError, TreecastError
from treecast.networks import Mesh, Torus
from treecast.networks.core import Ints
from treecast.plans.wormhole.bisection import minimum
from treecast.plans.wormhole.eyes import claimed_distance, eyes, level, total_distance
from treecast.schedule import Schedule
from treecast.simulation.faults import Faults

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_NODES, _MOST_AXES, _MOST_STEPS = 2000, 3, 64
_MOST_WRITTEN = 256  # nodes of a heat map with numbers in its cells
_WIDEST = 15.0  # inches of panels side by side
_TALLEST = 4.2  # inches of a panel of two axes, of a large mesh
_NEW, _EYE, _LINK = colour(0), colour(1), "#E4E4E4"
_DOT, _ROOT, _RING = 0.36, 0.53, 0.74  # how wide the marks of nodes are, in steps of one node
_ADJACENT = 1.2  # steps of one node: shorter arrows pass no other node, and are straight
_NONE_LESS = "#EAEAEA"  # of differences: no difference, seen against the page
Floats = NDArray[np.float64]


def draw_steps(schedule: Schedule) -> "Figure":
    """Return a figure of a wormhole broadcast, a panel per step: who has been informed, and who sends to whom.

    A message is an arrow from its sender to its receiver. Where it goes round a torus it is dashed, leaves at one side and
    enters at the other. Rings are the eyes of a mesh
    whose sides are the same power of two. Raises TreecastError for any other schedule, and for one too large to draw.
    """
    grid = _drawable(schedule)
    figure = empty_figure()
    flat = _Flat.of(grid.sides, isinstance(grid, Torus))
    unit = flat.unit()
    if flat.line:
        longest = int(grid.distance(schedule.rows.src, schedule.rows.dst).max())
        flat = flat._replace(bow=float(_arch(longest, max(3.0, 1 / unit))))
    left, top = 0.3, 0.3 + (0.22 if flat.slices else 0.0)
    inner = flat.width * unit, flat.height * unit
    panel = inner[0] + left + 0.15, inner[1] + top + 0.35
    columns = max(1, min(schedule.steps, int(_WIDEST / panel[0])))
    lines = -(-schedule.steps // columns)
    columns = -(-schedule.steps // lines)
    head, foot = 0.75, 0.4
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
        _draw_messages(axes, flat, schedule, grid, step, unit, -top + 0.1)
    _draw_legend(figure, len(rings) > 0, isinstance(grid, Torus))
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
    from matplotlib.ticker import MaxNLocator

    ours = np.asarray(minimum(sides)[1].least)
    maps = [("by bisection", ours)]
    if len(_eyes_of(grid)):
        paper = claimed_distance(level(grid), np.moveaxis(np.indices(sides), 0, -1), best_order=True)
        maps += [("from eye to eye, best order", paper), ("bisection minus eye to eye", ours - paper)]
    flat = _Flat.of(sides)
    written = prod(sides) <= _MOST_WRITTEN and max(sides) <= 16
    longest = max(len(f"{n:,}") for _, values in maps for n in (int(values.min()), int(values.max())))
    unit = max(0.32 if len(maps) > 1 else 0.45, 0.065 * longest + 0.1) if written else flat.unit()
    inner = flat.width * unit, flat.rows * max(unit, 0.3 if flat.line else 0.0)
    left, top, bar = 0.3, 0.46 + (0.2 if flat.slices else 0.0), 0.0 if written else 0.75
    panel = max(inner[0] + left + bar + 0.1, 2.9), inner[1] + top + 0.4
    columns = len(maps) if len(maps) * panel[0] <= _WIDEST + 4 else 1
    head, foot = 0.75, 0.05
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
        image = _draw_map(axes, flat, grid, values, (least, most) if i < 2 else None, written, unit)
        reach = f"{_number(int(values.min()))} … {_number(int(values.max()))}"
        for text, above, look in (
            (name, top - 0.12, {"fontsize": 10, "weight": "bold", "color": DARK}),
            (reach, top - 0.3, {"fontsize": 8, "color": GREY}),
        ):
            axes.annotate(text, (0, 1), (0, above * 72), xycoords="axes fraction", textcoords="offset points",
                          va="center", **look)  # fmt: skip
        if not written:
            beside = figure.add_axes(((x + inner[0] + 0.1) / width, y / height, 0.12 / width, inner[1] / height))
            shown = figure.colorbar(image, cax=beside, format=_tick)
            shown.locator = MaxNLocator(5 if inner[1] > 1 else 2, integer=True)
            shown.outline.set_visible(False)
            beside.tick_params(length=0, labelsize=7, labelcolor=GREY)
    return figure


def _drawable(schedule: Schedule) -> Mesh | Torus:
    """Return the network of a schedule whose steps can be drawn. Raises TreecastError for others."""
    grid, rows = schedule.network, schedule.rows
    why = ""
    if not isinstance(grid, Mesh | Torus):
        why = f"{grid.spec} is neither mesh nor torus"
    elif not schedule.collective.traits.one_to_all:
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
    edge: float
    """From the outermost nodes to the end of the picture: more on a torus, for the ends of what goes round."""
    bow: float = 0.0
    """The room above a line, for its arrows."""

    @staticmethod
    def of(sides: tuple[int, ...], wraps: bool = False) -> "_Flat":
        rows, columns = (1, 1, *sides)[-2:]
        return _Flat(rows, columns, sides[0] if len(sides) == 3 else 0, 0.8 if wraps else 0.5)

    @property
    def line(self) -> bool:
        return self.rows == 1 and not self.slices

    @property
    def across(self) -> float:
        """The width of a slice; to the next one it is one more."""
        return self.columns - 1 + 2 * self.edge

    @property
    def starts(self) -> list[float]:
        return [(self.across + 1) * i for i in range(self.slices or 1)]

    @property
    def width(self) -> float:
        return self.starts[-1] + self.across

    @property
    def height(self) -> float:
        return self.rows - 1 + 2 * self.edge + self.bow

    def unit(self) -> float:
        """Return how many inches are between two nodes."""
        wide = _WIDEST - 1 if self.slices or self.rows == 1 else _TALLEST
        return max(0.02 if self.rows > 1 else 0.0, min(0.36, wide / self.width, _TALLEST * 2 / self.rows))

    def places(self, grid: Mesh | Torus) -> Floats:
        """Return where the nodes lie, right and down: (nodes, 2)."""
        at = grid.coordinates(np.arange(grid.nodes))
        down = at[-2] if len(at) > 1 else np.zeros(grid.nodes, np.int64)
        right = at[-1] + (at[0] * (self.across + 1) if self.slices else 0)
        return np.column_stack([right + self.edge, down + self.edge + self.bow]).astype(np.float64)

    def periods(self, axes: int) -> Floats:
        """Return how far, right and down, one comes on each axis by going round a torus once: (axes, 2)."""
        rounds = [((self.across + 1) * self.slices, 0), (0, self.rows), (self.columns, 0)]
        return np.array(rounds[-axes:], np.float64)

    def box(self, piece: int) -> tuple[tuple[float, float], float, float]:
        """Return corner, width and height of a slice; of -1, those of everything."""
        return ((0, 0), self.width, self.height) if piece < 0 else ((self.starts[piece], 0), self.across, self.height)


def _apart(count: int, unit: float) -> int:
    """Return of how many coordinates one is written, so that they do not touch."""
    room = 0.05 + 0.06 * max(2, len(str(count - 1)))
    return next(n for power in range(9) for n in (10**power, 2 * 10**power, 5 * 10**power) if n * unit >= room)


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

    y, stub = flat.bow + flat.edge, flat.edge if flat.edge > 0.5 else 0.0  # a torus has links at its ends too
    rows, columns = y + np.arange(flat.rows), flat.edge + np.arange(flat.columns)
    lines: list[list[tuple[float, float]]] = []
    for start in flat.starts:
        ends = start + columns[0] - stub, start + columns[-1] + stub
        lines += [[(ends[0], down), (ends[1], down)] for down in rows.tolist()]
        if flat.rows > 1:
            lines += [[(start + x, rows[0] - stub), (start + x, rows[-1] + stub)] for x in columns.tolist()]
    axes.add_collection(
        LineCollection(list(np.array(lines) * unit), colors=_LINK, linewidths=1, zorder=0), autolim=False
    )
    small: dict[str, Any] = {"fontsize": 6, "color": GREY, "ha": "center", "va": "center"}
    for i, start in enumerate(flat.starts):
        if flat.slices:
            axes.text((start + flat.across / 2) * unit, -0.06, f"{i},·,·", **(small | {"fontsize": 7}))
        for column in range(0, flat.columns, _apart(flat.columns, unit)):
            axes.text((start + columns[column]) * unit, flat.height * unit + 0.06, str(column), **small)
    for row in range(0, flat.rows if flat.rows > 1 else 0, _apart(flat.rows, unit)):
        axes.text(-0.05, rows[row] * unit, str(row), **(small | {"ha": "right"}))


def _draw_nodes(axes: Any, at: Floats, known: Ints, step: int, unit: float, root: int, rings: Ints) -> None:
    size = (unit * 72) ** 2
    for name, which, ink in (
        ("later", known > step, PALE),
        ("new", known == step, _NEW),
        ("before", known < step, DARK),
    ):
        x, y = at[which].T
        axes.scatter(x, y, s=size * _DOT**2, c=ink, linewidths=0, zorder=2, gid=f"{name}-{step}")
    axes.scatter(*at[root], s=size * _ROOT**2, c=DARK, marker="s", linewidths=0, zorder=2, gid=f"root-{step}")
    if len(rings):
        x, y = at[rings].T
        axes.scatter(x, y, s=size * _RING**2, facecolors="none", edgecolors=_EYE, linewidths=min(1.4, 5 * unit), zorder=3,
                     gid=f"eyes-{step}")  # fmt: skip


def _draw_messages(
    axes: Any, flat: _Flat, schedule: Schedule, grid: Mesh | Torus, step: int, unit: float, y: float
) -> None:
    """Draw an arrow for each message of a step."""
    from matplotlib.collections import PathCollection, PolyCollection
    from matplotlib.patches import Rectangle
    from matplotlib.path import Path

    rows = schedule.rows
    now = np.flatnonzero((rows.step <= step) & (rows.step + rows.steps > step))
    src, dst = rows.src[now], rows.dst[now]
    far = grid.distance(src, dst)
    text = f"{counted(len(now), 'message')}, distance {int(far.sum()):,}"
    axes.text(0, y, f"step {step}", fontsize=9, weight="bold", color=DARK, va="center")
    axes.text(0.55 if step < 10 else 0.62, y, text, fontsize=8, color=GREY, va="center")
    at = flat.places(grid)
    gone = grid.coordinates(dst) - grid.coordinates(src)
    wraps = np.abs(gone).sum(axis=0) > far
    round_ = wraps & (2 * np.abs(gone) > np.array(grid.sides)[:, None])
    if flat.slices:  # a round within a slice cannot be shown on the way to another slice
        round_[2] &= gone[0] == 0
    turns = -(np.sign(gone) * round_)[:, :, None] * flat.periods(len(gone))[:, None]
    size = min(0.1, 0.3 * unit) / unit
    shafts, tips = _curves(flat, at[src], at[dst] + turns.sum(axis=0), src == schedule.collective.root, size)
    look: dict[str, Any] = {"facecolors": "none", "edgecolors": _NEW, "linewidths": min(1.2, 4 * unit), "zorder": 4}
    codes = [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4]
    plain = [Path(curve * unit, codes) for curve in shafts[~wraps]]
    axes.add_collection(PathCollection(plain, gid=f"arrows-{step}", **look), autolim=False)
    # what goes round is drawn once as it leaves and once as it arrives, and cut off where the torus ends
    pieces = np.where(gone[0] == 0, grid.coordinates(src)[0], -1) if flat.slices else np.full(len(now), -1)
    for piece in np.unique(pieces[wraps]).tolist():
        copies: list[Floats] = []
        for chosen in product((False, True), repeat=len(gone)):
            which = wraps & (pieces == piece) & round_[list(chosen)].all(axis=0)
            copies += list(shafts[which] - turns[list(chosen)].sum(axis=0)[which, None])
        drawn = PathCollection([Path(c * unit, codes) for c in copies], gid=f"round-{step}",
                               linestyles=[(0, (2.5, 1.2))], **look)  # fmt: skip
        axes.add_collection(drawn, autolim=False)
        corner, width, height = flat.box(piece)
        box = Rectangle((corner[0] * unit, corner[1] * unit), width * unit, height * unit, transform=axes.transData)
        drawn.set_clip_path(box)
    heads = (tips - turns.sum(axis=0)[:, None]) * unit
    axes.add_collection(
        PolyCollection(list(heads), facecolors=_NEW, linewidths=0, zorder=4, gid=f"heads-{step}"), autolim=False
    )


def _arch(length: Any, most: float) -> Any:
    """Return how high arrows rise above a line: clear of the rings of the nodes that they pass."""
    return np.where(np.asarray(length) < _ADJACENT, 0.0, np.minimum(0.3 + 0.15 * np.asarray(length), most))


def _curves(flat: _Flat, begin: Floats, end: Floats, root: Any, size: float) -> tuple[Floats, Floats]:
    """Return shafts (messages, 4 points, 2) and heads (messages, 3 points, 2) of arrows, from mark to mark.

    Where no node lies between, they are straight. Others pass beside the nodes between: on a line above it, else on their left.
    """

    def towards(way: Floats) -> Floats:
        return way / np.hypot(*way.T)[:, None]

    way = end - begin
    length = np.hypot(*way.T)[:, None]
    along = way / length
    if flat.line:
        rise, lead = np.array([[0.0, -1.0]]) * _arch(length, flat.bow), 0.25 * length
    else:
        passing = np.gcd(*np.rint(np.abs(way.T)).astype(np.int64))[:, None]  # 1: no node lies on the straight way
        rise = np.column_stack([along[:, 1], -along[:, 0]]) * np.where(passing > 1, 0.45, 0.0)
        lead = np.minimum(0.25 * length, 0.6)
    one, two = begin + along * lead + rise / 0.75, end - along * lead + rise / 0.75  # 0.75: a cubic's height
    tail = begin + towards(one - begin) * (
        np.where(root, _ROOT * 0.65, _DOT / 2)[:, None] + 0.05
    )  # 0.65: a square's corner
    into = towards(end - two)
    tip = end - into * (_DOT / 2 + 0.03)
    neck = tip - into * size
    beside = np.column_stack([into[:, 1], -into[:, 0]]) * size * 0.42
    return np.stack([tail, one, two, neck], axis=1), np.stack([tip, neck + beside, neck - beside], axis=1)


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


def _tick(value: float, _: int) -> str:
    return _number(round(value))


def _draw_map(
    axes: Any, flat: _Flat, grid: Mesh, values: Ints, limits: tuple[int, int] | None, written: bool, unit: float
) -> Any:
    """Draw one heat map, and return its image: pale is low; without limits, values are differences, none of them positive."""
    from matplotlib.colors import LinearSegmentedColormap

    low, high = limits or (min(int(values.min()), -1), 0)
    inks = [colour(0, -0.85), colour(0), colour(0, 0.5)] if limits else [colour(5), colour(5, -0.6), _NONE_LESS]
    cells = np.full((flat.rows, int(flat.width)), np.nan)
    right, down = (flat.places(grid) - flat.edge).astype(np.int64).T
    cells[down, right] = values.reshape(-1)
    image = axes.imshow(cells, cmap=LinearSegmentedColormap.from_list("distances", inks), vmin=low, vmax=max(high, low + 1),
                        aspect="auto", interpolation="nearest", gid="map")  # fmt: skip
    # thin white lines part the cells, as far as these are larger than the lines
    axes.set_xticks(np.arange(1, cells.shape[1]) - 0.5, minor=True)
    axes.set_yticks(np.arange(1, flat.rows) - 0.5, minor=True)
    axes.grid(which="minor", color="white", linewidth=min(0.8, 4 * unit))
    axes.spines[:].set_visible(False)
    axes.tick_params(which="both", length=0, labelsize=6, labelcolor=GREY, pad=2)
    starts = [int(start) for start in flat.starts]
    columns = [(start + i, str(i)) for start in starts for i in range(0, flat.columns, _apart(flat.columns, unit))]
    axes.set_xticks([x for x, _ in columns], [label for _, label in columns])
    rows = range(0, flat.rows, _apart(flat.rows, unit)) if flat.rows > 1 else ()
    axes.set_yticks(list(rows), [str(i) for i in rows])
    for i, start in enumerate(starts if flat.slices else ()):
        axes.annotate(f"{i},·,·", (start + (flat.columns - 1) / 2, -0.5), (0, 6), textcoords="offset points", fontsize=7,
                      color=GREY, ha="center", va="center")  # fmt: skip
    if written:
        for value, x, y in zip(values.reshape(-1).tolist(), right.tolist(), down.tolist(), strict=True):
            ink = _ink(image.to_rgba(value))
            axes.text(x, y, _number(value), fontsize=6.5, color=ink, ha="center", va="center")
    return image


def _ink(ground: tuple[float, ...]) -> str:
    """Return which of black and white reads better on a colour: at a contrast, as WCAG 2 defines it, of 4.5 at least."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in ground[:3]]
    return "black" if np.dot(linear, (0.2126, 0.7152, 0.0722)) > 0.179 else "white"
