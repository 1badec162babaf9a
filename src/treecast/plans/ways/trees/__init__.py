"""Spanning trees, single or disjoint, along which most plans send."""
