"""Ways: over which arcs chunks go, without a time."""
