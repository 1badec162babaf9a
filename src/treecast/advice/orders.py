"""Which host comes where: what rings, trees and groups of ranks load on each cable, and an order in which they load little.

What a rank sends to another goes the shortest ways, evenly over all of them, as fabrics spread it by hashes of its flows.
"""

from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from treecast.collectives.demands.layouts import RankMesh
from treecast.errors import PlanError
from treecast.networks import Network
from treecast.networks.arcs import arcs_of
from treecast.progress import report

_TURNS, _EACH = 3000, 100  # exchanges that are tried from each start, at most and of each rank
_FEW, _CHANCES = 16, 6  # ranks up to which orders by chance are starts, too, and how many
Sends = list[tuple[int, int]]
"""Which places send to which: as often as a pair stands there."""


def ring(places: int) -> Sends:
    """Return who sends to whom in a ring: each place to the next.

    >>> ring(3)
    [(0, 1), (1, 2), (2, 0)]
    """
    return [(i, (i + 1) % places) for i in range(places)] if places > 1 else []


def tree(places: int) -> Sends:
    """Return who sends to whom in two binary trees, up and down; a place that has two below it in one has none in the other.

    Source: Sanders, Speck & Träff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan" (2009).

    >>> tree(2)
    [(1, 0), (0, 1), (0, 1), (1, 0)]
    """
    found = Sends()
    for i in range(1, places):
        # Numbers go from left to right in the tree: the level of i is its lowest bit, and its parent has the next
        # one.
        low = i & -i
        above = (i ^ low) | low << 1
        above = above if above < places else i ^ low
        # The other tree is shifted by one, or mirrored where the number is even.
        for u, v in ((i, above), [(at + 1) % places if places % 2 else places - 1 - at for at in (i, above)]):
            found += [(u, v), (v, u)]
    return found


