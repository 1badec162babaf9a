"""Inner loops of sums."""
