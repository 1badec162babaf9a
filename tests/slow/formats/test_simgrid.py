"""The folder for SimGrid: the traces deliver, routes are shortest, and SimGrid takes the time of the steps."""

import subprocess
import sys

import pytest

from tests.formats.test_simgrid import replayed, with_simgrid
from tests.test_claims import ROOT, row_of
from treecast.files import formats
from treecast.plans import plan


@with_simgrid
@pytest.mark.parametrize("spec", ["hypercube:4", "torus:3x3"])
@pytest.mark.parametrize(
    ("kind", "messages"), [("broadcast", 24), ("scatter", 3), ("allgather", 3), ("alltoall", 2), ("allreduce", 3)]
)
def test_simgrid_takes_the_time_of_the_steps(kind, messages, spec, tmp_path):
    schedule = plan(kind, spec, messages=messages)
    formats.save(schedule, tmp_path / "out", to="simgrid", rate="100MB/s")
    seconds = replayed(tmp_path / "out", schedule.network.nodes)
    assert seconds == pytest.approx(schedule.steps * 65_536 / 1e8, rel=0.01)


@with_simgrid
def test_the_arena_prints_what_the_page_says():
    """Of the row of which README boasts, with MPI's best algorithm alone: all of them take minutes."""
    *_, ours, others, best = row_of("docs/explanation/arena.md", "| torus:4x4x4 | broadcast |")[:6]
    words = ["--networks", "torus:4x4x4", "--kinds", "broadcast", "--algorithms", best.strip("`")]
    done = subprocess.run(
        [sys.executable, ROOT / "benchmarks/arena.py", *words], capture_output=True, text=True, check=True, timeout=300
    )
    cells = done.stdout.splitlines()[2].split(" | ")
    assert (cells[4], f"{float(cells[7]):.0f}", f"`{cells[8]}`") == (ours, others, best)
