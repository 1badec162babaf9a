"""The builders of papers are found as others are, and each stays behind what is known to be better."""

import subprocess
import sys

from treecast.plans.registry import all_builders


def of_papers():
    return [entry for entry in all_builders() if entry.build.__module__.startswith("treecast.papers.")]


def test_builders_of_papers_are_there_to_compare_with():
    assert {"eyes", "answering", "four-phases", "spt", "spg"} <= {entry.name for entry in of_papers()}
    assert all(entry.baseline for entry in of_papers())


def test_planning_imports_no_statement_of_a_paper():
    script = (
        "import sys, treecast; treecast.plan('broadcast', 'path:3')\n"
        "found = [name for name in sys.modules if name.startswith('treecast.papers.') and name.count('.') > 2]\n"
        "assert found and all('.builders' in name for name in found), found\n"
        "assert 'treecast.papers.theorems' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
