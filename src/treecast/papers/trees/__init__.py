"""Bhatt, Pucci, Ranade & Rosenberg: scatter and gather without buffers."""
