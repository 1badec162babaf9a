"""A network with its arcs turned round: what gathers and reductions, which run backwards, are planned on."""

from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treecast.networks.core import Ints, Network, ints
from treecast.ragged import starts


class Reversed(Network):
    """The network whose arcs lead from v to u wherever those of another one lead from u to v.

    The ports of a node number the arcs in ascending order of the nodes that they lead to.

    Examples
    --------
    >>> from treecast import network
    >>> words = network("debruijn:2,3")
    >>> words.labels(words.neighbors(words.node("011")))
    ['110', '111']
    >>> words.labels(words.reversed().neighbors(words.node("011")))
    ['001', '101']
    >>> words.reversed().reversed() == words
    True
    """

    described: ClassVar[str] = "a network with its arcs turned round"

    def __init__(self, network: Network) -> None:
        self._network = network
        self.named_nodes, self.parallel_arcs = network.named_nodes, network.parallel_arcs
        self.relays, self.connected = network.relays, network.connected

    @property
    def spec(self) -> str:
        """The spelling of the other network, and ``reversed``: it cannot be looked up."""
        return f"{self._network.spec} reversed"

    @property
    def spelled(self) -> bool:
        """False."""
        return False

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        return self._network.nodes

    @property
    def ports(self) -> int:
        """The largest number of arcs that lead to one node of the other network."""
        return self._ports

    @cached_property
    def _ports(self) -> int:
        return int(np.diff(self._arcs[0]).max(initial=0))

    @property
    def degree(self) -> int:
        """The number of ports."""
        return self.ports

    @property
    def diameter(self) -> int:
        """That of the other network."""
        return self._network.diameter

    @property
    def diameter_is_cheap(self) -> bool:
        """Whether that of the other network is."""
        return self._network.diameter_is_cheap

    @cached_property
    def arcs(self) -> int:
        """The number of arcs."""
        return self._network.arcs

    @cached_property
    def both_ways(self) -> bool:
        """Whether every arc has an arc back."""
        return self._network.both_ways

    def reversed(self) -> Network:
        """Return the other network."""
        return self._network

    def neighbor(self, u: ArrayLike, port: ArrayLike) -> Ints:
        """Return the node to which an arc leaves ``u`` by ``port``, or -1: int64 (arrays that broadcast)."""
        first, target = self._arcs
        u, port = ints(u), ints(port)
        inside = (u >= 0) & (u < self.nodes)
        u = np.where(inside, u, 0)
        exists = inside & (port >= 0) & (port < first[u + 1] - first[u])
        return np.asarray(target[np.where(exists, first[u] + np.where(exists, port, 0), -1)], np.int64)

    def distance(self, u: ArrayLike, v: ArrayLike) -> Ints:
        """Return the number of arcs from ``v`` to ``u`` in the other network."""
        return self._network.distance(v, u)

    def label(self, u: int) -> str:
        """Return the label of node ``u`` in the other network."""
        return self._network.label(u)

    def _parse_label(self, text: str) -> int | None:
        return self._network._parse_label(text)

    def cable(self, u: ArrayLike, port: ArrayLike) -> Ints:
        """Return which of the parallel arcs leaves ``u`` by ``port``, counted from 0 (arrays that broadcast)."""
        if not self.parallel_arcs:
            return super().cable(u, port)
        first, target = self._arcs
        u, port, v = np.broadcast_arrays(ints(u), ints(port), self.neighbor(u, port))
        found = np.zeros(u.shape, np.int64)
        there = v >= 0
        slot = first[u[there]] + port[there]
        source = np.repeat(np.arange(self.nodes), np.diff(first))
        keys = source * self.nodes + target[:-1]  # sorted
        found[there] = slot - np.searchsorted(keys, keys[slot])
        return found

    def port_of_cable(self, u: ArrayLike, v: ArrayLike, cable: ArrayLike) -> Ints:
        """Return the port by which the arc of a cable leaves ``u`` for ``v``, or -1 (arrays that broadcast)."""
        port = self.port_between(u, v)
        if not self.parallel_arcs:
            return np.where(ints(cable) == 0, port, -1)
        found = port + ints(cable)  # those to one node come one after another
        return np.where((port >= 0) & (ints(cable) >= 0) & (self.neighbor(u, found) == v), found, -1)

    @cached_property
    def _arcs(self) -> tuple[Ints, NDArray[np.int32]]:
        """The arcs by their source: the first of each node, and their targets; behind them -1, for what is no arc."""
        first, target, _ = self._network.arc_lists()
        source = np.repeat(np.arange(self.nodes, dtype=np.int32), np.diff(first))
        order = np.argsort(target, kind="stable")  # arcs come by ascending sources
        count = np.bincount(target, minlength=self.nodes)
        return starts(count), np.append(source[order], np.int32(-1))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reversed) and self._network == other._network

    def __hash__(self) -> int:
        return hash((self._network, "reversed"))
