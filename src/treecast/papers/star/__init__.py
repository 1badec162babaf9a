"""Fragopoulou & Akl: edge-disjoint spanning trees on the star network."""
