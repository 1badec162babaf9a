"""What every network offers, and what Cayley networks offer beyond it.

A network is never stored where arithmetic gives it: its methods take node numbers (one, or arrays of them) and compute.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treecast.description import Described
from treecast.errors import NetworkError

if TYPE_CHECKING:
    import networkx as nx

Ints = NDArray[np.int64]
"""An array of node numbers, port numbers or distances (int64)."""


class Network(Described, ABC):
    """An interconnection network: nodes ``0 … nodes-1`` joined by arcs (directed links).

    The arcs that leave a node are told apart by their *port*, a number in ``0 … ports-1``: the dimension of a hypercube,
    the generator of a Cayley network, the slot in an adjacency list. Not every node need have every port.
    """

    @property
    @abstractmethod
    def spec(self) -> str:
        """How the network is spelled, in Python and on the command line: ``star:5``, ``mesh:8x8``."""

    @property
    @abstractmethod
    def nodes(self) -> int:
        """The number of nodes, N."""

    @property
    @abstractmethod
    def ports(self) -> int:
        """The number of different ports; at least ``degree``."""

    @property
    @abstractmethod
    def degree(self) -> int:
        """The largest number of arcs that leave one node."""

    @property
    @abstractmethod
    def diameter(self) -> int:
        """The largest distance between two nodes, in arcs."""

    @abstractmethod
    def neighbor(self, u: ArrayLike, port: ArrayLike) -> Ints:
        """Return the node at the other end of the arc that leaves ``u`` by ``port``, or -1 where there is none.

        ``u`` and ``port`` are integer arrays (or numbers) that broadcast against each other; so is the result. A number that
        is no node or no port leads nowhere: -1.
        """

    @abstractmethod
    def distance(self, u: ArrayLike, v: ArrayLike) -> Ints:
        """Return the number of arcs on a shortest path from ``u`` to ``v`` (integer arrays that broadcast)."""

    def label(self, u: int) -> str:
        """Return node ``u`` as people write it. Raises NetworkError when ``u`` is no node."""
        return str(self.check_node(u))

    def labels(self, nodes: ArrayLike) -> list[str]:
        """Return the labels of many nodes."""
        return [self.label(u) for u in ints(nodes).tolist()]

    def _parse_label(self, text: str) -> int | None:
        """Return the node that ``text`` labels, or None when it is no label; plain numbers are dealt with before."""
        return None

    def port_name(self, port: int) -> str:
        """Return ``port`` as people write it."""
        return str(port)

    described: ClassVar[str] = "a network"
    """What kind of network it is, as errors say it: "needs …"."""
    routed: ClassVar[bool] = False
    """Whether messages of wormhole switching have routes: along the axes of a mesh or torus."""
    named_nodes: ClassVar[bool] = False
    """Whether nodes have names of their own, which may be whole numbers."""

    @property
    def spelled(self) -> bool:
        """Whether ``network(spec)`` finds it again."""
        return True

    # What follows is the same for every network.

    def node(self, text: str | int) -> int:
        """Return the number of the node that ``text`` names: a label, or the number itself.

        Where a text could be both, it is read as a label. Raises NetworkError when it is neither.
        """
        if isinstance(text, str):
            named = self._parse_label(text.strip())
            if named is not None:
                return named
            digits = text.strip()
            if not (digits.isascii() and digits.isdigit() and len(digits) < 20):
                raise NetworkError(
                    f"{text!r} is no node of {self.spec}: write a label like {self.label(self.nodes - 1)}, "
                    f"or a number from 0 to {self.nodes - 1}"
                )
            text = int(digits)
        return self.check_node(text)

    def check_node(self, u: int) -> int:
        """Return ``u`` when it is a node; raise NetworkError otherwise."""
        if not 0 <= u < self.nodes:
            raise NetworkError(f"{u} is no node of {self.spec}: nodes go from 0 to {self.nodes - 1}")
        return int(u)

    def port_between(self, u: ArrayLike, v: ArrayLike) -> Ints:
        """Return the port by which an arc leaves ``u`` for ``v``, or -1 where there is none (arrays that broadcast)."""
        u, v = np.broadcast_arrays(np.asarray(u, np.int64), np.asarray(v, np.int64))
        found = np.full(u.shape, -1, np.int64)
        for port in reversed(range(self.ports)):
            found[(self.neighbor(u, port) == v) & (v >= 0)] = port
        return found

    def arc(self, u: ArrayLike, port: ArrayLike) -> Ints:
        """Return the number of the arc that leaves ``u`` by ``port``, u · ports + port; nodes · ports where it is no port."""
        u, port = ints(u), ints(port)
        return np.where((port >= 0) & (port < self.ports), u * self.ports + port, self.nodes * self.ports)

    def neighbors(self, u: int) -> list[int]:
        """Return the nodes that an arc from ``u`` leads to, in the order of their ports."""
        there = self.neighbor(self.check_node(u), np.arange(self.ports))
        return [int(v) for v in there if v >= 0]

    def degree_at(self, u: int) -> int:
        """Return the number of arcs that leave ``u``."""
        return len(self.neighbors(u))

    def neighbor_table(self, start: int = 0, stop: int | None = None) -> NDArray[np.int32]:
        """Return ``neighbor`` of the nodes ``start … stop-1`` at every port: int32, shape (stop - start, ports).

        Raises NetworkError in networks of 2^31 nodes and more, whose tables nobody could hold.
        """
        if self.nodes >= 2**31:
            raise NetworkError(f"{self.spec} has too many nodes for a table of neighbours")
        stop = self.nodes if stop is None else stop
        u = np.arange(start, stop, dtype=np.int64)
        return self.neighbor(u[:, None], np.arange(self.ports)[None, :]).astype(np.int32)

    def arc_lists(self) -> tuple[Ints, NDArray[np.int32], NDArray[np.int32]]:
        """Return all arcs, by their source: ``target`` and ``port`` of the arcs of u at ``first[u] … first[u+1]-1``.

        In ascending order of ports: int64 (N + 1,), int32 (arcs,), int32 (arcs,).
        """
        count, target, port = [np.zeros(1, np.int64)], list[NDArray[np.int32]](), list[NDArray[np.int32]]()
        for _, part in self._table_blocks():
            at, by = np.nonzero(part >= 0)
            count.append(np.bincount(at, minlength=len(part)))
            target.append(part[at, by].astype(np.int32))
            port.append(by.astype(np.int32))
        return np.cumsum(np.concatenate(count)), np.concatenate(target), np.concatenate(port)

    @cached_property
    def arcs(self) -> int:
        """The number of arcs."""
        return int(sum(np.count_nonzero(part >= 0) for _, part in self._table_blocks()))

    def eccentricity(self, root: int) -> int:
        """Return the distance from ``root`` to the node farthest from it, in arcs."""
        step = 1 << 16
        return max(
            int(self.distance(root, np.arange(low, min(low + step, self.nodes))).max())
            for low in range(0, self.nodes, step)
        )

    def to_networkx(self) -> "nx.DiGraph[Any]":
        """Return the network as a networkx DiGraph whose nodes are numbers, with a ``label``, and whose arcs have a ``port``."""
        import networkx as nx

        graph: nx.DiGraph[Any] = nx.DiGraph(name=self.spec)
        graph.add_nodes_from((u, {"label": self.label(u)}) for u in range(self.nodes))
        for low, part in self._table_blocks():
            for u, port in np.argwhere(part >= 0).tolist():
                graph.add_edge(low + u, int(part[u, port]), port=port)
        return graph

    def _table_blocks(self) -> Iterator[tuple[int, NDArray[np.int32]]]:
        block = max(1, _BLOCK // max(1, self.ports))
        for low in range(0, self.nodes, block):
            yield low, self.neighbor_table(low, min(low + block, self.nodes))

    def __repr__(self) -> str:
        return f"network({self.spec!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Network) and type(self) is type(other) and self.spec == other.spec

    def __hash__(self) -> int:
        return hash(self.spec)


_BLOCK = 1 << 18


class Cayley(Network):
    """A network that looks the same from every node: the Cayley graph of a group, whose left action keeps ports.

    What is built at node 0 is built at every node by ``translate``.
    """

    described = "a network that looks the same from every node: star, hypercube, torus, ring or complete"

    @property
    def degree(self) -> int:
        """The number of arcs that leave each node, one per port."""
        return self.ports

    @abstractmethod
    def translate(self, h: ArrayLike, u: ArrayLike) -> Ints:
        """Return where the translation that carries node 0 to ``h`` carries ``u`` (integer arrays that broadcast).

        Arcs keep their ports: ``neighbor(translate(h, u), p) == translate(h, neighbor(u, p))``.
        """

    @abstractmethod
    def untranslate(self, h: ArrayLike, u: ArrayLike) -> Ints:
        """Return the node that ``translate(h, ·)`` carries to ``u``: the inverse translation."""

    @cached_property
    def arcs(self) -> int:
        """The number of arcs, nodes x ports."""
        return self.nodes * self.ports

    def eccentricity(self, root: int) -> int:
        """Return the diameter: every node sees it."""
        self.check_node(root)
        return self.diameter


class Rotational(Cayley):
    """A Cayley network with a rotation: it keeps node 0 and all distances to it, and moves every port on by one, cyclically.

    So what leaves node 0 by one port is copied to every other port, and the copies share no arc.
    """

    described = "a network with a rotation: star or hypercube"

    @abstractmethod
    def rotate(self, u: ArrayLike, times: int = 1) -> Ints:
        """Return ``R^times(u)``; an arc of port p becomes one of port p + ``times`` modulo the number of ports."""

    def necklace(self, u: int) -> list[int]:
        """Return the distinct rotations of ``u``, from ``u`` on; their number divides that of the ports."""
        return list(dict.fromkeys(self.unfolded_necklace(u)))

    def unfolded_necklace(self, u: int) -> list[int]:
        """Return ``u, R(u), R²(u), …``, one for each port, repeats kept."""
        self.check_node(u)
        return [int(self.rotate(u, times)) for times in range(self.ports)]

    def necklaces(self) -> tuple[Ints, Ints]:
        """Return the least node of every necklace but node 0's, ascending, and how many nodes each necklace has."""
        every = np.arange(self.nodes)
        least, size = every.copy(), np.full(self.nodes, self.ports)
        for times in range(self.ports - 1, 0, -1):
            turned = self.rotate(every, times)
            least = np.minimum(least, turned)
            size[turned == every] = times
        first = np.flatnonzero(least == every)[1:]
        return first, size[first]


def ints(values: ArrayLike) -> Ints:
    """Return ``values`` as an int64 array."""
    return np.asarray(values, dtype=np.int64)