def groups_of(mesh: str, hosts: int) -> Sends:
    """Return who sends to whom where ranks lie on a mesh, and each row along each axis is a ring: ``tp8,pp2,dp4``.

    Neighbours share a host where there are several ranks a host. Raises PlanError when they do not fill the hosts.
    """
    shape = RankMesh.of(mesh)
    if shape.ranks % hosts:
        fit = [f"{many:,}" for many in range(hosts, 1, -1) if shape.ranks % many == 0][:3]
        fewer = f"take {' or '.join(fit)} of them, or " if fit else ""
        raise PlanError(
            f"{mesh} has {shape.ranks:,} ranks, which {hosts:,} hosts do not share evenly: {fewer}a mesh of {hosts:,} or "
            f"{2 * hosts:,} ranks"
        )
    # the first axis of the mesh changes fastest, so it is the last one here
    number, each = np.arange(shape.ranks).reshape(shape.sizes[::-1]), shape.ranks // hosts
    found = Sends()
    for axis in range(number.ndim):
        if number.shape[axis] > 1:
            ends = zip(
                (number // each).ravel().tolist(), (np.roll(number, -1, axis) // each).ravel().tolist(), strict=True
            )
            found += [(u, v) for u, v in ends if u != v]
    return found


class Loads:
    """What pairs of ranks load on the links of a network, each of them one unit: a link is all arcs from a node to another."""

    def __init__(self, network: Network) -> None:
        self.network, arcs = network, arcs_of(network)
        ends, cables = np.unique(np.stack([arcs.tail, arcs.head], axis=1), axis=0, return_counts=True)
        self.ends: list[tuple[int, int]] = [(u, v) for u, v in ends.tolist()]
        self.cables = cables.astype(np.float64)
        self._near = defaultdict[int, list[tuple[int, int]]](list)
        for link, (u, v) in enumerate(self.ends):
            self._near[u].append((v, link))
        self._known = dict[tuple[int, int], tuple[NDArray[np.int64], NDArray[np.float64]]]()

    def of_pair(self, u: int, v: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the links that a unit from node ``u`` to ``v`` goes over, and the load of each on each of its cables."""
        if (u, v) not in self._known:
            # Level by level: a link on a shortest way comes one nearer to v.
            far = self.network.distance(np.arange(self.network.nodes), v)
            if far[u] < 0:
                raise PlanError(f"no way leads from {self.network.label(u)} to {self.network.label(v)}")
            here, loads = {u: 1.0}, dict[int, float]()
            while u != v and v not in here:
                ahead = defaultdict[int, float](float)
                for w, much in here.items():
                    ways = [(x, link) for x, link in self._near[w] if far[x] == far[w] - 1]
                    # A link bears as much as it has cables. So each of its cables bears `much / wide`.
                    wide = sum(self.cables[link] for _, link in ways)
                    for x, link in ways:
                        ahead[x] += much * self.cables[link] / wide
                        loads[link] = loads.get(link, 0.0) + much / wide
                here = ahead
            self._known[u, v] = np.array(list(loads), np.int64), np.array(list(loads.values()), np.float64)
        return self._known[u, v]

    def of(self, sends: Sends, order: Sequence[int]) -> NDArray[np.float64]:
        """Return the load on each cable of each link, where place i is node ``order[i]``."""
        found = np.zeros(len(self.ends))
        for u, v in sends:
            links, loads = self.of_pair(order[u], order[v])
            found[links] += loads
        return found

    def busiest(self, load: NDArray[np.float64]) -> tuple[str, ...]:
        """Return the names of the links with the greatest load on a cable."""
        label, some = self.network.label, np.flatnonzero(load >= load.max(initial=0.0) - 1e-9)
        return tuple(f"{label(u)} > {label(v)}" for link in some.tolist() for u, v in [self.ends[link]])


class OrderSearch:
    """The search for an order of ranks in which sends load the busiest cable least, and then all cables least."""

    def __init__(self, loads: Loads, sends: Sends, nodes: Sequence[int], seed: int = 0) -> None:
        self.loads, self.sends, self.nodes = loads, sends, list(nodes)
        self.random = np.random.default_rng(seed)
        self._of: list[list[int]] = [[] for _ in nodes]
        for number, (u, v) in enumerate(sends):
            self._of[u].append(number)
            self._of[v].append(number)

    @cached_property
    def best(self) -> list[int]:
        """The best order that was found: place i is node ``best[i]``."""
        starts = [self.nodes, sorted(self.nodes, key=self.loads.network.label), self._near_first()]
        few = len(self.nodes) <= _FEW
        starts += [self.random.permutation(self.nodes).tolist() for _ in range(_CHANCES if few else 0)]
        found = list[tuple[tuple[float, float], list[int]]]()
        for number, start in enumerate(starts):
            report(number, len(starts), "orders")
            found.append(self._climb(start))
        return min(found, key=lambda each: each[0])[1]

    def _near_first(self) -> list[int]:
        """Return an order in which each rank is the nearest to the one before of those that are left."""
        order, left = [self.nodes[0]], self.nodes[1:]
        while left:
            far = self.loads.network.distance(order[-1], np.array(left))
            # a host without a way to it comes last
            order.append(left.pop(int(np.argmin(np.where(far < 0, np.iinfo(np.int64).max, far)))))
        return order

    def _climb(self, start: Sequence[int]) -> tuple[tuple[float, float], list[int]]:
        """Exchange two places as long as that gains: first for the load of all cables, then for that of the busiest."""
        order, load = list(start), self.loads.of(self.sends, start)
        for busiest in (False, True):
            value = self._value(load, busiest)
            pairs: list[list[int]] = self.random.integers(
                len(order), size=(min(_TURNS, _EACH * len(order)), 2)
            ).tolist()
            for i, j in pairs:
                # Only what these two send and get changes.
                touched = set(self._of[i]) | set(self._of[j])
                if i == j or not touched:
                    continue
                tried = load.copy()
                self._add(tried, touched, order, -1.0)
                order[i], order[j] = order[j], order[i]
                self._add(tried, touched, order, 1.0)
                # Equal orders, too, so that it does not stand still on a plateau.
                if (now := self._value(tried, busiest)) <= value:
                    load, value = tried, now
                else:
                    order[i], order[j] = order[j], order[i]
        return self._value(load, True), order

    def _add(self, load: NDArray[np.float64], sends: set[int], order: Sequence[int], sign: float) -> None:
        for number in sends:
            u, v = self.sends[number]
            links, loads = self.loads.of_pair(order[u], order[v])
            load[links] += sign * loads

    def _value(self, load: NDArray[np.float64], busiest: bool) -> tuple[float, float]:
        most, whole = round(float(load.max(initial=0.0)), 9), round(float(load @ self.loads.cables), 9)
        return (most, whole) if busiest else (whole, most)
