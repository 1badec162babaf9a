"""Ranks that make unlike calls over MPI raise the same error within sixteen calls, and the next calls are right."""

import pytest

from tests.mpi.test_comm import run


@pytest.mark.parametrize(("ranks", "seed", "deadline"), [(3, 2, [20]), (3, 4, [20]), (3, 5, []), (4, 15, [])])
def test_pairs_of_unlike_calls(treecast, monkeypatch, ranks, seed, deadline):
    monkeypatch.setenv("TREECAST_SLOW", "0.5")
    run(treecast, ranks, "unlike_cases.py", seed, 20, *deadline, says="20 pairs: the same error at all")


def test_a_call_that_takes_long_stands_in_the_record_once(treecast, monkeypatch):
    monkeypatch.setenv("TREECAST_SLOW", "0.2")
    run(treecast, 2, "record_cases.py", says="each call is in the record once")
