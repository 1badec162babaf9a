"""Networks whose arcs stand in a list, made when it is asked for; among them networks with their arcs turned round."""

from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treecast.networks.core import Ints, Network, ints


class ListedNetwork(Network):
    """A network whose ports number the arcs of a node in ascending order of the nodes that they lead to.

    The last entry of each list is of no arc, and keeps every look-up inside.

    >>> from treecast import network
    >>> network([("a", "b", 2), ("a", "c")]).port_between(0, [1, 2]).tolist()
    [0, 2]
    """

    @cached_property
    def _keys(self) -> Ints:
        """The arcs as ``sorted_keys`` has them."""
        raise NotImplementedError

    @cached_property
    def _targets(self) -> NDArray[np.int32]:
        return _fixed(np.append(self._keys[:-1] % self.nodes, -1).astype(np.int32))

    @cached_property
    def _first(self) -> Ints:
        return _fixed(np.searchsorted(self._keys[:-1], np.arange(self.nodes + 1) * self.nodes))

    @cached_property
    def both_ways(self) -> bool:
        """Whether every arc has an arc back; of parallel arcs, each one of its own."""
        sources, targets = np.divmod(self._keys[:-1], self.nodes)
        return np.array_equal(np.sort(targets * self.nodes + sources), self._keys[:-1])

    def _beyond(self, u: Ints, port: Ints) -> Ints:
        first = self._first[u]
        # a port that is none: the last entry, of no arc
        return np.asarray(self._targets[np.where(port < self._first[u + 1] - first, first + port, -1)], np.int64)

    def arc_lists(self) -> tuple[Ints, NDArray[np.int32], NDArray[np.int32]]:
        """Return all arcs, by their source and port: see Network.arc_lists."""
        port = np.arange(self.arcs) - np.repeat(self._first[:-1], np.diff(self._first))
        return self._first.astype(np.int64), self._targets[:-1], port.astype(np.int32)

    def _port(self, u: Ints, v: Ints) -> Ints:
        key = u * self.nodes + v
        slot = np.searchsorted(self._keys, key)
        return np.where(self._keys[slot] == key, slot - self._first[u], -1)

    def cable(self, u: ArrayLike, port: ArrayLike) -> Ints:
        """Return which of the parallel arcs leaves ``u`` by ``port``, counted from 0 (arrays that broadcast)."""
        u, port, there = np.broadcast_arrays(ints(u), ints(port), self.neighbor(u, port) >= 0)
        slot = np.where(there, self._first[np.where(there, u, 0)] + port, 0)
        # less the first of its parallels
        return np.where(there, slot - np.searchsorted(self._keys, self._keys[slot]), 0)

    def port_of_cable(self, u: ArrayLike, v: ArrayLike, cable: ArrayLike) -> Ints:
        """Return the port by which the arc of a cable leaves ``u`` for ``v``, or -1 (arrays that broadcast)."""
        first, cable = self.port_between(u, v), ints(cable)
        port = first + cable  # those to one node come one after another
        return np.where((first >= 0) & (cable >= 0) & (self.neighbor(u, port) == ints(v)), port, -1)


class Reversed(ListedNetwork):
    """The network whose arcs lead from v to u wherever those of another one lead from u to v.

    On these gathers and reductions, which run backwards, are planned.

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
        spec = f"{network.spec} reversed"
        super().__init__(spec, network.nodes, 0, arcs=network.arcs, both_ways=network.both_ways)
        self._network = network
        self.named_nodes, self.parallel_arcs = network.named_nodes, network.parallel_arcs
        self.relays, self.adds, self.connected = network.relays, network.adds, network.connected
        if (routes := network.past_routes) is not None:
            first, target, _ = network.arc_lists()
            tail = np.repeat(np.arange(network.nodes), np.diff(first))
            turned = np.lexsort((tail, target))  # parallel arcs keep their order
            self.past_routes = routes._replace(channel=routes.channel[turned], link=routes.link[turned])

    @property
    def spelled(self) -> bool:
        """False."""
        return False

    @cached_property
    def _most(self) -> int:
        return int(np.diff(self._first).max(initial=0))

    @property
    def ports(self) -> int:
        """The largest number of arcs that lead to one node of the other network."""
        return self._most

    @property
    def degree(self) -> int:
        """The number of ports."""
        return self._most

    @property
    def diameter(self) -> int:
        """That of the other network."""
        return self._network.diameter

    @property
    def diameter_is_cheap(self) -> bool:
        """Whether that of the other network is."""
        return self._network.diameter_is_cheap

    def reversed(self) -> Network:
        """Return the other network."""
        return self._network

    @property
    def apart(self) -> Network:
        """That of the other network, turned round."""
        return self if self.past_routes is None else self._network.apart.reversed()

    def distance(self, u: ArrayLike, v: ArrayLike) -> Ints:
        """Return the number of arcs from ``v`` to ``u`` in the other network."""
        return self._network.distance(v, u)

    def label(self, u: int) -> str:
        """Return the label of node ``u`` in the other network."""
        return self._network.label(u)

    def _parse_label(self, text: str) -> int | None:
        return self._network._parse_label(text)

    @cached_property
    def _keys(self) -> Ints:
        first, target, _ = self._network.arc_lists()
        return sorted_keys(target.astype(np.int64), np.repeat(np.arange(self.nodes), np.diff(first)), self.nodes)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reversed) and self._network == other._network

    def __hash__(self) -> int:
        return hash((self._network, "reversed"))


def sorted_keys(sources: Ints, targets: Ints, nodes: int) -> Ints:
    """Return source x nodes + target of each arc, ascending, and nodes^2: int64 (arcs + 1,), not to be written."""
    return _fixed(np.append(np.sort(sources * nodes + targets), nodes**2))


def _fixed(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array
