"""The picture of one step on a network: the arcs in use, with their chunks, and the nodes by the data that they have."""

from typing import Any

import numpy as np

from treecast.description import count_of
from treecast.drawing.figures.plan_view import PlanView, beside, points_on
from treecast.drawing.figures.scene import (
    Scene,
    add_curves,
    draw_faults,
    draw_heads,
    draw_links,
    draw_nodes,
    idle_link,
    name_lines,
    stretches,
)
from treecast.drawing.moments import ALL, DEAD, NOTHING, SOME, Moment
from treecast.drawing.registry import View
from treecast.drawing.shapes import centre_of
from treecast.drawing.style import MARGIN, MOST_NAMED, colour, dashes, entry, title, write
from treecast.drawing.theme import letters_on, theme
from treecast.networks.core import Ints
from treecast.schedule import Schedule
from treecast.simulation.faults import Faults

_MOST_WRITTEN = 120  # arcs with the numbers of their chunks


def draw_moment(moment: Moment, schedule: Schedule, view: View, of: Schedule) -> None:
    """Draw one step of a run on a page. ``of``: the schedule that the title names."""
    seen = PlanView.of(schedule.network, centre_of(schedule))
    scene, faults = Scene.on(view.page, seen), view.faults or Faults()
    title(view.page, of, faults)
    draw_links(scene)
    handles = _draw_sends(scene, schedule, moment)
    fills = {u: _look(has) for u, has in enumerate(moment.has.tolist())}
    fills[centre_of(schedule)] = (
        (theme().ink, theme().ground) if moment.has[centre_of(schedule)] != DEAD else _look(DEAD)
    )
    draw_nodes(scene, schedule, fills)
    handles += draw_faults(scene, schedule, faults, moment.step)
    handles += [_dot(SOME, "has a part"), _dot(ALL, "has everything")]
    name_lines(scene, handles)
    width, height = view.page.get_size_inches()
    words = f"step {moment.step} of {of.steps}" if moment.step < of.steps else f"after {count_of(of.steps, 'step')}"
    write(view.page, (1 - MARGIN / width, 1 - 0.62 / height), words, 12, weight="bold", ha="right", gid="now")


def _look(has: int) -> tuple[str, str]:
    """Return the colours of a node that has nothing, a part or everything: of the inside, and of the letters."""
    fill = {NOTHING: theme().ground, SOME: colour(0, -0.7), ALL: colour(0), DEAD: theme().pale}[has]
    return fill, letters_on(fill)


def _dot(has: int, label: str) -> Any:
    return entry(label, marker="o", markerfacecolor=_look(has)[0], markeredgecolor=theme().ink, markersize=7)


def _draw_sends(scene: Scene, schedule: Schedule, moment: Moment) -> list[Any]:
    """Draw the arcs over which something goes, and return the entries of the legend."""
    rows = schedule.rows
    index, src, dst = stretches(schedule, moment.row)
    tree = rows.tree[moment.row[index]]
    carries = (moment.chunk[index] >= 0) & moment.arrives[index]
    low, high = np.minimum(src, dst), np.maximum(src, dst)
    aside = beside(low * schedule.network.nodes + high, 0.07)
    curves = scene.view.curves(src, dst, aside)
    thick = 3.2 if scene.view.font else 1.6
    handles: list[Any] = []
    for t in np.unique(rows.tree[~rows.control]).tolist():  # all of them in every frame, so that legends are alike
        ink, dash = (colour(t), dashes(t)) if t >= 0 else (colour(0), "-")
        mine = carries & (tree == t)
        add_curves(scene, curves[mine], f"moves-{t}", color=ink, width=thick, dash=dash, order=2)
        draw_heads(scene, curves[mine], f"heads-{t}", ink, 1.7)
        if len(handles) < MOST_NAMED:
            handles.append(entry(f"tree {t}" if t >= 0 else "moves", color=ink, linewidth=2.6, linestyle=dash))
    for name, mine, ink in (
        ("lost", (moment.chunk[index] >= 0) & ~moment.arrives[index], colour(5)),
        ("control flit", moment.chunk[index] < 0, theme().grey),
    ):
        if mine.any():
            add_curves(scene, curves[mine], name.split()[0], color=ink, width=thick * 0.7, dash=":", order=2)
            handles.append(entry(name, color=ink, linewidth=2, linestyle=":"))
    handles.append(idle_link())
    if scene.view.font:
        _write_chunks(scene, curves, moment.chunk[index], (src, dst))
    return handles


def _write_chunks(scene: Scene, curves: Any, chunk: Ints, ends: tuple[Ints, Ints]) -> None:
    """Write on each arc the number of the chunk that it carries, or how many there are."""
    of: dict[tuple[int, int], list[int]] = {}
    for i, pair in enumerate(zip(ends[0].tolist(), ends[1].tolist(), strict=True)):
        if chunk[i] >= 0:
            of.setdefault(pair, []).append(i)
    if len(of) > _MOST_WRITTEN:
        return
    for places in of.values():
        at, _ = points_on(curves[places[:1]], 0.36)
        written = sorted({int(chunk[i]) for i in places})
        words = ",".join(map(str, written)) if len(written) < 3 else f"{len(written)} chunks"
        box = {"boxstyle": "round,pad=0.15", "facecolor": theme().ground, "edgecolor": "none"}
        write(scene.axes, at[0].tolist(), words, 7, gid="chunk", zorder=4, bbox=box)
