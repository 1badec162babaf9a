"""Loops of files/programs/."""
