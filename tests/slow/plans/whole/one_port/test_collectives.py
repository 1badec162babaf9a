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
                assert schedule.steps == schedule.claims.steps
                least = best(list(report.bounds), "steps").value
                if COLLECTIVES[kind].results:  # sums go out while others come in
                    assert least <= schedule.steps <= steps
                else:
                    assert schedule.steps == least == steps
