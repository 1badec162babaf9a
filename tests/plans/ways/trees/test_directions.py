"""The trees of tori that follow from labels: one for each port, and one for each axis of a mesh or torus."""

import numpy as np
import pytest

from tests.plans.ways.trees.test_packed import check, check_apart
from treecast.errors import NetworkError
from treecast.networks import network
from treecast.plans import builders, disjoint_trees, plan, program
from treecast.plans.ways.trees import axes, directions
from treecast.schedule.trees import find_meeting_ways, find_shared_arc
from treecast.simulation.sweeps import sweep
from treecast.verification.verifier import verify

TORI = [
    "torus:2x2", "torus:2x5", "torus:3x3", "torus:3x7", "torus:4x4", "torus:4x8", "torus:5x5", "torus:5x9", "torus:6x6",
    "torus:3x1x4", "torus:2x2x2", "torus:2x2x3", "torus:3x3x3", "torus:3x4x5", "torus:4x4x4", "torus:3x5x7",
    "torus:2x2x2x2", "torus:2x3x4x5", "torus:3x3x3x3", "ring:2", "ring:3", "ring:4", "ring:9",
]  # fmt: skip
MESHES = ["path:2", "path:5", "mesh:2x2", "mesh:2x5", "mesh:3x3", "mesh:1x4x2", "mesh:2x2x2", "mesh:3x4", "mesh:2x3x4"]


