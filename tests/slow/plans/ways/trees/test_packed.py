"""Packed trees: Edmonds' condition by brute force, and the trees against networkx."""

from tests.plans.ways.trees.test_packed import assert_all_there


def test_trees_apart_and_schedules_over_them():
    assert_all_there(12, 8, 8)
