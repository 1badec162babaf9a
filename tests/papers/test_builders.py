"""The builders of papers are found as others are: schemes of a paper's own machine, for several copies, or to compare with."""

import subprocess
import sys

import pytest

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


# The builders of papers are found as others are, and each stays behind what is known to be better.


@pytest.mark.slow
def test_planning_imports_no_statement_of_a_paper():
    script = (
        "import sys, treecast; treecast.plan('broadcast', 'path:3')\n"
        "found = [name for name in sys.modules if name.startswith('treecast.papers.') and name.count('.') > 2]\n"
        "assert found and all('.builders' in name for name in found), found\n"
        "assert 'treecast.papers.theorems' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=300)
