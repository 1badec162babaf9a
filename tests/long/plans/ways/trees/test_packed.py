"""Packed trees: Edmonds' condition by brute force, and the trees against networkx."""

from tests.plans.ways.trees.test_packed import assert_all_there, assert_packed


def test_as_many_trees_as_the_least_flow_on_many_graphs():
    assert_packed(1000, 24, 5)


def test_trees_apart_and_schedules_over_them_on_many_graphs():
    assert_all_there(1000, 24, 9)
