"""Schedules: who sends what to whom at which step, and what such rows are made of."""

from treecast.schedule.payloads import Payloads
from treecast.schedule.rows import COLUMNS, Rows
from treecast.schedule.schedule import Claims, Schedule, Sends, longest_messages

__all__ = ["COLUMNS", "Claims", "Payloads", "Rows", "Schedule", "Sends", "longest_messages"]
