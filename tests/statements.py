"""Statements of papers, by name."""

from treecast.papers.theorems import PAPERS


def verdict(paper, name, size):
    """Return what the check of a statement says for one size."""
    statement = next(s for s in PAPERS[paper] if s.name == name)
    return statement.check(size)


def check_as_known(statement, size):
    """Check that a statement holds, or, from the size from which it is known to be false, is false at that size."""
    if statement.false_from is None or size <= statement.false_from:
        found = statement.check(size)
        assert found.holds == (size != statement.false_from), (size, found.detail)
