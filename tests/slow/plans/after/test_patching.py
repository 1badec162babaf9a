"""Patches: right on what is left of the network, and nothing that still arrives is moved."""

import random

import pytest

import treecast
from tests.plans.after.test_patching import JOBS, SWEPT, planned, sets_of_faults
from treecast.plans.after.differences import difference
from treecast.plans.after.patching import patched


@pytest.mark.each(5)
@pytest.mark.parametrize("name", JOBS)
def test_patches_are_right_and_keep_rows(name: str) -> None:
    before = planned(name)
    where, rng = before.network, random.Random(name)
    for dead in rng.sample([int(v) for v in where.ranks[1:]], 5):
        left = where.without(nodes=[dead])
        found = patched(before, left)
        assert found is not None
        assert treecast.verify(found.schedule)
        assert difference(before, found.schedule).kept > 0


@pytest.mark.parametrize("name", SWEPT)
def test_repairs_of_some_sets_of_two_faults_verify(name: str) -> None:
    before = planned(name)
    for nodes, links in random.Random(1).sample(sets_of_faults(before, 2), 3):
        assert treecast.verify(treecast.repair(before, dead_nodes=nodes, cut_links=links).schedule)
