"""Builders of the tree paper: scatters and gathers without buffers."""
