import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.papers.trees.test_cover import check, planned
from tests.plans.ways.trees.test_spanning import graphs
from tests.strategies import examples
from treecast.networks import network
from treecast.papers.trees.builders import cover


@pytest.mark.parametrize(
    ("spec", "trees"),
    [
        ("mesh:4x4", 2),
        ("torus:4x4", 4),
        *(pytest.param(f"hypercube:{d}", d, marks=pytest.mark.long if d > 6 else ()) for d in range(2, 9)),
        ("mesh:3x3x3", 3),
        ("torus:3x3x3", 6),
    ],
)
def test_as_many_trees_as_the_root_has_links(spec, trees):
    where = network(spec)
    found = cover.cover(where, 0, (np.arange(where.nodes) > 0) * 3 + np.arange(where.nodes) % 2)
    check(found, where, 0)
    assert len(found.trees) == trees
    # the trees overlap: a message can go more ways than one
    assert sum(len(tree.order) - 1 for tree in found.trees) > where.nodes - 1


KINDS = {
    "equal": lambda some, nodes: np.full(nodes, 8),
    "even": lambda some, nodes: some.integers(0, 16, nodes),
    "few long": lambda some, nodes: np.minimum((some.pareto(1.2, nodes) * 3).astype(int), 60),
    "many null": lambda some, nodes: some.integers(1, 9, nodes) * (some.random(nodes) < 0.3),
}


@pytest.mark.each(3)
@pytest.mark.parametrize(
    "spec",
    [
        *("mesh:4x4", "mesh:8x8", "torus:4x4", "hypercube:4", "hypercube:6"),
        *(pytest.param(spec, marks=pytest.mark.long) for spec in ("torus:8x8", "hypercube:8")),
    ],
)
def test_near_the_bound_on_meshes_tori_and_hypercubes(spec):
    where = network(spec)
    ratio = []
    for name, lengths_of in KINDS.items():
        for seed in range(4):
            steps, _, bound = planned("scatterv", where, 0, lengths_of(np.random.default_rng(seed), where.nodes))
            ratio.append(steps / bound)
            assert where.nodes < 64 or steps <= 1.1 * bound + 2, (name, seed, steps, bound)
    assert np.mean(ratio) <= 1.1


@pytest.mark.parametrize(
    ("spec", "root"), [("mesh:8x8", 27), ("star:5", 0), pytest.param("hypercube:8", 0, marks=pytest.mark.long)]
)
def test_it_gains_over_one_tree(spec, root):
    where = network(spec)
    lengths = KINDS["few long"](np.random.default_rng(5), where.nodes) * 3
    steps, single, _ = planned("scatterv", where, root, lengths)
    assert single >= 1.05 * steps


@given(graphs(), st.lists(st.integers(0, 12), min_size=24, max_size=24), st.sampled_from(["scatterv", "gatherv"]))
@examples(60)
def test_random_graphs(drawn, lengths, kind):
    where, root = drawn
    flits = np.array(lengths[: where.nodes])
    flits[root] = 0
    found = cover.cover(where, root, flits)
    check(found, where, root)
    assert planned(kind, where, root, flits)[0] == found.steps


def exact(where, root, flits):
    """The least time over all ways to hang each node below one of its neighbours: the best single tree of all."""
    others = [v for v in range(where.nodes) if v != root]
    least = None

    def extend(i, parent):
        nonlocal least
        if i < len(others):
            for u in where.neighbors(others[i]):
                extend(i + 1, {**parent, others[i]: u})
            return
        depth, branch = {}, {}
        for v in others:
            way = [v]
            while way[-1] != root:
                if len(way) > len(others):
                    return
                way.append(parent[way[-1]])
            depth[v], branch[v] = len(way) - 1, way[-2]
        steps = 0
        for top in set(branch.values()):
            sent = 0
            for v in sorted((v for v in others if branch[v] == top and flits[v]), key=lambda v: -depth[v]):
                sent += flits[v]
                steps = max(steps, sent + depth[v] - 1)
        least = steps if least is None else min(least, steps)

    extend(0, {})
    return least


def test_never_slower_than_the_best_of_all_trees_on_small_networks():
    worse = 0
    for spec in ("mesh:2x3", "ring:5", "hypercube:3", "mesh:2x4"):
        where = network(spec)
        for seed in range(5):
            flits = np.random.default_rng(seed).integers(0, 9, where.nodes)
            flits[0] = 0
            worse += cover.cover(where, 0, flits).steps > exact(where, 0, flits)
    assert worse == 0
