"""Plans for any machine."""
