"""Where the nodes of a network stand in a picture of it, y downwards.

A network says where it stands: places that everyone knows, or that whoever made it gave, coordinates of a grid, copies of a
smaller self, layers above its ranks, a tree, a ring. Anything else stands so that nodes are as far apart as they are in the
network, as nearly as can be.
"""

import re
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treecast.networks import Network
from treecast.networks.arcs import arcs_of
from treecast.networks.core import Ints
from treecast.networks.graph import circle

_SIZE = 10_000
_TUPLE = re.compile(r"-?\d{1,6}(,-?\d{1,6})+")
_MOST_STRESSED = 700  # nodes whose pairs are placed by distance
_TURNS = 60
Places = NDArray[np.float64]


class NodeLayout(NamedTuple):
    """Where nodes stand: float64 (N, 2), right and down. ``even``: whether both directions are measured alike."""

    points: Places
    even: bool


def places_of(network: Network, root: int) -> tuple[Ints, Ints]:
    """Return where each node stands on a page: x and y, int64 (N,), in 0 … 10,000."""
    points = layout_of(network, root).points
    low, high = points.min(axis=0), points.max(axis=0)
    scaled = (points - low) / np.maximum(high - low, 1e-9)
    scaled[:, high - low < 1e-9] = 0.5  # all in one line: in the middle
    whole = np.rint(scaled * _SIZE).astype(np.int64)
    return whole[:, 0], whole[:, 1]


def layout_of(network: Network, root: int) -> NodeLayout:
    """Return where each node stands, in units of the picture's own; ``root`` stands on top where there is a tree."""
    if network.nodes < 3 or network.every_pair_joined:
        return NodeLayout(circle(network.nodes), True)
    if network.grid is not None:
        return NodeLayout(_on_grid(network.grid.coordinates(np.arange(network.nodes)), network.grid.wraps), True)
    if network.seen_alike and (nested := _nested(network)) is not None:
        return NodeLayout(nested, True)
    if network.drawn_at is not None:
        return NodeLayout(network.drawn_at, True)
    if network.named_nodes and (coordinates := _said_by_labels(network)) is not None:
        return NodeLayout(_on_grid(coordinates, wraps=False), True)
    if network.relays is not None:
        return NodeLayout(_in_layers(network, _by_kind(network), falling=True), False)
    # a tree: one link less than nodes
    if network.arcs == 2 * (network.nodes - 1) and network.connected:
        return NodeLayout(_in_layers(network, _hops(network, np.array([root])), falling=False), False)
    if network.nodes <= _MOST_STRESSED:
        return NodeLayout(_by_distance(network), True)
    return NodeLayout(circle(network.nodes), True)


def _said_by_labels(network: Network) -> Ints | None:
    """Return the coordinates that all labels are, as tuples of two whole numbers or more, from 0: int64 (axes, N); else None."""
    labels = network.labels(np.arange(network.nodes))
    if not all(_TUPLE.fullmatch(label) for label in labels) or len({label.count(",") for label in labels}) > 1:
        return None
    found = np.array([[int(part) for part in label.split(",")] for label in labels]).T
    return found - found.min(axis=1, keepdims=True)


def _on_grid(coordinates: Ints, wraps: bool) -> Places:
    """Return grids inside grids: the last axis goes right, the one before down, the third from last right again."""
    axes = [axis for axis in coordinates if int(axis.max()) > 0]
    if len(axes) == 1:
        return circle(len(axes[0]))[axes[0]] if wraps else _snake(axes[0])
    points, width = np.zeros((len(coordinates[0]), 2)), np.array([1.0, 1.0])
    slant = 0.06 if len(axes) > 2 else 0.0  # so that links of different axes do not cover one another
    for number, axis in enumerate(reversed(axes)):
        way = number % 2
        points[:, way] += axis * width[way]
        points[:, 1 - way] += axis * width[way] * slant
        width[way] *= int(axis.max()) + 1.6  # a line of copies beside each other, with a gap
    return points


def _snake(place: Ints) -> Places:
    """Return a path in lines, to and fro, so that it fills a page."""
    # about twice as wide as high
    wide = max(1, int(np.ceil(np.sqrt(len(place) * 2.0))))
    line, along = np.divmod(place, wide)
    return np.stack([np.where(line % 2 == 0, along, wide - 1 - along), line * 1.0], axis=1)


def _nested(network: Network) -> Places | None:
    """Return copies of a smaller network inside larger ones: the first ports join a copy's nodes; None without any.

    Translations carry one copy to all others, so each is drawn alike: a star in its substars, a hypercube in its cubes.
    """
    neighbor = network.neighbor_table().astype(np.int64)
    members, points, depth = np.zeros(1, np.int64), np.zeros((1, 2)), 0
    for port in range(network.ports):
        inside = set(members.tolist())
        if int(neighbor[0, port]) in inside:
            continue
        larger, heads = _grown(network, neighbor[:, : port + 1], members)
        if len(heads) == 0:
            return None
        # two ports that make a ring of more than four nodes are drawn as one
        if depth == 1 and len(members) == 2 and len(larger) > 4:
            ring, around = _ring(neighbor)
            if np.array_equal(ring, larger):
                members, points, depth = ring, around, depth + 1
                continue
        centre = _arranged(len(heads), depth, np.ptp(points, axis=0))
        placed = dict[int, tuple[float, float]]()
        for head, at in zip(heads, centre, strict=True):
            for node, (x, y) in zip(network.translate(head, members).tolist(), (points + at).tolist(), strict=True):
                placed[node] = (x, y)
        members, depth = larger, depth + 1
        points = np.array([placed[node] for node in members.tolist()])
    if len(members) != network.nodes or depth < 2:
        return None
    found = np.empty((network.nodes, 2))
    found[members] = points
    return found


