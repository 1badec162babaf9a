"""Revoked communicators: whoever is in a call or a message leaves it, and goes on with ``Shrink``."""

import random
import re
import sys

import pytest

from tests.mpi.conftest import ROOT, missing

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing() or "MPI is there")
KINDS = ("quick", "long", "object", "barrier", "blocks", "begun", "message", "one way", "in place", "later")


@pytest.mark.each(3)
@pytest.mark.parametrize("kind", KINDS)
def test_all_ranks_leave_what_one_revokes(treecast, kind):
    done = treecast("launch", "-n", 3, "--timeout", 90, "--", sys.executable, ROOT / "tests/mpi/revoke_cases.py", kind)
    assert (done.returncode, sorted(done.stdout.splitlines()), done.stderr) == (0, ["3 3"] * 3 + ["True 3"] * 3, "")


# Programs that exchange rows and go on when ranks die: the same answer with and without a death, in every way of their calls.


CASES = ROOT / "tests" / "mpi" / "halo_cases.py"


SURVIVING = ("plain", "two", "sure", "deadline", "network", "warn", "grid-plain")


def launched(treecast, program, *words):
    return treecast("launch", "-n", 4, "--timeout", 300, "--", sys.executable, program, *words)


@pytest.mark.slow
def test_the_example_gives_one_answer_whoever_dies_and_when(treecast):
    alone = launched(treecast, ROOT / "examples" / "halo.py")
    assert (alone.returncode, alone.stdout[:18], alone.stderr) == (0, "4 ranks, heat 1298", "")
    for deaths in (["2@77"], ["0@100"], ["3@0", "1@399"]):  # also in the step that begins with saved rows
        done = launched(treecast, ROOT / "examples" / "halo.py", *deaths)
        assert done.returncode == 0, done.stderr
        assert done.stdout == alone.stdout.replace("4", str(4 - len(deaths)), 1), done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 20))])
@pytest.mark.parametrize("way", SURVIVING)
def test_calls_and_messages_of_all_kinds_are_left_when_ranks_die(treecast, way, seed):
    draw = random.Random(f"{way} {seed}")
    deaths = [f"{rank}@{draw.randrange(1, 300)}" for rank in draw.sample(range(4), draw.choice([1, 1, 2]))]
    done = launched(treecast, CASES, way, *deaths)
    assert not re.search("signal 11|unlike", done.stderr), done.stderr
    in_recover = len(deaths) > 1 and done.returncode == 1 and "lay_out(comm.recover(error))" in done.stderr
    assert in_recover or done.returncode == 0, (deaths, done.stderr)  # who dies there ends the job
    assert in_recover or done.stdout.split()[-1] == "3516.356056266"


@pytest.mark.slow
def test_without_survive_it_is_mpi_that_is_revoked(treecast):
    done = launched(treecast, CASES, "nothing", "2@40")
    assert (done.returncode, done.stdout.split()[-1]) == (0, "3516.356056266"), done.stderr
