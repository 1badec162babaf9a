"""Patches of sums: every contribution counts once, rows that are kept stay in their steps, and nothing takes longer."""

import pytest

import treecast
from treecast.plans.after.differences import difference
from treecast.plans.after.patching import patched_sums
from treecast.verification.expanded import check_expanded

JOBS = {
    "hypercube": ("reduce", "hypercube:4", {"messages": 2, "builder": "disjoint-trees"}, 47),
    "torus": ("reduce", "torus:4x4", {"messages": 6}, 47),
    "one way": ("reduce", "kautz:2,3", {}, 11),
    "one-port": ("reduce", "complete:8", {"messages": 3, "model": "one-port"}, 18),
    "combining": ("reduce", "hypercube:4", {"model": "shouting", "messages": 3}, 47),
    "full": ("reduce", "star:4", {"messages": 12, "builder": "disjoint-trees"}, 18),
    "there and back": ("reduce-broadcast", "torus:4x4", {"messages": 2, "builder": "breadth-first-tree"}, 47),
    "of all": ("allreduce", "torus:3x4", {}, 0),
}


def single_faults(schedule):
    """Yield what every single dead node or link leaves of a network, where nobody is cut off, and the fault."""
    where = schedule.network
    root = -1 if schedule.collective.all_source else schedule.collective.root
    nodes = [{"nodes": [v]} for v in range(where.nodes) if v != root]
    pairs = {(min(u, v), max(u, v)) for u in range(where.nodes) for v in where.neighbors(u)}
    links = [{"links": [f"{where.label(u)}-{where.label(v)}"]} for u, v in sorted(pairs) if v in where.neighbors(u)]
    for fault in nodes + links:
        left = where.without(**fault)
        if left.connected:
            yield left, fault


@pytest.mark.parametrize(
    "name",
    [
        "one way",
        *(pytest.param(name, marks=pytest.mark.long) for name in ("torus", "full", "there and back", "of all")),
    ],
)
def test_repairs_of_sums_are_right_and_take_the_patch_where_nothing_is_shorter(name):
    kind, spec, how, _ = JOBS[name]
    before = treecast.plan(kind, spec, **how)
    for left, fault in single_faults(before):
        done = treecast.repair(before, dead_nodes=fault.get("nodes", ()), cut_links=fault.get("links", ()))
        assert treecast.verify(done.schedule).holds
        patch = patched_sums(before, left)
        assert not done.patched or patch is not None
        assert patch is None or done.schedule.steps <= patch.schedule.steps
        assert patch is None or done.patched or done.schedule.steps < patch.schedule.steps


def test_halves_that_overlap_are_not_patched():
    before = treecast.plan("reduce-broadcast", "mesh:3x3", messages=40, builder="priced-trees")
    assert patched_sums(before, before.network.without(links=["0,0-0,1"])) is None


@pytest.mark.slow
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


@pytest.mark.slow
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
