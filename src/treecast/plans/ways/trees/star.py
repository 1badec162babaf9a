"""The trees of the star network: SPT, SPG and the n-1 edge-disjoint spanning trees (EDT).

Source: Fragopoulou & Akl, "Edge-Disjoint Spanning Trees on the Star Network with Applications to Fault Tolerance",
section 3. For even n the paper's edge-disjoint trees are one arc deeper than ours: one class of nodes has other parents
(networks/kernels/star_node.py, ``mended_parent``). Functions that take ``paper`` give the paper's own where it is true.

Tree t of the n-1 (0 ≤ t < n-1) is the paper's T_(t+2): the root's child in it lies over dimension t+2.
Everything is computed for the root 0 and carried to any other root by translation (Lemma 1).
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from treecast.networks import Star, permutations
from treecast.networks.core import Ints
from treecast.networks.kernels import star_node
from treecast.plans.ways.trees.disjoint import DisjointTrees
from treecast.plans.ways.trees.hops import ParentRule, check_tree
from treecast.schedule.trees import Tree, TreeSet


def paper_depth(n: int) -> int:
    """Return ⌊3(n-1)/2⌋ + 4, the paper's bound on the depth of the edge-disjoint trees (Lemma 6.4)."""
    return 3 * (n - 1) // 2 + 4


def exact_depth(n: int, paper: bool = False) -> int:
    """Return the depth of the edge-disjoint trees in arcs: the diameter + 2, and 1 for n = 2.

    The paper's are ⌊3n/2⌋ + 1 deep, which for even n is one more. Checked by walking from every node of every tree: ours
    for n = 3 … 10, the paper's for n = 3 … 12. A proof for all n is not known.
    """
    if n < 3:
        return 1
    return 3 * n // 2 + 1 if paper else 3 * (n - 1) // 2 + 2


def graph_depth(n: int) -> int:
    """Return the depth of SPG in arcs: the diameter ⌊3(n-1)/2⌋, and one more for even n > 2.

    The deepest are leaves over a dimension that only leads to them by a way round.
    """
    return 3 * (n - 1) // 2 + (n % 2 == 0 and n > 2)


def disjoint_trees(star: Star, root: int = 0, paper: bool = False) -> TreeSet:
    """Return the n-1 edge-disjoint spanning trees of the star network at ``root`` as arrays of shape (n-1, n!)."""
    return _filled(star, 1, star.ports, root, paper)


def disjoint_tree(star: Star, tree: int, root: int = 0, paper: bool = False) -> Tree:
    """Return one of the edge-disjoint trees: for networks whose trees do not fit in memory together."""
    return _filled(star, check_tree(star, tree) + 1, 1, root, paper)[0]


def shortest_path_tree(star: Star, root: int = 0) -> Tree:
    """Return one shortest-path spanning tree: SPT, and below it each node that has symbol 1 in front.

    Such a node hangs over the first dimension that leads nearer to the root: SPG offers it to all the subtrees.
    """
    return _filled(star, 0, 1, root)[0]


def shortest_path_graph(star: Star, root: int = 0) -> TreeSet:
    """Return the n-1 subtrees of the shortest-path graph SPG as arrays of shape (n-1, n!); -1 where a subtree lacks a node.

    A node whose symbol 1, seen from the root, is at position k ≥ 2 is in T_k alone; one with symbol 1 in front is a leaf of all
    (Definition 7).
    """
    spt, every = shortest_path_tree(star, root), np.arange(star.nodes)
    hole = symbol_1(star, root)
    parent, port = np.full((star.ports, star.nodes), -1, np.int32), np.full((star.ports, star.nodes), -1, np.int8)
    inside = np.flatnonzero(hole)
    parent[hole[inside] - 1, inside], port[hole[inside] - 1, inside] = spt.parent[inside], spt.port[inside]
    leaves = np.flatnonzero((hole == 0) & (every != root))
    for tree in range(star.ports):
        parent[tree, leaves], port[tree, leaves] = star.neighbor(leaves, tree), tree
    return TreeSet(star, root, parent, port)


def symbol_1(star: Star, root: int = 0) -> Ints:
    """Return the position of symbol 1 in every node as the root sees it, counted from 0: int64 (n!,)."""
    words = star.words(star.untranslate(root, np.arange(star.nodes)))
    return permutations.symbol_at(permutations.inverse(words, star.n), 0)


def _filled(star: Star, first: int, count: int, root: int, paper: bool = False) -> TreeSet:
    """Return the trees ``first … first+count-1`` of kernels.star.fill_trees, translated to ``root``."""
    from treecast.compiled import in_parallel
    from treecast.networks.kernels.star import fill_trees

    star.check_node(root)
    parent, port = np.empty((count, star.nodes), np.int32), np.empty((count, star.nodes), np.int8)
    places = permutations.place_values(star.n)
    in_parallel(lambda start, stop: fill_trees(start, stop, places, first, paper, parent, port), star.nodes, 24 << 12)
    if root:
        away = star.untranslate(root, np.arange(star.nodes))
        moved = star.translate(root, np.arange(star.nodes)).astype(np.int32)
        parent, port = moved[parent.take(away, axis=1)], port.take(away, axis=1)
        parent[:, root] = -1
    return TreeSet(star, root, parent, port, tuple(range(first - 1, first - 1 + count)) if first else ())


def _parents(
    star: Star, root: int, nodes: Ints, tree: Ints, rule: Callable[[int, int, int, int], int]
) -> tuple[Ints, Ints]:
    """Return the parents of a few nodes, and the ports from there, by labels alone: in time O(n) for each node and tree."""
    words, identity = star.words(star.untranslate(root, nodes)), permutations.identity(star.n)
    seen = list(zip(words.tolist(), permutations.inverse(words, star.n).tolist(), strict=True))
    found = [
        [rule(word, inverse, number, identity) - 1 if word != identity else 0 for word, inverse in seen]
        for number in (tree[:, 0] + 1).tolist()
    ]
    port = np.array(found, np.int64).reshape(len(tree), len(nodes))
    return star.neighbor(nodes, port), port


RULE, PAPER_RULE = (
    ParentRule(partial(_parents, rule=rule), turned=True)
    for rule in (star_node.disjoint_parent, star_node.paper_parent)
)
"""Our edge-disjoint trees, and the paper's: in time O(n) from a label to the parent (Definition 8), O(n²) to the children."""


def depth_of(star: Star, node: int, tree: int, root: int = 0, paper: bool = False) -> int:
    """Return the number of arcs from the root to ``node`` in edge-disjoint tree ``tree``, by walking up."""
    word, identity = int(star.words(star.untranslate(root, star.check_node(node)))), permutations.identity(star.n)
    inverse, depth = int(permutations.inverse(word, star.n)), 0
    rule, number = star_node.paper_parent if paper else star_node.disjoint_parent, check_tree(star, tree) + 1
    while word != identity:
        word, inverse = star_node.swapped(word, inverse, rule(word, inverse, number, identity))
        depth += 1
    return depth


def _trees(paper: bool) -> DisjointTrees:
    return DisjointTrees(
        (PAPER_RULE if paper else RULE).parents,
        turned=True,
        filled=partial(disjoint_trees, paper=paper),
        walked=partial(depth_of, paper=paper),
        family="star",
        depth=lambda star: exact_depth(star.n, paper),
    )


DISJOINT_TREES = replace(_trees(False), others={"paper": _trees(True)}, before="paper")
