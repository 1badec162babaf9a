"""Wrapped communicators: that they are what mpi4py's are, and do what those do. One mpirun carries out many cases."""

import sys

from tests.mpi.conftest import ROOT

HERE = ROOT / "tests" / "mpi"


def run(treecast, ranks, cases, *arguments, says):
    done = treecast("launch", "-n", ranks, "--timeout", 250, "--", sys.executable, HERE / cases, *arguments)
    assert (done.returncode, done.stdout.endswith(f"{says}\n")) == (0, True), done.stdout + done.stderr


def test_a_wrapped_communicator_is_one_of_mpis(treecast):
    run(treecast, 3, "comm_cases.py", says="a wrapped communicator is one of MPI's")


def test_sums_have_the_bits_that_the_terms_say(treecast, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT), prepend=":")
    run(treecast, 4, "bits_cases.py", says="sums have their bits")


def test_calls_that_are_read_otherwise_have_other_forms(treecast):
    run(treecast, 1, "forms_cases.py", says="forms differ as calls do")
