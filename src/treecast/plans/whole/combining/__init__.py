"""Plans in which messages combine."""
