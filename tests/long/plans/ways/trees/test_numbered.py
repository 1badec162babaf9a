"""Two trees by numbers, on any network whose links lead both ways: as networkx counts ways, and as the verifier judges plans."""

from tests.plans.ways.trees.test_numbered import ears
from treecast.networks import network
from treecast.networks.arcs import arcs_of
from treecast.plans.ways.trees.numbered import two_trees


def test_large_networks_take_no_search():
    where = network(ears(1, 3000))
    assert (two_trees(arcs_of(where, single=True), 0)[:, 1:] >= 0).all()
