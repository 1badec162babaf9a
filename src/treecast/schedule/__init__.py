"""Schedules: who sends which chunks to whom at which step, and the parts of such rows."""

from treecast.schedule.description import describe_job
from treecast.schedule.message_sizes import longest_messages
from treecast.schedule.payloads import Payloads
from treecast.schedule.recipe import NO_RECIPE, Recipe
from treecast.schedule.rows import COLUMNS, Pieces, Row, Rows
from treecast.schedule.schedule import Schedule
from treecast.schedule.sends import Claims, Send, Sends

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
