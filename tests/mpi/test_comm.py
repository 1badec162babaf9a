"""Wrapped communicators: that they are what mpi4py's are, and do what those do. One mpirun carries out many cases."""

import json
import sys

import pytest

from tests.mpi.conftest import ROOT

HERE = ROOT / "tests" / "mpi"


def run(treecast, ranks, cases, *arguments, says):
    done = treecast("launch", "-n", ranks, "--timeout", 250, "--", sys.executable, HERE / cases, *arguments)
    assert (done.returncode, done.stdout.endswith(f"{says}\n")) == (0, True), done.stdout + done.stderr


def test_a_wrapped_communicator_is_one_of_mpis(treecast):
    run(treecast, 3, "comm_cases.py", says="a wrapped communicator is one of MPI's")


LONG = pytest.mark.long


@pytest.mark.parametrize(
    ("ranks", "options", "examples"),
    [
        (3, {"own": True}, 60),
        (4, {"survive": 1}, 30),
        pytest.param(1, {"own": True}, 400, marks=LONG),
        pytest.param(2, {"own": True}, 400, marks=LONG),
        pytest.param(5, {"survive": 2}, 400, marks=LONG),
        pytest.param(4, {"survive": 1, "deadline": 30}, 400, marks=LONG),
        pytest.param(3, {}, 400, marks=LONG),
    ],
)
def test_calls_leave_the_bytes_and_raise_the_errors_that_mpis_do(treecast, ranks, options, examples):
    """Arguments in random ways of writing them, right ones and wrong ones."""
    run(treecast, ranks, "own_cases.py", json.dumps(options), examples, says="calls agree")


@pytest.mark.parametrize("options", [{"own": True}, {"survive": 1}])
def test_what_is_wrong_on_one_rank_is_said_there_and_the_next_call_is_right(treecast, options):
    run(treecast, 3, "api_errors.py", json.dumps(options), says="are right")
