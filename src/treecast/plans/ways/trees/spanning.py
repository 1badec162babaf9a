"""Spanning trees of any network at a root, for schedules that use one tree.

Communication model: bufferless, over one port or all (see papers/trees/builders/). Source: Bhatt, Pucci, Ranade & Rosenberg, who
run their algorithms on a spanning tree of any network. Over all ports the shortest ways count, so they take a breadth-first
tree. Over one port many children hurt, so they take a tree down which a one-port broadcast takes few steps. To find the best
such tree is NP-hard. ``broadcast-time`` joins informed nodes with nodes that have not heard, by a maximum matching in each
step, after Harutyunyan & Shao ("An efficient heuristic for broadcasting in networks", 2006). A gather whose nodes are told
when to begin sends both ways, so its tree takes links with arcs both ways only.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from treecast.errors import PlanError
from treecast.networks import Network
from treecast.networks.arcs import Arcs, arcs_of
from treecast.networks.core import Ints
from treecast.plans.registry import Option
from treecast.ragged import read_only
from treecast.schedule.trees import Tree

TREES = ("breadth-first", "balanced", "broadcast-time", "depth-bounded:D", "best")
"""The trees there are."""
_SWEEPS = 30


def spanning_tree(
    network: Network, root: int, kind: str, flits: Ints, steps: Callable[[Tree], int], *, both_ways: bool = False
) -> Tree:
    """Return a spanning tree by its name: one of ``TREES``.

    ``flits``: the length of each node's message. ``steps(tree)``: the steps that the collective would take on a tree; the
    ``best`` is the one of several that takes least. ``both_ways``: over links with arcs both ways only. Raises PlanError when
    there is none.
    """
    network.check_node(root)
    name, _, limit = _checked_name(kind).partition(":")
    if name == "breadth-first":
        return breadth_first(network, root, both_ways)
    if name == "balanced":
        return balanced(network, root, flits, both_ways)
    if name == "broadcast-time":
        return broadcast_time(network, root, both_ways)
    if name == "depth-bounded":
        return depth_bounded(network, root, int(limit), both_ways)
    return best(network, root, flits, steps, both_ways)


def _checked_name(kind: str) -> str:
    name, colon, limit = str(kind).partition(":")
    if name not in [tree.partition(":")[0] for tree in TREES] or bool(colon) != (name == "depth-bounded"):
        raise PlanError(f"{kind!r} is no spanning tree: write one of {', '.join(TREES)}")
    if colon and not (limit.isascii() and limit.isdigit() and len(limit) < 10):
        raise PlanError(f"{kind!r} is no spanning tree: write depth-bounded:D, as in depth-bounded:5")
    return str(kind)


TREE = Option(
    name="tree",
    summary="The spanning tree that messages go down or up.",
    choices=TREES,
    read=lambda text, network: _checked_name(text),
)


def breadth_first(network: Network, root: int, both_ways: bool = False) -> Tree:
    """Return a tree of shortest paths, by breadth-first search.

    Nodes are searched in the order in which they are found, and their arcs in the order of ports: a node hangs below the
    first node found that has an arc to it. It is the tree that ``networkx.bfs_tree`` finds when it is given neighbours by
    ports.

    >>> from treecast.networks import network
    >>> breadth_first(network("mesh:3x3"), root=4).order.tolist()
    [4, 7, 1, 5, 3, 8, 6, 2, 0]
    """
    return Tree(network, root, *pruned(network, *_search(network, root, both_ways)))


def _search(network: Network, root: int, both_ways: bool) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the parents and ports of the breadth-first tree to all nodes that are reached, relays included."""
    from treecast.schedule.kernels.streams import breadth_first as search

    parent, port = np.full((2, network.nodes), -1, np.int32)
    near = np.array(network.neighbors(root), np.int64)
    # arcs to the root from all neighbours
    back = not both_ways or bool((network.port_between(near, root) >= 0).all())
    if (
        back and len(near) == network.nodes - 1 and not network.parallel_arcs
    ):  # nothing to search, and the arcs of a complete network are too many to list
        parent[near], port[near] = root, network.port_between(root, near)
        return parent, port
    arcs = arcs_of(network, both_ways=both_ways)
    search(arcs.first, arcs.head, arcs.port, network.check_node(root), parent, port)
    _check_reached(network, root, parent, both_ways)
    return parent, port


def _spanning(network: Network, root: int, both_ways: bool) -> Tree:
    """Return the same where every node is reached. Raises PlanError where a relay is not: the other trees begin with this one."""
    tree = Tree(network, root, *_search(network, root, both_ways))
    if len(tree) < network.nodes:
        raise PlanError(
            f"some relays of {network.spec} are not reached from {network.label(root)}: take --tree breadth-first"
        )
    return tree


