"""Any network at all, given arc by arc."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treecast.errors import NetworkError
from treecast.networks.arcs import arcs_of
from treecast.networks.core import Ints, Network, ints
from treecast.networks.kept import kept
from treecast.networks.listed import ListedNetwork, sorted_keys

if TYPE_CHECKING:
    from treecast.networks.reading.links import Parts
    from treecast.networks.symmetry import Symmetry

_AT_ONCE = 1 << 22  # the number of nodes and arcs, over all searches, that are searched at a time
_MANY_TIMES = 8  # a symmetry is larger than another
_MOST_SEARCHED = 4096  # nodes of a graph whose diameter takes little time to find


class Graph(ListedNetwork):
    """A network given arc by arc.

    Nodes are numbered in the order given and labelled with their names; the ports of a node number its arcs
    in the order of the nodes they lead to. A link of capacity c is c parallel arcs each way, and each has a port
    of its own. Relays hold and forward, but want nothing and have nothing of their own. Made by ``wired.graph_from``; files, by
    ``wired.file``.

    >>> import networkx as nx
    >>> from treecast import network
    >>> house = network(nx.Graph([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")]))
    >>> house.spec, house.arcs, house.labels(house.neighbors(house.node("c")))
    ('graph:4', 8, ['a', 'b', 'd'])
    >>> wired = nx.Graph([("a", "switch", {"capacity": 2}), ("b", "switch")])
    >>> wired.nodes["switch"]["relay"] = True
    >>> switched = network(wired)
    >>> switched.labels(switched.ranks), switched.labels(switched.neighbors(switched.node("switch")))
    (['a', 'b'], ['a', 'a', 'b'])
    """

    described: ClassVar[str] = "a graph"
    named_nodes = True
    at: NDArray[np.float64] | None = None

    def __init__(self, spec: str, names: Sequence[str], arcs: ArrayLike, relays: ArrayLike | None = None) -> None:
        """Make the network spelled ``spec`` from its nodes' names and its arcs' sources and targets.

        ``arcs`` are integers, shape (arcs, 2), in any order; those given twice are parallel. ``relays``: which nodes
        are relays, bool (N,). Raises NetworkError if there is no node, or none but relays, a name is empty, holds
        whitespace or is given twice, or an arc leads to no node or to its own source.
        """
        self._spec, self._nodes, self._names = spec, len(names), tuple(names)
        self.family = spec.partition(":")[0]
        self._numbers = {name: u for u, name in enumerate(self._names)}
        self._check_names()
        pairs = self.check_nodes(np.asarray(arcs, np.int64).reshape(-1, 2))
        loops = pairs[pairs[:, 0] == pairs[:, 1], 0]
        for u in np.sort(loops)[:1].tolist():  # the first, so that the error is the same each time
            raise NetworkError(f"{self.spec!r} has a link from {self._names[u]!r} to itself: leave it out")
        # tail and head of each arc in one number, in order
        self._keys = sorted_keys(pairs[:, 0], pairs[:, 1], self.nodes)
        self.relays = self._check_relays(relays)
        self.parallel_arcs = bool((self._keys[1:] == self._keys[:-1]).any())
        super().__init__(spec, self._nodes, int(np.diff(self._first).max()), arcs=len(pairs))
        # one rank reaches all others, also with all arcs turned round: then every rank reaches every other
        ways = (False,) if self.both_ways else (False, True)
        self.connected = all(
            bool((self._levels_from(int(self.ranks[0]), way)[0, self.ranks] >= 0).all()) for way in ways
        )

    @classmethod
    def made(cls, spec: str, parts: "Parts") -> Self:
        """Return the network of the parts that were read, spelled ``spec``, with the notes on it."""
        found = cls(spec, parts.names, parts.arcs, parts.relays)
        found.notes, found.at, found.adds = parts.remarks, parts.at, found.adding_relays(parts.adds)
        return found

    def adding_relays(self, adds: ArrayLike) -> NDArray[np.bool_] | None:
        """Return which relays add, of nodes of which it is said: bool (N,); None where none does."""
        found = np.zeros(self.nodes, np.bool_) if self.relays is None else self.relays & np.asarray(adds, np.bool_)
        return found if found.any() else None

    @property
    def drawn_at(self) -> NDArray[np.float64] | None:
        """The places that whoever made it gave to its nodes, if any."""
        return self.at

    @property
    def spelled(self) -> bool:
        """Whether ``network(spec)`` finds it again: not when it was made in memory."""
        from treecast.networks.family import families

        return self._spec.partition(":")[0] in families()

    @property
    def stored(self) -> bool:
        """Whether plans hold its nodes and arcs: unless a family makes it, as the file may be elsewhere, or other."""
        return not self.spelled or self._spec.startswith("file:")

    @cached_property
    def symmetry(self) -> "Symmetry | None":
        """A group of automorphisms, free on ranks, found by nodes that are alike; None where none is found.

        None, too, where that is small beside the one of the network that this one lacks few arcs of.
        """
        from treecast.networks.alike import alike

        own, whole = alike(self), self.mended
        # a small symmetry of its own hides the large one of what it lacks little of
        small = own and whole and whole.symmetry and own.order * _MANY_TIMES <= whole.symmetry.order
        return None if small else own

    @cached_property
    def mended(self) -> Network | None:
        """The same graph with cables that switches seem to lack, if it has a symmetry then; None where there is no such."""
        from treecast.networks.mending import lacking

        cables = lacking(self)
        if not cables:
            return None
        arcs, more = arcs_of(self), np.array(cables, np.int64)
        pairs = np.concatenate([np.stack([arcs.tail, arcs.head], axis=1), more, more[:, ::-1]])
        whole = Graph(self._spec, self._names, pairs, self.relays)
        whole.adds = self.adds
        return None if whole.symmetry is None else whole

    @property
    def diameter(self) -> int:
        """The largest distance from a rank to another that it reaches; searched for the first time, then kept."""
        return self._farthest

    @property
    def diameter_is_cheap(self) -> bool:
        """Whether it has been searched for, or the nodes are few."""
        return "_farthest" in self.__dict__ or min(self.nodes, len(self.views)) <= _MOST_SEARCHED

    @cached_property
    def _farthest(self) -> int:
        return max(int(levels[:, self.ranks].max()) for _, levels in self._blocks(np.array(self.views)))

    def distance(self, u: ArrayLike, v: ArrayLike) -> Ints:
        """Return the number of arcs on a shortest path from ``u`` to ``v``, -1 where no way leads: int64 (arrays that broadcast).

        Searches once from every different ``u``, or back from every ``v`` if these are fewer; of calls with a single one the
        last few are remembered. Raises NetworkError when ``u`` or ``v`` is no node.
        """
        u, v, back = self.check_nodes(u), self.check_nodes(v), False
        if not u.ndim:  # one root: its levels are kept
            return ints(self._levels_from(int(u), back)[0, v])
        roots, goals = np.unique(u), np.unique(v)
        if goals.size < roots.size:  # searches back from the goals are fewer
            u, v, roots, back = v, u, goals, True
        u, v = np.broadcast_arrays(u, v)
        found, which = np.empty(u.shape, np.int64), np.searchsorted(roots, u)
        for low, levels in self._blocks(roots, back):
            mine = (which >= low) & (which < low + len(levels))
            found[mine] = levels[which[mine] - low, v[mine]]
        return found

    def label(self, u: int) -> str:
        """Return the name of node ``u``. Raises NetworkError when ``u`` is no node."""
        return self._names[self.check_node(u)]

    def _labels(self, nodes: Ints) -> list[str]:
        return [self._names[u] for u in nodes.tolist()]

    def _parse_label(self, text: str) -> int | None:
        return self._numbers.get(text)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Graph):
            return False
        same = self.spec == other.spec and self._names == other._names and np.array_equal(self._keys, other._keys)
        mine, its = (() if each.adds is None else tuple(np.flatnonzero(each.adds)) for each in (self, other))
        return same and np.array_equal(self.ranks, other.ranks) and mine == its

    def __hash__(self) -> int:
        return hash((self.spec, self.arcs))

    def _blocks(self, roots: Ints, back: bool = False) -> Iterator[tuple[int, NDArray[np.int32]]]:
        """Yield the distances from, or back from, some ``roots`` at a time to all nodes, with the index of the first."""
        arcs = self._turned if back and not self.both_ways else (self._first, self._targets)
        if roots.size == 1:
            yield 0, self._levels_from(int(roots[0]), back and not self.both_ways)
            return
        # so many roots at once that memory stays small
        step = max(1, _AT_ONCE // (self.nodes + self.arcs))
        for low in range(0, roots.size, step):
            yield low, _levels(*arcs, roots[low : low + step])

    @kept(8)
    def _levels_from(self, root: int, back: bool) -> NDArray[np.int32]:
        return _levels(*(self._turned if back else (self._first, self._targets)), np.array([root]))

    def _check_names(self) -> None:
        if not self._names:
            raise NetworkError(f"{self.spec!r} has no node: a network has at least one")
        for u, name in enumerate(self._names):
            if name.split() != [name]:
                hint = "rename it without whitespace, as networkx.convert_node_labels_to_integers does"
                raise NetworkError(f"{self.spec!r} has a node named {name!r}: {hint}")
            if self._numbers[name] != u:
                raise NetworkError(f"{self.spec!r} has two nodes named {name!r}: give each its own name")

    def _check_relays(self, relays: ArrayLike | None) -> NDArray[np.bool_] | None:
        found = np.zeros(self.nodes, np.bool_) if relays is None else np.array(relays, np.bool_)
        if found.shape != (self.nodes,):
            raise NetworkError(f"{self.spec!r} has {self.nodes:,} nodes: say of each whether it is a relay")
        if found.all():
            raise NetworkError(f"{self.spec!r} has relays only: a network has a rank at least")
        found.flags.writeable = False
        return found if found.any() else None

    @cached_property
    def _turned(self) -> tuple[Ints, NDArray[np.int32]]:
        """The arcs turned round, as ``_first`` and ``_targets``."""
        order = np.argsort(self._targets[:-1], kind="stable")  # but the last, a sentinel
        first = np.searchsorted(self._targets[:-1][order], np.arange(self.nodes + 1))
        return first, (self._keys[:-1][order] // self.nodes).astype(np.int32)


def _levels(first: Ints, targets: NDArray[np.int32], roots: Ints) -> NDArray[np.int32]:
    """Return the distances from each root to all nodes, -1 where no way leads: int32, shape (roots, nodes).

    Breadth-first from all roots at once, over cells: cell i * nodes + u is node u as seen from roots[i].
    """
    nodes = first.size - 1
    levels = np.full(roots.size * nodes, -1, np.int32)
    last = np.empty_like(levels)
    cells = np.arange(roots.size) * nodes + roots  # one cell for each pair of root and node
    levels[cells] = level = 0
    unseen = levels.size - cells.size
    while cells.size and unseen:
        here = cells % nodes
        arcs = first[here + 1] - first[here]
        ends = np.cumsum(arcs)
        # the arcs of all cells, one behind the other
        slots = np.arange(int(ends[-1])) + np.repeat(first[here] - ends + arcs, arcs)
        reached = np.repeat(cells - here, arcs) + targets[slots]
        reached = reached[levels[reached] < 0]
        level += 1
        levels[reached] = level
        # Of a cell reached more than once the last entry stays: far faster than np.unique, which sorts.
        turn = np.arange(reached.size, dtype=np.int32)
        last[reached] = turn
        cells = reached[last[reached] == turn]
        unseen -= cells.size
    return levels.reshape(roots.size, nodes)


def circle(points: int) -> NDArray[np.float64]:
    """Return points on a circle of radius 1, the first on top, clockwise: right and down, float64 (points, 2)."""
    angle = 2 * np.pi * np.arange(points) / max(points, 1) - np.pi / 2
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)
