"""A network with its arcs turned round: on these gathers and reductions, which run backwards, are planned."""

from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from treecast.networks.core import Ints, Network
from treecast.networks.listed import Listed, sorted_keys


class Reversed(Listed):
    """The network whose arcs lead from v to u wherever those of another one lead from u to v.

    The ports of a node number the arcs in ascending order of the nodes that they lead to.

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
        self.relays, self.connected = network.relays, network.connected

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
