"""Loops of graphs/."""
