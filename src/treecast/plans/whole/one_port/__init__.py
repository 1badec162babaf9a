"""Plans for nodes that have one port each."""
