"""Fabrics that can be bought: they fit their switches, and their times are those of a count by hand."""

import json

import numpy as np
import pytest

import treecast
from treecast.description import describe
from treecast.errors import PlanError


def offers(hosts, ports, **more):
    return treecast.buy(hosts, ports, collectives=["alltoall"], bytes=hosts * hosts * 1000, rate="1GB/s", **more).found


@pytest.mark.parametrize(("hosts", "ports"), [(4, 8), (9, 8), (12, 8), (16, 8), (40, 12), (20, 6)])
def test_no_switch_has_more_cables_than_ports(hosts, ports):
    for offer in offers(hosts, ports, cards=[1, 2]):
        where, fabric = offer.network, offer.fabric
        cables = np.bincount(np.nonzero(where.neighbor_table() >= 0)[0], minlength=where.nodes)
        assert int(cables[where.relays].max()) <= ports
        assert set(cables[where.ranks].tolist()) == {fabric.cards}
        assert fabric.switches == where.nodes - where.rank_count
        assert 2 * offer.cables == where.arcs
        assert where.rank_count == hosts


@pytest.mark.parametrize("cards", [1, 2])
def test_times_are_those_of_the_fewest_doors(cards):
    """Each host sends 15 blocks over its cards; eight hosts of a leaf share its uplinks, over which half of their data goes."""
    for offer in offers(16, 8, cards=[cards], uplinks=[2, 4]):
        fabric = offer.fabric
        over = fabric.below * (16 - fabric.below) / (fabric.uplinks * cards)
        assert offer.failures[0].seconds == pytest.approx(max(15 / cards, over) * 1e-6, rel=0.02)


def test_two_levels_end_and_three_begin():
    names = [each.fabric.name for each in offers(20, 6, cards=[1], uplinks=[3])]
    assert any(name.startswith("fat tree of") for name in names)
    with pytest.raises(PlanError, match="do not join 300 hosts in three levels: take larger switches"):
        treecast.buy(300, 2)
    with pytest.raises(PlanError, match="there are 2 to 512 hosts"):
        treecast.buy(5000, 64)


def test_a_second_spine_and_a_second_card_survive_what_one_does_not():
    found = {each["name"]: each for each in _figures(treecast.buy(12, 8, uplinks=[2]))}
    assert found["2 leaves, 1 spine"]["spine_dies"] == "cuts off 6 hosts"
    assert found["2 leaves, 2 spines"]["spine_dies"] == "+100.0%"
    rails = next(each for name, each in found.items() if "2 cards a host" in name)
    assert "cuts off" not in rails["leaf_dies"]


def test_no_fabric_has_uplinks_that_no_host_needs():
    """64 hosts under leaves of 36 ports: 16 uplinks for 16 hosts, not 18; the rate is said."""
    found = treecast.buy(64, 36, cards=[1])
    (flat,) = [each for each in _figures(found) if each["leaves"] == 4]
    assert (flat["uplinks"], flat["below"], flat["cables"]) == (16, 16, 128)
    said = describe(found).tables[0]
    assert said.title == "64 hosts, switches of 36 ports of 400 Gbit/s, 1 GB"
    summed = describe(treecast.buy(8, 8, collectives=["allreduce"], cards=[1])).tables[0]
    assert summed.title.endswith("400 Gbit/s, 1 GB per rank")


def _figures(found):
    return json.loads(found.to_json())["offers"]
