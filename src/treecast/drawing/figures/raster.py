"""The picture of a run with more nodes than lines have room: shades for the number of chunks received."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treecast.description import count_of
from treecast.drawing.arrivals import find_received
from treecast.drawing.style import hue
from treecast.drawing.theme import theme
from treecast.networks.core import Ints
from treecast.simulation.replay import Trace

_CELLS = (1000, 1500)  # at most: nodes, steps
_SCALE, _PAD = 0.05, 0.03  # of the width: the scale of colours, and the gap between
Box = tuple[float, float, float, float]
"""Left, bottom, width and height, as fractions of a figure."""


def raster_box(box: Box) -> Box:
    """Return the part of a box in which the raster lies."""
    left, bottom, width, height = box
    return left, bottom, width * (1 - _PAD - _SCALE), height


def scale_box(box: Box) -> Box:
    """Return the part of a box in which the scale of its colours lies."""
    left, bottom, width, height = box
    return left + width * (1 - _SCALE), bottom, width * _SCALE, height


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
    in_cell = np.minimum(tall, nodes - np.arange(height) * tall)[:, None] * np.minimum(
        wide, steps - np.arange(width) * wide
    )
    return count / in_cell, tall, wide


def draw_raster(axes: Any, beside: Any, trace: Trace, line: Ints, steps: int) -> str:
    """Draw the number of chunks that nodes receive as shades, and ``beside`` their scale; return the unit of a cell, in words."""
    from matplotlib.ticker import StrMethodFormatter

    count, tall, wide = chunks_by_cell(trace, line, steps)
    height, width = count.shape
    most = int(np.ceil(count.max(initial=1))) if tall == wide == 1 else 0
    few = 0 < most <= 10  # then a shade for each number
    shades = theme().shades("chunks", ["#FFFFFF", hue(0, -0.6), hue(0), hue(0, 0.5)])
    cmap, low, high = (shades.resampled(most + 1), -0.5, most + 0.5) if few else (shades, 0, None)
    look: dict[str, Any] = {"aspect": "auto", "interpolation": "nearest", "gid": "raster"}
    box = 0, width * wide, height * tall - 0.5, -0.5
    image = axes.imshow(count, cmap=cmap, vmin=low, vmax=high, extent=box, **look)
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.set_ylabel("nodes, by distance from the root", fontsize=9)
    beside.set_anchor((0, 0.5))
    beside.set_box_aspect(40)
    bar = axes.figure.colorbar(image, cax=beside, ticks=range(most + 1) if few else None)
    bar.ax.tick_params(length=0, labelsize=8, labelcolor=theme().ink)
    axes.tick_params(axis="y", labelsize=8)
    bar.outline.set_linewidth(0.3)
    bar.solids.set_edgecolor("face")
    bar.set_label("chunks", fontsize=9)
    sizes = ((tall, "node"), (wide, "step"))
    cell_is = [count_of(size, name) for size, name in sizes if size > 1]
    return "chunks received per node and step" + (f", mean over {' and '.join(cell_is)}" if cell_is else "")
