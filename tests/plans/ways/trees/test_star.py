import random

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles.star import parent_spg, parent_spt
from treecast.errors import NetworkError, ScheduleError
from treecast.networks import Star, permutations
from treecast.networks.kernels import star_node
from treecast.plans.ways.trees import star as star_trees
from treecast.schedule.trees import TreeSet, find_meeting_ways, find_shared_arc


def labelled(star, hop):
    return None if hop is None else star.label(hop[0])


@pytest.mark.parametrize(
    ("node", "tree", "parent"),
    # the paper's examples in S_4; T_3 is tree 1, T_4 tree 2
    [
        ("3124", 1, "1324"),
        ("3124", 2, "4123"),
        ("2143", 2, "1243"),
        ("2143", 1, "3142"),
        ("4123", 2, "1423"),
        ("4123", 1, "2143"),
    ],
)
def test_the_examples_of_the_paper(node, tree, parent):
    star = Star(4)
    assert labelled(star, star_trees.PAPER_RULE.parent(star, star.node(node), tree)) == parent


BOTH = pytest.mark.parametrize("paper", [False, True])


@pytest.mark.parametrize(("n", "paper"), [*((n, False) for n in range(2, 9)), *((n, True) for n in range(2, 8))])
def test_the_disjoint_trees_span_and_have_the_exact_depth(n, paper):
    star = Star(n)
    trees = star_trees.disjoint_trees(star, paper=paper)
    assert len(trees) == n - 1
    assert trees.height == star_trees.exact_depth(n, paper) <= star_trees.paper_depth(n)
    assert [len(tree.children(0)) for tree in trees] == [1] * (n - 1)
    assert find_shared_arc(trees) is None
    assert find_meeting_ways(trees) is None
    every, turned = np.arange(1, star.nodes), star.rotate(np.arange(1, star.nodes))
    for tree in range(n - 1):  # the next tree is the rotation of this one
        assert (trees.parent[(tree + 1) % (n - 1), turned] == star.rotate(trees.parent[tree, every])).all()


def test_the_depth_is_the_diameter_and_2_where_the_papers_is_an_arc_more_for_even_n():
    deep = {n: (star_trees.exact_depth(n), star_trees.exact_depth(n, paper=True)) for n in (3, 4, 5, 6, 7, 8, 9, 10)}
    assert deep == {3: (5, 5), 4: (6, 7), 5: (8, 8), 6: (9, 10), 7: (11, 11), 8: (12, 13), 9: (14, 14), 10: (15, 16)}


def in_the_class(symbols):
    """Whether symbol 0 is in a cycle of four and all others are in cycles of two, by walking round the cycles."""
    lengths = {}
    for start in range(len(symbols)):
        here, length = symbols[start], 1
        while here != start:
            here, length = symbols[here], length + 1
        lengths[start] = length
    return lengths[0] == 4 and sorted(lengths.values()) == [2] * (len(symbols) - 4) + [4] * 4


@pytest.mark.parametrize(("n", "size"), [(3, 0), (4, 6), (5, 0), (6, 60), (7, 0)])
def test_our_trees_differ_from_the_papers_in_one_class_of_nodes(n, size):
    star = Star(n)
    ours, theirs = (star_trees.disjoint_trees(star, paper=paper).parent for paper in (False, True))
    members = [v for v in range(star.nodes) if in_the_class([int(c, 16) - 1 for c in star.label(v)])]
    assert len(members) == size
    words, inverses = star.words(members), permutations.inverse(star.words(members), n)
    identity = permutations.identity(n)
    for word, inverse in zip(words.tolist(), inverses.tolist(), strict=True):
        assert star_node.is_mended(word, inverse, identity)
    changed = np.flatnonzero((ours != theirs).any(axis=0))
    assert set(changed.tolist()) <= set(members)
    assert len(changed) == size - {4: 3, 6: 15}.get(n, 0)  # where p = a the paper's parents do


