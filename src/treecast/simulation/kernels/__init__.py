"""Loops of simulation/."""
