"""The builders of papers are found as others are: schemes of a paper's own machine, for several copies, or to compare with."""

from treecast.plans import all_builders
from treecast.plans.registry import ALL_PORT, one_way


def of_papers():
    return [entry for entry in all_builders() if entry.build.__module__.startswith("treecast.papers.")]


def test_builders_of_papers_are_found():
    names = {entry.name for entry in of_papers()}
    assert {"eyes", "answering", "four-phases", "spt", "spg", "bisection", "cover", "label-sets"} <= names


def test_one_copy_under_all_ports_goes_by_general_builders():
    """Theirs are there to compare with, or for several copies."""
    ours = [entry for entry in of_papers() if set(ALL_PORT) & set(entry.models) and not entry.baseline]
    assert ours
    assert all(entry.most_copies is not one_way for entry in ours)
