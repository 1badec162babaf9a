"""What bounds total distances, held against all broadcasts; and the builder that searches them."""

from functools import cache
from itertools import combinations, permutations
from math import prod

import numpy as np
import pytest

from tests.papers.mesh.test_bisection import FAR, distances, exact, least, shapes
from treecast.collectives import Collective
from treecast.errors import PlanError
from treecast.lower_bounds import LEAST_OF_ALL, best, bounds
from treecast.lower_bounds.wormhole import fewest_across
from treecast.models import model
from treecast.networks import Mesh, Torus, network
from treecast.papers.mesh.builders import bisection
from treecast.papers.mesh.builders.eyes import optimum, total_distance
from treecast.plans import plan
from treecast.verification.verifier import verify


def found(where, root=0, kind="broadcast", targets=()):
    return bounds(Collective(kind, where.nodes, 1, root, targets), where, 1, model("wormhole"))


def by_formula(where, root, start, **more):
    return max(
        (b.value for b in found(where, root, **more) if b.of == "tcd" and b.formula.startswith(start)), default=0
    )


def across(where, root):
    """The bound by planes, as many nodes lie on the side of each without the root; in plain words."""
    fewest = fewest_across(where.nodes, (where.nodes - 1).bit_length())
    total = 0
    for axis, side in enumerate(where.sides):
        here = int(where.coordinates(root)[axis])
        total += sum(fewest[where.nodes // side * (i if i <= here else side - i)] for i in range(1, side))
    return total


@cache
def trees(nodes, steps):
    """The parents of the nodes 0 (the root) … nodes - 1 in every broadcast, whoever is who."""
    if nodes == 1:
        return {(-1,)}
    if nodes > 1 << steps:
        return set()
    made = set(trees(nodes, steps - 1)) if steps > 1 or nodes == 1 else set()
    for own in range(1, nodes):
        if steps:
            for a in trees(own, steps - 1):
                for b in trees(nodes - own, steps - 1):
                    made.add((*a, 0, *(p + own for p in b[1:])))
    return made


@pytest.mark.parametrize("nodes", [2, 3, 4, 5, 6, 7, 8, 9, 15, 16])
def test_the_fewest_messages_across_are_those_of_all_broadcasts_and_all_sets(nodes):
    truth = [nodes] * nodes
    sets = np.arange(1 << (nodes - 1)) << 1  # the root not among them
    size = np.bitwise_count(sets)
    every = trees(nodes, (nodes - 1).bit_length())
    for parents in every if nodes < 15 else list(every)[:40]:
        crossing = sum((sets >> v & 1) != (sets >> parents[v] & 1) for v in range(1, nodes))
        truth = [min(truth[i], int(crossing[size == i].min())) for i in range(nodes)]
    told = fewest_across(nodes, (nodes - 1).bit_length()).tolist()
    assert told == truth


@pytest.mark.parametrize("m", range(11))
def test_signed_powers_of_two_never_count_more_than_the_fewest_across(m):
    nodes = 1 << m
    i = np.arange(nodes)
    signed, fewest = np.bitwise_count(i ^ 3 * i), fewest_across(nodes, m)
    assert (signed <= fewest).all()
    assert (signed == fewest)[: 5 * nodes // 6 + 1].all()  # more than that, and 2^m is wanted, which no subtree has


@pytest.mark.parametrize("m", range(1, 11))
def test_the_cuts_settle_paths_from_the_best_sources_and_most_others(m):
    nodes = 1 << m
    told = np.cumsum(fewest_across(nodes, m))
    at = np.arange(nodes)
    gap = least((nodes,)) - told[at] - told[nodes - 1 - at]
    assert (gap >= 0).all()
    assert gap[0] == 0
    assert gap[least((nodes,)).argmin()] == 0  # so the optimum of Cang & Wu is the minimum on paths
    assert least((nodes,)).min() == optimum(m, 1)
    assert np.flatnonzero(gap)[:8].tolist() == [7, 8, 14, 15, 16, 17, 23, 24][: (0, 2, 8)[min(max(m - 3, 0), 2)]]


@pytest.mark.parametrize("m", [5, 10, 13])
def test_the_bound_of_a_path_as_printed(m):
    path, root = network(f"path:{1 << m}"), (1 << m) // 3
    printed = by_formula(path, root, "Σ over planes")
    assert printed == best(found(path, root), "tcd").value
    assert printed == optimum(m, 1)
    if m < 12:
        assert printed == across(path, root)


@pytest.mark.each(7)
@pytest.mark.parametrize(
    "shape",
    [pytest.param(shape, marks=pytest.mark.long if np.prod(shape) > 12 else ()) for shape in shapes(16, 2)],
    ids=str,
)
def test_the_builder_finds_the_least_without_contention_on_meshes_and_tori(shape):
    for family in (Mesh, Torus):
        grid = family(shape)
        for root in range(0, grid.nodes, 1 if grid.nodes < 13 else 3):
            schedule = plan("broadcast", grid, root=root, model="wormhole", builder="exhaustive")
            assert total_distance(grid, schedule.rows) == by_formula(grid, root, LEAST_OF_ALL)
            for under in ("wormhole", "wormhole-last", "wormhole,half"):
                report = verify(schedule, under)
                assert report.holds, report.violations
            assert schedule.steps == (grid.nodes - 1).bit_length()


def test_the_search_beats_the_recursion_on_a_torus():
    torus = network("torus:3x5")
    assert total_distance(torus, plan("broadcast", torus, model="wormhole", builder="exhaustive").rows) == 14


def multicasts(shape, source, steps):
    """The least distance with which each set of nodes, perhaps with others, hears in so many steps, by forward search."""
    n, distance = prod(shape), distances(shape).tolist()
    cost = np.full(1 << n, FAR)
    cost[1 << source] = 0
    for _ in range(steps):
        after = cost.copy()
        for informed in np.flatnonzero(cost < FAR).tolist():
            front = {informed: int(cost[informed])}
            for u in (u for u in range(n) if informed >> u & 1):
                for now, total in list(front.items()):
                    for v in (v for v in range(n) if not now >> v & 1):
                        front[now | 1 << v] = min(front.get(now | 1 << v, FAR), total + distance[u][v])
            for now, total in front.items():
                after[now] = min(after[now], total)
        cost = after
    for v in range(n):  # what has reached more has reached less
        without = np.flatnonzero(np.arange(1 << n) >> v & 1 == 0)
        cost[without] = np.minimum(cost[without], cost[without | 1 << v])
    return cost


@pytest.mark.parametrize("shape", [(3, 3), (2, 4), (2, 2, 2), (8,)], ids=str)
def test_no_bound_of_a_multicast_is_above_the_least_even_by_way_of_others(shape):
    mesh = Mesh(shape)
    for source in (0, mesh.nodes // 2):
        others = [v for v in range(mesh.nodes) if v != source]
        for count in (1, 2, 3, 4, 5):
            truth = multicasts(shape, source, count.bit_length())
            for targets in combinations(others, count):
                least_of_all = truth[sum(1 << v for v in targets)]
                lower = found(mesh, source, "multicast", targets)
                assert best(lower, "tcd").value <= least_of_all
                if count in (1, 3):  # with the root a power of two
                    assert best(lower, "tcd").value == least_of_all
                    assert any(b.formula == LEAST_OF_ALL for b in lower)


def test_a_multicast_of_the_least_distance_by_its_targets_alone():
    mesh = network("mesh:8x8")
    targets = (3, 9, 12, 18, 33, 60, 63)
    schedule = plan("multicast", mesh, targets=targets, model="wormhole", builder="exhaustive")
    assert verify(schedule).holds
    distance = total_distance(mesh, schedule.rows)
    assert distance == best(found(mesh, 0, "multicast", targets), "tcd").value
    assert distance <= total_distance(mesh, plan("multicast", mesh, targets=targets, model="wormhole").rows)
    with pytest.raises(PlanError, match="searches broadcasts among at most 16 nodes, not 20"):
        plan("multicast", mesh, targets=range(1, 20), model="wormhole", builder="exhaustive")


@pytest.mark.parametrize("kind", ["scatter", "gather", "reduce", "reduce-broadcast"])
def test_other_collectives_of_one_root_have_the_bound_of_the_broadcast(kind):
    for spec in ("mesh:3x5", "torus:8x8", "path:32"):
        where = network(spec)
        twice = 2 if kind == "reduce-broadcast" else 1
        lower = found(where, 5, kind)
        assert best(lower, "tcd").value == twice * best(found(where, 5), "tcd").value
        report = verify(plan(kind, where, root=5, model="wormhole"))
        assert report.distance >= best(list(report.bounds), "tcd").value
        assert report.steps == best(lower, "steps").value


def test_links_meet_or_not_in_either_order_of_axes():
    mesh = Mesh((2, 2))
    step, src = np.array([0, 0]), np.array([0, 1])
    for targets in permutations((2, 3)):  # 0>2 1>3 straight; 0>3 1>2 cross
        assert bisection.is_contention_free(mesh, step, src, np.array(targets)) == (targets == (2, 3))


@pytest.mark.slow
@pytest.mark.each(7)
@pytest.mark.parametrize("shape", shapes(16, 2), ids=str)
def test_no_bound_is_above_the_least_of_all_broadcasts_and_the_search_is_that(shape):
    truth, mesh = exact(shape).reshape(-1), Mesh(shape)
    for root in range(mesh.nodes):
        assert by_formula(mesh, root, LEAST_OF_ALL) == truth[root]
        assert best(found(mesh, root), "tcd").value == truth[root]
        assert across(mesh, root) <= truth[root]
