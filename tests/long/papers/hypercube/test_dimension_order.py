"""Fault-tolerant broadcast and gossip on the hypercube: Chau & Fu, and Fraigniaud, held against the paper's figures."""

import pytest

from tests.papers.hypercube.test_dimension_order import KINDS
from treecast.plans import plan
from treecast.simulation.sweeps import sweep


@pytest.mark.parametrize("what", ["nodes", "links"])
def test_shouting_in_five_steps_survives_three_faults_in_five_dimensions(what):
    for kind in KINDS:
        for k in range(4):
            schedule = plan(kind, "hypercube:5", model="shouting", survive=k)
            assert schedule.steps == 5
            if kind == "broadcast" or k < 3:
                assert sweep(schedule, k, what).holds
