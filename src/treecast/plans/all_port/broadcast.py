"""Broadcast: over the disjoint trees of a star network, hypercube or complete network, or down one tree of any network.

Communication model: store-and-forward, all-port, full duplex, one message of fixed length per arc and step.
Source: Fragopoulou & Akl, sections 4.2 and 4.3.
"""

from collections.abc import Iterator

from treecast.collectives import Collective
from treecast.networks import Network, Star
from treecast.plans.all_port.pipelines import Hop, claims, rows_at_node, rows_of_trees
from treecast.plans.built import Built
from treecast.plans.trees import disjoint as rotational
from treecast.plans.trees import star as star_trees
from treecast.plans.trees.single_tree import breadth_first_tree


def over_disjoint_trees(network: Network, collective: Collective, copies: int) -> Built:
    """All-port: broadcast down the k disjoint trees of the network, each message down x = ``copies`` of them.

    ⌈Mx/k⌉ + depth - 1 steps, Mx(N-1) transmissions; every living node gets everything under any x-1 faults.
    """
    rows = rows_of_trees(rotational.disjoint_trees(network, collective.root), collective.messages, copies)
    return Built(rows, claims(network, collective, network.ports, copies, rotational.depth(network)))


def over_disjoint_trees_at(network: Network, collective: Collective, copies: int, node: int) -> Built:
    """All-port: what one node does in ``over_disjoint_trees``, from its label alone, whatever the size of the network.

    The claims are those of the whole schedule.
    """
    root, trees = collective.root, rotational.trees_of(network)

    def hops(tree: int) -> Iterator[Hop]:
        depth = trees.depth_of(network, node, tree, root)
        above = trees.parent(network, node, tree, root)
        if above is not None:
            yield above[0], node, above[1], depth - 1
        for child, port in trees.children(network, node, tree, root):
            yield node, child, port, depth

    rows = rows_at_node(hops, network.ports, collective.messages, copies)
    return Built(rows, claims(network, collective, network.ports, copies, rotational.depth(network)))


def over_shortest_path_tree(star: Star, collective: Collective, copies: int) -> Built:
    """All-port: the baseline, all M messages down one shortest-path tree: M + diameter - 1 steps, M(N-1) transmissions."""
    rows = rows_of_trees(star_trees.shortest_path_tree(star, collective.root), collective.messages, copies)
    return Built(rows, claims(star, collective, 1, copies, star.diameter))


def over_breadth_first_tree(network: Network, collective: Collective, copies: int) -> Built:
    """All-port: all M messages down one tree of shortest paths: M + eccentricity - 1 steps, M(N-1) transmissions."""
    rows = rows_of_trees(breadth_first_tree(network, collective.root), collective.messages, copies)
    return Built(rows, claims(network, collective, 1, copies, network.eccentricity(collective.root)))
