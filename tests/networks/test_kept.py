"""What functions of a network find is kept by the network, and goes with it."""

import pickle

import networkx as nx

from treecast import network
from treecast.networks.arcs import arcs_of
from treecast.networks.core import KEPT
from treecast.networks.kept import kept


def test_a_member_of_a_family_is_found_again():
    where = network("torus:3x4")
    assert network("torus:3x4") is where is not network("torus:4x3")
    assert arcs_of(network("torus:3x4")) is arcs_of(where)


def test_results_are_found_once_and_forgotten_when_asked():
    calls = []

    @kept(2)
    def labelled(where, node, *, times=1):
        calls.append(node)
        return where.label(node) * times

    first, second = network(nx.path_graph(3)), network(nx.path_graph(3))
    assert [labelled(first, 1), labelled(first, 1), labelled(first, 1, times=2)] == ["1", "1", "11"]
    assert len(calls) == 2
    assert labelled(second, 1) == "1"
    assert len(calls) == 3
    labelled.cache_clear()
    assert labelled(first, 1) == "1"
    assert len(calls) == 4


def test_what_is_kept_is_not_sent_along():
    where = network("mesh:3x3")
    arcs = arcs_of(where)
    assert KEPT in vars(where)
    other = pickle.loads(pickle.dumps(where))
    assert KEPT not in vars(other)
    assert other == where
    assert (arcs_of(other).head == arcs.head).all()
