"""The explorer: one HTML file in which a schedule is looked at and broken, and which replays it by itself."""
