"""The picture of wormhole messages on a mesh or torus: a panel per step, who has heard anything and who sends to whom."""

from itertools import product
from typing import Any, NamedTuple, cast

import numpy as np

from treecast.description import count_of
from treecast.drawing.registry import FIGURE, View, picture
from treecast.drawing.shapes import chosen_rows
from treecast.drawing.style import (
    MARGIN,
    add_many,
    add_panel,
    colour,
    draw_legend,
    entry,
    theme,
    title,
    write,
)
from treecast.networks import Grid
from treecast.networks.core import Ints
from treecast.papers.figures.mesh_sources import MOST_AXES, MOST_NODES, WIDEST, Floats, Plane, eyes_of, label_every
from treecast.papers.mesh.builders.eyes import total_distance
from treecast.schedule import Schedule
from treecast.simulation.faults import Faults

_MOST_STEPS = 64
_NEW, _EYE, _LINK = 0, 1, "#E4E4E4"  # colours: those of two trees, and one on white
_DOT, _ROOT, _RING = 0.36, 0.53, 0.74  # how wide the marks of nodes are, in steps of one node
_LETTER = 0.063  # inches that a character of a caption takes
_ADJACENT = 1.2  # steps of one node: shorter arrows pass no other node, and are straight


def _why_not(schedule: Schedule, view: View) -> str:
    if view.faults:
        return "it shows no faults"
    schedule = chosen_rows(schedule, view)
    grid, rows = schedule.network.grid, schedule.rows
    if grid is None:
        return f"{schedule.network.spec} is neither mesh nor torus"
    if schedule.collective.all_source or schedule.collective.sums:
        return f"this is a schedule of {schedule.collective.kind}"
    if not schedule.model.routing or bool((rows.port >= 0).any()):
        return "its messages go from port to port, not to any node"
    if len(grid.sides) > MOST_AXES:
        return f"{grid.spec} has more than {MOST_AXES} axes"
    if grid.nodes > MOST_NODES:
        return f"{grid.spec} has more than {MOST_NODES:,} nodes"
    if schedule.steps > _MOST_STEPS:
        return f"it has more than {_MOST_STEPS} steps"
    return "" if len(rows) else "nothing is sent"


