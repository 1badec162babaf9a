"""Algorithms on networks: disjoint ways, flows, flows over time, separators, parts."""
