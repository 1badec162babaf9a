"""How a mesh or torus lies in the plane of a picture, and the picture of all broadcasts on it under wormhole switching.

The first of two axes goes down, the second to the right. One axis is a line; of three, the first numbers slices, which stand
side by side. The picture shows the least total distance, by source.
"""

from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treecast.description import count_of
from treecast.drawing.registry import FIGURE, View, picture
from treecast.drawing.style import MARGIN, add_panel, heading, hue, letters_on, theme, write
from treecast.networks import Grid, Mesh
from treecast.networks.core import Ints
from treecast.papers.mesh.builders.eyes import claimed_distance, eyes, fits, level
from treecast.papers.mesh.builders.spreading import least_by_source
from treecast.schedule import Schedule

MOST_NODES, MOST_AXES = 2000, 3
"""The largest mesh that can be drawn."""
WIDEST = 15.0
"""Inches of panels side by side."""
_TALLEST = 4.2  # inches of a panel of two axes, of a large mesh
Floats = NDArray[np.float64]


class Plane(NamedTuple):
    """How a mesh lies in a plane, in steps of one node: its rows and columns, and how many slices (0: no third axis)."""

    rows: int
    columns: int
    slices: int
    edge: float
    """From the outermost nodes to the end of the picture: more on a torus, for the ends of links that go round."""
    bow: float = 0.0
    """The room above a line, for its arrows."""

    @staticmethod
    def of(sides: tuple[int, ...], wraps: bool = False) -> "Plane":
        """Return how a mesh of these sides lies; ``wraps``: whether it is a torus."""
        rows, columns = (1, 1, *sides)[-2:]
        return Plane(rows, columns, sides[0] if len(sides) == 3 else 0, 0.8 if wraps else 0.5)

    @property
    def line(self) -> bool:
        """Whether all nodes lie on one line."""
        return self.rows == 1 and not self.slices

    @property
    def across(self) -> float:
        """The width of a slice; to the next one it is one more."""
        return self.columns - 1 + 2 * self.edge

    @property
    def starts(self) -> list[float]:
        """Where each slice begins, from left to right."""
        return [(self.across + 1) * i for i in range(self.slices or 1)]

    @property
    def width(self) -> float:
        """The width of everything."""
        return self.starts[-1] + self.across

    @property
    def height(self) -> float:
        """The height of everything."""
        return self.rows - 1 + 2 * self.edge + self.bow

    def unit(self) -> float:
        """Return how many inches are between two nodes."""
        wide = WIDEST - 1 if self.slices or self.rows == 1 else _TALLEST
        return max(0.02 if self.rows > 1 else 0.0, min(0.36, wide / self.width, _TALLEST * 2 / self.rows))

    def places(self, grid: Grid) -> Floats:
        """Return where the nodes lie, right and down: (nodes, 2)."""
        at = grid.coordinates(np.arange(grid.nodes))
        down = at[-2] if len(at) > 1 else np.zeros(grid.nodes, np.int64)
        right = at[-1] + (at[0] * (self.across + 1) if self.slices else 0)
        return np.column_stack([right + self.edge, down + self.edge + self.bow]).astype(np.float64)

    def periods(self, axes: int) -> Floats:
        """Return how far, right and down, one comes on each axis by going round a torus once: (axes, 2)."""
        detours = [((self.across + 1) * self.slices, 0), (0, self.rows), (self.columns, 0)]
        return np.array(detours[-axes:], np.float64)

    def box(self, piece: int) -> tuple[tuple[float, float], float, float]:
        """Return corner, width and height of a slice; of -1, those of everything."""
        if piece < 0:
            return (0, 0), self.width, self.height
        return (self.starts[piece], 0), self.across, self.height


def label_every(count: int, unit: float) -> int:
    """Return of how many coordinates one is written, so that they do not touch."""
    room = 0.05 + 0.06 * max(2, len(str(count - 1)))
    return next(n for power in range(9) for n in (10**power, 2 * 10**power, 5 * 10**power) if n * unit >= room)


