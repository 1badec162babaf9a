"""``plan broadcast NETWORK --messages 8 --survive 1`` on every kind of network: each single dead node and link does no harm."""

import networkx as nx
import pytest

from treecast import plan, sweep, verify
from treecast.against import AGAINST, covers
from treecast.networks import network

NETWORKS = [
    "torus:4x4x4",
    "petersen",
    "random-regular:23,4,1",
    "dragonfly:4,2",
    "hypercube:4 without links 0b0000-0b0001",
    "mesh:3x4",
    "kautz:2,3",
]


def survives(where, against="nodes"):
    schedule = plan("broadcast", where, messages=8, survive=1, against=against)
    assert verify(schedule).holds
    for kind in AGAINST:
        if covers(against, kind):
            found = sweep(schedule, 1, kind)
            assert found.holds, found
            assert found.exhaustive
    return schedule


@pytest.mark.parametrize("spec", NETWORKS)
def test_one_fault_is_survived_wherever_two_ways_lead_everywhere(spec):
    assert survives(spec).steps <= min(survives(spec, against).steps for against in AGAINST) + 1


def test_two_faults_of_each_kind():
    where = network(nx.circulant_graph(9, [1, 2]))
    for against in AGAINST:
        schedule = plan("broadcast", where, messages=4, survive=2, against=against)
        assert sweep(schedule).holds
        assert sweep(schedule).sets > 30


@pytest.mark.long
@pytest.mark.parametrize("against", AGAINST)
@pytest.mark.parametrize("spec", ["dragonfly:8,4", "torus:8x8x8"])
def test_one_fault_is_survived_on_large_networks(spec, against):
    survives(spec, against)