@pytest.mark.parametrize("spec", TORI)
def test_trees_of_all_ports_are_disjoint_and_as_deep_as_the_formula_says(spec):
    where = network(spec)
    for root in {0, where.nodes // 3}:
        trees = directions.disjoint_trees(where, root)
        check(trees, where.ports)
        check_apart(trees)
        assert trees.height == directions.exact_depth(where)


@pytest.mark.each(3)
@pytest.mark.parametrize("spec", ["torus:3x4", "torus:2x5", "torus:2x2x3", "torus:6x7", "ring:8", "ring:9"])
def test_a_node_tells_its_own_place_in_the_trees(spec):
    where = network(spec)
    for root in (0, where.nodes - 2):
        every, own = directions.disjoint_trees(where, root), axes.axis_trees(where, root)
        for rule, trees in ((directions, every), (axes, own)):
            for node in range(where.nodes):
                for number, tree in enumerate(trees):
                    above = rule.parent(where, node, number, root)
                    assert above == (None if node == root else (tree.parent[node], tree.port[node]))
                    assert [v for v, _ in rule.children(where, node, number, root)] == tree.children(node)
                    assert rule.depth_of(where, node, number, root) == tree.depth[node]
    with pytest.raises(NetworkError, match="tree 9 is none"):
        directions.parent(where, 1, 9)


@pytest.mark.parametrize("spec", [*MESHES, *TORI[:8]])
def test_trees_of_axes_are_disjoint_at_every_root_and_as_deep_as_claimed(spec):
    where = network(spec)
    for root in range(where.nodes if where.nodes <= 24 else 1):
        trees = axes.axis_trees(where, root)
        check(trees, len(axes.axes_of(where)))
        check_apart(trees)
        assert [tree.height for tree in trees] == axes.depths(where, root)


@pytest.mark.parametrize(
    ("spec", "messages", "steps", "builder"),
    [
        ("torus:4x4x4", 600, 106, "disjoint-trees"),
        ("torus:4x4x4", 3, 6, "disjoint-trees"),
        ("torus:4x4x4", 1, 6, "disjoint-trees"),
        ("mesh:4x4", 600, 305, "disjoint-trees"),
        ("mesh:8x8", 600, 313, "disjoint-trees"),
        ("mesh:4x4x4", 600, 208, "disjoint-trees"),
        ("ring:8", 600, 306, "disjoint-trees"),
        ("ring:8", 10, 8, "spread"),
        ("path:5", 3, 6, "disjoint-trees"),
    ],
)
def test_steps_by_rule(spec, messages, steps, builder):
    schedule = plan("broadcast", spec, messages=messages)
    report = verify(schedule)
    assert report.holds, report.violations
    assert (schedule.steps, schedule.claims.steps, schedule.builder) == (steps, steps, builder)


def test_packed_trees_on_a_torus_on_which_the_rule_is_deeper():
    schedule = plan("broadcast", "torus:3x4x5", messages=600)
    assert (schedule.steps, schedule.builder) == (105, "packed-trees")
    assert verify(schedule).holds


@pytest.mark.parametrize("spec", ["torus:3x3", "torus:2x4", "torus:3x3x3", "ring:6", "mesh:3x4"])
def test_copies_survive_every_fault_and_verified_is_expanded(spec):
    for builder in [
        entry for entry in builders("broadcast", spec) if entry.at and entry.most_copies(network(spec)) > 1
    ]:
        most = min(3, builder.most_copies(network(spec)))
        for copies in range(2, most + 1):
            schedule = plan("broadcast", spec, root=1, messages=5, copies=copies, builder=builder.name)
            for method in ("fast", "expanded"):
                report = verify(schedule, method=method)
                assert report.holds, report.violations
                assert (report.steps, report.transmissions) == (schedule.claims.steps, schedule.claims.transmissions)
            assert sweep(schedule, copies - 1, "nodes").holds


@pytest.mark.each(3)
@pytest.mark.parametrize("spec", ["torus:3x4", "mesh:3x4", "torus:4x4x2"])
def test_program_is_the_nodes_part_of_the_plan(spec):
    whole = plan("broadcast", spec, root=2, messages=5, copies=2, builder="disjoint-trees")
    for node in range(whole.network.nodes):
        mine = program("broadcast", spec, node, root=2, messages=5, copies=2, builder="disjoint-trees")
        assert sorted(mine) == sorted(whole.at(node))


def test_program_on_a_torus_too_large_to_list():
    mine = program("broadcast", "torus:1000x1000x1000", "1,999,500", messages=600, survive=5)
    assert len(mine) == 12
    far = program("broadcast", "ring:1000000000", 500_000_000)
    assert int(far.rows.step.max()) >= 499_999_999


LARGE = [
    "torus:5x5x5", "torus:6x6x6", "torus:4x6x8", "torus:8x8x8", "torus:9x9", "torus:8x8", "torus:6x10", "torus:3x4x5x6",
    "torus:4x4x4x4", "torus:3x3x3x3x3", "torus:16x16x16", "torus:64x64", "torus:2x2x2x2x2x2x2",
]  # fmt: skip


def check_fast(trees):
    """Assert by other means that many trees span, share no arc and meet nowhere."""
    assert trees.depths.min() >= 0
    port = trees.port.astype(np.int32)
    assert find_shared_arc(trees) is None
    assert find_meeting_ways(trees) is None
    assert (
        trees.network.neighbor(trees.parent, port) == np.where(trees.parent < 0, -1, np.arange(len(trees.parent[0])))
    ).all()


@pytest.mark.long
@pytest.mark.parametrize("spec", LARGE)
def test_trees_of_all_ports_on_larger_tori(spec):
    where = network(spec)
    trees = disjoint_trees(where)
    assert len(trees) == where.ports
    check_fast(trees)
    assert trees.height == directions.exact_depth(where)


@pytest.mark.long
@pytest.mark.parametrize("spec", ["mesh:4x4", "mesh:8x8", "mesh:4x4x4", "mesh:3x5x7"])
def test_trees_of_axes_are_no_deeper_than_the_eccentricity_at_every_root(spec):
    where = network(spec)
    for root in range(where.nodes):
        trees = axes.axis_trees(where, root)
        check_fast(trees)
        here = where.grid.coordinates(root)
        short = (
            np.maximum(here, np.array(where.sides) - 1 - here) < 2
        ).any()  # the root is in the middle of three nodes
        assert trees.height == max(axes.depths(where, root)) == where.eccentricity(root) + int(short)
