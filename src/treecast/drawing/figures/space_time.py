"""The picture of a run in space and time: steps to the right, a line per node, nearest the root on top."""

from typing import TYPE_CHECKING, Any

import numpy as np

from treecast.description import count_of
from treecast.drawing.arrivals import fewest_steps, find_received
from treecast.drawing.figures.raster import draw_raster, raster_box, scale_box
from treecast.drawing.registry import FIGURE, View, picture
from treecast.drawing.shapes import chosen_rows
from treecast.drawing.style import BAND, DARK, GREY, MARGIN, MONO, PALE, colour, empty_figure, short_label, title
from treecast.networks.core import Ints
from treecast.schedule import Schedule
from treecast.simulation.replay import Trace, replay
from treecast.steps import NEVER

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_LINES = 200  # nodes; beyond, a raster
_MOST_NAMED = 12  # trees in the legend


@picture("space-time", of=Schedule, into=FIGURE, what="what each node receives over which tree at which step", rank=30)
def draw_run_on(schedule: Schedule, view: View) -> None:
    """Draw the run of a schedule on a page, and without faults also the lower bound of its steps."""
    schedule = chosen_rows(schedule, view)
    trace = replay(schedule.of_node_zero(), view.faults)
    draw_space_time(trace, fewest_steps(schedule, view.faults), schedule, view.page)


def draw_space_time(trace: Trace, bound: int | None = None, of: Schedule | None = None, page: Any = None) -> "Figure":
    """Return a figure of a run: steps to the right, a line per node, nearest the root on top.

    A bar is a stream that a node receives, in the colour of its tree; a stroke leads to it from the sender, for the
    first chunk. A cross: the node dies. A tick: from here on it has all that it wants. ``bound``: a dashed line at that
    many steps. ``of``: the orbit schedule of which this is the part of node 0, for the title. Beyond 200 nodes the
    picture is a raster: the number of chunks that nodes receive in each step. ``page``: what to draw on instead of a new
    figure.
    """
    figure = empty_figure() if page is None else page
    schedule, network = trace.schedule, trace.schedule.network
    nodes, steps = network.nodes, max(schedule.steps, bound or 0, 1)
    distance = network.distance(schedule.collective.root, np.arange(nodes))
    order = np.lexsort((np.arange(nodes), distance))
    line = np.empty(nodes, np.int64)
    line[order] = np.arange(nodes)
    small = nodes <= _MOST_LINES
    each = max(0.085, min(0.3, 13 / nodes)) if small else 0.0
    labels = [short_label(network, u) for u in order.tolist()] if small else [f"{nodes}    "]
    left = 0.55 + 0.07 * max(map(len, labels))
    right = (1.7 if trace.lost else 0.75) if small else 0.6
    inner = min(max(0.5 * steps, 4.5 if nodes <= 40 else 7), 14), each * nodes + 0.1 if small else 8.0
    head, foot = 1.0, 0.95
    width, height = inner[0] + left + right, inner[1] + head + foot
    figure.set_size_inches(width, height)
    box = left / width, foot / height, inner[0] / width, inner[1] / height
    axes = figure.add_axes(box if small else raster_box(box))
    axes.set(xlim=(0, steps), ylim=(nodes - 0.5, -0.5), xlabel="step")
    axes.spines[:].set_visible(False)
    handles: list[Any] = []
    if small:
        title(figure, of or schedule, trace.faults)
        axes.set_yticks(range(nodes), labels, family=MONO, fontsize=min(8, each * 50), parse_math=False)
        _draw_distances(axes, distance[order], 1 + (right - 0.4) / inner[0])
        handles += _draw_streams(axes, trace, line)
    else:
        title(
            figure,
            of or schedule,
            trace.faults,
            ": raster of " + draw_raster(axes, figure.add_axes(scale_box(box)), trace, line, steps),
        )
    handles += _draw_marks(axes, trace, line, small, bound)
    _set_ticks(axes, steps, inner[0], small)
    if handles:
        long = sum(0.65 + 0.065 * len(str(handle.get_label())) for handle in handles)
        figure.legend(
            handles=handles,
            loc="lower left",
            bbox_to_anchor=(MARGIN / width, 0.08 / height),
            frameon=False,
            fontsize=8,
            ncols=len(handles) if long < width else max(1, int(width / 1.7)),
            handlelength=1.6,
            columnspacing=1.6,
        )
    return figure


def _draw_distances(axes: Any, distance: Ints, right: float) -> None:
    """Shade every other group of nodes at one distance from the root, and write the distances ``right`` of the axes."""
    groups = np.flatnonzero(np.diff(distance, prepend=-1, append=-1))
    beside = axes.get_yaxis_transform()  # x as a fraction of the width, y as a line
    for i, (first, stop) in enumerate(zip(groups[:-1].tolist(), groups[1:].tolist(), strict=True)):
        if i % 2:
            axes.axhspan(first - 0.5, stop - 0.5, color=BAND, linewidth=0, zorder=0)
        axes.text(
            right,
            (first + stop - 1) / 2,
            str(distance[first]),
            transform=beside,
            fontsize=8,
            color=GREY,
            ha="center",
            va="center",
        )
    axes.text(right, -0.75, "distance", transform=beside, fontsize=8, color=GREY, ha="center", va="bottom")
    if len(distance) <= 60:  # more of them would hide the bars
        axes.hlines(np.arange(0.5, len(distance) - 1), *axes.get_xlim(), color=PALE, linewidth=0.4, zorder=1)


