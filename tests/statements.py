"""Statements of papers, by name."""

from treecast.papers import PAPERS


def verdict(paper, name, size):
    """Return what the check of a statement says for one size."""
    statement = next(s for s in PAPERS[paper] if s.name == name)
    return statement.check(size)
