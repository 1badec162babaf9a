"""The picture of a network with the trees of a schedule laid over it: where data goes, seen from above."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from treecast.drawing.figures.plan_view import MOST_NODES, Floats, PlanView, beside, points_on
from treecast.drawing.registry import FIGURE, View, picture
from treecast.drawing.shapes import chosen_rows
from treecast.drawing.style import DARK, GREY, MARGIN, MONO, colour, dashes, empty_figure, short_label, title
from treecast.networks.core import Ints
from treecast.schedule import Schedule
from treecast.schedule.tree_of_rows import outward
from treecast.simulation.faults import Faults

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_ARCS = 20_000
_MOST_NAMED = 12  # trees in the legend
_AROUND = 0.45  # inches around the outermost nodes
_IDLE = "#C4C4C4"


def why_no_network(schedule: Schedule, view: View) -> str:
    """Return why the network of a schedule cannot be drawn, or an empty text."""
    network = schedule.network
    if network.nodes > MOST_NODES:
        return f"{network.spec} has more than {MOST_NODES:,} nodes"
    if network.arcs > _MOST_ARCS:
        return f"{network.spec} has {network.arcs:,} arcs, more than {_MOST_ARCS:,}"
    return ""


@picture(
    "network", of=Schedule, into=FIGURE, fits=why_no_network, what="the network, with the trees laid over it", rank=35
)
def draw_network_on(schedule: Schedule, view: View) -> None:
    """Draw the network of a schedule on a page, and over which of its arcs data goes."""
    draw_network(chosen_rows(schedule, view).of_node_zero(), view.faults, view.page, schedule)


def draw_network(
    schedule: Schedule, faults: Faults | None = None, page: Any = None, of: Schedule | None = None
) -> "Figure":
    """Return a figure of a network with the trees of a schedule laid over it, each in its colour and dashes.

    What goes over no tree has the colour of nothing, and lines are thicker the more chunks an arc carries. Under ``faults``
    the dead and what is cut are crossed out. ``of``: the schedule that the title names. ``page``: what to draw on.
    """
    figure = empty_figure() if page is None else page
    faults = faults or Faults()
    view = PlanView.of(schedule.network, schedule.part.root)
    scene = Scene.on(figure, view)
    title(figure, of or schedule, faults)
    draw_links(scene)
    used = used_arcs(schedule)
    handles = draw_arcs(scene, used)
    draw_nodes(scene, schedule)
    handles += draw_faults(scene, schedule, faults)
    if len(view.links) > len(np.unique(used.link)):
        handles.append(_line(_IDLE, 0.8, "", "idle link"))
    if not view.font:
        handles.append(_line("none", 0, "", "labels left out: no room"))
    draw_legend(scene, handles)
    return figure


class Scene(NamedTuple):
    """A figure of a network: its page, the axes whose unit is an inch, and where everything lies."""

    figure: Any
    axes: Any
    view: PlanView

    @staticmethod
    def on(figure: Any, view: PlanView) -> "Scene":
        """Return the scene of a network on a page, whose size becomes that of the network."""
        head, foot = 0.75, 0.42
        inner = max(view.size[0] + 2 * _AROUND, 5.5), view.size[1] + 2 * _AROUND
        width, height = inner[0] + 2 * MARGIN, inner[1] + head + foot
        figure.set_size_inches(width, height)
        axes = figure.add_axes((MARGIN / width, foot / height, inner[0] / width, inner[1] / height))
        left = (inner[0] - view.size[0]) / 2
        axes.set(xlim=(-left, inner[0] - left), ylim=(view.size[1] + _AROUND, -_AROUND))
        axes.set_axis_off()
        return Scene(figure, axes, view)


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
    row, src, dst = stretches(schedule, mine)
    key = (rows.tree[row].astype(np.int64) * network.nodes + src) * network.nodes + dst
    found, of = np.unique(key, return_inverse=True)
    chunks = np.bincount(of, rows.chunks_sent[row], len(found)).astype(np.int64)
    tree, pair = np.floor_divide(found, network.nodes**2), np.mod(found, network.nodes**2)
    src, dst = pair // network.nodes, pair % network.nodes
    link = np.minimum(src, dst) * network.nodes + np.maximum(src, dst)
    return Used(tree, src, dst, chunks, link)


def stretches(schedule: Schedule, mine: Ints) -> tuple[Ints, Ints, Ints]:
    """Return over which arcs rows go, as the row and both ends of each: one, or the route that the network chooses."""
    rows, network = schedule.rows, schedule.network
    if network.routed and schedule.model.routing and bool((rows.port[mine] < 0).any()):
        of, arc = network.channels(rows.src[mine].astype(np.int64), rows.dst[mine].astype(np.int64))
        src = arc // network.ports
        return mine[of], src, network.neighbor_table()[src, arc % network.ports].astype(np.int64)
    return mine, rows.src[mine].astype(np.int64), rows.dst[mine].astype(np.int64)


def draw_links(scene: Scene) -> None:
    """Draw all links of the network, thin and grey."""
    links = scene.view.links
    add_curves(
        scene, scene.view.curves(links[:, 0], links[:, 1], np.zeros(len(links))), "links", color=_IDLE, width=0.8
    )


def add_curves(
    scene: Scene, curves: Floats, gid: str, *, color: Any, width: Any, dash: Any = "-", order: int = 1
) -> None:
    """Draw curves."""
    from matplotlib.collections import PathCollection
    from matplotlib.path import Path

    paths = [Path(curve, [Path.MOVETO, Path.CURVE3, Path.CURVE3]) for curve in curves]
    found = PathCollection(paths, facecolors="none", edgecolors=color, linestyles=[dash], zorder=order)
    found.set(linewidth=width, gid=gid)
    scene.axes.add_collection(found, autolim=False)


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
        if i < _MOST_NAMED:
            words = f"tree {tree}" if tree >= 0 else f"arcs used; thicker: more chunks, {most:,} at most"
            handles.append(_line(ink, 1.6, dash, words))
    if len(trees) > _MOST_NAMED:
        handles.append(_line("none", 0, "", f"and {len(trees) - _MOST_NAMED} more trees"))
    return handles


def draw_heads(scene: Scene, curves: Floats, gid: str, ink: str) -> None:
    """Draw the head of an arrow on each curve, nearer its end, where there is room."""
    from matplotlib.collections import PolyCollection

    length = np.hypot(*(curves[:, 2] - curves[:, 0]).T)
    size = np.clip(0.16 * (length - 2 * scene.view.radius), 0, 0.085)[:, None]
    shown = size[:, 0] > 0.015
    at, way = points_on(curves[shown], 0.64)
    size, across = size[shown], np.column_stack([-way[:, 1], way[:, 0]])
    tip, back = at + way * size, at - way * size * 0.5
    heads = np.stack([tip, back + across * size * 0.55, back - across * size * 0.55], axis=1)
    scene.axes.add_collection(
        PolyCollection(list(heads), facecolors=ink, linewidths=0, zorder=3, gid=gid), autolim=False
    )


def draw_nodes(scene: Scene, schedule: Schedule, fills: dict[int, tuple[str, str]] | None = None) -> None:
    """Draw the nodes, with their labels where these have room. ``fills``: colours of the inside and of the letters."""
    network, view = schedule.network, scene.view
    fills = dict(fills or {})
    fills.setdefault(schedule.part.root, (DARK, "white"))
    relays: set[int] = set() if network.relays is None else set(np.flatnonzero(network.relays).tolist())
    if not view.font:
        inks = [fills.get(u, (GREY, ""))[0] for u in range(network.nodes)]
        edges = [DARK if ink.lower() in ("white", "#ffffff") else ink for ink in inks]
        scene.axes.scatter(
            *view.at.T, s=(2 * view.radius * 72) ** 2, c=inks, edgecolors=edges, linewidths=0.4, zorder=5, gid="nodes"
        )
        return
    for u, (x, y) in enumerate(view.at.tolist()):
        fill, ink = fills.get(u, ("white", DARK))
        shape = "square,pad=0.3" if u in relays else "round,pad=0.3"
        box = {"boxstyle": shape, "facecolor": fill, "edgecolor": GREY if u in relays else DARK, "linewidth": 0.9}
        look: dict[str, Any] = {"fontsize": view.font, "family": MONO, "ha": "center", "va": "center"}
        scene.axes.text(x, y, short_label(network, u), color=ink, bbox=box, zorder=5, parse_math=False, **look)


def draw_faults(scene: Scene, schedule: Schedule, faults: Faults, by: int | None = None) -> list[Any]:
    """Cross out what fails, until step ``by`` or at all; return the entries of the legend."""
    last = schedule.steps if by is None else by
    dead = [u for u, step in faults.nodes.items() if step <= last]
    cut = [arc for arc, step in faults.arcs.items() if step <= last]
    handles: list[Any] = []
    ink = colour(5)
    if dead:
        size = 700 if scene.view.font else (4 * scene.view.radius * 72) ** 2  # behind a label, or over a dot
        order = 4 if scene.view.font else 7
        scene.axes.scatter(*scene.view.at[dead].T, s=size, c=ink, marker="x", linewidths=2, zorder=order, gid="dead")
        handles.append(_mark(ink, "x", "dies"))
    if cut:
        src = np.array([u for u, _ in cut], np.int64)
        dst = np.array([int(schedule.network.neighbor(u, port)) for u, port in cut], np.int64)
        at, _ = points_on(scene.view.curves(src, dst, np.zeros(len(cut))), 0.64)
        scene.axes.scatter(*at.T, s=40, c=ink, marker="X", linewidths=0, zorder=7, gid="cut")
        handles.append(_mark(ink, "X", "cut"))
    return handles


def draw_legend(scene: Scene, handles: list[Any]) -> None:
    """Draw the legend below the network, in as many lines as it needs."""
    width, height = scene.figure.get_size_inches()
    long = sum(0.65 + 0.065 * len(str(handle.get_label())) for handle in handles)
    if handles:
        scene.figure.legend(
            handles=handles,
            loc="lower left",
            bbox_to_anchor=(MARGIN / width, 0.06 / height),
            frameon=False,
            fontsize=8,
            ncols=len(handles) if long < width else max(1, int(width / 1.5)),
            handlelength=2.6,
            columnspacing=1.4,
            borderpad=0,
        )


def _line(ink: str, width: float, dash: Any, label: str) -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], color=ink, linewidth=width, linestyle=dash or "-", label=label)


def _mark(ink: str, marker: str, label: str) -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], color=ink, marker=marker, linestyle="none", markersize=6, label=label)
