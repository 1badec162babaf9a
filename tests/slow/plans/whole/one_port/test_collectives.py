"""Scatter, gather, allgather, alltoall and sums over one port, chunks alone or combined: their steps are the table's."""

import pytest

from tests.plans.whole.one_port.test_collectives import PLAIN, doublings
from treecast.collectives import COLLECTIVES
from treecast.lower_bounds import best
from treecast.plans import plan
from treecast.verification.verifier import verify

NODES = [1, 2, 3, 5, 8, 13]


COMBINED = {kind: (2 if kind in ("reduce-broadcast", "allreduce") else 1) for kind in PLAIN}


@pytest.mark.parametrize("kind", PLAIN)
def test_one_copy_takes_the_steps_of_the_table(kind):
    for nodes in NODES:
        for messages in (1, 3):
            for under, steps in (
                ("one-port", PLAIN[kind](nodes, messages)),
                ("one-port,combining", COMBINED[kind] * doublings(nodes)),
            ):
                schedule = plan(kind, f"complete:{nodes}", messages=messages, model=under)
                report = verify(schedule)
                assert report.holds, (nodes, under, report.violations)
                less = 2 * ((kind, under, messages) == ("reduce-broadcast", "one-port", 3) and nodes in (2, 3))
                assert schedule.steps == schedule.claims.steps == steps - less  # where overlapping sums win
                if not COLLECTIVES[kind].results:  # sums that go out again: the bound knows less
                    assert best(list(report.bounds), "steps").value == steps
