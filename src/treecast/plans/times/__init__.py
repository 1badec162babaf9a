"""Times: when the sends of ways go, on any machine."""
