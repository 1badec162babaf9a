"""Loops of networks/."""
