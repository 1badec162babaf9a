"""The picture of the trees of a schedule: layers by depth, leaves spread evenly, parents amid their children."""

from textwrap import wrap
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treecast.description import count_of
from treecast.drawing.passages import find_received
from treecast.drawing.registry import FIGURE, View, picture
from treecast.drawing.shapes import DrawnTree, chosen_trees, drawn_rows, trees_of, why_no_trees
from treecast.drawing.style import (
    MARGIN,
    MONO,
    add_many,
    add_panel,
    colour,
    short_label,
    theme,
    title,
    write,
    write_below,
)
from treecast.networks.core import Ints
from treecast.schedule import Schedule
from treecast.schedule.tree_of_rows import link_ends
from treecast.simulation.faults import Faults
from treecast.simulation.replay import replay

_MOST_ARCS = 50_000
_MOST_LABELS = 130  # nodes with labels
_MOST_PORTS = 30  # nodes with port names beside them
_WIDEST = 17.0  # inches of trees side by side


def _why_not(schedule: Schedule, view: View) -> str:
    arcs = int(np.isin(schedule.rows.tree, chosen_trees(schedule, view)).sum())
    if arcs <= _MOST_ARCS:
        return why_no_trees(schedule, view)
    return f"trees of {arcs:,} arcs cannot be drawn: choose fewer trees or nodes, {_MOST_ARCS:,} arcs at most"