def _ring(neighbor: Ints) -> tuple[Ints, Places]:
    """Return the nodes that ports 0 and 1 reach by turns from node 0, ascending, on a circle in the order of the walk."""
    walk, port = [0], 0
    while (node := int(neighbor[walk[-1], port])) != 0:
        walk.append(node)
        port = 1 - port
    order = np.argsort(walk)
    return np.array(walk)[order], circle(len(walk))[order]


def _grown(network: Network, neighbor: Ints, members: Ints) -> tuple[Ints, list[int]]:
    """Return all that the ports reach from node 0, and from which nodes the translates of ``members`` divide it."""
    covered, heads, queue = np.zeros(network.nodes, bool), list[int](), [0]
    while queue:
        head = queue.pop(0)
        if covered[head]:
            continue
        heads.append(head)
        copy = network.translate(head, members)
        if bool(covered[copy].any()):
            return members, []  # translates that overlap: no copies
        covered[copy] = True
        queue += [v for v in dict.fromkeys(neighbor[copy].ravel().tolist()) if v >= 0 and not covered[v]]
    return np.flatnonzero(covered), heads


def _arranged(copies: int, depth: int, size: Places) -> Places:
    """Return where copies of a size stand beside one another: two in turn aside and below, others on a circle."""
    if copies == 2:
        slant = 0.3 if depth < 2 else 0.0  # the first aslant, so that links do not cover one another
        far = float(size[depth % 2]) + 1.0 + 0.15 * depth
        return np.array([[0.0, 0.0], [far, slant] if depth % 2 == 0 else [slant, far]])
    apart = max(float(size.max()) * 1.55, 1.0)
    return circle(copies) * (apart * 0.5 / np.sin(np.pi / copies))  # so far out that neighbours do not touch


def _hops(network: Network, starts: Ints) -> Ints:
    """Return how far each node is from the nearest of some nodes, links taken both ways."""
    far, (_, dst, src, *_) = np.full(network.nodes, -1, np.int64), arcs_of(network)
    far[starts] = 0
    for step in range(1, network.nodes + 1):
        reached = np.concatenate([dst[far[src] == step - 1], src[far[dst] == step - 1]])
        reached = reached[far[reached] < 0]
        if not len(reached):
            break
        far[reached] = step
    return np.where(far < 0, far.max() + 1, far)  # who is not reached stands behind all


def _by_kind(network: Network) -> Ints:
    """Return the layer of each node: ranks 0, relays by how far from ranks they are, and those of another kind below, -1.

    Where relays beside ranks are of several kinds, those with the fattest links stand below, as the switches inside a host
    do; of equally fat ones those that no further relay stands behind.
    """
    layer, table = _hops(network, network.ranks), network.neighbor_table().astype(np.int64)
    first = np.flatnonzero(layer == 1)
    kinds = list[tuple[int, bool]]()
    for relay in first.tolist():
        near = layer[table[relay][table[relay] >= 0]]
        _, cables = np.unique(table[relay][table[relay] >= 0][near == 0], return_counts=True)
        kinds.append((int(cables.max(initial=0)), not bool((near == 2).any())))
    if len(set(kinds)) > 1:
        layer[first[[kind == max(kinds) for kind in kinds]]] = -1
    return layer


def _in_layers(network: Network, layer: Ints, falling: bool) -> Places:
    """Return nodes in layers, each near the middle of its neighbours; ``falling``: layer 0 stands at the bottom.

    Nodes begin in the order of their numbers, and move as long as that makes links shorter in all: nodes with near numbers,
    as the switches of a pod are, stays together otherwise.
    """
    (_, dst, src, *_), x = arcs_of(network), np.zeros(network.nodes)
    shortest, found = np.inf, x
    for turn in range(12):  # downwards and upwards by turns
        for at in range(int(layer.min()), int(layer.max()) + 1)[:: 1 if turn % 2 else -1]:
            mine = np.flatnonzero(layer == at)
            if turn == 0:
                x[mine] = (np.arange(len(mine)) + 0.5) / len(mine)
                continue
            joined = (layer[src] == at) & (layer[dst] != at)
            total = np.bincount(src[joined], x[dst[joined]], network.nodes)[mine]
            count = np.bincount(src[joined], minlength=network.nodes)[mine]
            middle = np.where(count > 0, total / np.maximum(count, 1), x[mine])
            x[mine[np.argsort(middle, kind="stable")]] = (np.arange(len(mine)) + 0.5) / len(mine)
        length = float(np.abs(x[src] - x[dst]).sum())
        if length < shortest - 1e-9:
            shortest, found = length, x.copy()
    return np.stack([found, layer * (-1.0 if falling else 1.0)], axis=1).astype(np.float64)


def _by_distance(network: Network) -> Places:
    """Return places whose distances are near those in the network (stress majorization, Gansner, Koren & North 2004)."""
    nodes = np.arange(network.nodes)
    far = np.stack([_hops(network, np.array([u])) for u in nodes]).astype(np.float64)
    far = np.maximum((far + far.T) / 2, 1e-9)
    weight = 1 / np.maximum(far, 0.5) ** 2  # near pairs count most
    np.fill_diagonal(weight, 0)
    points: Places = circle(network.nodes) * far.max() / 2
    for _ in range(_TURNS):
        gap = points[:, None] - points[None]
        apart = np.maximum(np.sqrt((gap**2).sum(axis=2)), 1e-9)
        pull = points[None] + far[..., None] * gap / apart[..., None]
        points = np.asarray((weight[..., None] * pull).sum(axis=1) / weight.sum(axis=1)[:, None], np.float64)
    return points
