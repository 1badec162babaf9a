"""Patches of sums: every contribution counts once, rows that are kept stay in their steps, and nothing takes longer."""

import pytest

import treecast
from tests.plans.after.test_patching_sums import JOBS, single_faults
from treecast.plans.after.differences import difference
from treecast.plans.after.patching import patched_sums
from treecast.verification.expanded import check_expanded


@pytest.mark.each(5)
@pytest.mark.parametrize("name", JOBS)
def test_every_single_fault_leaves_right_sums(name):
    kind, spec, how, patches = JOBS[name]
    before, found = treecast.plan(kind, spec, **how), 0
    for left, _ in single_faults(before):
        patch = patched_sums(before, left)
        if patch is None:
            continue
        found += 1
        after = patch.schedule
        assert treecast.verify(after).holds
        assert not any(count for count, _ in check_expanded(after, after.model)[0].values())
        assert after.steps <= before.steps
        same = difference(before, after)
        assert same.kept > 0
        assert {left.label(v) for v in patch.hearing} <= set(same.told)
    assert found == patches


@pytest.mark.parametrize("how", [{}, {"messages": 3, "model": "one-port"}])
def test_sums_past_relays_are_patched_and_no_relay_sends_sums_of_nothing(how):
    before, found = treecast.plan("reduce", "fat-tree:4 with relays-add yes", **how), 0
    for left, _ in single_faults(before):
        patch = patched_sums(before, left)
        if patch is not None:
            found += 1
            assert treecast.verify(patch.schedule).holds
            assert treecast.verify(patch.schedule, method="expanded").holds
            assert patch.schedule.steps <= before.steps
    assert found >= 16