def eyes_of(grid: Grid) -> Ints:
    """Return the numbers of the eyes of a mesh whose sides are the same power of two; of other networks, none."""
    if grid.wraps or not fits(grid):
        return np.empty(0, np.int64)
    return np.unique(eyes(level(grid), len(grid.sides)) @ np.array(grid.strides, np.int64))


_MOST_WRITTEN = 256  # nodes of a heat map with numbers in its cells
_NONE_LESS = "#EAEAEA"  # of differences: no difference, seen against the page


def _why_not(schedule: Schedule, view: View) -> str:
    if view.faults:
        return "it shows no faults"
    grid = schedule.network.grid
    if grid is None or grid.wraps:
        return f"{schedule.network.spec} is no mesh"
    if not schedule.model.routing or not schedule.collective.traits.one_to_all:
        return "it shows wormhole broadcasts, and this is none"
    return _why_no_mesh(grid, view)


def _why_no_mesh(grid: Grid, view: View) -> str:
    if len(grid.sides) <= MOST_AXES and grid.nodes <= MOST_NODES:
        return ""
    return f"{grid.spec} cannot be drawn: choose {MOST_AXES} axes and {MOST_NODES:,} nodes at most"


@picture(
    "sources",
    of=Schedule,
    into=FIGURE,
    fits=_why_not,
    summary="the total distance of broadcasts on the mesh, by source",
)
def draw_sources_of_schedule(schedule: Schedule, view: View) -> None:
    """Draw the total distances of broadcasts on the mesh of a schedule."""
    draw_sources(Mesh(getattr(schedule.network, "sides", ())), view)


@picture(
    "sources",
    of=Mesh,
    into=FIGURE,
    fits=_why_no_mesh,
    summary="the total distance of broadcasts on the mesh, by source",
)
def draw_sources(grid: Mesh, view: View) -> None:
    """Draw the total distance of a broadcast on a mesh, by source, in the fewest steps: by bisection.

    Where the sides are the same power of two: also that of the paper, from eye to eye in the best order of dimensions, and
    by how much bisection differs.
    """
    # 1. What is drawn, and how large cells and panels are.
    figure, sides = view.page, grid.sides
    from matplotlib.ticker import MaxNLocator

    maps, plane = _distances(grid), Plane.of(sides)
    written = prod(sides) <= _MOST_WRITTEN and max(sides) <= 16
    longest = max(len(f"{n:,}") for _, values in maps for n in (int(values.min()), int(values.max())))
    unit = max(0.32 if len(maps) > 1 else 0.45, 0.065 * longest + 0.1) if written else plane.unit()
    inner = plane.width * unit, plane.rows * max(unit, 0.3 if plane.line else 0.0)
    left, top, bar = 0.3, 0.46 + (0.2 if plane.slices else 0.0), 0.0 if written else 0.75
    panel = max(inner[0] + left + bar + 0.1, 2.9), inner[1] + top + 0.4
    columns = len(maps) if len(maps) * panel[0] <= WIDEST + 4 else 1
    head, foot = 0.75, 0.05
    width = max(columns * panel[0] + 2 * MARGIN, 6.0)
    height = len(maps) // columns * panel[1] + head + foot
    # 2. The page and its heading.
    figure.set_size_inches(width, height)
    steps = (grid.nodes - 1).bit_length()
    heading(
        figure,
        f"total distance of a broadcast on {grid.spec}, by source",
        f"one-port wormhole  ·  {count_of(steps, 'step')}  ·  each cell: a broadcast from that node",
    )
    # 3. The panels. Distances share one range of colours, so that they can be compared; a difference has its own.
    least = min(int(values.min()) for _, values in maps[:2])
    most = max(int(values.max()) for _, values in maps[:2])
    at = (plane.places(grid) - plane.edge).astype(np.int64).T
    for i, (name, values) in enumerate(maps):
        x = MARGIN + i % columns * panel[0] + left
        y = height - head - i // columns * panel[1] - top - inner[1]
        axes = add_panel(figure, (x, y), inner)
        cells = np.full((plane.rows, int(plane.width)), np.nan)
        cells[at[1], at[0]] = values.reshape(-1)
        image = _draw_map(axes, cells, plane, unit, (least, most) if i < 2 else None)
        for value, place in zip(values.reshape(-1).tolist(), at.T.tolist(), strict=True) if written else ():
            write(axes, place, _number(value), 6.5, color=letters_on(image.to_rgba(value)))
        _write_above(axes, name, values, top)
        if not written:
            beside = add_panel(figure, (x + inner[0] + 0.1, y), (0.12, inner[1]))
            shown = axes.figure.colorbar(image, cax=beside, format=_tick)
            shown.locator = MaxNLocator(5 if inner[1] > 1 else 2, integer=True)
            shown.outline.set_visible(False)
            beside.tick_params(length=0, labelsize=7, labelcolor=theme().grey)


