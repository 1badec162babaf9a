"""Loops of programs/."""
