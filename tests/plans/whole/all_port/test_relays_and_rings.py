"""Allgather on complete networks and rings: whole families at the lower bound, by an oracle that sees nothing but rows."""

import pytest

from tests.oracles.allgather import check_rows, least
from treecast.networks import network
from treecast.plans import plan
from treecast.simulation.sweeps import sweep
from treecast.verification.verifier import verify

SPECS = [*(f"complete:{n}" for n in range(1, 13)), *(f"ring:{n}" for n in range(3, 13)), "torus:1x5", "torus:6x1x1"]


@pytest.mark.each(5)
@pytest.mark.parametrize("spec", SPECS)
def test_they_meet_the_bound(spec):
    where = network(spec)
    for copies in range(1, max(where.ports, 1) + 1):
        schedule = plan("allgather", where, copies=copies)
        check_rows(where, schedule)
        for messages in (1, 2, 5):
            schedule = plan("allgather", where, copies=copies, messages=messages)
            assert schedule.steps == schedule.claims.steps == least(where, messages, copies)
            assert verify(schedule).holds
    schedule = plan("reduce-scatter", where, messages=3)
    assert verify(schedule).holds
    assert schedule.steps == least(where, 3, 1)


@pytest.mark.parametrize("spec", ["complete:3", "complete:5", "ring:3", "ring:6"])
def test_both_verifiers_and_all_dead_nodes_and_links(spec):
    where = network(spec)
    for copies in range(2, where.ports + 1):
        schedule = plan("allgather", where, copies=copies, messages=2)
        assert verify(schedule, method="expanded").holds
        for what in ("nodes", "links"):
            found = sweep(schedule, copies - 1, what)
            assert (found.exhaustive, found.failing) == (True, 0)