def _draw_streams(axes: Any, trace: Trace, line: Ints) -> list[Any]:
    """Draw the bars and strokes, and return the entries of the legend."""
    from matplotlib.collections import LineCollection, PolyCollection
    from matplotlib.patches import Patch

    rows, runs = trace.schedule.rows, find_received(trace)
    trees, tree = np.unique(rows.tree), rows.tree[runs.row]
    lane = min(0.66 / max(1, len(trees)), 0.3)
    highest = -lane * len(trees) / 2
    first = np.flatnonzero(np.diff(runs.row, prepend=-1))
    handles: list[Any] = []
    for i, t in enumerate(trees.tolist()):
        mine = np.flatnonzero(tree == t)
        top = line[rows.dst[runs.row[mine]]] + highest + i * lane
        begin, end, bottom = runs.start[mine], runs.stop[mine], top + lane * 0.88
        corners = np.stack(
            [np.column_stack(c) for c in ((begin, top), (end, top), (end, bottom), (begin, bottom))], axis=1
        )
        axes.add_collection(
            PolyCollection(list(corners), facecolors=colour(t), linewidths=0, gid=f"bars-{t}", zorder=3, snap=False)
        )
        mine = first[tree[first] == t]
        source, target = line[rows.src[runs.row[mine]]], line[rows.dst[runs.row[mine]]] + highest + (i + 0.44) * lane
        ends = np.stack(
            [np.column_stack([runs.start[mine], source]), np.column_stack([runs.start[mine] + 1, target])], axis=1
        )
        strokes = LineCollection(list(ends), colors=colour(t), linewidths=0.8, gid=f"strokes-{t}", zorder=2)
        strokes.set_alpha(0.4 if len(rows) <= 150 else 0.25)
        axes.add_collection(strokes)
        if i < _MOST_NAMED:
            handles.append(Patch(color=colour(t), label=f"tree {t}" if t >= 0 else "no tree"))
    return handles


def _draw_marks(axes: Any, trace: Trace, line: Ints, small: bool, bound: int | None) -> list[Any]:
    """Draw where nodes die and are complete, what they lack, and the bound; return the entries of the legend."""
    handles: list[Any] = []
    steps = axes.get_xlim()[1]
    done = np.flatnonzero((trace.completion > 0) & (trace.completion < NEVER)) if small else np.empty(0, np.int64)
    if len(done):
        handles += axes.plot(
            trace.completion[done],
            line[done],
            "|",
            color=DARK,
            markersize=7,
            markeredgewidth=1.4,
            label="complete",
            clip_on=False,
            zorder=5,
            gid="complete",
        )
    seen = [fault for fault in sorted(trace.faults.nodes.items()) if fault[1] <= steps]
    dead = np.array(seen, np.int64).reshape(-1, 2)
    if len(dead):
        ink = DARK if small else colour(5)  # black cannot be seen in a raster
        lines = axes.hlines(line[dead[:, 0]], dead[:, 1], steps, color=GREY if small else ink, linewidth=0.9, zorder=4)
        lines.set_gid("after-death")
        handles += axes.plot(
            dead[:, 1],
            line[dead[:, 0]],
            "x",
            color=ink,
            markersize=7,
            markeredgewidth=1.8,
            label="dies",
            clip_on=False,
            zorder=6,
            gid="dead",
        )
    lacks = dict[int, int]()
    for node, first, stop in trace.lost:
        lacks[node] = lacks.get(node, 0) + stop - first
    for node, chunks in lacks.items() if small else ():
        text = f"  lacks {count_of(chunks, 'chunk')}"
        axes.text(steps, line[node], text, fontsize=7, weight="bold", color=DARK, va="center")
    if bound is not None:
        handles.append(
            axes.axvline(
                bound,
                color=DARK,
                linestyle="--",
                linewidth=1.1,
                label=f"lower bound: {count_of(bound, 'step')}",
                clip_on=False,
                zorder=5,
                gid="bound",
            )
        )
    return handles


def _set_ticks(axes: Any, steps: int, width: float, grid: bool) -> None:
    """Number the steps, as many of them as have room in ``width`` inches, and draw a line for each."""
    from matplotlib.ticker import MaxNLocator, StrMethodFormatter

    axes.xaxis.set_major_locator(
        MaxNLocator(nbins=max(1, int(width / (0.15 + 0.07 * len(f"{steps:,}")))), integer=True)
    )
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    if grid and steps <= 100:
        axes.set_xticks(range(steps + 1), minor=True)
        axes.grid(axis="x", which="both", color=PALE, linewidth=0.5, zorder=1)
    axes.tick_params(axis="x", which="both", length=0, labelsize=8)
    axes.tick_params(axis="y", length=0, pad=7)
    axes.set_axisbelow(True)
