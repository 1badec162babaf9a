"""Loops of lower_bounds/."""
