"""The interface of every network: nodes, arcs and distances, and its own symmetries and shape.

A network is never stored where arithmetic gives it: its methods take node numbers (one, or arrays of them) and compute.
A network tells of itself by the attributes below that have a default: nobody asks for its class.
"""

from abc import abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treecast.description import Described
from treecast.errors import NetworkError
from treecast.networks.nodes import Ranked, ints
from treecast.ragged import Ints

if TYPE_CHECKING:
    import networkx as nx

    from treecast.networks.grid import Grid
    from treecast.networks.symmetry import Symmetry

KEPT = "_kept"
"""Under which name a network has the results that it keeps (networks/kept.py)."""
_BLOCK = 1 << 18  # entries of a table of neighbours that are looked at together
_MOST_COUNTED = 1 << 27  # nodes whose distances are counted one by one


class Network(Ranked, Described):
    """An interconnection network: nodes ``0 … nodes-1`` joined by arcs (directed links).

    The arcs that leave a node are told apart by their *port*, a number in ``0 … ports-1``: the dimension of a hypercube,
    the generator of a Cayley network, the slot in an adjacency list. Not every node need have every port.

    ``len(network)`` is the number of nodes, iteration yields them, ``in`` knows numbers and labels, and ``network["2143"]`` has
    the neighbors of a node.

    Examples
    --------
    >>> from treecast import network
    >>> star = network("star:4")
    >>> star.nodes, star.degree, star.diameter
    (24, 3, 4)
    >>> star.labels(star["1234"])
    ['2134', '3214', '4231']
    >>> int(star.distance(star.node("1234"), star.node("4321")))
    4
    >>> len(star), "2143" in star, 24 in star
    (24, True, False)
    """

    family: str = ""
    """The word before the colon: ``star``, ``mesh``."""
    described: ClassVar[str] = "a network"
    """Such a network in words, as in: this needs a hypercube."""
    seen_alike: ClassVar[bool] = False
    """Whether the network looks the same from every node: ``translate(h, ·)`` maps arcs to arcs of the same port, and node 0
    to h. So degrees, distances and disjoint paths of node 0 are those of every node."""
    ports_alike: ClassVar[bool] = False
    """Whether it also looks the same over every port: ``rotate`` keeps node 0 and moves every port on by one."""
    flips_bits: ClassVar[bool] = False
    """Whether nodes are words of ``ports`` bits, port i flips bit i, and ``translate(h, u)`` is h xor u."""
    every_pair_joined: ClassVar[bool] = False
    """Whether an arc leads from each node to every other, as behind one switch: every chunk goes straight."""
    routed: ClassVar[bool] = False
    """Whether ``channels`` knows the routes of messages under wormhole switching."""
    named_nodes: bool = False
    """Whether nodes have names of their own, which may be whole numbers."""
    parallel_arcs: bool = False
    """Whether several arcs lead from some node to the same other one, as parallel cables do; each is a port of its own."""
    connected: bool = True
    """Whether every rank is reached from every other."""
    remedy: str = ""
    """A remedy where not every rank is."""
    remarks: tuple[str, ...] = ()
    """Its degraded parts, a few words each."""
    kinds: tuple[str, ...] = ()
    """The kind of each node, where its file says so: ``gpu``, ``switch``, …"""
    notes: tuple[str, ...] = ()
    """Notes for people on how it was read, a line each."""
    chunk_rate: float | None = None
    """The bytes a second that an arc carries, where its file says so."""

    _degree: int
    _diameter: int

    def __init__(
        self,
        spec: str,
        nodes: int,
        ports: int,
        *,
        degree: int | None = None,
        diameter: int = 0,
        arcs: int | None = None,
        both_ways: bool | None = None,
    ) -> None:
        """Note the known facts of the network; the degree is the number of ports if none is given."""
        said = {"_spec": spec, "_nodes": nodes, "_ports": ports, "_diameter": diameter}
        known = {"_degree": ports if degree is None else degree, "arcs": arcs, "both_ways": both_ways}
        vars(self).update(said, **{name: value for name, value in known.items() if value is not None})

    @property
    def degree(self) -> int:
        """The largest number of arcs that leave one node."""
        return self._degree

    @property
    def diameter(self) -> int:
        """The largest distance between two nodes, in arcs."""
        return self._diameter

    @abstractmethod
    def distance(self, u: ArrayLike, v: ArrayLike) -> Ints:
        """Return the number of arcs on a shortest path from ``u`` to ``v`` (integer arrays that broadcast)."""

    def port_name(self, port: int) -> str:
        """Return ``port`` as people write it."""
        return str(port)

    def check_port(self, port: int) -> int:
        """Return ``port`` when it is one; raise NetworkError otherwise."""
        if not 0 <= port < self.ports:
            raise NetworkError(f"{port} is no port of {self.spec}: it has {self.ports} ports, from 0")
        return port

    # Of the network itself: families override these where they know better.

    @property
    def spelled(self) -> bool:
        """Whether ``network(spec)`` finds it again."""
        return True

    @property
    def stored(self) -> bool:
        """Whether plans hold its nodes and arcs: its spelling does not find them again for certain."""
        return False

    @property
    def gray(self) -> int | None:
        """The bits of Gray's code where a hypercube is known that spans the network, or None: node u has the label
        ``u ^ (u >> 1 & gray)``, and nodes whose labels differ in one bit are joined."""
        return None

    @cached_property
    def both_ways(self) -> bool:
        """Whether every arc has an arc back, so that any two neighbours are joined by a link."""
        for low, part in self._table_blocks():
            at, by = np.nonzero(part >= 0)
            if (self.port_between(part[at, by], at + low) < 0).any():
                return False
        return True

    @cached_property
    def symmetry(self) -> "Symmetry | None":
        """A group of automorphisms, free on ranks, that carries the schedule of a few ranks to all; None where none is known."""
        from treecast.networks.symmetry import Translations

        return Translations(self) if self.seen_alike else None

    @cached_property
    def mended(self) -> "Network | None":
        """The network with a symmetry that this one lacks few arcs of, with the same nodes; None where none is known."""
        return None

    @property
    def symmetric(self) -> "Network | None":
        """The network itself where it has a symmetry, or the one with a symmetry that it lacks few arcs of; None without."""
        return self if self.symmetry is not None else self.mended

    @property
    def views(self) -> Sequence[int]:
        """Ranks that stand for all: the network looks from each rank as it does from one of these."""
        if self.symmetry is not None:
            return self.symmetry.representatives.tolist()
        return range(self.nodes) if self.relays is None else self.ranks.tolist()

    @property
    def diameter_is_cheap(self) -> bool:
        """Whether the diameter is known, or found in little time."""
        return True

    @property
    def grid(self) -> "Grid | None":
        """The network itself where its nodes have coordinates on a mesh or torus, else None."""
        return None

    @property
    def torn_from(self) -> "tuple[Network, Ints] | None":
        """The large network of which this one lacks little, and its nodes that are left; None where it is no such."""
        return None

    @property
    def drawn_at(self) -> NDArray[np.float64] | None:
        """Where everyone draws its nodes, right and down: float64 (N, 2); None where pictures are to find places."""
        return None

    def levels(self, u: int) -> tuple[int, ...]:
        """Return how many ranks are 0, 1, 2 … arcs away from ``u``. Raises NetworkError when they are too many to count."""
        if self.nodes > _MOST_COUNTED:
            raise NetworkError(f"{self.spec} has too many nodes to count how far each of them is")
        far = self.distance(u, np.arange(self.nodes) if self.relays is None else self.ranks)
        return tuple(np.bincount(far[far >= 0]).tolist())

    def shortest_starts(self) -> Mapping[tuple[int, int], int] | None:
        """Return how many nodes are h arcs from node 0 with f of its arcs beginning a shortest path, as {(h, f): nodes}.

        None where no closed form is known. Only of bipartite networks that look the same from every node: every other arc of
        node 0 leads one arc away from such a node.
        """
        return None

    def types(self) -> dict[int, int]:
        """Return nodes that stand for all others as node 0 sees them: how many nodes each stands for, itself included.

        Symmetries that keep node 0 carry it to these. So all have as long ways from node 0, and as many.
        """
        return dict.fromkeys(range(1, self.nodes), 1)

    def first_child_port(self, tree: int) -> int:
        """Return the port at which the order of children begins in pictures of a tree; it goes on cyclically."""
        return 0

    def reversed(self) -> "Network":
        """Return the network with its arcs turned round: itself where every arc has an arc back."""
        return self if self.both_ways else self._with_arcs_reversed

    @cached_property
    def _with_arcs_reversed(self) -> "Network":
        from treecast.networks.listed import Reversed

        return Reversed(self)

    def without(self, nodes: Collection[str | int] = (), links: Collection[str] = ()) -> "Network":
        """Return the network less its broken parts, given as ``leave_out`` takes them: the other nodes keep their labels.

        Examples
        --------
        >>> from treecast import network
        >>> network("torus:3x3").without(nodes=["1,1"], links=["0,0-0,1"])
        network('torus:3x3 without links 0,0-0,1 nodes 1,1')
        """
        from treecast.networks.without import leave_out

        return leave_out(self, nodes, links)

    def translate(self, h: ArrayLike, u: ArrayLike) -> Ints:
        """Return where the translation that carries node 0 to ``h`` carries ``u`` (integer arrays that broadcast).

        Arcs keep their ports: ``neighbor(translate(h, u), p) == translate(h, neighbor(u, p))``. Raises NetworkError if not
        ``seen_alike``.
        """
        return self._translated(u, h, 1)

    def untranslate(self, h: ArrayLike, u: ArrayLike) -> Ints:
        """Return the node that ``translate(h, ·)`` carries to ``u``. Raises NetworkError if not ``seen_alike``."""
        return self._translated(u, h, -1)

    def _translated(self, u: ArrayLike, h: ArrayLike, way: int) -> Ints:
        if not self.seen_alike:
            raise NetworkError(f"{self.spec} has no translations: it does not look the same from every node")
        return self._moved(ints(u), ints(h), way)

    def _moved(self, u: Ints, h: Ints, way: int) -> Ints:
        """Return ``translate``, or with way -1 ``untranslate``: as of the numbers modulo N, where it is not another group."""
        return (u + way * h) % self.nodes

    def rotate(self, u: ArrayLike, times: int = 1) -> Ints:
        """Return ``u`` with every port moved on by ``times``, modulo their number. Raises NetworkError if not ``ports_alike``."""
        raise NetworkError(f"{self.spec} has no rotation: it does not look the same over every port")

    def necklaces(self) -> tuple[Ints, Ints]:
        """Return the least node of every necklace, and their sizes. Raises NetworkError if not ``ports_alike``."""
        raise NetworkError(f"{self.spec} has no rotation: it does not look the same over every port")

    def channels(self, u: Ints, v: Ints, order: str = "first", links: bool = False) -> tuple[Ints, Ints]:
        """Return the channels of the routes from each u to the v beside it. Raises NetworkError without ``routed``."""
        raise NetworkError(f"no wormhole routes are known on {self.spec}")

    # The same for every network:

    # Parallel arcs from u to v are told apart by their *cable*, 0, 1, 2 … in the order of their ports. The arcs of cable i
    # from u to v and from v to u are a link. Where no arcs are parallel every cable is 0.

    def cable(self, u: ArrayLike, port: ArrayLike) -> Ints:
        """Return which of the parallel arcs leaves ``u`` by ``port``, counted from 0 (arrays that broadcast)."""
        return np.zeros(np.broadcast_shapes(np.shape(u), np.shape(port)), np.int64)

    def port_of_cable(self, u: ArrayLike, v: ArrayLike, cable: ArrayLike) -> Ints:
        """Return the port by which the arc of a cable leaves ``u`` for ``v``, or -1 (arrays that broadcast)."""
        return np.where(ints(cable) == 0, self.port_between(u, v), -1)

    def back(self, u: ArrayLike, port: ArrayLike) -> Ints:
        """Return the port of the arc back: where ``port`` leads from ``u`` to v, the port at v, or -1 (arrays that broadcast)."""
        v = self.neighbor(u, port)
        return np.where(v < 0, -1, self.port_of_cable(v, u, self.cable(u, port)))

    def port_between(self, u: ArrayLike, v: ArrayLike) -> Ints:
        """Return the first port by which an arc leaves ``u`` for ``v``, or -1 where there is none (arrays that broadcast)."""
        u, v = np.broadcast_arrays(ints(u), ints(v))
        there = self._is_node(u) & self._is_node(v)
        if there.all():  # the ordinary case
            return np.asarray(self._port(u, v))
        return np.where(there, self._port(np.where(there, u, 0), np.where(there, v, 0)), -1)

    def _port(self, u: Ints, v: Ints) -> Ints:
        """Return ``port_between`` of nodes that there are, in arrays of one shape."""
        if not u.ndim:
            return ints(next(iter(np.flatnonzero(self.neighbor(u, np.arange(self.ports)) == v)), -1))
        found = np.full(u.shape, -1, np.int64)
        for port in reversed(range(self.ports)):  # the first port last, so that it stays
            found[self.neighbor(u, port) == v] = port
        return found

    def arc(self, u: ArrayLike, port: ArrayLike) -> Ints:
        """Return the number of the arc that leaves ``u`` by ``port``, u · ports + port; nodes · ports where it is no port."""
        u, port = ints(u), ints(port)
        return np.where((port >= 0) & (port < self.ports), u * self.ports + port, self.nodes * self.ports)

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
        """Return the distance from ``root`` to the rank farthest from it, in arcs; ranks that it does not reach do not count."""
        if self.seen_alike:
            self.check_node(root)
            return self.diameter
        if self.relays is not None:
            return int(self.distance(root, self.ranks).max())
        step = 1 << 16
        some = (np.arange(low, min(low + step, self.nodes)) for low in range(0, self.nodes, step))
        return max(int(self.distance(root, nodes).max()) for nodes in some)

    def to_networkx(self) -> "nx.DiGraph[Any]":
        """Return the network as a networkx DiGraph whose nodes are numbers, with a ``label``, and whose arcs have a ``port``.

        Relays have the attribute ``relay``, and those that add, ``adds``. With parallel arcs it is a MultiDiGraph.
        """
        import networkx as nx

        graph: nx.DiGraph[Any] = (nx.MultiDiGraph if self.parallel_arcs else nx.DiGraph)(name=self.spec)
        graph.add_nodes_from((u, {"label": self.label(u)}) for u in range(self.nodes))
        if self.relays is not None:
            adds = self.relays & False if self.adds is None else self.adds
            graph.add_nodes_from(
                (u, {"relay": True} | ({"adds": True} if adds[u] else {})) for u in np.flatnonzero(self.relays).tolist()
            )
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

    def __getstate__(self) -> dict[str, Any]:
        """Return all but the results that it keeps, which may be large, and are found again."""
        return {name: value for name, value in vars(self).items() if name != KEPT}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Network) and type(self) is type(other) and self.spec == other.spec

    def __hash__(self) -> int:
        return hash(self.spec)
