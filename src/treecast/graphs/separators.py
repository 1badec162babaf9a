"""Separators, which make an alltoall slow: cuts that many pairs of nodes cross over few arcs."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treecast.graphs.flows import away
from treecast.networks.arcs import Arcs, arcs_of
from treecast.networks.core import Ints, Network
from treecast.networks.grid import Grid
from treecast.networks.kept import kept

_MOST_NODES = 2**12  # of a network that is searched for cuts
_STARTS, _SMOOTHED = 12, 40
_MENDED = 3  # cuts of a whole network that are improved for one that lacks little of it


class Separator(NamedTuple):
    """A set with ``nodes`` ranks that ``arcs`` arcs leave for the ``others``: every pair across has to use them.

    ``late``: how many arcs the nearest rank inside is from the nearest of these arcs, and the nearest rank outside behind them.
    """

    nodes: int
    others: int
    arcs: int
    late: int = 0

    @property
    def pairs(self) -> int:
        """How many pairs lead out."""
        return self.nodes * self.others


@kept(64)
def best_separator(network: Network) -> Separator | None:
    """Return a cut with many pairs for each of its arcs; None where no cut is looked for.

    Of meshes and tori it halves an axis. Otherwise nodes are put in order, by their distance from some node or by how
    a difference spreads over the network (which tends to an eigenvector), the best beginning of the order is taken, and single
    nodes change sides while that helps. There may be better cuts. Of a large network that lacks little of another, the best
    cuts of that one are improved.

    >>> from treecast.networks import network
    >>> best_separator(network("torus:3x5x7"))
    Separator(nodes=45, others=60, arcs=30, late=0)
    >>> best_separator(network("tree:2,3"))
    Separator(nodes=8, others=7, arcs=1, late=0)
    """
    if network.grid is not None:
        return _across_axis(network.grid)
    if network.rank_count == 1 or network.nodes > _MOST_NODES:
        return None
    arcs, ranks = arcs_of(network), _ranks(network)
    found = [_separator(arcs, ranks, side) for side in _sides(network)]
    return max(found, key=lambda cut: (cut.pairs / cut.arcs, cut.late))


def _ranks(network: Network) -> Ints:
    return np.isin(np.arange(network.nodes), network.ranks).astype(np.int64)


@kept(1)
def _sides(network: Network) -> list[NDArray[np.bool_]]:
    """Return the sides of good cuts: which nodes are inside, bool (N,)."""
    from treecast.kernels.graphs.separators import improve

    arcs, ranks = arcs_of(network), _ranks(network)
    if network.torn_from is None:
        found = [_beginning(arcs, ranks, order) for order in _orders(network, arcs)]
    else:
        whole, left = network.torn_from
        found = [side[left] for side in _sides(whole)]
        found = sorted(found, key=lambda side: -_share(arcs, ranks, side))[:_MENDED]
    for side in found:
        improve(*arcs[:5], ranks, side)
    return found


def _share(arcs: Arcs, weight: Ints, inside: NDArray[np.bool_]) -> float:
    """Return how many pairs cross a cut for each of its arcs."""
    nodes, out = int(weight[inside].sum()), int((inside[arcs.tail] & ~inside[arcs.head]).sum())
    return nodes * (int(weight.sum()) - nodes) / max(out, 1)


def _across_axis(grid: Grid) -> Separator | None:
    found = list[Separator]()
    for side in {side for side in grid.sides if side > 1}:
        layer = grid.nodes // side
        nodes = side // 2 * layer
        found.append(Separator(nodes, grid.nodes - nodes, layer * (2 if grid.wraps and side > 2 else 1)))
    return max(found, key=lambda cut: cut.pairs / cut.arcs, default=None)


def _orders(network: Network, arcs: Arcs) -> list[Ints]:
    every = np.arange(network.nodes)
    found = list[Ints]()
    for start in np.unique(np.linspace(0, network.nodes - 1, _STARTS).astype(np.int64)).tolist():
        far = network.distance(start, every)
        found += [np.argsort(far, kind="stable"), np.argsort(-far, kind="stable")]
        level = far - far.mean()
        degree = np.maximum(np.diff(arcs.first) + np.diff(arcs.into), 1)
        for _ in range(_SMOOTHED):
            around = np.bincount(arcs.tail, level[arcs.head], network.nodes)
            around += np.bincount(arcs.head, level[arcs.tail], network.nodes)
            level = level + around / degree
            level -= level.mean()
            level /= max(float(np.abs(level).max()), 1e-9)
        found += [np.argsort(level, kind="stable"), np.argsort(-level, kind="stable")]
    return found


def _beginning(arcs: Arcs, weight: Ints, order: Ints) -> NDArray[np.bool_]:
    """Return the best beginning of nodes in some order, as a side of a cut."""
    inside = np.zeros(len(order), np.bool_)
    inside[order[: _best_prefix(arcs, weight, order)]] = True
    return inside


def _separator(arcs: Arcs, weight: Ints, inside: NDArray[np.bool_]) -> Separator:
    nodes, out = int(weight[inside].sum()), int((inside[arcs.tail] & ~inside[arcs.head]).sum())
    leaving = inside[arcs.tail] & ~inside[arcs.head]
    to_arcs = _between(arcs, inside & (weight > 0), arcs.tail[leaving])
    beyond = _between(
        arcs, np.bincount(arcs.head[leaving], minlength=len(inside)) > 0, np.flatnonzero(~inside & (weight > 0))
    )
    return Separator(nodes, int(weight.sum()) - nodes, out, to_arcs + beyond)


def _best_prefix(arcs: Arcs, weight: Ints, order: Ints) -> int:
    """Return how many of the nodes in some order, from the first on, are the best cut: most pairs for each arc that leads out."""
    place = np.argsort(order)
    low, high = place[arcs.tail], place[arcs.head]
    begin, end = (np.bincount(ends[low < high], minlength=len(order)) for ends in (low, high))
    out, count = np.cumsum(begin - end)[:-1], np.cumsum(weight[order])
    pairs = np.where(out > 0, count[:-1] * (count[-1] - count[:-1]), 0)
    return int(np.argmax(pairs / np.maximum(out, 1))) + 1 if pairs.any() else 0


def _between(arcs: Arcs, start: NDArray[np.bool_], ends: NDArray[Any]) -> int:
    """Return how many arcs lead from the nearest of some nodes to the nearest of some others."""
    far = away(arcs, np.flatnonzero(start))[ends]
    return int(far[far >= 0].min(initial=len(start)))