@BOTH
@pytest.mark.parametrize("n", range(3, 7))
def test_disjointness_against_networkx(n, paper):
    star = Star(n)
    trees = star_trees.disjoint_trees(star, paper=paper)
    arcs = [{(int(p), v) for v, p in enumerate(parent) if p >= 0} for parent in trees.parent]
    assert sum(map(len, arcs)) == len(set().union(*arcs)) == (n - 1) * (star.nodes - 1)
    for tree in arcs:
        assert nx.is_arborescence(nx.DiGraph(tree))
    for v in range(1, star.nodes):
        inner = [set(tree.way(v)[1:-1]) for tree in trees]
        assert sum(map(len, inner)) == len(set().union(*inner))
    assert find_shared_arc(trees) is None
    assert find_meeting_ways(trees) is None


@pytest.mark.each(5)
@BOTH
@pytest.mark.parametrize(("n", "at"), [(2, 0), (3, 1), (4, 0), (4, 1), (4, -1), (5, 1), (6, 0)])
def test_what_a_node_knows_from_its_label_is_what_the_arrays_say(n, at, paper):
    star = Star(n)
    root = at % star.nodes
    trees, rule = star_trees.disjoint_trees(star, root, paper), star_trees.PAPER_RULE if paper else star_trees.RULE
    for tree in range(n - 1):
        alone = star_trees.disjoint_tree(star, tree, root, paper)
        assert (alone.parent == trees.parent[tree]).all()
        assert (alone.port == trees.port[tree]).all()
        for v in range(0, star.nodes, 1 if n < 6 else 7):
            hop = rule.parent(star, v, tree, root)
            assert hop == (None if v == root else (int(trees.parent[tree, v]), int(trees.port[tree, v])))
            children = rule.children(star, v, tree, root)
            assert [c for c, _ in children] == trees[tree].children(v)
            assert all(int(star.neighbor(v, port)) == c for c, port in children)
            assert rule.depth_of(star, v, tree, root) == trees.depths[tree, v]


@given(st.integers(9, 15), st.data())
def test_parents_and_children_agree_in_networks_that_no_array_holds(n, data):
    star = Star(n)
    node, root = (data.draw(st.integers(0, star.nodes - 1)) for _ in range(2))
    tree = data.draw(st.integers(0, n - 2))
    hop = star_trees.RULE.parent(star, node, tree, root)
    if hop is not None:
        assert (node, hop[1]) in star_trees.RULE.children(star, hop[0], tree, root)
    assert star_trees.RULE.depth_of(star, node, tree, root) <= star_trees.exact_depth(n)
    ports = [hop[1] for t in range(n - 1) if (hop := star_trees.RULE.parent(star, node, t, root)) is not None]
    assert node == root or sorted(ports) == list(range(n - 1))


@pytest.mark.parametrize("n", range(2, 8))
def test_translation_carries_the_trees(n):
    star, every = Star(n), np.arange(Star(n).nodes)
    base, root = star_trees.disjoint_trees(star), star.nodes // 2
    moved = star_trees.disjoint_trees(star, root)
    for tree in range(n - 1):
        inner = every[1:]
        assert (moved.parent[tree, star.translate(root, inner)] == star.translate(root, base.parent[tree, inner])).all()
        assert (moved.port[tree, star.translate(root, inner)] == base.port[tree, inner]).all()
    assert (moved.parent[:, root] == -1).all()


@pytest.mark.parametrize("n", range(2, 8))
def test_the_shortest_path_tree(n):
    star = Star(n)
    for root in (0, star.nodes - 1):
        tree = star_trees.shortest_path_tree(star, root)
        assert (tree.depth == star.distance(root, np.arange(star.nodes))).all()
    for v in range(min(star.nodes, 200)):
        if star.label(v)[0] != "1":
            assert parent_spt(star, v)[0] == star_trees.shortest_path_tree(star).parent[v]


