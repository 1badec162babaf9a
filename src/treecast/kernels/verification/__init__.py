"""Loops of verification/."""
