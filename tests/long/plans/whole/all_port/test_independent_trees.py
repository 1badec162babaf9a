"""Allgather in several copies on any network: steps beside the bound, three judges, every fault that is to be survived."""

import pytest

from tests.plans.whole.all_port.test_independent_trees import NETWORKS
from treecast.networks import network
from treecast.plans import plan
from treecast.simulation.sweeps import sweep


@pytest.mark.parametrize("name", ["petersen", "random 4-regular", "hypercube:4 less a link"])
def test_every_two_faults_are_survived(name):
    schedule = plan("allgather", network(NETWORKS[name][0]), messages=2, survive=2)
    for kind in ("nodes", "links"):
        assert sweep(schedule, 2, kind).holds
