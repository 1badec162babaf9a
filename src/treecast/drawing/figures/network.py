"""The picture of a network with the trees of a schedule laid over it: where data goes, seen from above."""

from typing import Any, NamedTuple

import numpy as np

from treecast.drawing.figures.moment import draw_moment
from treecast.drawing.figures.plan_view import MOST_NODES, PlanView, beside
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
from treecast.drawing.frames import MOVING
from treecast.drawing.moments import moment_of
from treecast.drawing.registry import FIGURE, USUAL, View, picture
from treecast.drawing.shapes import centre_of, chosen_rows
from treecast.drawing.style import MOST_NAMED, colour, dashes, empty_figure, entry, title
from treecast.networks.core import Ints
from treecast.schedule import Schedule
from treecast.schedule.tree_of_rows import outward
from treecast.simulation.faults import Faults
from treecast.simulation.replay import replay

_MOST_ARCS = 20_000


def why_no_network(schedule: Schedule, view: View) -> str:
    """Return why the network of a schedule cannot be drawn, or an empty text."""
    network = schedule.network
    if network.nodes > MOST_NODES:
        return f"{network.spec} has more than {MOST_NODES:,} nodes"
    if network.arcs > _MOST_ARCS:
        return f"{network.spec} has {network.arcs:,} arcs, more than {_MOST_ARCS:,}"
    return ""


@picture(
    "network",
    of=Schedule,
    into=(*FIGURE, *MOVING),
    fits=why_no_network,
    rank=35,
    by_step=True,
    summary="the network, with the trees laid over it",
)
def draw_network(schedule: Schedule, view: View = USUAL) -> Any:
    """Return a figure of a network with the trees of a schedule laid over it, each in its colour and dashes; or of one step.

    Data that goes over no tree has the colour of tree 0, and lines are thicker the more chunks an arc carries. Under faults
    dead nodes and cut links are crossed out.
    """
    figure, faults = view.page or empty_figure(), view.faults or Faults()
    part = chosen_rows(schedule, view).of_node_zero()
    steps = view.steps or (0, part.steps + 1)
    step = view.step if view.step is not None else steps[0] if steps[1] == steps[0] + 1 else None
    if step is not None:
        return draw_moment(moment_of(replay(part, faults), step), part, view, schedule)
    part = part[steps[0] : steps[1]] if view.steps else part
    plan = PlanView.of(schedule.network, centre_of(part))
    scene = Scene.on(figure, plan)
    title(figure, schedule, faults)
    draw_links(scene)
    used = used_arcs(part)
    handles = draw_arcs(scene, used)
    draw_nodes(scene, part)
    handles += draw_faults(scene, part, faults)
    if len(plan.links) > len(np.unique(used.link)):
        handles.append(idle_link())
    if not plan.font:
        handles.append(entry("labels left out: no room", color="none", linewidth=0))
    name_lines(scene, handles)
    return figure


class Used(NamedTuple):
    """The arcs that a schedule uses, each once for each of its trees: int64 (arcs,), by tree, and how many chunks go there."""

    tree: Ints
    src: Ints
    dst: Ints
    chunks: Ints
    link: Ints


def used_arcs(schedule: Schedule) -> Used:
    """Return the arcs that the rows of a schedule use; of sums that go out again, those by which they go out."""
    rows, network = schedule.rows, schedule.network
    mine = np.flatnonzero(outward(schedule) & (rows.chunks_sent > 0))
    place, src, dst = stretches(schedule, mine)
    row = mine[place]
    key = (rows.tree[row].astype(np.int64) * network.nodes + src) * network.nodes + dst
    found, of = np.unique(key, return_inverse=True)
    chunks = np.bincount(of, rows.chunks_sent[row], len(found)).astype(np.int64)
    tree, pair = np.floor_divide(found, network.nodes**2), np.mod(found, network.nodes**2)
    src, dst = pair // network.nodes, pair % network.nodes
    link = np.minimum(src, dst) * network.nodes + np.maximum(src, dst)
    return Used(tree, src, dst, chunks, link)


def draw_arcs(scene: Scene, used: Used) -> list[Any]:
    """Draw the arcs that are used, and return the entries of the legend."""
    aside = beside(used.link, min(0.055, scene.view.radius))
    most = int(used.chunks.max(initial=1))
    handles: list[Any] = []
    trees = np.unique(used.tree).tolist()
    for i, tree in enumerate(trees):
        mine = np.flatnonzero(used.tree == tree)
        ink, dash = (colour(tree), dashes(tree)) if tree >= 0 else (colour(0), "-")
        curves = scene.view.curves(used.src[mine], used.dst[mine], aside[mine])
        thick = 1.4 if tree >= 0 else 0.6 + 2.2 * used.chunks[mine] / most
        thick = thick * (1.0 if scene.view.font else 0.6)
        add_curves(scene, curves, f"arcs-{tree}", color=ink, width=thick, dash=dash, order=2)
        draw_heads(scene, curves, f"heads-{tree}", ink)
        if i < MOST_NAMED:
            words = f"tree {tree}" if tree >= 0 else f"arcs used; thicker: more chunks, {most:,} at most"
            handles.append(entry(words, color=ink, linewidth=1.6, linestyle=dash))
    if len(trees) > MOST_NAMED:
        handles.append(entry(f"and {len(trees) - MOST_NAMED} more trees", color="none", linewidth=0))
    return handles
