"""Loops of plans/."""
