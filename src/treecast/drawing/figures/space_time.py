"""The picture of a run in space and time: steps to the right, a line per node, nearest the root on top."""

from collections import Counter
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treecast.description import count_of
from treecast.drawing.passages import Received, fewest_steps, find_received, find_spare
from treecast.drawing.registry import FIGURE, View, picture
from treecast.drawing.shapes import centre_of, chosen_rows, origins_of, uncovered_rows
from treecast.drawing.style import (
    MONO,
    MOST_NAMED,
    add_many,
    colour,
    draw_legend,
    hue,
    remark,
    short_label,
    theme,
    title,
    write,
    write_below,
)
from treecast.networks.core import Ints
from treecast.schedule import Schedule
from treecast.simulation.replay import Trace, replay
from treecast.steps import NEVER

_MOST_LINES = 200  # nodes; beyond, a raster
_MOST_PORTS = 8
_LONG, _KEPT = 40, 5  # steps in which nothing begins or ends: so many are cut, and so many are kept at either end
_APART = 0.3  # inches between stretches of steps
_CELLS = (1000, 1500)  # of a raster, at most: nodes, steps
_SCALE, _PAD = 0.05, 0.03  # of the width of a raster: the scale of colours, and the gap between
_Box = tuple[float, float, float, float]
"""Left, bottom, width and height, as fractions of a figure."""


@picture(
    "space-time", of=Schedule, into=FIGURE, summary="the arrivals at each node, by tree and step", rank=30, by_step=True
)
def draw_run_on(schedule: Schedule, view: View) -> None:
    """Draw the run of a schedule: steps to the right, a line per node that takes part, nearest the root on top.

    A bar is a stream that a node receives, in the colour of its tree, pale where the node had it already; where there are no
    trees the port has the colour. A stroke leads to it from the sender, for the first chunk. A cross: the node dies. A
    tick: from here on it has all that it wants. A dashed line: the lower bound, without faults. Unless steps are asked for,
    long stretches in which nothing begins or ends are left out. Beyond 200 nodes the picture is a raster: the number of
    chunks that nodes receive in each step.
    """
    # 1. The run, the nodes that have lines, and the steps that are shown.
    figure, small, whole = view.page, schedule.network.nodes <= _MOST_LINES, schedule
    schedule, more = uncovered_rows(schedule, view) if small else (chosen_rows(schedule, view), [])
    trace, bound = replay(schedule.of_node_zero(), view.faults), fewest_steps(schedule, view.faults)
    network, last = trace.schedule.network, max(trace.schedule.steps, bound or 0, 1)
    windows = [(0, last) if view.steps is None else (view.steps[0], min(view.steps[1], last))]
    order = _lines(trace, small)
    if small and view.steps is None:
        windows = find_windows(find_received(trace), last)
    # 2. The page and its panels.
    notes = _notes(trace, order, windows) if small else []
    sheet = _Sheet.on(figure, trace, order, windows, _lacks(trace, schedule is whole) if small else {})
    line = np.full(network.nodes, -1, np.int64)
    line[order] = np.arange(len(order))
    # 3. Lines of nodes; of many nodes a raster.
    handles: list[Any] = []
    if small:
        title(figure, schedule, trace.faults)
        for axes in sheet.axes:
            handles = _draw_lines(axes, sheet, trace, line)
            handles += _draw_marks(axes, trace, line, small, bound)
    else:
        (axes,), (left, bottom, wide, high) = sheet.axes, sheet.boxes[0]
        beside = figure.add_axes((left + wide * (1 - _SCALE), bottom, wide * _SCALE, high))
        drawn = _draw_raster(axes, beside, trace, line, last)
        axes.set_xlim(windows[0])
        title(figure, schedule, trace.faults, f": raster of {drawn}")
        handles += _draw_marks(axes, trace, line, small, bound)
    # 4. Steps below, and what everything means.
    for axes, (first, stop), (_, _, part, _) in zip(sheet.axes, windows, sheet.boxes, strict=True):
        _set_ticks(axes, stop - first, part * figure.get_size_inches()[0], small)
    handles += [remark(words) for words in more]
    write_below(figure, -0.76, "  ·  ".join(notes), va="center", gid="notes")
    draw_legend(figure, handles, bottom=0.08, column=1.7, handlelength=1.6, columnspacing=1.6)