def pruned(
    network: Network, parent: NDArray[np.int32], port: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the parents and ports of a tree, int32 (N,) as ``Tree`` has them, without the relays below which there is no
    rank.

    >>> import networkx as nx
    >>> from treecast.networks import network
    >>> wired = nx.path_graph(4)
    >>> wired.nodes[1]["relay"] = wired.nodes[3]["relay"] = True
    >>> parent, port = np.array([[-1, 0, 1, 2], [-1, 0, 1, 1]], np.int32)
    >>> pruned(network(wired), parent, port)[0].tolist()
    [-1, 0, 1, -1]
    """
    if network.relays is None:
        return parent, port
    relays, parent, port = network.relays, parent.copy(), port.copy()
    children = np.bincount(parent[parent >= 0], minlength=network.nodes)
    idle = np.flatnonzero(relays & (parent >= 0) & (children == 0))
    while len(idle):  # a relay whose last child went is idle, too
        above = parent[idle]
        parent[idle] = port[idle] = -1
        np.subtract.at(children, above, 1)
        above = np.unique(above)
        idle = above[relays[above] & (parent[above] >= 0) & (children[above] == 0)]
    return parent, port


def balanced(
    network: Network, root: int, flits: Ints, both_ways: bool = False, order: NDArray[np.int32] | None = None
) -> Tree:
    """Return a tree of shortest paths in which the subtrees of the root's children have about equally many flits.

    ``order``: the nodes, nearest first, if not those of ``breadth_first``; of equal lengths the first of a level comes first.
    """
    from treecast.plans.kernels.spanning import balanced as fill

    arcs, near = arcs_of(network, both_ways=both_ways), _spanning(network, root, both_ways)
    parent, by = np.full((2, network.nodes), -1, np.int32)
    fill(*arcs[:5], root, near.order if order is None else order, near.depth, flits, parent, by)
    return _tree(network, root, arcs, parent, by)


def broadcast_time(network: Network, root: int, both_ways: bool = False) -> Tree:
    """Return a tree down which a broadcast takes few steps when a node tells one neighbour a step; children in that order."""
    from treecast.plans.kernels.spanning import rounds

    _spanning(network, root, both_ways)  # for its errors
    arcs = arcs_of(network, both_ways=both_ways)
    parent, by = np.full((2, network.nodes), -1, np.int32)
    return _tree(network, root, arcs, parent, by, order=rounds(*arcs[:5], root, parent, by))


def depth_bounded(network: Network, root: int, most: int, both_ways: bool = False) -> Tree:
    """Return a tree no deeper than ``most`` with few children below each node. Raises PlanError when some node is farther."""
    from treecast.plans.kernels.spanning import bounded

    near = _spanning(network, root, both_ways)
    if near.height > most:
        raise PlanError(
            f"no spanning tree of {network.spec} from {network.label(root)} has depth {most}: "
            f"its farthest node is {near.height} arcs away"
        )
    arcs = arcs_of(network, both_ways=both_ways)
    parent = near.parent.copy()
    below = near.order[1:].astype(np.int64)
    by = np.full(network.nodes, -1, np.int32)
    by[below] = arcs.number(parent[below], near.port[below])
    bounded(*arcs[:5], near.order, most, parent, by, _SWEEPS)
    return heaviest_first(_tree(network, root, arcs, parent, by))


def best(network: Network, root: int, flits: Ints, steps: Callable[[Tree], int], both_ways: bool = False) -> Tree:
    """Return the tree that takes the fewest steps; of equal ones the first, and breadth-first is the first of all."""
    first = breadth_first(network, root, both_ways)
    found, least = first, steps(first)

    def consider(tree: Tree) -> None:
        nonlocal found, least
        for some in (tree, heaviest_first(tree, flits)):
            value = steps(some)
            if value < least:
                found, least = some, value

    every_node = network.relays is None or np.count_nonzero(_search(network, root, both_ways)[0] < 0) == 1
    if network.nodes <= 2 or not every_node:
        return found
    consider(first)
    consider(balanced(network, root, flits, both_ways))
    consider(broadcast_time(network, root, both_ways))
    far = first.height
    for most in sorted({far, far + 1, far + 2, far + far // 2, 2 * far, max(far, network.nodes.bit_length())}):
        consider(depth_bounded(network, root, most, both_ways))
    return found


def heaviest_first(tree: Tree, flits: Ints | None = None) -> Tree:
    """Return the same tree with siblings in the order in which a one-port broadcast is over soonest."""
    from treecast.plans.kernels.spanning import heaviest_first as order

    flits = np.zeros(tree.network.nodes, np.int64) if flits is None else flits
    return replace(tree, served=order(tree.order, *tree.child_lists, read_only(flits, np.int64)))


def streams_steps(tree: Tree, flits: Ints, ports: str) -> int:
    """Return the steps of a scatter, farthest first, or of the ideal gather, nearest first, over a tree (Theorem 1).

    In each stream the messages for distance D or more take as many steps as they have flits, and D - 1 more. With one port
    there is one stream.
    """
    some = np.flatnonzero(flits > 0)
    if not len(some):
        return 0
    stream = np.zeros(len(some), np.int64) if ports == "one" else tree.branch[some]
    depth, long = tree.depth[some], flits[some]
    order = np.lexsort((-depth, stream))
    sent, stream = np.cumsum(long[order]), stream[order]
    begins = np.flatnonzero(np.diff(stream, prepend=-1))
    before = np.repeat((sent - long[order])[begins], np.diff(np.append(begins, len(some))))
    return int((sent - before + depth[order] - 1).max())


def _tree(
    network: Network,
    root: int,
    arcs: Arcs,
    parent: NDArray[np.int32],
    by: NDArray[np.int32],
    *,
    order: NDArray[np.int32] | None = None,
) -> Tree:
    port = np.where(by >= 0, arcs.port[by], -1).astype(np.int32) if len(arcs.port) else by
    parent, kept = pruned(network, parent, port)
    if order is not None and network.relays is not None:
        order = order[(parent[order] >= 0) | (order == root)]
    return Tree(network, root, parent, kept, served=order)


def _check_reached(network: Network, root: int, parent: NDArray[np.int32], both_ways: bool) -> None:
    lost = np.delete(network.ranks, np.searchsorted(network.ranks, root))
    for node in lost[parent[lost] < 0][:1].tolist():
        if not both_ways:
            raise PlanError(f"{network.spec}: no way leads from {network.label(root)} to {network.label(node)}")
        raise PlanError(
            f"{network.spec} has no spanning tree from {network.label(root)} of links with arcs both ways: "
            "a gather needs an arc back for every arc of its tree"
        )
