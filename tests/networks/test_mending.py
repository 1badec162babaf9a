"""Fabrics with dead cables: the cables that switches lack are found again, and none is made up where nothing is gone."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.networks.test_alike import graph_of
from tests.strategies import examples
from treecast.networks import network
from treecast.networks.arcs import arcs_of
from treecast.networks.mending import lacking

FABRICS = ["fat-tree:6", "fat-tree:8", "leaf-spine:6,4,3", "leaf-spine:8,8,4", "rails:dgx-h100,8,8"]


@pytest.mark.parametrize("spec", [*FABRICS, "fat-tree:4", "dragonfly:4,2,2", "slim-fly:5,2", "machine:dgx-h100"])
def test_nothing_is_lacking_where_nothing_is_gone(spec):
    assert lacking(network(graph_of(network(spec), 1))) == []


@given(st.sampled_from(FABRICS), st.integers(0, 1 << 30), st.data())
@examples(40, deadline=None)
def test_dead_cables_of_switches_are_found(spec, seed, data):
    whole = network(spec)
    arcs, relay = arcs_of(whole), whole.relays
    named = [whole.label(u) for u in range(whole.nodes)]
    links = [
        (int(u), int(v))
        for u, v in zip(arcs.tail, arcs.head, strict=True)
        if u < v and relay[u] and relay[v] and "leaf" in named[u] + named[v] + "leaf" * spec.startswith("fat")
    ]
    dead = data.draw(st.lists(st.sampled_from(sorted(set(links))), min_size=1, max_size=2, unique=True))
    # two dead cables of one switch, or into one, may look like two kinds of switches
    assume(len({end for link in dead for end in link}) == 2 * len(dead))
    cable = "#0" if whole.parallel_arcs else ""
    left = whole.without(links=[f"{named[u]}-{named[v]}{cable}" for u, v in dead])
    shuffled = network(graph_of(left, seed))
    mended = shuffled.mended
    assert mended is not None
    assert mended.arcs == whole.arcs
    assert shuffled.symmetric is mended
    assert mended.symmetry.order == whole.symmetry.order
