"""Pictures as SVG, PNG and PDF: the trees of a schedule, its run in space and time, and the steps of a wormhole broadcast.

They need matplotlib (extra ``plot``).

Nothing global is touched: no pyplot, no window. One colour per tree. The same schedule gives the same bytes.
"""

import os
from collections.abc import Sequence
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any
from warnings import catch_warnings, simplefilter

from treecast.drawing.figures.mesh_sources import draw_sources
from treecast.drawing.figures.mesh_steps import draw_steps
from treecast.drawing.figures.parallelogram import draw_parallelograms
from treecast.drawing.figures.space_time import draw_space_time
from treecast.drawing.figures.tree import draw_trees
from treecast.errors import TreecastError
from treecast.files import write_whole
from treecast.lower_bounds import bounds
from treecast.networks import Mesh
from treecast.schedule import Schedule
from treecast.simulation.faults import Faults
from treecast.simulation.replay import simulate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "KINDS",
    "MESH_KINDS",
    "SUFFIXES",
    "draw",
    "draw_parallelograms",
    "draw_sources",
    "draw_space_time",
    "draw_steps",
    "draw_trees",
    "save",
]

KINDS = {"trees": "the trees, side by side", "space-time": "what each node receives over which tree at which step"}
"""Every kind of picture that any schedule has, and what it shows."""
MESH_KINDS = {
    "steps": "who sends to whom, a panel per step",
    "sources": "the total distance of broadcasts on the mesh, by source",
}
"""The kinds of picture that only wormhole broadcasts on meshes and tori have, and what they show."""
# dates and versions are left out, so that the same picture is the same bytes
_METADATA: dict[str, dict[str, Any]] = {
    ".svg": {"Date": None},
    ".png": {"Software": None},
    ".pdf": {"CreationDate": None},
}
SUFFIXES = tuple(_METADATA)
"""The endings of files that pictures can be saved in."""


def draw(
    schedule: Schedule,
    path: str | os.PathLike[str],
    kind: str = "trees",
    faults: Faults | None = None,
    trees: Sequence[int] | None = None,
) -> None:
    """Draw a schedule, as it is or as it runs under faults, and save the picture.

    ``trees``: in a picture of trees, which ones (default: all). Of an orbit, what node 0's data does is drawn.
    A space-time picture without faults shows the lower bound of steps too, and messages of different lengths as
    parallelograms. A picture of steps takes no faults.
    Raises TreecastError when there is no such kind of picture, or when it cannot be saved.
    """
    _suffix(path)  # before the work
    if kind == "trees":
        figure = draw_trees(schedule, trees, faults)
    elif kind == "space-time":
        # what fails may be what takes longest: the bound is one for the intact network
        known = [] if faults else bounds(schedule.network, schedule.collective, schedule.copies, schedule.model)
        bound = max((b.value for b in known if b.of == "steps"), default=None)
        if schedule.collective.lengths is not None and not faults:
            figure = draw_parallelograms(schedule, bound)
        else:
            figure = draw_space_time(simulate(schedule.of_node_zero(), faults), bound, schedule)
    elif kind == "steps":
        if faults:
            raise TreecastError("a picture of steps shows no faults: leave them out, or draw space-time")
        figure = draw_steps(schedule)
    elif kind == "sources":
        if faults or not isinstance(schedule.network, Mesh):
            raise TreecastError("a picture of all sources is one of a mesh without faults")
        figure = draw_sources(schedule.network.sides)
    else:
        raise TreecastError(f"{kind!r} is no kind of picture: write one of {', '.join([*KINDS, *MESH_KINDS])}")
    save(figure, path)


def save(figure: "Figure", path: str | os.PathLike[str]) -> None:
    """Write a figure to a file, whole or not at all; its suffix says in which format.

    Raises TreecastError when the suffix is none of ``SUFFIXES``, or the file cannot be written.
    """
    suffix = _suffix(path)
    matplotlib: Any = import_module("matplotlib")
    anything: Any = figure
    data = BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "treecast"}), catch_warnings():
        simplefilter("ignore", UserWarning)  # a letter that the font lacks, in the name of a node
        anything.savefig(data, format=suffix[1:], dpi=150, metadata=_METADATA[suffix])
    write_whole(path, data.getvalue())


def _suffix(path: str | os.PathLike[str]) -> str:
    suffix = Path(path).suffix.lower()
    if suffix not in _METADATA:
        raise TreecastError(f"{os.fspath(path)!r} is no picture: its name must end in {', '.join(SUFFIXES)}")
    return suffix
