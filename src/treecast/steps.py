"""Steps: units of time, counted from 0."""

NEVER = 2**31 - 1
"""The step of an event that never happens: the largest number that a column of steps (int32) holds, and later than any row."""
