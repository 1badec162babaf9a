"""One port of half duplex: each step of a plan for full duplex in two or three, and meetings in pairs."""

import pytest

from tests.plans.whole.one_port.test_halves import all_combine, copies_hold
from treecast.lower_bounds import best
from treecast.plans import plan
from treecast.verification.verifier import verify


@pytest.mark.parametrize("nodes", [1, 2, 3, 5, 8, 9, 12])
def test_plans_of_half_duplex(nodes):
    for kind in ("broadcast", "scatter", "allgather", "alltoall", "reduce", "allreduce"):
        for messages in (1, 2, 9):
            schedule = plan(kind, f"complete:{nodes}", messages=messages, model="one-port,half")
            report = verify(schedule)
            assert report.holds, (kind, messages, report.violations)
            if kind in ("scatter", "allgather", "alltoall"):
                assert report.steps == best(list(report.bounds), "steps").value


def test_copies_of_half_duplex():
    copies_hold(12, 2)


@pytest.mark.parametrize("nodes", [2, 3])
def test_half_duplex_where_messages_combine(nodes):
    all_combine(nodes)
