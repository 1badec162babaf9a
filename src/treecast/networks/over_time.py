"""How fast a root can send each node a chunk of its own: cuts that take long to cross, and flows over time.

Units for different nodes are alike until they arrive. So the fewest steps of a scatter are the fewest in which a flow
over time brings each node its units: a flow in the network that has a copy of each node for every step (Ford & Fulkerson,
"Constructing maximal dynamic flows from static flows", 1958; with several ends: Hoppe & Tardos, "The quickest transshipment
problem", 2000).
"""

from collections import defaultdict, deque
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treecast.networks.arcs import arcs_of
from treecast.networks.core import Ints, Network
from treecast.networks.kept import kept

_MOST_ARCS = 2**20  # of a network in which cuts and flows are searched for
_MOST_CUT = 2**25  # nodes, arcs and layers, multiplied, where the worst cuts are searched for
_MOST_WORK, _FOREVER = 2**25, 2**56  # steps times arcs of a flow, times units that go no shortest way


class SlowCut(NamedTuple):
    """Ranks that take long to reach: ``nodes`` of them, ``distance`` arcs from the root or more, ``arcs`` leading to them."""

    distance: int
    nodes: int
    arcs: int

    def steps(self, chunks: int) -> int:
        """Return in how many steps so many chunks for each of them can have crossed the arcs, at the earliest."""
        return self.distance - 1 - (-chunks * self.nodes // self.arcs)


class Flow(NamedTuple):
    """A flow over time, send by send, in the order of steps: a unit crosses an arc in a step; unit u ends at ``end[u]``.

    Arcs are numbered as in ``arcs_of``. All int64.
    """

    steps: int
    unit: Ints
    step: Ints
    arc: Ints
    end: Ints


@kept(64)
def slowest_cuts(network: Network, root: int) -> tuple[SlowCut, ...]:
    """Return the cuts that bound the steps of a scatter, for each distance from the root one that has fewest arcs for its nodes.

    Of all sets of nodes at distance d and beyond it is the one that has most nodes for each arc that leads to it; Newton's method
    finds it by flows (Dinkelbach 1967). In large networks only whole layers and beyond are looked at.

    >>> from treecast.networks import network
    >>> slowest_cuts(network("mesh:3x3"), 0)[0], slowest_cuts(network("path:4"), 1)[0]
    (SlowCut(distance=1, nodes=8, arcs=2), SlowCut(distance=1, nodes=2, arcs=1))
    """
    arcs = arcs_of(network)
    far = network.distance(network.check_node(root), np.arange(network.nodes))
    outwards = (far[arcs.head] > far[arcs.tail]) & (far[arcs.tail] >= 0)
    lead = np.bincount(far[arcs.head[outwards]], minlength=2)
    beyond = np.cumsum(np.bincount(far[network.ranks])[::-1])[::-1]
    layers = len(beyond) - 1
    found = [SlowCut(d, int(beyond[d]), int(lead[d])) for d in range(1, layers + 1)]
    if network.nodes * len(arcs.head) * max(layers, 1) > _MOST_CUT:
        return tuple(found)
    return tuple(_slowest(network, far, cut) for cut in found)


def _slowest(network: Network, far: Ints, cut: SlowCut) -> SlowCut:
    """Return the worst cut at the distance of one that is known, or farther."""
    from treecast.networks.kernels.cuts import fill_still

    arcs, source = arcs_of(network), (far >= 0) & (far < cut.distance)
    wants, inside = np.isin(np.arange(network.nodes), network.ranks), np.zeros(network.nodes, np.bool_)
    while True:
        if fill_still(*arcs[:5], source, wants, cut.nodes, cut.arcs, inside):
            return cut
        crossing = int(np.count_nonzero(inside[arcs.head] & ~inside[arcs.tail]))
        cut = SlowCut(cut.distance, int(np.count_nonzero(inside & wants)), crossing)


def searched(network: Network) -> bool:
    """Whether a network is small enough for cuts and flows to be searched for."""
    return network.rank_count > 1 and network.nodes * network.degree <= _MOST_ARCS


def least_steps(network: Network, root: int, chunks: int) -> int:
    """Return a lower bound, by the slowest cuts, of the steps in which the root sends each node so many chunks."""
    return max((cut.steps(chunks) for cut in slowest_cuts(network, root)), default=0)


def size(network: Network, root: int, chunks: int) -> int:
    """Return how large a flow over time is that brings each node so many units: steps times arcs."""
    return least_steps(network, root, chunks) * network.arcs


@kept(32)
def quickest(network: Network, root: int, chunks: int, *, patient: bool = True) -> Flow | None:
    """Return a flow that brings each rank so many units from ``root`` in the fewest steps, and with the fewest sends.

    The network has two ranks or more, which are all reached. ``patient``: whether to go on however long it takes; else None is
    returned where it takes more than about a second, where that shows.

    >>> from treecast.networks import network
    >>> quickest(network("torus:4x4x4"), 0, 1).steps, quickest(network("path:4"), 1, 3).steps
    (11, 6)
    """
    from treecast.networks.kernels.over_time import send

    arcs, steps = arcs_of(network), least_steps(network, root, chunks)
    far = network.distance(root, np.arange(network.nodes)).astype(np.int32)
    others = network.ranks[network.ranks != root]
    order = others[np.argsort(-far[others], kind="stable")]  # the farthest first
    left = 1
    while left > 0:
        flow, held = np.zeros((steps, len(arcs.head)), np.int8), np.zeros((steps, network.nodes), np.int32)
        left = int(send(*arcs[:5], far, order, chunks, _FOREVER if patient else _MOST_WORK, flow, held))
        if left == 0:
            return _followed(network, root, flow)
        steps += 1
    return None


def _followed(network: Network, root: int, flow: NDArray[np.int8]) -> Flow:
    """Return a flow divided into units: one that has waited longest at a node goes on first."""
    arcs, (step, arc) = arcs_of(network), np.nonzero(flow)
    waiting, unit, end = defaultdict[int, deque[int]](deque), list[int](), list[int]()
    for sent in np.split(arc, np.searchsorted(step, np.arange(1, len(flow)))):
        moved = list[int]()
        for u, v in zip(arcs.tail[sent].tolist(), arcs.head[sent].tolist(), strict=True):
            if u == root:
                moved.append(len(end))
                end.append(v)
            else:
                moved.append(waiting[u].popleft())
                end[moved[-1]] = v
        for number, v in zip(moved, arcs.head[sent].tolist(), strict=True):
            waiting[v].append(number)
        unit += moved
    return Flow(len(flow), *(np.array(column, np.int64) for column in (unit, step, arc, end)))
