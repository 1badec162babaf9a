"""The picture of a network with the trees of a schedule laid over it: where data goes, seen from above; or one step of it."""

from typing import Any, NamedTuple, Protocol

import numpy as np

from treecast.description import count_of
from treecast.drawing.figures.plan_view import MOST_NODES, Floats, PlanView, beside, points_on
from treecast.drawing.passages import ALL, DEAD, NOTHING, SOME, Moment, moment_of
from treecast.drawing.registry import FIGURE, MOVING, View, picture
from treecast.drawing.shapes import centre_of, origins_of, uncovered_rows
from treecast.drawing.style import (
    MARGIN,
    MONO,
    MOST_NAMED,
    add_many,
    add_panel,
    colour,
    dashes,
    draw_legend,
    entry,
    letters_on,
    remark,
    short_label,
    theme,
    title,
    write,
)
from treecast.networks import Network
from treecast.networks.arcs import arcs_of
from treecast.networks.core import Ints
from treecast.schedule import Schedule
from treecast.schedule.tree_of_rows import outward
from treecast.simulation.faults import Faults
from treecast.simulation.replay import replay

_MOST_ARCS = 20_000
_MOST_WRITTEN = 120  # arcs with the numbers of their chunks
_AROUND = 0.45  # inches around the outermost nodes
_IDLE = "#C4C4C4"


class OnNetwork(Protocol):
    """Anything that is about one network: a schedule, or another result."""

    @property
    def network(self) -> Network: ...  # noqa: D102


def why_no_network(subject: OnNetwork, view: View) -> str:
    """Return why the network of a schedule, or of another result, cannot be drawn, or an empty text."""
    network = subject.network
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
def draw_network(schedule: Schedule, view: View) -> None:
    """Draw a network with the trees of a schedule laid over it, each in its colour and dashes; or of one step.

    Data that goes over no tree has the colour of tree 0, and lines are thicker the more chunks an arc carries. Under faults
    dead nodes and cut links are crossed out.
    """
    figure, faults = view.page, view.faults or Faults()
    part, more = uncovered_rows(schedule, view)
    part = part.of_node_zero()
    steps, centre = view.steps or (0, part.steps + 1), centre_of(part)
    # one step alone is shown as in a frame
    step = view.step if view.step is not None else steps[0] if steps[1] == steps[0] + 1 else None
    scene = Scene.on(figure, PlanView.of(schedule.network, centre))
    title(figure, schedule, faults)
    _draw_links(scene)
    if step is None:
        part = part[steps[0] : steps[1]] if view.steps else part
        fills, (handles, others) = dict[int, tuple[str, str]](), _draw_arcs(scene, used_arcs(part))
    else:
        moment, origins = moment_of(replay(part, faults), step), origins_of(part)
        fills = {u: _look(has) for u, has in enumerate(moment.has.tolist()) if u not in origins or has == DEAD}
        handles, others = _draw_sends(scene, part, moment), [_dot(SOME, "has a part"), _dot(ALL, "has everything")]
    draw_nodes(scene, part.network, dict.fromkeys(origins_of(part), (theme().ink, theme().ground)) | fills)
    handles += _draw_faults(scene, part, faults, part.steps if step is None else step) + others
    handles += _write_cables(scene, schedule.network)
    handles += [remark(words) for words in more]
    draw_legend(figure, handles, bottom=0.06, column=1.5, handlelength=2.6, columnspacing=1.4, borderpad=0)
    if step is not None:
        width, height = figure.get_size_inches()
        words = (
            f"step {step} of {schedule.steps}" if step < schedule.steps else f"after {count_of(schedule.steps, 'step')}"
        )
        write(figure, (1 - MARGIN / width, 1 - 0.62 / height), words, 12, weight="bold", ha="right", gid="now")


# -- the ground ---------------------------------------------------------------------------------------------------------


