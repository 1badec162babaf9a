"""Algorithms on networks: disjoint paths, flows, flows over time, separators, parts."""
