"""Loops of schedule/."""
