"""Patches: right on what is left of the network, and nothing that still arrives is moved."""

import pytest

import treecast
from tests.plans.after.test_patching import SWEPT, planned, sets_of_faults


@pytest.mark.parametrize("name", SWEPT)
def test_repairs_of_all_sets_of_two_faults_verify(name: str) -> None:
    before = planned(name)
    for nodes, links in sets_of_faults(before, 2):
        assert treecast.verify(treecast.repair(before, dead_nodes=nodes, cut_links=links).schedule), (nodes, links)