def find_windows(runs: Received, last: int) -> list[tuple[int, int]]:
    """Return which steps are drawn: all, but the middle of long stretches in which no run begins or ends."""
    turns = np.unique(np.concatenate([[0, last], runs.start, runs.stop]))
    gaps = [(a, b) for a, b in pairwise(turns.tolist()) if b - a > _LONG]
    ends = [0, *(end for a, b in gaps for end in (a + _KEPT, b - _KEPT)), last]
    return list(zip(ends[::2], ends[1::2], strict=True))


def _distances(schedule: Schedule, nodes: Ints) -> Ints:
    """Return how far nodes are from the nearest that is drawn as a source: int64."""
    return np.min([schedule.network.distance(source, nodes) for source in origins_of(schedule)], axis=0)


def _lines(trace: Trace, small: bool) -> Ints:
    """Return the nodes that have a line, nearest the root first; of few nodes only those that take part."""
    schedule, nodes = trace.schedule, trace.schedule.network.nodes
    distance = _distances(schedule, np.arange(nodes))
    order = np.lexsort((np.arange(nodes), distance))
    if not small:
        return order
    there = np.zeros(nodes, np.bool_)
    wanted = schedule.part.wanted().node
    there[np.concatenate([schedule.rows.src, schedule.rows.dst, wanted, [centre_of(schedule)]]).astype(np.int64)] = True
    there[list(trace.faults.nodes)] = True
    return order[there[order]]


class _Sheet(NamedTuple):
    """The axes of a run, one for each stretch of steps: side by side, in boxes of the page."""

    axes: list[Any]
    boxes: list[_Box]
    distance: Ints
    right: float
    lacks: dict[int, int]

    @staticmethod
    def on(figure: Any, trace: Trace, order: Ints, windows: list[tuple[int, int]], lacks: dict[int, int]) -> "_Sheet":
        """Return new axes on a page, whose size becomes theirs. ``lacks``: how many chunks nodes lack."""
        network, small = trace.schedule.network, trace.schedule.network.nodes <= _MOST_LINES
        nodes, steps = len(order), sum(stop - first for first, stop in windows)
        each = max(0.085, min(0.3, 13 / nodes)) if small else 0.0
        labels = [short_label(network, u) for u in order.tolist()] if small else [f"{nodes}    "]
        left = 0.55 + 0.07 * max(map(len, labels))
        right = (1.7 if lacks else 0.75) if small else 0.6
        inner = min(max(0.5 * steps, 4.5 if nodes <= 40 else 7), 14), each * nodes + 0.1 if small else 8.0
        lanes = len(_Lanes.of(trace.schedule).names) if small else 0
        head, foot = 1.0, 0.95 + 0.17 * max(0, min(lanes, MOST_NAMED) + 4 - 2 * int(inner[0] / 1.7))
        width, height = inner[0] + left + right + _APART * (len(windows) - 1), inner[1] + head + foot
        figure.set_size_inches(width, height)
        found: list[Any] = []
        boxes: list[_Box] = []
        for first, stop in windows:
            wide = inner[0] * (stop - first) / steps
            box = left / width, foot / height, wide / width, inner[1] / height
            boxes.append(box)
            axes = figure.add_axes(box if small else (*box[:2], box[2] * (1 - _PAD - _SCALE), box[3]))
            left += wide + _APART
            axes.set(xlim=(first, stop), ylim=(nodes - 0.5, -0.5), xlabel="step")
            axes.spines[:].set_visible(False)
            axes.set_yticks([])
            found.append(axes)
        if small:
            found[0].set_yticks(range(nodes), labels, family=MONO, fontsize=min(8, each * 50), parse_math=False)
        distance = _distances(trace.schedule, order)
        return _Sheet(found, boxes, distance, (right - 0.4) / (boxes[-1][2] * width), lacks)


def _lacks(trace: Trace, whole: bool) -> dict[int, int]:
    """Return how many chunks nodes lack: of all that there are, or of those that the rows of one tree carry."""
    carried, found = whole | np.isin(np.arange(len(trace.atoms)), trace.moves.atom), Counter[int]()
    drawn = np.repeat(carried, trace.atoms.lengths)
    for node, first, stop in trace.lost:
        found[node] += int(drawn[first:stop].sum())
    return +found  # without those that lack nothing


