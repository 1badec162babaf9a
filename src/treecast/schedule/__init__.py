"""Schedules: who sends which chunks to whom at which step, and the parts of such rows."""

from treecast.schedule.description import describe_job
from treecast.schedule.payloads import Payloads
from treecast.schedule.recipe import NO_RECIPE, Recipe
from treecast.schedule.rows import COLUMNS, Claims, Pieces, Row, Rows, Send, Sends
from treecast.schedule.schedule import Schedule
from treecast.schedule.sizes import longest_messages

__all__ = [
    "COLUMNS",
    "NO_RECIPE",
    "Claims",
    "Payloads",
    "Pieces",
    "Recipe",
    "Row",
    "Rows",
    "Schedule",
    "Send",
    "Sends",
    "describe_job",
    "longest_messages",
]
