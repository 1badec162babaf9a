"""What functions of a network find is kept by the network, and goes with it."""

import gc
import weakref

import pytest

from treecast import bounds, network, plan, verify
from treecast.networks.arcs import arcs_of


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
