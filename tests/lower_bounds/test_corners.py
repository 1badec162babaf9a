"""Lower bounds in corners: where nodes are too many to look at, faults are to do no harm, or nothing is sent."""

import pytest

import treecast
from treecast.errors import PlanError


def best(of, *job, **more):
    return max(bound.value for bound in treecast.bounds(*job, **more) if bound.of == of)


def test_a_multicast_that_survives_faults_crosses_links_of_root_and_targets():
    asked = {"targets": [1, 2], "model": "shouting", "messages": 4}
    assert best("transmissions", "multicast", "ring:5", **asked) == 8
    assert best("transmissions", "multicast", "ring:5", **asked, copies=2) == 4 * 3


def test_many_different_nodes_are_an_arc_apart_at_least():
    assert best("transmissions", "alltoall", "mesh:17x17") == 289 * 288


def test_no_copies_where_every_node_is_a_step_away():
    with pytest.raises(PlanError, match="take 1 copy"):
        treecast.bounds("broadcast", "mesh:3x3", model="wormhole", copies=2)


def test_empty_blocks_take_no_step():
    assert best("steps", "allgatherv", "path:3", lengths=[0, 0, 0]) == 0


def test_messages_a_step_of_networks_that_look_alike():
    from fractions import Fraction

    from treecast.lower_bounds.cuts import optimum

    assert optimum(treecast.network("torus:3x3")) == Fraction(4, 8)
