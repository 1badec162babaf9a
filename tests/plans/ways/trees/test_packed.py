"""Packed trees: Edmonds' condition by brute force, and the trees against networkx."""

from itertools import combinations, pairwise

import networkx as nx
import numpy as np
import pytest

from tests.networks.test_flows import arc_flows, arc_ways, node_ways, random_graphs
from treecast import plan, verify
from treecast.errors import PlanError
from treecast.lower_bounds.depths import least_depth
from treecast.networks import network
from treecast.networks.arcs import arcs_of
from treecast.networks.flows import fewest_apart, fewest_ways
from treecast.plans.kernels import edmonds
from treecast.plans.ways.trees.independent import independent_trees
from treecast.plans.ways.trees.packed import number_of_seed, packed_trees

PETERSEN = network(nx.petersen_graph())


def check(trees, count):
    """Assert that so many trees span the network from the root and share no arc."""
    where, used = trees.network, set()
    assert len(trees) == count
    for tree in trees:
        graph = tree.to_networkx()
        assert len(graph) == where.nodes
        assert where.nodes == 1 or (nx.is_arborescence(graph) and graph.in_degree(trees.root) == 0)
        for u, v, port in graph.edges(data="port"):
            assert int(where.neighbor(u, port)) == v
            assert (u, port) not in used
            used.add((u, port))


def check_apart(trees):
    """Assert that the ways to each node share no other node, nor an arc."""
    for v in set(range(trees.network.nodes)) - {trees.root}:
        ways = [tree.way(v) for tree in trees]
        inner = [u for way in ways for u in way[1:-1]]
        assert len(inner) == len(set(inner))
        assert sum(len(way) == 2 for way in ways) <= 1


def sets_of_others(nodes, root):
    others = [v for v in range(nodes) if v != root]
    return [set(some) for size in range(1, nodes) for some in combinations(others, size)]


class Partial:
    """Partial trees, and by brute force over all sets of nodes which arcs may join them."""

    def __init__(self, where, root, trees):
        self.arcs, self.root, self.trees = arcs_of(where), root, trees
        self.sets = sets_of_others(where.nodes, root)
        self.owner = np.full(len(self.arcs.head), -1, np.int32)
        self.depth = np.full((trees, where.nodes), -1, np.int32)
        self.depth[:, root] = 0

    def tight(self, some):
        entering = sum(
            self.owner[a] < 0 and int(self.arcs.head[a]) in some and int(self.arcs.tail[a]) not in some
            for a in range(len(self.owner))
        )
        needed = sum(all(self.depth[i, v] < 0 for v in some) for i in range(self.trees))
        assert entering >= needed
        return entering == needed

    def candidates(self):
        tail, head = self.arcs.tail, self.arcs.head
        free = np.flatnonzero(self.owner < 0)
        return [
            (i, int(a)) for i in range(self.trees) for a in free
            if self.depth[i, tail[a]] >= 0 and self.depth[i, head[a]] < 0
        ]  # fmt: skip

    def refused(self):
        """Return the candidates that no completion has: some tight set that the tree meets is entered by them."""
        tight = [some for some in self.sets if self.tight(some)]
        tail, head = self.arcs.tail, self.arcs.head
        return {
            (i, a) for i, a in self.candidates()
            if any(head[a] in some and tail[a] not in some and any(self.depth[i, v] >= 0 for v in some) for some in tight)
        }  # fmt: skip

    def by_flows(self, i, a):
        """Return whether the kernel lets an arc join a tree."""
        first, head = self.arcs.first, self.arcs.head
        v, n = int(head[a]), len(first) - 1
        flow, seen = np.zeros(len(head), np.int32), np.zeros(n + self.trees + 1, np.int64)
        before, queue = np.zeros(n + self.trees, np.int32), np.empty(n + self.trees, np.int32)
        log, kept = np.empty(3 * len(head) + n + self.trees, np.int32), np.empty(self.trees, np.int32)
        entry = np.where(self.depth[:, v] < 0, -1, -2).astype(np.int32)
        state = (self.arcs[:5], (self.owner, self.depth, flow, entry), (seen, before, queue, log), 1)
        for _ in range(int((entry == -1).sum())):
            assert edmonds._place(v, -1, *state, 0) >= 0
        return bool(edmonds._may_join(i, a, v, *state, kept))

    def join(self, i, a):
        self.owner[a], self.depth[i, self.arcs.head[a]] = i, self.depth[i, self.arcs.tail[a]] + 1