def _draw_lines(axes: Any, sheet: _Sheet, trace: Trace, line: Ints) -> list[Any]:
    """Draw the background, the bars, and on the right the missing chunks of nodes; return the entries of the legend."""
    _draw_distances(axes, sheet.distance, 1 + sheet.right if axes is sheet.axes[-1] else None)
    beside: dict[str, Any] = {"transform": axes.get_yaxis_transform(), "weight": "bold", "ha": "left"}
    for node, chunks in sheet.lacks.items() if axes is sheet.axes[-1] else ():
        write(axes, (1, line[node]), f"  lacks {count_of(chunks, 'chunk')}", 7, **beside)
    return _draw_streams(axes, trace, line)


def _notes(trace: Trace, order: Ints, windows: list[tuple[int, int]]) -> list[str]:
    """Return notes on the parts that are left out."""
    network, found = trace.schedule.network, list[str]()
    if len(windows) > 1:
        left_out = ", ".join(f"{a:,} … {b - 1:,}" for (_, a), (b, _) in pairwise(windows))
        found.append(f"left out: steps {left_out}, in which nothing begins or ends")
    if len(order) < network.nodes:
        found.append(f"left out: {count_of(network.nodes - len(order), 'node')} without part in it")
    if trace.schedule.sparing:
        found.append("rows that stay silent are not drawn")
    return found


def _draw_distances(axes: Any, distance: Ints, right: float | None) -> None:
    """Shade every other group of nodes at one distance from the root, and write the distances ``right`` of the axes."""
    groups = np.flatnonzero(np.diff(distance, prepend=-1, append=-1))
    beside = axes.get_yaxis_transform()  # x as a fraction of the width, y as a line
    for i, (first, stop) in enumerate(zip(groups[:-1].tolist(), groups[1:].tolist(), strict=True)):
        if i % 2:
            axes.axhspan(first - 0.5, stop - 0.5, color=theme().band, linewidth=0, zorder=0)
        if right is not None:
            write(axes, (right, (first + stop - 1) / 2), str(distance[first]), 8, transform=beside, color=theme().grey)
    if right is not None:
        write(axes, (right, -0.75), "distance", 8, transform=beside, color=theme().grey, va="bottom")
    if len(distance) <= 60:  # more of them would hide the bars
        axes.hlines(np.arange(0.5, len(distance) - 1), *axes.get_xlim(), color=theme().pale, linewidth=0.4, zorder=1)


def _draw_streams(axes: Any, trace: Trace, line: Ints) -> list[Any]:
    """Draw the bars and strokes, and return the entries of the legend."""
    from matplotlib.patches import Patch

    rows, runs = trace.schedule.rows, find_received(trace)
    lanes = _Lanes.of(trace.schedule)
    # all lanes together have two thirds of a line
    tall = min(0.66 / max(1, len(lanes.names)), 0.3)
    highest = -tall * len(lanes.names) / 2
    first = np.flatnonzero(np.diff(runs.row, prepend=-1))
    handles: list[Any] = []
    for i, (gid, (name, ink)) in enumerate(lanes.names.items()):
        mine = np.flatnonzero(lanes.of_row[runs.row] == i)
        top = line[rows.dst[runs.row[mine]]] + highest + i * tall
        across = runs.start[mine], runs.stop[mine]
        _add_bars(axes, across, (top, top + tall * 0.88), facecolors=ink, gid=f"bars-{gid}")
        mine = first[lanes.of_row[runs.row[first]] == i]
        begin, row = runs.start[mine], runs.row[mine]
        target = line[rows.dst[row]] + highest + (i + 0.44) * tall
        ends = np.stack([np.column_stack([begin, line[rows.src[row]]]), np.column_stack([begin + 1, target])], axis=1)
        alpha = 0.4 if len(rows) <= 150 else 0.25
        add_many(axes, "Line", ends, colors=ink, linewidths=0.8, gid=f"strokes-{gid}", zorder=2, alpha=alpha)
        if i < MOST_NAMED:
            handles.append(Patch(color=ink, label=name))
    row, start, stop = find_spare(trace)
    if len(row):
        top = line[rows.dst[row]] + highest + lanes.of_row[row] * tall
        veil: dict[str, Any] = {"facecolors": theme().ground, "alpha": 0.62, "gid": "spare", "zorder": 3.5}
        _add_bars(axes, (start, stop), (top - 0.02, top + tall * 0.88 + 0.02), **veil)
        handles.append(Patch(color=colour(0), alpha=0.38, linewidth=0, label="pale: a spare copy"))
    return handles


