"""Builders of the star paper: its first trees, and allgather and scatter in several copies by labels."""