@picture("trees", of=Schedule, into=FIGURE, fits=_why_not, summary="the trees, side by side", rank=10)
def draw_trees(schedule: Schedule, view: View) -> None:
    """Draw the trees of a schedule, the root on top and a layer per depth.

    Under faults the dead are crossed out, and an arc is solid, dashed or dotted where all, some or none of its chunks arrive.
    """
    figure, faults, rows = view.page, view.faults or Faults(), schedule.rows
    used = chosen_trees(schedule, view)
    arrived = _count_arrived(schedule, faults) if faults else rows.chunks_sent
    drawn = [DrawnTree.of(schedule, tree) for tree in used]
    layouts = [_TreeLayout.of(tree) for tree in drawn]
    sizes = _TreeSizes.of(schedule, layouts)
    columns = _columns(len(used), sizes)
    width = max(columns * sizes.width + 2 * MARGIN, 5.5)
    notes = _notes(schedule, drawn, sizes)
    if faults:
        notes.append("crossed out: dies   dashed: some of the chunks arrive over this tree   dotted: none do")
    # a letter of a note is about 0.07 inches wide
    notes = [line for note in notes for line in wrap(note, int((width - 2 * MARGIN) / 0.07), break_on_hyphens=False)]
    head, foot = 0.85, 0.15 + 0.2 * len(notes) + 0.1 * bool(notes)
    height = -(-len(used) // columns) * sizes.height + head + foot
    figure.set_size_inches(width, height)
    title(figure, schedule, faults)
    for i, note in enumerate(reversed(notes)):
        write_below(figure, 0.12 + 0.2 * i, note, gid=f"note-{i}")
    for i, (tree, one, layout) in enumerate(zip(used, drawn, layouts, strict=True)):
        left = MARGIN + i % columns * sizes.width
        below = height - head - (i // columns + 1) * sizes.height
        axes = add_panel(figure, (left, below), (sizes.width, sizes.height))
        axes.set(xlim=(0, sizes.width), ylim=(sizes.height, 0))  # a unit is an inch
        axes.set_axis_off()
        hears = _hears(schedule, tree, layout, arrived)
        port = [int(rows.port[one.row[u]]) if u in one.row else -1 for u in layout.node]
        panel = _TreePanel(axes, schedule, tree, layout, sizes, _places(layout, sizes), port, hears)
        _draw_frame(panel)
        _draw_arcs(panel)
        _draw_nodes(panel, {u for u, step in faults.nodes.items() if step < schedule.steps})


def _notes(schedule: Schedule, drawn: list[DrawnTree], sizes: "_TreeSizes") -> list[str]:
    """Return notes on the figures on arcs, and on the parts that are left out."""
    network, found = schedule.network, list[str]()
    there = set[int]().union(*(tree.nodes() for tree in drawn))
    ports = np.unique(schedule.rows.port[schedule.rows.port >= 0]).tolist()
    left_out = [] if sizes.font else ["labels"]
    if ports and not sizes.ports:
        left_out.append("ports of arcs")
    elif any(network.port_name(port) != str(port) for port in ports):
        named = ", ".join(network.port_name(port) for port in ports[:8]) + (", …" if len(ports) > 8 else "")
        found.append(
            f"on arcs: the names of ports, {named} for {', '.join(map(str, ports[:8]))}" + ", …" * (len(ports) > 8)
        )
    elif ports:
        found.append("on arcs: ports")
    if left_out:
        found.append(f"{' and '.join(left_out)} are left out: too many nodes")
    used = trees_of(schedule)
    if len(drawn) == len(used) and used[0] >= 0 and used != list(range(len(used))):
        found.append(f"trees keep their numbers: this schedule uses {', '.join(map(str, used))}")
    without = [u for u in range(network.nodes) if u not in there]
    if without:
        some = ", ".join(short_label(network, u) for u in without[:6]) + (", …" if len(without) > 6 else "")
        found.append(f"not drawn, since nothing goes there: {count_of(len(without), 'node')} ({some})")
    return found


def _hears(schedule: Schedule, tree: int, layout: "_TreeLayout", arrived: Ints) -> list[int]:
    """Return whether each node of a layout hears all (2), some (1) or none (0) of the chunks of its arc."""
    rows, mine = schedule.rows, drawn_rows(schedule, tree)
    below = link_ends(schedule)[1][mine]
    planned = np.bincount(below, rows.chunks_sent[mine], schedule.network.nodes)
    there = np.bincount(below, arrived[mine], schedule.network.nodes)
    return np.where(there == planned, 2, there > 0)[layout.node].tolist()


def _count_arrived(schedule: Schedule, faults: Faults) -> Ints:
    """Return how many chunks of each row arrive under faults; of an orbit schedule, of node 0's data."""
    runs = find_received(replay(schedule.of_node_zero(), faults))
    return np.bincount(runs.row, runs.chunks, len(schedule.rows)).astype(np.int64)


class _TreeLayout(NamedTuple):
    """Where the nodes of a tree lie, parents before children: leaves at 0, 1, 2 …, parents amid their children.

    ``above``: the place in ``node`` of each node's parent, -1 for a root.
    """

    node: list[int]
    above: list[int]
    x: list[float]
    depth: list[int]
    leaves: int

    @staticmethod
    def of(tree: DrawnTree) -> "_TreeLayout":
        node = list(tree.nodes())
        place = {u: i for i, u in enumerate(node)}
        above, depth, x, leaves = [-1] * len(node), [0] * len(node), [0.0] * len(node), 0
        for i, u in enumerate(node):
            for v in tree.children.get(u, []):
                above[place[v]], depth[place[v]] = i, depth[i] + 1
            if u not in tree.children:
                x[i], leaves = float(leaves), leaves + 1
        # children before parents, which lie amid them
        for i in reversed(range(len(node))):
            if children := tree.children.get(node[i]):
                x[i] = (x[place[children[0]]] + x[place[children[-1]]]) / 2
        return _TreeLayout(node, above, x, depth, leaves)


class _TreeSizes(NamedTuple):
    """Measures of all trees of a figure, in inches. ``font``: points, 0 for dots instead of labels; ``turned``: by 90°.

    ``half``: how far a label reaches up and down.
    """

    slot: float
    layer: float
    width: float
    height: float
    font: float
    turned: bool
    ports: bool
    half: float

    @staticmethod
    def of(schedule: Schedule, layouts: list[_TreeLayout]) -> "_TreeSizes":
        network = schedule.network
        nodes, leaves = max(len(layout.node) for layout in layouts), max(layout.leaves for layout in layouts)
        deepest = max(max(layout.depth) for layout in layouts)
        ports = nodes <= _MOST_PORTS
        slot, layer, font, turned, half = min(0.16, 9 / leaves), min(0.6, 12 / deepest), 0.0, False, 0.0
        if nodes <= _MOST_LABELS:
            named = max(len(network.port_name(port)) for port in range(network.ports)) if ports else 0
            letters = [np.array([len(short_label(network, u)) for u in layout.node]) for layout in layouts]
            wide = [np.maximum(0.067 * each + 0.2, 0.06 * named + 0.1) for each in letters]
            flat, longest = max(map(_flat_slot, layouts, wide)), max(int(each.max()) for each in letters)
            if leaves * flat <= 12:
                slot, layer, font, half = flat, max(0.27, min(0.62, 20 / deepest)), 8.0, 0.09
            elif leaves * 0.2 <= _WIDEST:
                slot, layer, font, turned, half = 0.2, 0.0585 * longest + 0.45, 7.0, True, 0.03 * longest + 0.04
        size = max(leaves * slot, 2.4) + 0.6, (deepest + 1) * layer + 0.2
        return _TreeSizes(slot, layer, *size, font, turned, ports and font > 0, half)


def _flat_slot(layout: _TreeLayout, wide: NDArray[np.float64]) -> float:
    """Return how wide a leaf's place is where labels so wide stand beside one another in each layer, none beyond the leaves."""
    x, depth = np.array(layout.x) + 0.5, np.array(layout.depth)
    inside = wide / 2 / np.minimum(x, layout.leaves - x)
    order = np.argsort(depth, kind="stable")  # from left to right in each layer
    alike = np.diff(depth[order]) == 0
    apart = (wide[order][1:] + wide[order][:-1])[alike] / 2 / np.diff(x[order])[alike]
    return float(max(inside.max(), apart.max(initial=0)))


def _columns(trees: int, sizes: _TreeSizes) -> int:
    """Return how many trees stand side by side: all, if they fit on a wide page, else so that the page is no ribbon."""
    if trees * sizes.width <= _WIDEST:
        return trees
    shape = [columns * sizes.width / (-(-trees // columns) * sizes.height) for columns in range(1, trees + 1)]
    # the page whose shape is nearest to 1.4 : 1
    return 1 + int(np.argmin(np.abs(np.log(np.array(shape) / 1.4))))


def _places(layout: _TreeLayout, sizes: _TreeSizes) -> NDArray[np.float64]:
    """Return where the nodes lie in their panel, in inches from its upper left corner: (nodes, 2)."""
    left = 0.4 + (sizes.width - 0.6 - layout.leaves * sizes.slot) / 2 + sizes.slot / 2
    top = 0.2 + sizes.layer / 2
    return np.column_stack([left + np.array(layout.x) * sizes.slot, top + np.array(layout.depth) * sizes.layer])


class _TreePanel(NamedTuple):
    """One tree of a figure, ready to draw.

    By node, in the order of the layout: its place ``at``, the port of the arc that leads to it, and whether it ``hears``
    all (2), some (1) or none (0) of the chunks of its arc.
    """

    axes: Any
    schedule: Schedule
    tree: int
    layout: _TreeLayout
    sizes: _TreeSizes
    at: NDArray[np.float64]
    port: list[int]
    hears: list[int]


def _draw_frame(panel: _TreePanel) -> None:
    """Draw the heading and the lines of equal depth."""
    axes, tree, layout, rows = panel.axes, panel.tree, panel.layout, panel.schedule.rows
    payloads = np.unique(rows.payload[rows.tree == tree])
    chunks = ", " + count_of(int(rows.payloads.lengths[payloads[0]]), "chunk") if len(payloads) == 1 else ""
    name, ink = f"tree {tree}" if tree >= 0 else "tree", colour(max(tree, 0), 0.25)
    write(axes, (0.4, 0.12), name, 10, weight="bold", color=ink, ha="left")
    heading = f"depth {max(layout.depth)}{chunks}"
    write(axes, (1.0 + 0.08 * len(str(tree)), 0.12), heading, 8, color=theme().grey, ha="left")
    for depth in range(max(layout.depth) + 1):
        y = 0.2 + (depth + 0.5) * panel.sizes.layer
        axes.plot([0.28, panel.sizes.width - 0.1], [y, y], color=theme().band, linewidth=1, zorder=0)
        write(axes, (0.2, y), str(depth), 7, color=theme().grey, ha="right")


def _draw_arcs(panel: _TreePanel) -> None:
    network, layout, sizes, own = panel.schedule.network, panel.layout, panel.sizes, colour(max(panel.tree, 0))
    for hears, line, ink in ((0, ":", theme().grey), (1, "--", own), (2, "-", own)):
        below = [i for i, above in enumerate(layout.above) if above >= 0 and panel.hears[i] == hears]
        curves = [_curve(panel.at[layout.above[i]], panel.at[i], sizes.half) for i in below]
        look: dict[str, Any] = {"facecolors": "none", "edgecolors": ink, "linestyles": line, "zorder": 1}
        arcs = add_many(panel.axes, "Path", curves, **look)
        arcs.set(linewidth=1.3 if sizes.font else 0.6, gid=f"arcs-{panel.tree}-{('none', 'some', 'all')[hears]}")
        for i, curve in zip(below, curves, strict=True) if sizes.ports else ():
            if panel.port[i] >= 0:
                at = (np.array([8, 36, 54, 27]) / 125 @ curve[1:5]).tolist()  # three fifths down the curve
                name, dark = network.port_name(panel.port[i]), colour(max(panel.tree, 0), 0.35)
                box = {"boxstyle": "square,pad=0.1", "facecolor": theme().ground, "edgecolor": "none"}
                write(panel.axes, at, name, 6, color=dark if hears else theme().grey, zorder=2, bbox=box)


def _draw_nodes(panel: _TreePanel, dead: set[int]) -> None:
    axes, layout, sizes, own = panel.axes, panel.layout, panel.sizes, colour(max(panel.tree, 0))
    root = theme().ink, theme().ink, theme().ground
    looks = (  # by the share that a node hears
        (theme().ground, theme().grey, theme().grey),
        (theme().ground, own, theme().ink),
        (colour(max(panel.tree, 0), -0.8), own, theme().ink),
    )
    look = [root if above < 0 else looks[hears] for above, hears in zip(layout.above, panel.hears, strict=True)]
    crossed = [i for i, u in enumerate(layout.node) if u in dead]
    look_of_cross: dict[str, Any] = {"marker": "x", "linewidths": 1.2, "zorder": 4, "gid": f"dead-{panel.tree}"}
    axes.scatter(*panel.at[crossed].T, s=300 if sizes.font else 30, c=theme().ink, **look_of_cross)
    if not sizes.font:
        x, y = panel.at.T
        dots = axes.scatter(x, y, s=(min(0.08, 0.8 * sizes.slot) * 72) ** 2, c=[edge for _, edge, _ in look], zorder=3)
        dots.set(linewidth=0, gid=f"nodes-{panel.tree}")
        return
    for i, (fill, edge, ink) in enumerate(look):
        box = {"boxstyle": "round,pad=0.25", "facecolor": fill, "edgecolor": edge, "linewidth": 0.9}
        _draw_label(panel, i, color=ink, bbox=box, zorder=3)
    for i in crossed:  # once more, to be read above the cross
        _draw_label(panel, i, halo=2.5, zorder=5)


def _draw_label(panel: _TreePanel, i: int, **style: Any) -> None:
    label = short_label(panel.schedule.network, panel.layout.node[i])
    turn = 90 if panel.sizes.turned else 0
    write(panel.axes, panel.at[i].tolist(), label, panel.sizes.font, family=MONO, rotation=turn, **style)


def _curve(above: NDArray[np.float64], below: NDArray[np.float64], half: float) -> NDArray[np.float64]:
    """Return the points of a curve that leaves the parent and enters the child straight down, clear of the labels beside."""
    middle, down = (above[1] + below[1]) / 2, np.array([0.0, half])
    begin, end = above + down, below - down
    return np.array([above, begin, [above[0], middle], [below[0], middle], end, below])