class Scene(NamedTuple):
    """A network on a page: axes whose unit is an inch, and where everything lies."""

    axes: Any
    view: PlanView

    @staticmethod
    def on(figure: Any, view: PlanView) -> "Scene":
        """Return the scene of a network on a page, whose size becomes that of the network."""
        head, foot = 0.75, 0.42
        inner = max(view.size[0] + 2 * _AROUND, 5.5), view.size[1] + 2 * _AROUND
        width, height = inner[0] + 2 * MARGIN, inner[1] + head + foot
        figure.set_size_inches(width, height)
        axes = add_panel(figure, (MARGIN, foot), inner)
        left = (inner[0] - view.size[0]) / 2
        axes.set(xlim=(-left, inner[0] - left), ylim=(view.size[1] + _AROUND, -_AROUND))  # y goes down
        axes.set_axis_off()
        return Scene(axes, view)


def _stretches(schedule: Schedule, mine: Ints) -> tuple[Ints, Ints, Ints]:
    """Return over which arcs rows go: for each arc the place of the row among ``mine``, and both ends.

    That is one arc for each row, or the route that the network chooses.
    """
    rows, network = schedule.rows, schedule.network
    # rows that name no port: the network says the route
    if network.routed and schedule.model.routing and bool((rows.port[mine] < 0).any()):
        of, arc = network.channels(rows.src[mine].astype(np.int64), rows.dst[mine].astype(np.int64))
        src = arc // network.ports
        return of, src, network.neighbor_table()[src, arc % network.ports].astype(np.int64)
    return np.arange(len(mine)), rows.src[mine].astype(np.int64), rows.dst[mine].astype(np.int64)


def _draw_links(scene: Scene) -> None:
    """Draw all links of the network, thin and grey."""
    src, dst = scene.view.links.T
    curves = scene.view.curves(src, dst, np.zeros(len(src)))
    add_curves(scene, curves, "links", color=theme().of(_IDLE), width=0.8)


def _write_cables(scene: Scene, network: Network) -> list[Any]:
    """Write on links how many cables they have, both numbers where ways differ; return entries of the legend."""
    arcs, of = arcs_of(network), dict[tuple[int, int], set[int]]()
    ends, count = np.unique(np.column_stack([arcs.tail, arcs.head]), axis=0, return_counts=True)
    for (low, high), cables in zip(np.sort(ends).tolist(), count.tolist(), strict=True):
        of.setdefault((low, high), set()).add(cables)
    fat = [link for link, cables in of.items() if max(cables) > 1]
    if not (scene.view.font and len(fat) <= _MOST_WRITTEN):
        return [remark("numbers of cables left out: no room")] if fat else []
    src, dst = np.array(fat, np.int64).reshape(-1, 2).T
    curves, taken = scene.view.curves(src, dst, np.zeros(len(fat))), list[Floats]()
    spots = np.stack([points_on(curves, place)[0] for place in (0.5, 0.44, 0.56, 0.25, 0.75)], axis=1)
    for link, some in zip(fat, spots, strict=True):
        # the first spot with room, or the first of all
        taken.append(next((at for at in some if all(np.hypot(*(at - other)) > 0.2 for other in taken)), some[0]))
        words = "×" + "/".join(map(str, sorted(of[link])))
        _write_on(scene, taken[-1], words, 6, gid="cables", color=theme().grey)
    most = max((max(of[link]) for link in fat), default=0)
    return [remark(f"×{most}: {most} parallel cables")] if fat else []


def _write_on(scene: Scene, at: Floats, words: str, size: float, **look: Any) -> None:
    """Write words on a line."""
    box = {"boxstyle": "round,pad=0.15", "facecolor": theme().ground, "edgecolor": "none"}
    write(scene.axes, at.tolist(), words, size, zorder=4, bbox=box, **look)


def add_curves(
    scene: Scene, curves: Floats, gid: str, *, color: Any, width: Any, dash: Any = "-", order: int = 1
) -> None:
    """Draw curves."""
    look: dict[str, Any] = {"facecolors": "none", "edgecolors": color, "linestyles": [dash], "zorder": order}
    add_many(scene.axes, "Path", curves, **look).set(linewidth=width, gid=gid)


