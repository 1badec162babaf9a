"""The picture of node-disjoint paths: a line and a colour each, from the root on the left to the node on the right."""

from itertools import pairwise
from typing import Any

from treecast.description import count_of
from treecast.drawing.registry import FIGURE, View, picture
from treecast.drawing.style import (
    MARGIN,
    MONO,
    add_panel,
    colour,
    heading,
    letters_on,
    short_label,
    theme,
    write,
    write_below,
)
from treecast.papers.paths import Paths

_LINE, _HEAD, _FOOT = 0.62, 0.95, 0.5
_BEND = 0.42  # how far from its first and last inner node a path leaves its line: the boxes of nodes end before
_END = 0.4  # how far outside lie root and node
Point = tuple[float, float]


@picture("paths", of=Paths, into=FIGURE, summary="node-disjoint paths to a node")
def draw_paths(paths: Paths, view: View) -> None:
    """Draw node-disjoint paths; calls of the second phase are dashed, each with its time unit."""
    network = paths.network
    slot = max(1.0, 0.085 * len(short_label(network, paths.node)) + 0.55)
    across = max(3, max(len(way) for way in paths.ways) - 1)
    width, height = max((across + 1 + 2 * _END) * slot + 2 * MARGIN, 6.0), len(paths.ways) * _LINE + _HEAD + _FOOT
    figure = view.page
    figure.set_size_inches(width, height)
    ends = f"from {short_label(network, paths.root)} to {short_label(network, paths.node)}"
    heading(figure, f"{count_of(len(paths.ways), 'node-disjoint path')} on {network.spec}", ends)
    tall = height - _HEAD - _FOOT
    axes = add_panel(figure, (MARGIN, _FOOT), (width - 2 * MARGIN, tall))
    axes.set(xlim=(-0.5 - _END, across + 0.5 + _END), ylim=(len(paths.ways) - 0.5, -0.5))
    axes.set_axis_off()
    middle = (len(paths.ways) - 1) / 2
    for number in range(len(paths.ways)):
        _draw_path(axes, paths, number, across, middle)
    for node, x in ((paths.root, -_END), (paths.node, across + _END)):
        _draw_node(axes, short_label(network, node), (x, middle), theme().ink, theme().ink)
    if paths.phase:
        note = "solid: call of the first phase   dashed: call of the second phase, with its time unit"
        write_below(figure, 0.22, note)


def _draw_path(axes: Any, paths: Paths, number: int, across: int, middle: float) -> None:
    """Draw one path: out from the root to its own line, along it, and in to the node; those two lie at height ``middle``."""
    start, end, last = (-_END, middle), (across + _END, middle), across - 1.0
    way, ink, y = paths.ways[number], colour(number), float(number)
    first, inner = 1.0, len(way) - 2
    at = [(first + (last - first) * (i / (inner - 1) if inner > 1 else 0.5), y) for i in range(inner)]
    stops: list[Point] = [start, *at, end]
    for arc, (a, b) in enumerate(pairwise(stops)):
        bends: list[Point] = [(x, y) for x, there in ((first - _BEND, a == start), (last + _BEND, b == end)) if there]
        corners = [a, *(p for p in bends if p not in (a, b)), b]
        unit = paths.unit(paths.steps[number][arc])
        look: dict[str, Any] = {"linestyle": "-" if unit is None else "--", "gid": f"arc-{number}-{arc}"}
        axes.plot(*zip(*corners, strict=True), color=ink, linewidth=1.6, zorder=1, **look)
        if unit is not None:
            # on the longest straight stretch, away from the bends and the labels of nodes
            p, q = max(pairwise(corners), key=lambda ends: abs(ends[1][0] - ends[0][0]))
            box = {"boxstyle": "circle,pad=0.2", "facecolor": theme().ground, "edgecolor": ink}
            write(axes, ((p[0] + q[0]) / 2, (p[1] + q[1]) / 2), str(unit), 8, zorder=2, bbox=box)
    for node, point in zip(way[1:-1], at, strict=True):
        _draw_node(axes, short_label(paths.network, node), point, theme().ground, ink)


def _draw_node(axes: Any, label: str, at: Point, fill: str, edge: str) -> None:
    box = {"boxstyle": "round,pad=0.3", "facecolor": fill, "edgecolor": edge, "linewidth": 1.3}
    write(axes, at, label, 8, family=MONO, color=letters_on(fill), zorder=3, bbox=box)
