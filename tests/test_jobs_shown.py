"""The commands by which pages start jobs and labs are run, with programs of the names that they have there."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.jobs_shown import ROOT, commands_of_jobs, why_not_run
from tests.lab.test_lab import needs_lab, needs_mpi

pytestmark = pytest.mark.slow

OVER_MPI = """
import os, pathlib
from mpi4py import MPI
print("sum", MPI.COMM_WORLD.allreduce(1))
if "TREECAST_LAB" in os.environ:
    pathlib.Path(os.environ["TREECAST_LAB"], "mark").touch()
"""
OVER_SOCKETS = """
import os, pathlib, time, treecast
comm = treecast.connect()
comm.barrier()
if "TREECAST_LAB" in os.environ:
    pathlib.Path(os.environ["TREECAST_LAB"], "mark").touch()
for _ in range(30):
    total = comm.allreduce(1)
    time.sleep(0.1)
print("sum", total)
"""
SOLVER = """
import os, signal
from mpi4py import MPI
import treecast.mpi
comm = treecast.mpi.wrap(MPI.COMM_WORLD, survive=2, on_failed="ignore")
if comm.rank in (0, 2):
    os.kill(os.getpid(), signal.SIGKILL)
comm.allreduce(1)
"""
SLOW = """
import time, treecast
comm = treecast.connect()
comm.barrier()
time.sleep(7 * (comm.rank == 2))
comm.allreduce(1)
"""
PROGRAMS = {
    "docs/reference/mpi.md": {"program.py": OVER_MPI},
    "docs/howto/operate.md": {"solver.py": SOLVER},
    "docs/howto/lab.md": {"program.py": OVER_MPI},
    "docs/reference/tcp.md": {"program.py": OVER_SOCKETS},
    "docs/howto/watch.md": {"work.py": SLOW},
    "docs/howto/halo.md": {},
    "docs/howto/demand.md": {},
    "docs/tutorials/weights.md": {},
}
BEFORE = {  # commands that the text of a page speaks of
    "docs/howto/commands.md": "treecast plan broadcast star:4 --messages 24 --survive 2 -o plan.tc",
    "docs/reference/formats/judged.md": "treecast plan allgather ring:4 -o ring.tc"
    " && treecast export ring.tc --bytes 40 -o ring.goal && grep -v '^//' ring.goal > theirs.goal",
}
PRINTED = {  # by a part of a command: a part of what it prints
    "survive.py": "sum 7 of 4 ranks without (2,)",
    "solver.py": "ranks 0, 2 were killed (signal 9); 4 of 6 ended with 0",
    "halo.py 2@77": "3 ranks, heat 1298.885122, last change 0.000605",
    "halo.py": "ranks, heat 1298.885122, last change 0.000605",
    "weights.py": "every rank has the right weights: True",
    "moe.py": "all are right: True",
    "comeback.py": "step  0: sum 10 of ranks (0, 1, 2, 3)",
    "work.py": "rank 2 is in no call",
    "--dead-nodes 5@3": "intact",
    "--deadline 3": "intact",
    "hypercube:3 --rate 100Mbit/s -- python": "sum 8",
    "--network ring:6": "sum 6",
    "--cut-links 0-1@mark": "sum 6",
    "ip route": "h5",
}
PAGES = sorted({*PROGRAMS, *BEFORE})


def run(line):
    """Run a command in a shell, where ``treecast`` and ``python`` are those of this Python; return what it prints."""
    beside = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    place = {**os.environ, "PATH": beside, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    done = subprocess.run(
        ["sh", "-c", line],
        capture_output=True,
        text=True,
        check=False,
        env=place,
        timeout=500,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, (line, done.stdout, done.stderr)
    return done.stdout + done.stderr


@pytest.fixture(params=PAGES)
def page(request, tmp_path, monkeypatch):
    for name, text in PROGRAMS.get(request.param, {}).items():
        (tmp_path / name).write_text(text)
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    shutil.copytree(ROOT / "docs" / "pictures", tmp_path / "docs" / "pictures")
    for name in ("photo.png", "data.bin"):
        shutil.copy(ROOT / "docs" / "pictures" / "star4-trees.png", tmp_path / name)
    monkeypatch.chdir(tmp_path)
    run(BEFORE.get(request.param, "true"))
    return [line for line in commands_of_jobs(ROOT / request.param) if not why_not_run(line)]


def check(lines):
    for line in lines:
        printed = run(line)
        wanted = next((text for part, text in PRINTED.items() if part in line), "")
        assert wanted in printed, (line, printed)


@needs_mpi
def test_jobs_of_a_page_run(page):
    check(line for line in page if not line.startswith("treecast lab"))


@needs_lab
@needs_mpi
def test_labs_of_a_page_run(page):
    if any(line.startswith("treecast lab") for line in page):
        check(line for line in page if line.startswith(("treecast lab", "treecast plan")))


@needs_mpi
def test_a_cast_is_started_by_the_launcher_as_its_help_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.bin").write_bytes(bytes(range(256)) * 1000)
    for rank in range(3):
        (tmp_path / f"h{rank}").mkdir()
    run("treecast launch --tcp -n 3 -- treecast cast model.bin --as 'h{rank}/model.bin' > said")
    for rank in (1, 2):
        assert (tmp_path / f"h{rank}" / "model.bin").read_bytes() == (tmp_path / "model.bin").read_bytes()
