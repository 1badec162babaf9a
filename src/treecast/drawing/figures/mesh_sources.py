"""The picture of all broadcasts on a mesh under wormhole switching: the least total distance, by source."""

from math import prod
from typing import Any

import numpy as np

from treecast.description import count_of
from treecast.drawing.figures.plane import MOST_AXES, MOST_NODES, WIDEST, Floats, Plane, eyes_of, label_every
from treecast.drawing.registry import FIGURE, View, picture
from treecast.drawing.style import MARGIN, add_panel, heading, hue, letters_on, theme, write
from treecast.networks import Grid, Mesh
from treecast.networks.core import Ints
from treecast.papers.mesh.builders.eyes import claimed_distance, level
from treecast.papers.mesh.builders.spreading import least_by_source
from treecast.schedule import Schedule

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
    figure.set_size_inches(width, height)
    steps = (grid.nodes - 1).bit_length()
    heading(
        figure,
        f"total distance of a broadcast on {grid.spec}, by source",
        f"one-port wormhole  ·  {count_of(steps, 'step')}  ·  each cell: a broadcast from that node",
    )
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