def _add_bars(axes: Any, across: tuple[Ints, Ints], down: tuple[Any, Any], **look: Any) -> None:
    """Draw bars from one step to another, between two heights."""
    (begin, end), (top, bottom) = across, down
    corners = (begin, top), (end, top), (end, bottom), (begin, bottom)
    bars = np.stack([np.column_stack(corner) for corner in corners], axis=1)
    add_many(axes, "Poly", bars, **({"linewidths": 0, "snap": False, "zorder": 3} | look))


class _Lanes(NamedTuple):
    """The lanes of a node's line: those of its trees, or of its ports where nothing names a tree.

    ``names``: of each lane its name and its colour, by a word for it; ``of_row``: the lane of each row, int64 (rows,).
    """

    names: dict[str, tuple[str, str]]
    of_row: Ints

    @staticmethod
    def of(schedule: Schedule) -> "_Lanes":
        rows, network = schedule.rows, schedule.network
        trees, lane = np.unique(rows.tree, return_inverse=True)
        ports = np.unique(rows.port)
        if (len(trees) and trees[-1] >= 0) or not 1 < len(ports) <= _MOST_PORTS:
            alone = len(trees) == 1
            none = ("messages", colour(0)) if alone else ("no tree", colour(-1))
            named = {str(t): (f"tree {t}", colour(t)) if t >= 0 else none for t in trees.tolist()}
            return _Lanes(named, lane.astype(np.int64))
        named = dict[str, tuple[str, str]]()
        for port in ports.tolist():
            word = network.port_name(port) if port >= 0 else ""
            more = f" ({word})" if word not in ("", str(port)) else ""
            named[f"port-{port}"] = (f"over port {port}{more}" if port >= 0 else "any port", colour(port))
        return _Lanes(named, np.searchsorted(ports, rows.port).astype(np.int64))


def _draw_marks(axes: Any, trace: Trace, line: Ints, small: bool, bound: int | None) -> list[Any]:
    """Draw where nodes die and are complete, and the bound; return the entries of the legend."""
    handles: list[Any] = []
    start, steps = axes.get_xlim()
    # where steps are left out, marks beyond the edge are cut off
    cut = start > 0 or steps < trace.schedule.steps
    done = np.flatnonzero((trace.completion > 0) & (trace.completion < NEVER)) if small else np.empty(0, np.int64)
    if len(done):
        mark = {"color": theme().ink, "markeredgewidth": 1.4, "label": "complete", "zorder": 5, "gid": "complete"}
        handles += axes.plot(trace.completion[done], line[done], "|", markersize=7, clip_on=cut, **mark)
    if trace.schedule.part.results and small:
        handles += _mark_results(axes, trace)
    seen = [fault for fault in sorted(trace.faults.nodes.items()) if fault[1] <= steps]
    dead = np.array(seen, np.int64).reshape(-1, 2)
    if len(dead):
        ink = theme().ink if small else colour(5)  # black cannot be seen in a raster
        after = {"color": theme().grey if small else ink, "linewidth": 0.9, "zorder": 4, "gid": "after-death"}
        axes.hlines(line[dead[:, 0]], dead[:, 1], steps, **after)
        mark = {"color": ink, "markeredgewidth": 1.8, "label": "dies", "zorder": 6, "gid": "dead"}
        handles += axes.plot(dead[:, 1], line[dead[:, 0]], "x", markersize=7, clip_on=cut, **mark)
    if bound is not None:
        words = f"lower bound: {count_of(bound, 'step')}"
        look = {"color": theme().ink, "linestyle": "--", "linewidth": 1.1, "clip_on": cut, "zorder": 5, "gid": "bound"}
        handles.append(axes.axvline(bound, label=words, **look))
    return handles


def _mark_results(axes: Any, trace: Trace) -> list[Any]:
    """Mark the step from which finished sums go out again."""
    finished = trace.atoms.bounds[trace.moves.atom] >= trace.schedule.part.sums
    goes_out = trace.moves.time[trace.moved & finished]
    if not len(goes_out):
        return []
    look: dict[str, Any] = {"color": colour(5), "linestyle": ":", "linewidth": 1.6, "zorder": 5, "gid": "results"}
    return [axes.axvline(int(goes_out.min()), label="finished sums go out", **look)]


