"""Calls while ranks die, stop, or are given wrong arguments: all living ranks see one outcome, and no later call goes wrong."""

from tests.mpi.ways.names import ALL
from tests.mpi.ways.test_outcomes import LITTLE, MUCH, calls, check
from tests.mpi.ways.test_outcomes import run as run


def test_ranks_are_killed_in_mid_call(run):
    """Three groups at once: a root in mid-send, a contributor, and one to a sum that is folded in blocks."""
    cases = [
        {"survive": 2, "calls": calls("broadcast", MUCH, [[1, 1, True]], ["gather", "allreduce"])},
        {"survive": 2, "calls": calls("allgather", MUCH, [[2, 4, True]], ["broadcast", "alltoall"])},
        {"survive": 2, "calls": calls("allreduce", MUCH, [[0, 6, False], [3, 9, True]], ["scan", "scatter"])},
    ]
    for case, found in zip(cases, run(4, cases), strict=True):
        check(case, found)


def test_all_collectives_do_what_they_say(run):
    """Of the same ranks, one after the other; with failures to survive, which do not come, and without."""
    asked = [
        {"collective": name, "size": size, "root": root, "survive": survive}
        for size, root in ((0, 0), (8, 3), (LITTLE, 1), (MUCH, 2)) for name in ALL for survive in (0, 2)
    ]  # fmt: skip
    case = {"survive": 2, "calls": asked}
    [found] = run(4, [case])
    assert check(case, found) == 0
