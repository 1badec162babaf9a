""""""

import pytest

from tests.plans.whole.all_port.test_priced_disjoint_paths import NETWORKS
from treecast.networks import network
from treecast.plans import plan
from treecast.simulation.sweeps import sweep
from treecast.verification.verifier import verify


@pytest.mark.parametrize("kind", ["scatter", "gather", "alltoall"])
@pytest.mark.parametrize("spec", ["torus:4x4x4", "kautz:2,3", "random"])
def test_every_single_fault_is_survived_on_larger_networks(spec, kind):
    schedule = plan(kind, NETWORKS.get(spec) or network(spec), messages=8, survive=1)
    assert verify(schedule).holds
    assert sweep(schedule, 1, "nodes").holds
    assert sweep(schedule, 1, "links").holds