@pytest.mark.parametrize("n", range(2, 6))
def test_spg_holds_a_node_with_symbol_1_in_front_in_every_subtree_and_others_in_one(n):
    star = Star(n)
    for v in range(1, star.nodes):
        hops = [parent_spg(star, v, tree) for tree in range(n - 1)]
        if star.label(v)[0] == "1":
            assert [hop[1] for hop in hops] == list(range(n - 1))
        else:
            k = star.label(v).index("1")
            assert [tree for tree, hop in enumerate(hops) if hop is not None] == [k - 1]
            assert hops[k - 1] == parent_spt(star, v)
    assert parent_spg(star, 0, 0) is None


def test_what_is_outside_is_refused():
    star = Star(4)
    for call in (
        lambda: star_trees.RULE.parent(star, 24, 0),
        lambda: star_trees.RULE.parent(star, 1, 3),
        lambda: star_trees.RULE.children(star, 1, -1),
        lambda: star_trees.disjoint_trees(star, 24),
        lambda: parent_spt(star, star.node("1324")),
    ):
        with pytest.raises(NetworkError, match=r"^[^\n]+$"):
            call()


def test_trees_that_are_no_trees_are_found_out():
    star = Star(3)
    trees = star_trees.disjoint_trees(star)
    circle = trees.parent.copy()
    u = 3
    circle[0, u], circle[0, circle[0, u]] = circle[0, u], u
    with pytest.raises(ScheduleError, match="does not lead from the root"):
        TreeSet(star, 0, circle, trees.port.copy()).depths  # noqa: B018
    twice = TreeSet(star, 0, trees.parent[[0, 0]], trees.port[[0, 0]])
    assert find_shared_arc(twice) is not None
    assert find_meeting_ways(twice) is not None


def walked(symbols, tree, rule):
    """The words on the way to the root, the node's own included and the root left out."""
    n = len(symbols)
    word, identity = sum(s << 4 * j for j, s in enumerate(symbols)), sum(j << 4 * j for j in range(n))
    inverse = sum(j << 4 * s for j, s in enumerate(symbols))
    way = []
    while word != identity and len(way) < 50:
        way.append(word)
        word, inverse = star_node.swapped(word, inverse, rule(word, inverse, tree, identity))
    return way


@pytest.mark.slow
@pytest.mark.parametrize("n", [8, 12, 14, 16])
def test_from_labels_alone_the_ways_from_near_the_class_are_disjoint_and_short(n):
    chance, deepest, papers = random.Random(n), 0, 0
    for turn in range(150):
        rest = chance.sample(range(1, n), n - 1)
        (a, m, h), symbols = rest[:3], list(range(n))
        symbols[0], symbols[a], symbols[m], symbols[h] = a, m, h, 0
        for i, j in zip(rest[3::2], rest[4::2], strict=True):
            symbols[i], symbols[j] = j, i
        assert in_the_class(symbols)
        for _ in range((0, 1, 2, 6)[turn % 4]):
            p = chance.randrange(1, n)
            symbols[0], symbols[p] = symbols[p], symbols[0]
        ways = [walked(symbols, tree, star_node.disjoint_parent) for tree in range(1, n)]
        inner = [word for way in ways for word in way[1:]]
        assert len(set(inner)) == len(inner)
        assert ways[0][0] not in inner
        deepest = max(deepest, *map(len, ways))
        papers = max(papers, *(len(walked(symbols, tree, star_node.paper_parent)) for tree in range(1, n)))
    assert (deepest, papers) == (star_trees.exact_depth(n), star_trees.exact_depth(n, paper=True))


@pytest.mark.long
def test_the_trees_of_s_10():
    star = Star(10)
    trees = star_trees.disjoint_trees(star)
    assert trees.height == 15 == star.diameter + 2
    assert find_shared_arc(trees) is None
    assert find_meeting_ways(trees) is None