def test_an_arc_may_join_exactly_if_no_tight_set_forbids_it_and_what_is_refused_stays_refused():
    compared = refusals = 0
    for number, (where, root) in enumerate(random_graphs(25, 7, seed=3)):
        k, rng = fewest_ways(where, root).ways, np.random.default_rng(number)
        partial, before = Partial(where, root, k), set()
        while (partial.depth < 0).any():
            refused, candidates = partial.refused(), partial.candidates()
            for i, a in candidates:
                assert partial.by_flows(i, a) == ((i, a) not in refused)
            assert before & set(candidates) <= refused
            allowed = [each for each in candidates if each not in refused]
            assert allowed  # it never gets stuck
            compared, refusals, before = compared + len(candidates), refusals + len(refused), refused
            partial.join(*allowed[rng.integers(len(allowed))])
    assert compared > 500
    assert refusals > 25


def assert_packed(count, most, seed):
    for where, root in random_graphs(count, most, seed):
        k = min(arc_ways(where, root).values())
        assert fewest_ways(where, root).ways == k
        for number in {k, max(1, k - 1)}:
            trees = packed_trees(where, root, number)
            check(trees, number)
            assert trees.height >= least_depth(where, root, number)
        with pytest.raises(PlanError, match="arc-disjoint spanning trees"):
            packed_trees(where, root, k + 1)


def test_as_many_trees_as_the_least_flow():
    assert_packed(30, 12, 4)


def assert_all_there(count, most, seed):
    """Find k trees, and as many apart as ways, on graphs, digraphs and those with several arcs to a node; verify plans."""
    for where, root in random_graphs(count, most, seed, several=True):
        k = arc_flows(where, root)
        assert fewest_ways(where, root).ways == k
        check(packed_trees(where, root, k), k)
        for against in ("nodes", "links"):
            ways = fewest_apart(where, root, against).ways
            trees = independent_trees(where, root, ways, against=against)
            check(trees, ways)
            (check_apart if against == "nodes" else check_links)(trees)
            schedule = plan(
                "broadcast", where, root=root, messages=2, copies=ways, against=against if ways > 1 else None
            )
            assert verify(schedule).holds
            if where.nodes <= 12:
                assert verify(schedule, method="expanded").holds


def check_links(trees):
    """Assert that the ways to each node share no link."""
    for v in set(range(trees.network.nodes)) - {trees.root}:
        links = [frozenset(link) for tree in trees for link in pairwise(tree.way(v))]
        assert len(links) == len(set(links))


def test_as_many_trees_apart_as_the_fewest_node_disjoint_ways():
    for where, root in random_graphs(25, 9, seed=6):
        k = min(node_ways(where, root).values())
        trees = independent_trees(where, root, k)
        check(trees, k)
        check_apart(trees)


@pytest.mark.parametrize(
    ("where", "trees", "depth"),
    [
        (PETERSEN, 3, 4),
        (network("mesh:4x4"), 2, 6),
        (network("mesh:8x8"), 2, 14),
        (network("mesh:4x4x4"), 3, 9),
        (network("star:4"), 3, 6),
        (network("hypercube:4"), 4, 5),
        (network("torus:4x4"), 4, 5),
    ],
    ids=str,
)
def test_depths_that_are_the_least(where, trees, depth):
    found = packed_trees(where, 0, trees)
    check(found, trees)
    assert found.height == depth
    assert depth - 1 <= least_depth(where, 0, trees) <= depth


def test_the_bound_of_depths_by_brute_force():
    """On complete networks and rings it is known: 2 arcs, and all but one node in a row."""
    assert [least_depth(network(f"complete:{n}"), 0, n - 1) for n in (3, 5, 8)] == [2, 2, 2]
    assert [least_depth(network(f"ring:{n}"), 0, 2) for n in (3, 5, 8)] == [2, 4, 7]
    assert least_depth(network("path:5"), 1, 1) == 3


def test_the_same_seed_gives_the_same_trees():
    where = network("debruijn:3,3")
    one = packed_trees(where, 1, 2)
    packed_trees.cache_clear()
    assert one == packed_trees(where, 1, 2)
    assert any(packed_trees(where, 1, 2, seed) != one for seed in range(2, 8))
    assert number_of_seed(0) != number_of_seed(1)


@pytest.mark.slow
def test_trees_apart_and_schedules_over_them():
    assert_all_there(12, 8, 8)


@pytest.mark.long
def test_as_many_trees_as_the_least_flow_on_many_graphs():
    assert_packed(1000, 24, 5)


@pytest.mark.long
def test_trees_apart_and_schedules_over_them_on_many_graphs():
    assert_all_there(1000, 24, 9)
