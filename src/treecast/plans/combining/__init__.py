"""Plans where messages combine."""
