"""The examples that carry out plans of demands over sockets."""

import subprocess
import sys

import pytest

from tests.mpi.conftest import ROOT


@pytest.mark.parametrize(
    ("name", "ranks", "says"),
    [("weights", 6, "every rank has the right weights: True"), ("moe", 4, "all are right: True")],
)
def test_an_example_brings_what_it_says(name, ranks, says):
    start = [
        sys.executable,
        "-m",
        "treecast",
        "launch",
        "--tcp",
        "-n",
        str(ranks),
        "--timeout",
        "250",
        "--",
        sys.executable,
    ]
    done = subprocess.run(
        [*start, ROOT / f"examples/{name}.py"], capture_output=True, text=True, check=False, timeout=280
    )
    assert (done.returncode, done.stdout.rstrip().endswith(says)) == (0, True), done.stdout + done.stderr
