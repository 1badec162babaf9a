from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.plans.ways.trees.test_spanning import graphs
from tests.strategies import examples
from treecast.errors import PlanError, ScheduleError
from treecast.lower_bounds import best
from treecast.networks import network
from treecast.papers.trees.builders import cover
from treecast.plans import one_tree_steps, plan
from treecast.plans.ways.trees import spanning
from treecast.verification.verifier import verify


def de_bruijn(base, digits):
    """Words of some digits, joined to those that come of shifting in one more."""
    nodes = base**digits
    graph = nx.Graph((u, (u * base + digit) % nodes) for u in range(nodes) for digit in range(base))
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    return network(nx.relabel_nodes(graph, {u: f"w{u}" for u in graph}))


def check(found, where, root):
    """By networkx: each tree an arborescence of arcs of the network, no link in two, every node in one at least."""
    graph, links, reached = where.to_networkx(), [], {root}
    for tree in found.trees:
        arcs = [(int(tree.parent[v]), v) for v in range(where.nodes) if tree.parent[v] >= 0]
        assert all(graph.has_edge(*arc) for arc in arcs)
        if arcs:
            directed = nx.DiGraph(arcs)
            assert nx.is_arborescence(directed)
            assert directed.in_degree(root) == 0
            reached |= set(directed)
            assert sorted(tree.order.tolist()) == sorted(directed)
        links += [frozenset(arc) for arc in arcs]
    assert len(links) == len(set(links))
    assert reached == set(range(where.nodes))
    for v in range(where.nodes):
        assert v == root or found.trees[found.dealt[v]].parent[v] >= 0


def planned(kind, where, root, lengths):
    """A verified schedule over a cover: its steps, those of the best tree, and the bound."""
    schedule = plan(kind, where, root=root, lengths=lengths, model="bufferless-multiport", builder="cover")
    report = verify(schedule)
    assert report.holds, report.violations
    assert report.steps == schedule.claims.steps
    bound = best(list(report.bounds), "steps").value
    single = one_tree_steps(schedule)
    assert bound <= report.steps <= single
    return report.steps, single, bound


@pytest.mark.parametrize("kind", ["scatterv", "gatherv"])
@pytest.mark.parametrize(
    ("base", "digits", "root"),
    [(2, 3, 1), (2, 4, 1), (2, 6, 5), *(pytest.param(*w, marks=pytest.mark.long) for w in ((2, 8, 77), (3, 4, 1)))],
)
def test_on_de_bruijn_networks(base, digits, root, kind):
    where = de_bruijn(base, digits)
    lengths = np.random.default_rng(3).integers(0, 16, where.nodes)
    steps, _, bound = planned(kind, where, root, lengths)
    assert where.nodes < 64 or steps <= 1.1 * bound


@pytest.mark.each(7)
@pytest.mark.parametrize(
    "spec", ["star:3", "star:4", "mesh:2x3", "torus:3x4", "ring:6", "tree:2,2", "path:5", "hypercube:1"]
)
@pytest.mark.parametrize("kind", ["scatterv", "gatherv"])
def test_every_family_from_every_root(spec, kind):
    where = network(spec)
    for root in range(min(where.nodes, 8)):
        lengths = np.random.default_rng(root).integers(0, 7, where.nodes)
        planned(kind, where, root, lengths)


def test_edge_cases():
    one = cover.cover(network("mesh:1x1"), 0, np.zeros(1, np.int64))
    assert (len(one.trees), one.steps) == (1, 0)
    star = nx.star_graph(9)
    for spec, root in (("path:2", 0), ("path:9", 0), ("path:9", 4), (star, 0), (star, 3), ("tree:3,2", 0)):
        where = network(spec)
        flits = np.arange(where.nodes) % 4
        flits[root] = 0
        found = cover.cover(where, root, flits)
        check(found, where, root)
        assert len(found.trees) == 1  # a tree has no links to spare
        planned("gatherv", where, root, flits)
    null = plan("scatterv", "torus:4x4", lengths=0, model="bufferless-multiport", builder="cover")
    assert (null.steps, verify(null).holds, one_tree_steps(null)) == (0, True, 0)
    with pytest.raises(PlanError, match="no way leads from 0 to 2"):
        cover.cover(network(nx.Graph([(0, 1), (2, 3)])), 0, np.ones(4, np.int64))


