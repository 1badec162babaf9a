"""The core stands alone: without files, papers and ranks it plans, judges, replays, bounds, draws, and says what is missing."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import treecast
from treecast.discovery import WINGS

FACES = ("mpi", "tcp", "torch")
WORK = """
import treecast
schedule = treecast.plan("allgather", "torus:4x4", copies=2)
print(treecast.verify(schedule).holds, {bound.of for bound in treecast.bounds("allgather", "torus:4x4")} >= {"steps"})
print(treecast.simulate(schedule, ["0,1"]).lost, treecast.sweep(schedule).holds)
for output in ("plan.svg", "plan.html"):
    treecast.draw(schedule, output)
treecast.advise("broadcast", 8, size="1MiB", latency="1us", rate="1GB/s")
print(treecast.extend.family.__name__, treecast.demands.groups.__name__)
treecast.testing.check_network("mesh:2x3")
treecast.testing.check_plan(schedule)
try:
    treecast.load("plan.tc")
except treecast.TreecastError as error:
    print(error)
"""


@pytest.fixture(scope="module")
def core(tmp_path_factory):
    folder = tmp_path_factory.mktemp("core")
    gone = {*FACES, *(wing.removeprefix("treecast.") for wing in WINGS)}
    source = Path(treecast.__file__).parent

    def left_out(place, names):
        return {"__pycache__"} | (gone if Path(place) == source else set())

    shutil.copytree(source, folder / "treecast", ignore=left_out)
    return folder


def run(core, *words):
    """Run Python where nothing but the core is there; return the exit status, and what it prints."""
    environment = {**os.environ, "PYTHONPATH": str(core)}
    done = subprocess.run(
        [sys.executable, *words], cwd=core, env=environment, capture_output=True, text=True, check=False, timeout=100
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.slow
def test_the_core_plans_judges_replays_and_draws(core):
    status, out, err = run(core, "-c", WORK)
    assert (status, err) == (0, "")
    assert out.splitlines() == [
        "True True",
        "[] True",
        "family groups",
        "treecast.load is in treecast.files, which is not installed here",
    ]
    assert all((core / name).stat().st_size > 1000 for name in ("plan.svg", "plan.html"))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--help", "plan "),
        ("plan allgather torus:4x4", "verified"),
        ("bounds broadcast star:5", "steps"),
        ("program broadcast torus:4x4 0,1", "0,0>0,1"),
        ("advise --help", "Usage"),
        ("help", "builders "),
        ("help rules", "one-chunk"),
        ("networks torus:4x4", "16"),
    ],
)
def test_verbs_of_the_core_need_no_wing(core, line, said):
    status, out, err = run(core, "-m", "treecast", *line.split())
    assert (status, err) == (0, "")
    assert said in out


@pytest.mark.parametrize(
    ("line", "missing"),
    [
        ("theorems star", "treecast.papers"),
        ("run plan.tc --input data", "treecast.running"),
        ("plan broadcast ring:4 -o plan.tc", "treecast.files"),
        ("verify plan.tc", "treecast.files"),
        ("networks file.txt", "treecast.files"),
    ],
)
def test_whoever_asks_for_a_wing_is_told_which(core, line, missing):
    (core / "file.txt").write_text("a b\n")
    status, out, err = run(core, "-m", "treecast", *line.split())
    assert (status, out) == (2, "")
    assert missing in err
    assert len(err.splitlines()) == 1