@picture(
    "steps", of=Schedule, into=FIGURE, fits=_why_not, summary="who sends to whom under wormhole switching", rank=40
)
def draw_steps(schedule: Schedule, view: View) -> None:
    """Draw a wormhole broadcast, scatter, …, a panel per step: who has heard anything, and who sends to whom.

    A message is an arrow from its sender to its receiver. Where it goes round a torus it is dashed, leaves at one side and
    enters at the other. Rings are the eyes of a mesh whose sides are the same power of two.
    """
    figure, schedule = view.page, chosen_rows(schedule, view)
    grid = cast(Grid, schedule.network.grid)
    plane = Plane.of(grid.sides, grid.wraps)
    unit = plane.unit()
    if plane.line:
        longest = int(grid.distance(schedule.rows.src, schedule.rows.dst).max())
        plane = plane._replace(bow=float(_arch(longest, max(3.0, 1 / unit))))
    left, top, under = 0.3, 0.3, 0.35 + (0.15 if plane.slices else 0.0)
    inner = plane.width * unit, plane.height * unit
    caption = max(len(_caption(schedule, step)) for step in range(schedule.steps))
    panel = left + max(inner[0] + 0.15, 0.65 + _LETTER * caption), inner[1] + top + under
    columns = max(1, min(schedule.steps, int(WIDEST / panel[0])))
    lines = -(-schedule.steps // columns)
    columns = -(-schedule.steps // lines)
    head, foot = 0.75, 0.4
    width, height = max(columns * panel[0] + 2 * MARGIN, 6.5), lines * panel[1] + head + foot
    figure.set_size_inches(width, height)
    title(figure, schedule, Faults(), f": total distance {total_distance(grid, schedule.rows):,}")
    rings = eyes_of(grid) if schedule.collective.traits.one_to_all else np.empty(0, np.int64)
    scene = _MeshScene(schedule, grid, plane, unit, _steps_heard(schedule), rings)
    for step in range(schedule.steps):
        aside = (width - columns * panel[0]) / 2 + step % columns * panel[0]
        axes = add_panel(figure, (aside, height - head - step // columns * panel[1] - panel[1]), panel)
        axes.set(xlim=(-left, panel[0] - left), ylim=(panel[1] - top, -top))  # a unit is an inch
        axes.set_axis_off()
        _draw_grid(axes, plane, unit)
        _draw_nodes(axes, scene, step)
        _draw_messages(axes, scene, step, -top + 0.1)
    _draw_legend(figure, len(scene.rings) > 0, grid.wraps)


def _rows_sent_in(schedule: Schedule, step: int) -> Ints:
    """Return the rows of the messages of a step."""
    rows = schedule.rows
    gone = step - rows.step
    return np.flatnonzero((gone >= 0) & (gone < rows.steps) & (gone % np.maximum(rows.pace, 1) == 0))


def _caption(schedule: Schedule, step: int) -> str:
    """Return the caption of the panel of a step, beside the number of the step."""
    rows, now = schedule.rows, _rows_sent_in(schedule, step)
    far = schedule.network.distance(rows.src[now], rows.dst[now])
    return f"{count_of(len(now), 'message')}, distance {int(far.sum()):,}"


class _MeshScene(NamedTuple):
    """The common parts of all panels: ``unit`` inches between two nodes; the step in which each node hears; the eyes."""

    schedule: Schedule
    grid: Grid
    plane: Plane
    unit: float
    heard: Ints
    rings: Ints


def _steps_heard(schedule: Schedule) -> Ints:
    """Return the step in which each node hears; that of the root is -1."""
    heard = np.full(schedule.network.nodes, schedule.steps)
    np.minimum.at(heard, schedule.rows.dst, schedule.rows.step)
    heard[schedule.collective.root] = -1
    return heard


def _draw_grid(axes: Any, plane: Plane, unit: float) -> None:
    """Draw the links of a mesh, and the coordinates beside it."""
    y, stub = plane.bow + plane.edge, plane.edge if plane.edge > 0.5 else 0.0  # a torus has links at its ends too
    rows, columns = y + np.arange(plane.rows), plane.edge + np.arange(plane.columns)
    lines: list[list[tuple[float, float]]] = []
    for start in plane.starts:
        ends = start + columns[0] - stub, start + columns[-1] + stub
        lines += [[(ends[0], down), (ends[1], down)] for down in rows.tolist()]
        if plane.rows > 1:
            lines += [[(start + x, rows[0] - stub), (start + x, rows[-1] + stub)] for x in columns.tolist()]
    add_many(axes, "Line", np.array(lines) * unit, colors=theme().of(_LINK), linewidths=1, zorder=0)
    grey = theme().grey
    for i, start in enumerate(plane.starts):
        if plane.slices:
            under = plane.height * unit + 0.2  # arrows pass above
            write(axes, ((start + plane.across / 2) * unit, under), f"{i},·,·", 7, color=grey)
        for column in range(0, plane.columns, label_every(plane.columns, unit)):
            write(axes, ((start + columns[column]) * unit, plane.height * unit + 0.06), str(column), 6, color=grey)
    for row in range(0, plane.rows if plane.rows > 1 else 0, label_every(plane.rows, unit)):
        write(axes, (-0.05, rows[row] * unit), str(row), 6, color=grey, ha="right")


def _draw_nodes(axes: Any, scene: _MeshScene, step: int) -> None:
    at, heard, rings = scene.plane.places(scene.grid) * scene.unit, scene.heard, scene.rings
    size = (scene.unit * 72) ** 2
    looks = (
        ("later", heard > step, theme().pale),
        ("new", heard == step, colour(_NEW)),
        ("before", heard < step, theme().ink),
    )
    for name, which, ink in looks:
        x, y = at[which].T
        axes.scatter(x, y, s=size * _DOT**2, c=ink, linewidths=0, zorder=2, gid=f"{name}-{step}")
    look = {"marker": "s", "linewidths": 0, "zorder": 2, "gid": f"root-{step}"}
    axes.scatter(*at[scene.schedule.collective.root], s=size * _ROOT**2, c=theme().ink, **look)
    if len(rings):
        x, y = at[rings].T
        look = {"facecolors": "none", "edgecolors": colour(_EYE), "linewidths": min(1.4, 5 * scene.unit)}
        axes.scatter(x, y, s=size * _RING**2, zorder=3, gid=f"eyes-{step}", **look)


def _draw_messages(axes: Any, scene: _MeshScene, step: int, y: float) -> None:
    """Draw an arrow for each message of a step, and write at height ``y`` how many there are."""
    from matplotlib.patches import Rectangle

    # 1. The messages of the step, and the caption.
    schedule, grid, plane, unit = scene.schedule, scene.grid, scene.plane, scene.unit
    rows = schedule.rows
    now = _rows_sent_in(schedule, step)
    src, dst = rows.src[now], rows.dst[now]
    far = grid.distance(src, dst)
    text = _caption(schedule, step)
    axes.text(0, y, f"step {step}", fontsize=9, weight="bold", color=theme().ink, va="center")
    axes.text(0.55 if step < 10 else 0.62, y, text, fontsize=8, color=theme().grey, va="center")
    # 2. Which ways go round, on which axes, and how far that shifts their ends.
    at = plane.places(grid)
    gone = grid.coordinates(dst) - grid.coordinates(src)
    wraps = np.abs(gone).sum(axis=0) > far
    round_ = wraps & (2 * np.abs(gone) > np.array(grid.sides)[:, None])
    if plane.slices:  # a way round within a slice cannot be shown on the way to another slice
        round_[2] &= gone[0] == 0
    turns = -(np.sign(gone) * round_)[:, :, None] * plane.periods(len(gone))[:, None]
    # 3. Arrows of plain ways.
    size = min(0.1, 0.3 * unit) / unit
    shafts, tips = _curves(plane, at[src], at[dst] + turns.sum(axis=0), src == schedule.collective.root, size)
    look: dict[str, Any] = {
        "facecolors": "none",
        "edgecolors": colour(_NEW),
        "linewidths": min(1.2, 4 * unit),
        "zorder": 4,
    }
    add_many(axes, "Path", shafts[~wraps] * unit, gid=f"arrows-{step}", **look)
    # 4. An arrow that goes round is drawn once as it leaves and once as it arrives, and cut off where the torus ends.
    pieces = np.where(gone[0] == 0, grid.coordinates(src)[0], -1) if plane.slices else np.full(len(now), -1)
    for piece in np.unique(pieces[wraps]).tolist():
        copies: list[Floats] = []
        for chosen in product((False, True), repeat=len(gone)):
            which = wraps & (pieces == piece) & round_[list(chosen)].all(axis=0)
            copies += list(shafts[which] - turns[list(chosen)].sum(axis=0)[which, None])
        dashed = {"gid": f"round-{step}", "linestyles": [(0, (2.5, 1.2))]}
        drawn = add_many(axes, "Path", np.array(copies) * unit, **dashed, **look)
        corner, width, height = plane.box(piece)
        box = Rectangle((corner[0] * unit, corner[1] * unit), width * unit, height * unit, transform=axes.transData)
        drawn.set_clip_path(box)
    # 5. The heads, all where the message arrives.
    heads = (tips - turns.sum(axis=0)[:, None]) * unit
    add_many(axes, "Poly", heads, facecolors=colour(_NEW), linewidths=0, zorder=4, gid=f"heads-{step}")


def _arch(length: Any, most: float) -> Any:
    """Return how high arrows rise above a line: clear of the rings of the nodes that they pass."""
    return np.where(np.asarray(length) < _ADJACENT, 0.0, np.minimum(0.3 + 0.15 * np.asarray(length), most))


def _curves(plane: Plane, begin: Floats, end: Floats, root: Any, size: float) -> tuple[Floats, Floats]:
    """Return shafts (messages, 4 points, 2) and heads (messages, 3 points, 2) of arrows, from mark to mark.

    Where no node lies between, they are straight. Others pass beside the nodes between: on a line above it, else on their left.
    """

    def towards(way: Floats) -> Floats:
        return way / np.hypot(*way.T)[:, None]

    way = end - begin
    length = np.hypot(*way.T)[:, None]
    along = way / length
    if plane.line:
        rise, lead = np.array([[0.0, -1.0]]) * _arch(length, plane.bow), 0.25 * length
    else:
        passing = np.gcd(*np.rint(np.abs(way.T)).astype(np.int64))[:, None]  # 1: no node lies on the straight way
        rise = np.column_stack([along[:, 1], -along[:, 0]]) * np.where(passing > 1, 0.45, 0.0)
        lead = np.minimum(0.25 * length, 0.6)
    one, two = begin + along * lead + rise / 0.75, end - along * lead + rise / 0.75  # 0.75: a cubic's height
    edge = np.where(root, _ROOT * 0.65, _DOT / 2)[:, None] + 0.05  # 0.65: a square's corner
    tail = begin + towards(one - begin) * edge
    into = towards(end - two)
    tip = end - into * (_DOT / 2 + 0.03)
    neck = tip - into * size
    beside = np.column_stack([into[:, 1], -into[:, 0]]) * size * 0.42
    return np.stack([tail, one, two, neck], axis=1), np.stack([tip, neck + beside, neck - beside], axis=1)


def _draw_legend(figure: Any, rings: bool, wraps: bool) -> None:
    handles = [
        entry("root", marker="s", color=theme().ink, markersize=7),
        entry("informed before", marker="o", color=theme().ink, markersize=5),
        entry("receives now", marker="o", color=colour(_NEW), markersize=5),
        entry("not yet", marker="o", color=theme().pale, markersize=5),
    ]
    if rings:
        handles.append(entry("eye", marker="o", color=colour(_EYE), markerfacecolor="none", markersize=8))
    if wraps:
        handles.append(entry("goes round the torus", linestyle="--", color=colour(_NEW)))
    spaces = {"handlelength": 1.4, "handletextpad": 0.4, "columnspacing": 1.3, "borderpad": 0}
    draw_legend(figure, handles, bottom=0.08, column=1, ncols=len(handles), **spaces)
