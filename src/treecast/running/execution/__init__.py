"""Running schedules on real bytes."""
