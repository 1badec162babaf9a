"""Solvers whose ranks die: each ends right, or with an error, or has said that its sums miss somebody; and how they go on."""

import re
import subprocess
import sys

import numpy as np
import pytest

from tests.mpi.conftest import ROOT, missing

pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(missing()), reason=missing() or "MPI is there")]
CASES = ROOT / "tests" / "mpi" / "solver_cases.py"
LONG = pytest.mark.long
SOLVERS = ("jacobi", "k_means", "descent", "power")
HEARD = re.compile(
    r"^treecast: \w+, call \d+ of its communicator: rank \d has died, and the result leaves out its data", re.MULTILINE
)


def results(printed):
    return [np.array(line.split()[1:], float) for line in printed.splitlines() if line.startswith("result")]


def launched(treecast, folder, program, *options):
    """Start four ranks in a folder."""
    words = ["launch", "-n", 4, "--timeout", 100, *options, "--", sys.executable, *program]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        return treecast(*words)


@pytest.mark.each(2)
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=LONG) for seed in range(2, 26))])
@pytest.mark.parametrize("survive", [1, pytest.param(0, marks=LONG)])
def test_a_solver_whose_rank_is_killed_is_right_or_fails_or_says_so(treecast, tmp_path, solver, survive, seed):
    alone = [sys.executable, str(CASES), solver, "serial", "0"]
    truth = results(subprocess.run(alone, capture_output=True, text=True, check=True, timeout=300).stdout)[0]
    done = launched(treecast, tmp_path, [CASES, solver, survive, seed])
    found = results(done.stdout)
    right = len(found) > 0 and all(abs(each - truth).max() < 1e-6 for each in found)
    heard = HEARD.search(done.stderr)
    assert done.returncode not in (124,)
    assert done.returncode or right or heard, done.stdout + done.stderr
    assert not heard or len(HEARD.findall(done.stderr)) == 1
    if heard and not done.returncode:  # and the living agree
        assert len({each.tobytes() for each in found}) == 1


def programs():
    page = (ROOT / "docs" / "howto" / "solver.md").read_text()
    return page, re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)


DIE = "if comm.rank == {0} and {1}: os.kill(os.getpid(), signal.{2})"


def with_death(text, before, line):
    """Return a program with a line put before the one that begins so, at the same depth."""
    (place,) = [each for each in text.splitlines() if each.strip().startswith(before)]
    depth = place[: len(place) - len(place.lstrip())]
    return "import os, signal\n" + text.replace(place, f"{depth}{line}\n{place}")


def test_the_page_says_what_a_dead_ranks_block_holds(treecast, tmp_path):
    page, (blocks, *_) = programs()
    done = launched(treecast, tmp_path, ["-c", blocks])
    assert done.returncode == 0
    assert f"it prints `{done.stdout.strip()}`" in page


@pytest.mark.parametrize(("who", "before"), [(0, "comm.Allgatherv"), pytest.param(2, "comm.Allreduce", marks=LONG)])
def test_a_solver_of_the_page_goes_on_with_shares_anew(treecast, tmp_path, who, before):
    _, (_, shrink, _) = programs()
    program = with_death(shrink, before, DIE.format(who, "comm.size == 4 and change[0] < 1e-4", "SIGKILL"))
    done = launched(treecast, tmp_path, ["-c", program])
    assert (done.returncode, done.stdout[:18]) == (0, "3 ranks, residual "), done.stderr
    assert float(done.stdout.split()[-1]) < 1e-10


@pytest.mark.parametrize(
    ("number", "options"), [("SIGKILL", ""), pytest.param("SIGSTOP", ", survive=1, deadline=2", marks=LONG)]
)
def test_a_solver_of_the_page_starts_again_from_its_checkpoint(treecast, tmp_path, number, options):
    _, (_, _, restart) = programs()
    numbers = [np.random.default_rng(rank).random(100) for rank in range(4)]
    wanted = f"step 200, total {sum(each @ np.roll(each, k) for each in numbers for k in range(200)):.6f}\n"
    program = with_death(restart, "step += 1", DIE.format(1, "step == 100", number))
    first = launched(treecast, tmp_path, ["-c", program.replace("COMM_WORLD)", f"COMM_WORLD{options})")], "--intact")
    assert first.returncode not in (0, 124)
    assert 0 < np.load(tmp_path / "state.npy")[0] <= 100
    again = launched(treecast, tmp_path, ["-c", restart], "--intact")
    assert (again.returncode, again.stdout) == (0, wanted)
