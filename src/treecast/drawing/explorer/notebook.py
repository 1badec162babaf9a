"""A page inside a notebook: below the report of a schedule, where the schedule is small enough for both."""

from treecast.drawing.explorer.data import why_none
from treecast.drawing.explorer.page import page_of
from treecast.drawing.registry import View, frame_of
from treecast.errors import TreecastError
from treecast.schedule import Schedule

MOST_NODES, MOST_ROWS = 300, 5_000
"""The largest schedule whose page is kept in a notebook."""


def page_below(result: object) -> str:
    """Return a frame with the page of a schedule, or where to find it; nothing of anything else."""
    if not isinstance(result, Schedule):
        return ""
    hint = '<p>treecast.draw(schedule, "plan.html") writes a page that shows it step by step.</p>'
    if result.network.nodes > MOST_NODES or len(result.rows) > MOST_ROWS:
        return "" if why_none(result) else hint
    try:
        return frame_of(page_of(result, View()))
    except TreecastError:
        return ""
