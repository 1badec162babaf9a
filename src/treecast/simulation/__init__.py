"""Simulation: schedules while elements fail."""