def _draw_tree(
    scene: Scene, curves: Floats, tree: int, name: str, width: Any, *, larger: float = 1.0
) -> dict[str, Any]:
    """Draw the arcs of a tree with arrows, nearer their ends, where there is room; return the look of its lines."""
    ink, dash = (colour(tree), dashes(tree)) if tree >= 0 else (colour(0), "-")
    add_curves(scene, curves, f"{name}-{tree}", color=ink, width=width, dash=dash, order=2)
    length = np.hypot(*(curves[:, 2] - curves[:, 0]).T)
    # heads grow with their lines, and vanish where there is no room
    size = np.clip(0.16 * (length - 2 * scene.view.radius), 0, 0.085)[:, None] * larger
    shown = size[:, 0] > 0.015
    at, way = points_on(curves[shown], 0.64)
    size, across = size[shown], np.column_stack([-way[:, 1], way[:, 0]])
    tip, back = at + way * size, at - way * size * 0.5
    heads = np.stack([tip, back + across * size * 0.55, back - across * size * 0.55], axis=1)
    add_many(scene.axes, "Poly", heads, facecolors=ink, linewidths=0, zorder=3, gid=f"heads-{tree}")
    return {"color": ink, "linestyle": dash}


def draw_nodes(scene: Scene, network: Network, fills: dict[int, tuple[str, str]]) -> None:
    """Draw the nodes, with their labels where these have room. ``fills``: colours of the inside and of the letters."""
    view = scene.view
    relays: set[int] = set() if network.relays is None else set(np.flatnonzero(network.relays).tolist())
    if not view.font:
        inks = [fills.get(u, (theme().grey, ""))[0] for u in range(network.nodes)]
        edges = [theme().ink if ink == theme().ground else ink for ink in inks]
        scene.axes.scatter(
            *view.at.T, s=(2 * view.radius * 72) ** 2, c=inks, edgecolors=edges, linewidths=0.4, zorder=5, gid="nodes"
        )
        return
    for u, (x, y) in enumerate(view.at.tolist()):
        fill, ink = fills.get(u, (theme().ground, theme().ink))
        shape, edge = ("square", theme().grey) if u in relays else ("round", theme().ink)
        box = {"boxstyle": f"{shape},pad=0.3", "facecolor": fill, "edgecolor": edge, "linewidth": 0.9}
        write(scene.axes, (x, y), short_label(network, u), view.font, color=ink, family=MONO, bbox=box, zorder=5)


def _draw_faults(scene: Scene, schedule: Schedule, faults: Faults, last: int) -> list[Any]:
    """Cross out faults until the ``last`` step; return the entries of the legend."""
    dead = [u for u, step in faults.nodes.items() if step <= last]
    cut = [arc for arc, step in faults.arcs.items() if step <= last]
    handles: list[Any] = []
    ink = colour(5)
    if dead:
        size = 700 if scene.view.font else (4 * scene.view.radius * 72) ** 2  # behind a label, or over a dot
        order = 4 if scene.view.font else 7
        scene.axes.scatter(*scene.view.at[dead].T, s=size, c=ink, marker="x", linewidths=2, zorder=order, gid="dead")
        handles.append(entry("dies", color=ink, marker="x", markersize=6))
    if cut:
        src = np.array([u for u, _ in cut], np.int64)
        dst = np.array([int(schedule.network.neighbor(u, port)) for u, port in cut], np.int64)
        at, _ = points_on(scene.view.curves(src, dst, np.zeros(len(cut))), 0.64)
        scene.axes.scatter(*at.T, s=40, c=ink, marker="X", linewidths=0, zorder=7, gid="cut")
        handles.append(entry("cut", color=ink, marker="X", markersize=6))
    return handles


def _idle_link() -> Any:
    """Return the entry of a legend for links over which nothing goes."""
    return entry("idle link", color=theme().of(_IDLE), linewidth=0.8)


