"""No plan beats its bounds: every builder, on small members of every family, under each of its models."""

import networkx as nx
import pytest

from tests.lower_bounds.test_every_plan import MANY, check
from treecast.collectives import COLLECTIVES
from treecast.networks import network


@pytest.mark.parametrize("spec", MANY)
def test_no_plan_on_more_networks_beats_its_bounds(spec):
    where = network(spec)
    assert sum(check(kind, where, few=where.nodes > 40) for kind in COLLECTIVES) > 0


@pytest.mark.parametrize("seed", range(8))
def test_no_plan_on_a_random_graph_beats_its_bounds(seed):
    where = network(nx.connected_watts_strogatz_graph(8 + 3 * seed, 4, 0.5, seed=seed))
    assert sum(check(kind, where) for kind in COLLECTIVES) > 10
