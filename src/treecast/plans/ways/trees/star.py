"""The trees of the star network: SPT, SPG and the n-1 edge-disjoint spanning trees (EDT).

Source: Fragopoulou & Akl, "Edge-Disjoint Spanning Trees on the Star Network with Applications to Fault Tolerance",
section 3. For even n the paper's edge-disjoint trees are one arc deeper than ours: one class of nodes has other parents
(kernels/star_node.py, ``mended_parent``). Functions that take ``paper`` give the paper's own where it is true.

Tree t of the n-1 (0 ≤ t < n-1) is the paper's T_(t+2): the root's child in it lies over dimension t+2.
Everything is computed for the root 0 and carried to any other root by translation (Lemma 1).
"""

from dataclasses import replace
from functools import partial

import numpy as np

from treecast.kernels import star_node
from treecast.networks import Star, permutations
from treecast.networks.core import Ints
from treecast.plans.ways.trees.disjoint import DisjointTrees
from treecast.plans.ways.trees.hops import TreeHop, check_tree
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


def parent(star: Star, node: int, tree: int, root: int = 0, paper: bool = False) -> TreeHop | None:
    """Return the parent of ``node`` in edge-disjoint tree ``tree``, None at the root (the paper's: Definition 8).

    It needs the label and nothing else, and takes time O(n).
    """
    word, inverse, identity = _seen_from(star, node, root)
    if word == identity:
        return None
    port = _rule(paper)(word, inverse, check_tree(star, tree) + 1, identity) - 1
    return int(star.neighbor(node, port)), port


def children(star: Star, node: int, tree: int, root: int = 0, paper: bool = False) -> list[TreeHop]:
    """Return the children of ``node`` in edge-disjoint tree ``tree``, in the paper's order: dimension k, k+1, …, n, 2, … for T_k.

    They are the neighbours that have this node as their parent; the root has one. It needs the label and nothing else, and
    takes time O(n²).
    """
    word, inverse, identity = _seen_from(star, node, root)
    mask = star_node.child_positions(word, inverse, check_tree(star, tree) + 1, identity, _rule(paper))
    turned = ((tree + turn) % star.ports for turn in range(star.ports))
    ports = [port for port in turned if mask >> (port + 1) & 1]
    return list(zip(star.neighbor(node, ports).tolist(), ports, strict=True))


def depth_of(star: Star, node: int, tree: int, root: int = 0, paper: bool = False) -> int:
    """Return the number of arcs from the root to ``node`` in edge-disjoint tree ``tree``, by walking up."""
    word, inverse, identity = _seen_from(star, node, root)
    return star_node.depth_in_tree(word, inverse, check_tree(star, tree) + 1, identity, _rule(paper))


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
    from treecast.kernels.compiled import in_parallel
    from treecast.kernels.networks.star import fill_trees

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


def _seen_from(star: Star, node: int, root: int) -> tuple[int, int, int]:
    """Return the word of ``node`` as the root sees it, the word's inverse, and the identity."""
    word = star.words(star.untranslate(star.check_node(root), star.check_node(node)))
    return int(word), int(permutations.inverse(word, star.n)), permutations.identity(star.n)


def _rule(paper: bool) -> star_node.Rule:
    return star_node.paper_parent if paper else star_node.disjoint_parent


def _trees(paper: bool) -> DisjointTrees:
    return DisjointTrees(
        family="star",
        disjoint_trees=partial(disjoint_trees, paper=paper),
        depth=lambda star: exact_depth(star.n, paper),
        parent=partial(parent, paper=paper),
        children=partial(children, paper=paper),
        depth_of=partial(depth_of, paper=paper),
    )


DISJOINT_TREES = replace(_trees(False), others={"paper": _trees(True)}, before="paper")