# -- all that is sent ---------------------------------------------------------------------------------------------------


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
    place, src, dst = _stretches(schedule, mine)
    row = mine[place]
    # tree and both ends in one number
    key = (rows.tree[row].astype(np.int64) * network.nodes + src) * network.nodes + dst
    found, of = np.unique(key, return_inverse=True)
    chunks = np.bincount(of, rows.chunks_sent[row], len(found)).astype(np.int64)
    tree, pair = np.floor_divide(found, network.nodes**2), np.mod(found, network.nodes**2)
    src, dst = pair // network.nodes, pair % network.nodes
    link = np.minimum(src, dst) * network.nodes + np.maximum(src, dst)
    return Used(tree, src, dst, chunks, link)


def _draw_arcs(scene: Scene, used: Used) -> tuple[list[Any], list[Any]]:
    """Draw the arcs that are used; return the entries of the legend for them, and for all that is not drawn."""
    aside = beside(used.link, min(0.055, scene.view.radius))
    most = int(used.chunks.max(initial=1))
    handles: list[Any] = []
    trees = np.unique(used.tree).tolist()
    for i, tree in enumerate(trees):
        mine = np.flatnonzero(used.tree == tree)
        curves = scene.view.curves(used.src[mine], used.dst[mine], aside[mine])
        thick = 1.4 if tree >= 0 else 0.6 + 2.2 * used.chunks[mine] / most
        look = _draw_tree(scene, curves, tree, "arcs", thick * (1.0 if scene.view.font else 0.6))
        if i < MOST_NAMED:
            words = f"tree {tree}" if tree >= 0 else f"arcs used; thicker: more chunks, {most:,} at most"
            handles.append(entry(words, linewidth=1.6, **look))
    if len(trees) > MOST_NAMED:
        handles.append(remark(f"and {len(trees) - MOST_NAMED} more trees"))
    others = [_idle_link()] if len(scene.view.links) > len(np.unique(used.link)) else []
    others += [] if scene.view.font else [remark("labels left out: no room")]
    return handles, others


# -- one step -----------------------------------------------------------------------------------------------------------


def _look(has: int) -> tuple[str, str]:
    """Return the colours of a node that has nothing, a part or everything: of the inside, and of the letters."""
    fill = {NOTHING: theme().ground, SOME: colour(0, -0.7), ALL: colour(0), DEAD: theme().pale}[has]
    return fill, letters_on(fill)


def _dot(has: int, label: str) -> Any:
    return entry(label, marker="o", markerfacecolor=_look(has)[0], markeredgecolor=theme().ink, markersize=7)


def _draw_sends(scene: Scene, schedule: Schedule, moment: Moment) -> list[Any]:
    """Draw the arcs over which something goes, and return the entries of the legend."""
    rows = schedule.rows
    index, src, dst = _stretches(schedule, moment.row)
    tree = rows.tree[moment.row[index]]
    carries = (moment.chunk[index] >= 0) & moment.arrives[index]
    low, high = np.minimum(src, dst), np.maximum(src, dst)
    # both arcs of a link have one number, so they lie beside each other
    aside = beside(low * schedule.network.nodes + high, 0.07)
    curves = scene.view.curves(src, dst, aside)
    thick = 3.2 if scene.view.font else 1.6
    handles: list[Any] = []
    for t in np.unique(rows.tree[~rows.control]).tolist():  # all of them in every frame, so that legends are alike
        look = _draw_tree(scene, curves[carries & (tree == t)], t, "moves", thick, larger=1.7)
        if len(handles) < MOST_NAMED:
            handles.append(entry(f"tree {t}" if t >= 0 else "moves", linewidth=2.6, **look))
    for name, mine, ink in (
        ("lost", (moment.chunk[index] >= 0) & ~moment.arrives[index], colour(5)),
        ("control flit", moment.chunk[index] < 0, theme().grey),
    ):
        if mine.any():
            add_curves(scene, curves[mine], name.split()[0], color=ink, width=thick * 0.7, dash=":", order=2)
            handles.append(entry(name, color=ink, linewidth=2, linestyle=":"))
    handles.append(_idle_link())
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
        _write_on(scene, at[0], words, 7, gid="chunk")
