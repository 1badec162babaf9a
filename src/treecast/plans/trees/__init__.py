"""Spanning trees, one or several that share nothing: what most plans go down."""
