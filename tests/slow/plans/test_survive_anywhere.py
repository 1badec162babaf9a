"""``plan KIND NETWORK --messages 8 --survive 1`` on every kind of network: each single dead node and link does no harm.

Where that cannot be, the reason names the cut.
"""

import networkx as nx
import pytest

from tests.plans.test_survive_anywhere import survives
from treecast import plan, sweep, verify
from treecast.against import AGAINST
from treecast.errors import PlanError
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


SLOW = {("alltoall", "torus:4x4x4"), ("alltoall", "dragonfly:4,2")}


@pytest.mark.parametrize("spec", NETWORKS)
def test_one_fault_is_survived_wherever_two_ways_lead_everywhere(spec):
    where = network(spec)
    assert survives(where).steps <= min(survives(where, against).steps for against in AGAINST) + 1


@pytest.mark.each(3)
@pytest.mark.parametrize(
    ("kind", "spec"),
    [
        pytest.param(kind, spec, marks=pytest.mark.long if (kind, spec) in SLOW else ())
        for kind in ("scatter", "gather", "allgather", "alltoall")
        for spec in NETWORKS[:5]
    ],
)
def test_every_collective_that_can_have_copies(kind, spec):
    survives(network(spec), kind=kind)


def two_rings():
    """Two rings with one node in common: it is a limit of copies against nodes, and none against links and arcs."""
    graph = nx.cycle_graph(4)
    nx.add_cycle(graph, [0, 4, 5, 6])
    return graph


def cables():
    """Pairs of cables, and a single one: more ways without a common arc than without a common link."""
    return nx.MultiGraph([(0, 1), (0, 1), (1, 2), (1, 2), (0, 2), (2, 3), (2, 3)])


@pytest.mark.parametrize("kind", ["broadcast", "scatter", "gather", "allgather", "alltoall"])
@pytest.mark.parametrize(
    ("graph", "against"),
    [(two_rings, "links"), (two_rings, "arcs"), (cables, "arcs")],
    ids=lambda each: each if isinstance(each, str) else each.__name__,
)
def test_every_collective_against_links_and_arcs(kind, graph, against):
    """As many copies as ways that share no link, or no arc, lead to all; the verifier, single sends and sweeps agree."""
    schedule = plan(kind, graph(), root=None, messages=3, survive=1, against=against)
    assert verify(schedule).holds
    assert verify(schedule, method="expanded").holds
    assert sweep(schedule, 1, against).holds
    with pytest.raises(PlanError, match="2 copies, to survive 1 dead node, need 2 node-disjoint paths"):
        plan(kind, cables(), survive=1, root=None if kind in ("allgather", "alltoall") else "3")
