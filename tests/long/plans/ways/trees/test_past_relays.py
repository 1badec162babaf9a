"""Copies past relays: as many as ways lead to every rank, whatever ways lead to relays."""

from tests.plans.ways.trees.test_past_relays import check, random_with_relays
from treecast.against import AGAINST


def test_a_thousand_graphs_with_relays():
    found = [check(random_with_relays(seed), against) for seed in range(1000) for against in AGAINST]
    assert any(found)
