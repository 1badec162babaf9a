"""Allgather on stars by label sets: the sets that come with the package, the rule of one copy, the search, and damaged files."""

from math import factorial

import pytest

from tests.oracles.allgather import check_rows, least
from treecast.networks import network
from treecast.plans import plan
from treecast.verification.verifier import verify

STEPS_OF_S_8 = {2: 11520, 3: 17367, 4: 23149, 5: 28914, 6: 34656, 7: 40319}


@pytest.mark.parametrize("n", [6, 7])
def test_many_messages_meet_the_bound_on_larger_stars(n):
    star = network(f"star:{n}")
    for copies in range(1, n):
        for messages in range(1, 2 * n):
            schedule = plan("allgather", star, copies=copies, messages=messages)
            assert verify(schedule).holds
            if (n, copies) != (7, 5):
                assert schedule.steps == least(star, messages, copies), (copies, messages)


def test_the_rule_of_one_copy_needs_no_search():
    star = network("star:8")
    schedule = plan("allgather", star)
    assert schedule.steps == least(star, 1, 1) == (factorial(8) - 1 + 6) // 7
    check_rows(star, schedule, ways=False)


@pytest.mark.parametrize(("copies", "steps"), STEPS_OF_S_8.items())
def test_copies_on_eight_symbols(copies, steps):
    schedule = plan("allgather", "star:8", copies=copies)
    assert schedule.steps == steps
    assert verify(schedule).holds