def test_directed_graphs():
    graph = nx.DiGraph(nx.cycle_graph(6))
    graph.add_edge(0, 3)
    where = network(graph)
    check(cover.cover(where, 0, np.array([0, 1, 2, 9, 2, 1])), where, 0)
    planned("scatterv", where, 0, [0, 1, 2, 9, 2, 1])
    planned("gatherv", where, 0, [0, 1, 2, 9, 2, 1])
    cycle = network(nx.cycle_graph(4, create_using=nx.DiGraph))  # one arc to the root, over which 1 + 2 + 3 flits come
    assert planned("gatherv", cycle, 0, [0, 3, 2, 1])[0] == 6
    with pytest.raises(PlanError, match="arc back"):
        plan("gatherv", cycle, lengths=1, model="bufferless-multiport", builder="transmission-certificate")


def test_what_is_no_cover_is_refused():
    where = network("mesh:3x3")
    found = cover.cover(where, 0, np.array([0, 1, 2, 3, 4, 5, 6, 7, 8]))
    assert len(found.trees) == 2
    for changed, why in (
        ({"trees": ()}, "one tree at least"),
        ({"trees": found.trees[:1]}, "no tree reaches"),
        ({"trees": (spanning.breadth_first(where, 0),) * 2}, "is in two trees"),
        ({"trees": (spanning.breadth_first(where, 4),)}, "does not begin at the root"),
        ({"trees": (replace(found.trees[0], port=(found.trees[0].port + 1) % 4),)}, "over an arc"),
        ({"trees": (replace(found.trees[0], served=found.trees[0].order[:-1]),)}, "twice, or one outside"),
    ):
        with pytest.raises(ScheduleError, match=why):
            replace(found, **changed)
    some = np.flatnonzero(found.trees[0].parent < 0)[1:]
    with pytest.raises(ScheduleError, match="without that node"):
        replace(found, dealt=np.where(np.isin(np.arange(9), some), 0, found.dealt))


def test_the_same_job_has_the_same_cover():
    where, flits = network("torus:4x4"), np.arange(16)
    first, again = cover.cover(where, 0, flits), cover.cover(where, 0, flits)
    assert np.array_equal(first.dealt, again.dealt)
    assert all(np.array_equal(a.parent, b.parent) for a, b in zip(first.trees, again.trees, strict=True))


def test_only_over_all_ports():
    with pytest.raises(PlanError, match="no plan of scatterv on mesh:3x3 under model bufferless"):
        plan("scatterv", "mesh:3x3", lengths=1, model="bufferless", builder="cover")


def test_steps_of_one_tree_of_other_jobs():
    assert one_tree_steps(plan("broadcast", "hypercube:3")) == 0
    told = plan("gatherv", "hypercube:3", lengths=2, model="bufferless", tree="best")
    assert one_tree_steps(told) == told.steps


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spec", "root"), [("mesh:8x8", 27), ("star:5", 0), pytest.param("hypercube:8", 0, marks=pytest.mark.long)]
)
def test_it_gains_over_one_tree(spec, root):
    where = network(spec)
    lengths = KINDS["few long"](np.random.default_rng(5), where.nodes) * 3
    steps, single, _ = planned("scatterv", where, root, lengths)
    assert single >= 1.05 * steps


@pytest.mark.slow
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


@pytest.mark.slow
def test_never_slower_than_the_best_of_all_trees_on_small_networks():
    worse = 0
    for spec in ("mesh:2x3", "ring:5", "hypercube:3", "mesh:2x4"):
        where = network(spec)
        for seed in range(5):
            flits = np.random.default_rng(seed).integers(0, 9, where.nodes)
            flits[0] = 0
            worse += cover.cover(where, 0, flits).steps > exact(where, 0, flits)
    assert worse == 0
