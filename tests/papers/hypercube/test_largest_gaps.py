"""Allgather on hypercubes by the largest gaps: whole families at the lower bound, by an oracle that sees nothing but rows."""

from collections import Counter
from itertools import permutations

import pytest

from tests.oracles.allgather import check_rows, least
from treecast.networks import network
from treecast.papers.label_sets import deal_evenly
from treecast.plans import plan
from treecast.simulation.sweeps import sweep
from treecast.verification.verifier import verify


@pytest.mark.parametrize("d", range(8))
def test_hypercubes_meet_the_bound(d):
    cube = network(f"hypercube:{d}")
    for copies in range(1, max(d, 1) + 1):
        schedule = plan("allgather", cube, copies=copies)
        assert schedule.recipe.builder == "largest-gaps"
        assert schedule.steps == schedule.claims.steps == least(cube, 1, copies)
        check_rows(cube, schedule)


@pytest.mark.parametrize("d", [8, 9, 10, 11])
def test_larger_hypercubes_meet_the_bound(d):
    cube = network(f"hypercube:{d}")
    for copies in range(1, d + 1):
        schedule = plan("allgather", cube, copies=copies)
        assert schedule.steps == least(cube, 1, copies)
        check_rows(cube, schedule, ways=d < 9 and copies in (2, d - 1))


@pytest.mark.parametrize(
    ("d", "steps"),
    [(5, {2: 13, 3: 19, 4: 25}), (6, {2: 21, 3: 32, 4: 42, 5: 53}), (8, {2: 64}), (11, {3: 559}), (14, {2: 2341})],
)
def test_steps(d, steps):
    assert {copies: plan("allgather", f"hypercube:{d}", copies=copies).steps for copies in steps} == steps


@pytest.mark.parametrize("d", [1, 2, 3, 4, 6])
def test_many_messages_meet_the_bound(d):
    cube = network(f"hypercube:{d}")
    for copies in range(1, d + 1):
        for messages in (2, 3, d, 11):
            schedule = plan("allgather", cube, copies=copies, messages=messages)
            assert schedule.steps == least(cube, messages, copies), (copies, messages)
            assert verify(schedule).holds


@pytest.mark.parametrize("d", [3, 4])
def test_both_verifiers_and_all_dead_nodes_and_links(d):
    for copies in range(1, d + 1):
        schedule = plan("allgather", f"hypercube:{d}", copies=copies)
        assert verify(schedule).holds
        assert verify(schedule, method="expanded").holds
        if copies > 1:
            for what in ("nodes", "links"):
                found = sweep(schedule, copies - 1, what)
                assert found.exhaustive
                assert found.failing == 0


def test_ports_are_dealt_evenly_even_where_the_first_choice_is_not():
    groups = [([0, 1], 1), ([0, 1], 1), ([1, 2], 1), ([1, 2], 1), ([0, 2], 1), ([0, 2], 1)]
    for order in permutations(groups):
        chosen = deal_evenly(list(order), 3)
        assert all(len(used) == count and used <= set(own) for used, (own, count) in zip(chosen, order, strict=True))
        assert Counter(port for used in chosen for port in used) == {0: 2, 1: 2, 2: 2}
    chain = [([0, 1], 1), ([1, 2], 1), ([2, 3], 1), ([0], 1)]  # the first takes port 0, and has to give it back
    assert sorted(port for used in deal_evenly(chain, 4) for port in used) == [0, 1, 2, 3]
