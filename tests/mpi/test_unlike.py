"""Ranks that make unlike calls over MPI raise the same error within sixteen calls, and the next calls are right."""

import sys

import pytest

from tests.mpi.conftest import ROOT
from tests.mpi.test_comm import HERE, run

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def settings(monkeypatch):
    monkeypatch.setenv("TREECAST_SLOW", "0.5")
    monkeypatch.setenv("PYTHONPATH", str(ROOT), prepend=":")


@pytest.mark.parametrize(("ranks", "seed", "deadline"), [(3, 2, [20]), (3, 4, [20]), (3, 5, []), (4, 15, [])])
def test_programs_of_which_one_call_is_altered(treecast, ranks, seed, deadline):
    run(treecast, ranks, "unlike_cases.py", seed, 20, *deadline, says="20 programs: the same error at all")


def test_a_call_that_takes_long_stands_in_the_record_once(treecast, monkeypatch):
    monkeypatch.setenv("TREECAST_SLOW", "0.2")
    run(treecast, 2, "record_cases.py", says="each call is in the record once")


@pytest.mark.parametrize(
    ("one", "other", "odd", "says"),
    [
        (
            "Bcast 8 B of f8",
            "Allreduce 8 B of f8",
            1,
            "rank 1 makes Bcast(8 bytes of float64, root 0), ranks 0, 2 make",
        ),
        ("Bcast 8 B of f8", "Bcast 8 B root 1", 0, "rank 0 makes Bcast(8 bytes of float64, root 0), ranks 1, 2 make"),
        ("Allreduce 8 B of f8", "Allreduce 8 B MAX", 2, "rank 2 makes Allreduce(8 bytes of float64, SUM), ranks 0"),
        ("bcast root 0", "allgather", 0, "rank 0 makes bcast(root 0), ranks 1, 2 make allgather()"),
        ("Split", "Bcast 8 B root 1", 0, "rank 0 makes Split(), ranks 1, 2 make Bcast(8 bytes of float64, root 1)"),
        ("reduce root 0", "gather root 1", 2, "rank 2 makes reduce(SUM, root 0), ranks 0, 1 make gather(root 1)"),
        (
            "reduce by a function",
            "gather root 1",
            0,
            "rank 0 makes reduce(an operation of the program, root 0), ranks 1",
        ),
        ("nothing", "Scan 8 B", 0, "waits in call 4, Scan(8 bytes of float64, SUM); rank 0 has ended after 3 calls"),
    ],
)
def test_calls_that_survive_nothing_end_with_an_error_where_they_differ(treecast, one, other, odd, says):
    """Those that wait for ever are ended; the others raise in their next call, or say it at their end."""
    program = [sys.executable, HERE / "alone_cases.py", one, other, odd]
    done = treecast("launch", "-n", 3, "--timeout", 100, "--", *program)
    assert done.returncode == 1, done.stderr
    assert says in done.stderr
    assert "call 4" in done.stderr


def test_they_are_compared_before_long_ones(treecast):
    """No rank is in a call that another may overrun."""
    program = [sys.executable, HERE / "alone_cases.py", "Bcast 1 MiB of f8", "Allreduce 1 MiB of f8", 1]
    done = treecast("launch", "-n", 3, "--timeout", 100, "--", *program)
    assert done.returncode == 1
    assert done.stderr.count("UnlikeCallsError: call 4: rank 1 makes Bcast(1,048,576 bytes") >= 3