def _distances(grid: Mesh) -> list[tuple[str, Ints]]:
    """Return the total distances by source of each way of broadcasting, and their difference, each under its name."""
    ours = least_by_source(grid.sides)
    if not len(eyes_of(grid)):
        return [("by bisection", ours)]
    paper = claimed_distance(level(grid), np.moveaxis(np.indices(grid.sides), 0, -1), best_order=True)
    return [
        ("by bisection", ours),
        ("from eye to eye, best order", paper),
        ("bisection minus eye to eye", ours - paper),
    ]


def _write_above(axes: Any, name: str, values: Ints, top: float) -> None:
    """Write above a heat map its name, and the least and the most of its values."""
    reach = f"{_number(int(values.min()))} … {_number(int(values.max()))}"
    look = {"xycoords": "axes fraction", "ha": "left"}
    write(axes, (0, 1), name, 10, offset=(0, (top - 0.12) * 72), weight="bold", **look)
    write(axes, (0, 1), reach, 8, offset=(0, (top - 0.3) * 72), color=theme().grey, **look)


def _number(value: int) -> str:
    return f"{value:,}".replace("-", "−")


def _tick(value: float, _: int) -> str:
    return _number(round(value))


def _draw_map(axes: Any, cells: Floats, plane: Plane, unit: float, limits: tuple[int, int] | None) -> Any:
    """Draw one heat map, and return its image: pale is low; without limits, values are differences, none of them positive."""
    low, high = limits or (min(int(np.nanmin(cells)), -1), 0)
    inks = [hue(0, -0.85), hue(0), hue(0, 0.5)] if limits else [hue(5), hue(5, -0.6), _NONE_LESS]
    look: dict[str, Any] = {"aspect": "auto", "interpolation": "nearest", "gid": "map"}
    image = axes.imshow(cells, cmap=theme().shades("distances", inks), vmin=low, vmax=max(high, low + 1), **look)
    # thin white lines part the cells, as far as these are larger than the lines
    axes.set_xticks(np.arange(1, cells.shape[1]) - 0.5, minor=True)
    axes.set_yticks(np.arange(1, plane.rows) - 0.5, minor=True)
    axes.grid(which="minor", color=theme().ground, linewidth=min(0.8, 4 * unit))
    axes.spines[:].set_visible(False)
    axes.tick_params(which="both", length=0, labelsize=6, labelcolor=theme().grey, pad=2)
    starts = [int(start) for start in plane.starts]
    columns = [
        (start + i, str(i)) for start in starts for i in range(0, plane.columns, label_every(plane.columns, unit))
    ]
    axes.set_xticks([x for x, _ in columns], [label for _, label in columns])
    rows = range(0, plane.rows, label_every(plane.rows, unit)) if plane.rows > 1 else ()
    axes.set_yticks(list(rows), [str(i) for i in rows])
    for i, start in enumerate(starts if plane.slices else ()):
        write(axes, (start + (plane.columns - 1) / 2, -0.5), f"{i},·,·", 7, offset=(0, 6), color=theme().grey)
    return image
