"""Simulation: what happens to a schedule when elements fail."""
