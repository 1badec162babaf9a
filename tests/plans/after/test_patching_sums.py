"""Patches of sums: every contribution counts once, rows that are kept stay in their steps, and nothing takes longer."""

import pytest

import treecast
from treecast.plans.after.patching import patched_sums

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
