"""Inner loops of the builders of papers/."""
