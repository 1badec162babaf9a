"""Broadcast on the star network. Source: Fragopoulou & Akl, sections 4.2 and 4.3.

Communication model: store-and-forward, all-port, full duplex, one message of fixed length per arc and step.
"""

from collections.abc import Iterator

from treecast.collectives import Collective
from treecast.networks import Star
from treecast.plans import star_trees
from treecast.plans.broadcast import Hop, claims, rows_at_node, rows_of_trees
from treecast.schedule import Claims, Rows


def broadcast(star: Star, collective: Collective, copies: int) -> Rows:
    """All-port: broadcast down the n-1 edge-disjoint trees, each message down x = ``copies`` of them.

    ⌈Mx/(n-1)⌉ + ⌊3n/2⌋ steps, Mx(N-1) transmissions; every living node gets everything under any x-1 faults.
    """
    return rows_of_trees(star_trees.disjoint_trees(star, collective.root), collective.messages, copies)


def broadcast_claims(star: Star, collective: Collective, copies: int) -> Claims:
    """All-port: the closed forms of ``broadcast``."""
    return claims(star, collective, star.ports, copies, star_trees.exact_depth(star.n))


def broadcast_at(star: Star, collective: Collective, copies: int, node: int) -> Rows:
    """All-port: what one node does in ``broadcast``, from its label alone, in time O(n⁴) whatever the size of the network."""
    root = collective.root

    def hops(tree: int) -> Iterator[Hop]:
        depth = star_trees.depth_of(star, node, tree, root)
        above = star_trees.parent(star, node, tree, root)
        if above is not None:
            yield above[0], node, above[1], depth - 1
        for child, port in star_trees.children(star, node, tree, root):
            yield node, child, port, depth

    return rows_at_node(hops, star.ports, collective.messages, copies)


def single_tree_broadcast(star: Star, collective: Collective, copies: int) -> Rows:
    """All-port: the baseline, all M messages down one shortest-path tree: M + diameter - 1 steps, M(N-1) transmissions."""
    return rows_of_trees(star_trees.shortest_path_tree(star, collective.root), collective.messages, copies)


def single_tree_claims(star: Star, collective: Collective, copies: int) -> Claims:
    """All-port: the closed forms of ``single_tree_broadcast``."""
    return claims(star, collective, 1, copies, star.diameter)