def _set_ticks(axes: Any, steps: int, width: float, grid: bool) -> None:
    """Number the steps, as many of them as have room in ``width`` inches, and draw a line for each."""
    from matplotlib.ticker import MaxNLocator

    most = max(1, int(width / (0.15 + 0.07 * len(f"{steps:,}"))))
    axes.xaxis.set_major_locator(MaxNLocator(nbins=most, integer=True))
    axes.xaxis.set_major_formatter("{x:,.0f}")
    if grid and steps <= 100:
        first = int(axes.get_xlim()[0])
        axes.set_xticks(range(first, first + steps + 1), minor=True)
        axes.grid(axis="x", which="both", color=theme().pale, linewidth=0.5, zorder=1)
    axes.tick_params(axis="x", which="both", length=0, labelsize=8)
    axes.tick_params(axis="y", length=0, pad=7)
    axes.tick_params(labelcolor=theme().ink)
    axes.set_axisbelow(True)


# -- a raster, where there are more nodes than lines have room: shades for the number of chunks received -------------


def chunks_by_cell(trace: Trace, line: Ints, steps: int) -> tuple[NDArray[np.float64], int, int]:
    """Return how many chunks a node receives in a step, on average over each cell, and how many nodes and steps a cell has.

    ``line``: the line of each node. The array is (lines of cells, columns of cells).
    """
    rows, runs, nodes = trace.schedule.rows, find_received(trace), len(line)
    tall, wide = -(-nodes // _CELLS[0]), -(-steps // _CELLS[1])  # nodes and steps in a cell
    height, width = -(-nodes // tall), -(-steps // wide)
    # By the time e, a run has delivered rate * (max(e - start, 0) - max(e - stop, 0)) chunks. Sum the two ramps over
    # all runs at the edges e of the cells: each begins at an edge, with a slope and an offset.
    rate = runs.chunks / (runs.stop - runs.start)
    ramps = np.zeros((2, height * (width + 2)))
    cell = line[rows.dst[runs.row]] // tall * (width + 2)
    for at, slope in ((runs.start, rate), (runs.stop, -rate)):
        edge = cell + np.minimum(at // wide + 1, width + 1)
        ramps[0] += np.bincount(edge, slope, ramps.shape[1])
        ramps[1] += np.bincount(edge, slope * at, ramps.shape[1])
    slope, offset = ramps.reshape(2, height, width + 2).cumsum(axis=2)
    count = np.diff(slope * np.arange(width + 2) * wide - offset, axis=1)[:, :width]
    high = np.minimum(tall, nodes - np.arange(height) * tall)
    broad = np.minimum(wide, steps - np.arange(width) * wide)
    return count / (high[:, None] * broad), tall, wide


def _draw_raster(axes: Any, beside: Any, trace: Trace, line: Ints, steps: int) -> str:
    """Draw the number of chunks that nodes receive as shades, and ``beside`` their scale; return the unit of a cell, in words."""
    count, tall, wide = chunks_by_cell(trace, line, steps)
    height, width = count.shape
    most = int(np.ceil(count.max(initial=1))) if tall == wide == 1 else 0
    few = 0 < most <= 10  # then a shade for each number
    shades = theme().shades("chunks", ["#FFFFFF", hue(0, -0.6), hue(0), hue(0, 0.5)])
    cmap, low, high = (shades.resampled(most + 1), -0.5, most + 0.5) if few else (shades, 0, None)
    look: dict[str, Any] = {"aspect": "auto", "interpolation": "nearest", "gid": "raster"}
    box = 0, width * wide, height * tall - 0.5, -0.5
    image = axes.imshow(count, cmap=cmap, vmin=low, vmax=high, extent=box, **look)
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.set_ylabel("nodes, by distance from the root", fontsize=9)
    beside.set_anchor((0, 0.5))
    beside.set_box_aspect(40)
    bar = axes.figure.colorbar(image, cax=beside, ticks=range(most + 1) if few else None)
    bar.ax.tick_params(length=0, labelsize=8, labelcolor=theme().ink)
    axes.tick_params(axis="y", labelsize=8)
    bar.outline.set_linewidth(0.3)
    bar.solids.set_edgecolor("face")
    bar.set_label("chunks", fontsize=9)
    cell_is = [count_of(size, name) for size, name in ((tall, "node"), (wide, "step")) if size > 1]
    return "chunks received per node and step" + (f", mean over {' and '.join(cell_is)}" if cell_is else "")
