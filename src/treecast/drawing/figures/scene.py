"""A network on a page: its links, its nodes and its faults, on which pictures lay the moving data."""

from typing import Any, NamedTuple

import numpy as np

from treecast.drawing.figures.plan_view import Floats, PlanView, points_on
from treecast.drawing.shapes import centre_of
from treecast.drawing.style import MARGIN, MONO, add_many, add_panel, colour, draw_legend, entry, short_label, write
from treecast.drawing.theme import theme
from treecast.networks.core import Ints
from treecast.schedule import Schedule
from treecast.simulation.faults import Faults

_AROUND = 0.45  # inches around the outermost nodes
_IDLE = "#C4C4C4"


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
        axes = add_panel(figure, (MARGIN, foot), inner)
        left = (inner[0] - view.size[0]) / 2
        axes.set(xlim=(-left, inner[0] - left), ylim=(view.size[1] + _AROUND, -_AROUND))
        axes.set_axis_off()
        return Scene(figure, axes, view)


def stretches(schedule: Schedule, mine: Ints) -> tuple[Ints, Ints, Ints]:
    """Return over which arcs rows go: for each arc the place of the row among ``mine``, and both ends.

    That is one arc for each row, or the route that the network chooses.
    """
    rows, network = schedule.rows, schedule.network
    if network.routed and schedule.model.routing and bool((rows.port[mine] < 0).any()):
        of, arc = network.channels(rows.src[mine].astype(np.int64), rows.dst[mine].astype(np.int64))
        src = arc // network.ports
        return of, src, network.neighbor_table()[src, arc % network.ports].astype(np.int64)
    return np.arange(len(mine)), rows.src[mine].astype(np.int64), rows.dst[mine].astype(np.int64)


def draw_links(scene: Scene) -> None:
    """Draw all links of the network, thin and grey."""
    src, dst = scene.view.links.T
    curves = scene.view.curves(src, dst, np.zeros(len(src)))
    add_curves(scene, curves, "links", color=theme().of(_IDLE), width=0.8)


def add_curves(
    scene: Scene, curves: Floats, gid: str, *, color: Any, width: Any, dash: Any = "-", order: int = 1
) -> None:
    """Draw curves."""
    look: dict[str, Any] = {"facecolors": "none", "edgecolors": color, "linestyles": [dash], "zorder": order}
    add_many(scene.axes, "Path", curves, **look).set(linewidth=width, gid=gid)


def draw_heads(scene: Scene, curves: Floats, gid: str, ink: str, larger: float = 1.0) -> None:
    """Draw the head of an arrow on each curve, nearer its end, where there is room."""
    length = np.hypot(*(curves[:, 2] - curves[:, 0]).T)
    size = np.clip(0.16 * (length - 2 * scene.view.radius), 0, 0.085)[:, None] * larger
    shown = size[:, 0] > 0.015
    at, way = points_on(curves[shown], 0.64)
    size, across = size[shown], np.column_stack([-way[:, 1], way[:, 0]])
    tip, back = at + way * size, at - way * size * 0.5
    heads = np.stack([tip, back + across * size * 0.55, back - across * size * 0.55], axis=1)
    add_many(scene.axes, "Poly", heads, facecolors=ink, linewidths=0, zorder=3, gid=gid)


def draw_nodes(scene: Scene, schedule: Schedule, fills: dict[int, tuple[str, str]] | None = None) -> None:
    """Draw the nodes, with their labels where these have room. ``fills``: colours of the inside and of the letters."""
    network, view = schedule.network, scene.view
    fills = dict(fills or {})
    fills.setdefault(centre_of(schedule), (theme().ink, theme().ground))
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


def draw_faults(scene: Scene, schedule: Schedule, faults: Faults, by: int | None = None) -> list[Any]:
    """Cross out faults, until step ``by`` or at all; return the entries of the legend."""
    last = schedule.steps if by is None else by
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


def name_lines(scene: Scene, handles: list[Any]) -> None:
    """Draw the legend below the network."""
    draw_legend(scene.figure, handles, bottom=0.06, column=1.5, handlelength=2.6, columnspacing=1.4, borderpad=0)


def idle_link() -> Any:
    """Return the entry of a legend for links over which nothing goes."""
    return entry("idle link", color=theme().of(_IDLE), linewidth=0.8)
