"""The builders of papers are found as others are, and each stays behind what is known to be better."""

from treecast.plans.registry import all_builders


def of_papers():
    return [entry for entry in all_builders() if entry.build.__module__.startswith("treecast.papers.")]


def test_builders_of_papers_are_there_to_compare_with():
    assert {"eyes", "answering", "four-phases", "spt", "spg"} <= {entry.name for entry in of_papers()}
    assert all(entry.baseline for entry in of_papers())
