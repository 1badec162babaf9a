"""What functions of a network find is kept by the network, and goes with it."""

import gc
import pickle
import weakref

import networkx as nx
import pytest

from treecast import bounds, network, plan, verify
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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "spec"),
    [
        ("broadcast", "mesh:3x7"),
        ("alltoall", "circulant:11,1,3"),
        ("allgather", "hyperx:2x5"),
        ("gather", "debruijn:3,2"),
        ("allreduce", "mesh:3x3 without nodes 1,1"),
    ],
)
def test_nothing_keeps_a_network_when_its_plans_are_gone(kind, spec):
    """Of networks that no other test has, as whoever has one keeps it for all."""
    where = network(spec)
    schedule = plan(kind, where, messages=2)
    assert verify(schedule)
    assert bounds(kind, where, messages=2)
    arcs, where = weakref.ref(arcs_of(where).head), weakref.ref(where)
    del schedule
    gc.collect()
    assert where() is arcs() is None
