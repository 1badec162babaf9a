"""The table of independent trees on named networks: its small rows are what the script prints, and it has 48."""

import re
import subprocess
import sys

import pytest

from tests.test_claims import ROOT

pytestmark = pytest.mark.slow


def test_rows_of_the_table_are_what_the_script_prints():
    words = ["FQ_4", "AQ_3", "AQ_4", "CQ_4", "P_4", "K(6", "Paley", "K_{3,7}", "wheel"]
    done = subprocess.run(
        [sys.executable, ROOT / "benchmarks/independent.py", *words],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    page = (ROOT / "docs/explanation/copies.md").read_text()
    printed = done.stdout.splitlines()
    assert len(printed) == len(words) + 3  # two lines of a head, and two Paley graphs
    assert all(line in page for line in printed)


def test_every_network_of_the_table_has_as_many_trees_as_its_connectivity():
    page = (ROOT / "docs/explanation/copies.md").read_text()
    rows = re.findall(r"(?m)^\| .+ \| \d+ \| \d+ \| (\d+) \| (\d+) \| \d+ \| \d+ \|$", page)
    assert len(rows) == 48
    assert all(apart == trees for apart, trees in rows)
