"""Lower bounds in corners: where nodes are too many to look at, faults are to do no harm, or nothing is sent."""

import networkx
import pytest

import treecast
from treecast.errors import PlanError


def best(of, *job, **more):
    return max(bound.value for bound in treecast.bounds(*job, **more) if bound.of == of)


def test_a_multicast_that_survives_faults_crosses_links_of_root_and_targets():
    asked = {"targets": [1, 2], "model": "shouting", "messages": 4}
    assert best("transmissions", "multicast", "ring:5", **asked) == 8
    assert best("transmissions", "multicast", "ring:5", **asked, copies=2) == 4 * 3


@pytest.mark.parametrize("copies", [1, 2])
def test_all_distances_count_on_networks_of_many_different_nodes(copies):
    """Where pairs of nodes are |i - j| + |k - l| arcs apart, whatever the size."""
    for side in (17, 32, 1000):
        far = 2 * side**2 * sum(2 * d * (side - d) for d in range(side))
        assert best("transmissions", "alltoall", f"mesh:{side}x{side}", copies=copies) == copies * far


def test_all_distances_count_on_random_networks():
    where = treecast.network("random-regular:1000,6,1")
    far = dict(networkx.all_pairs_shortest_path_length(where.to_networkx()))
    total = sum(sum(row.values()) for row in far.values())
    assert best("transmissions", "alltoall", where) == total
    assert best("steps", "alltoall", where) >= -(-total // 6000)


def test_no_copies_where_every_node_is_a_step_away():
    with pytest.raises(PlanError, match="take 1 copy"):
        treecast.bounds("broadcast", "mesh:3x3", model="wormhole", copies=2)


def test_empty_blocks_take_no_step():
    assert best("steps", "allgatherv", "path:3", lengths=[0, 0, 0]) == 0


def test_messages_a_step_of_networks_that_look_alike():
    from fractions import Fraction

    from treecast.lower_bounds.cuts import optimum

    assert optimum(treecast.network("torus:3x3")) == Fraction(4, 8)


def test_what_comes_past_plain_switches_enters_by_the_channels_of_a_node():
    """A host with one cable and one with four: all sums of the first come in by its one cable, whoever owns them."""
    wired = networkx.Graph()
    wired.add_edge("a", "s", capacity=1)
    wired.add_edge("b", "s", capacity=4)
    wired.nodes["s"]["relay"] = True
    where = treecast.network(wired)
    schedule = treecast.plan("allreduce", where, messages=16)
    free = [
        bound.value
        for bound in treecast.bounds("allreduce", where, messages=16)
        if bound.of == "steps" and not bound.given
    ]
    assert schedule.steps == max(free) == 32
