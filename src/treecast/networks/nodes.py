"""The nodes of a network as people name them, and which of them are ranks, relays, and relays that add."""

import operator
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treecast.errors import NetworkError, did_you_mean
from treecast.ragged import Ints

if TYPE_CHECKING:
    from treecast.networks.core import Network
    from treecast.networks.past_relays import Routes

_MOST_COMPARED = 1 << 14  # labels that are searched for the one that was probably meant
NodeName = int | str | tuple[Any, ...]
"""The name of a node: its number, its label, or its name in networkx, a tuple."""


def ints(values: ArrayLike) -> Ints:
    """Return ``values`` as an int64 array."""
    if isinstance(values, str):  # which numpy would take for a number
        raise NetworkError(
            f"{values!r} is no number of a node, or several: network.node({values!r}) finds that of a label"
        )
    return np.asarray(values, dtype=np.int64)


class Nodes(ABC):
    """Nodes ``0 … nodes-1`` with labels; ``len``, iteration and ``in`` are those of a sequence of nodes."""

    _spec: str
    _nodes: int
    _ports: int

    @property
    def spec(self) -> str:
        """How the network is spelled, in Python and on the command line: ``star:5``, ``mesh:8x8``."""
        return self._spec

    @property
    def nodes(self) -> int:
        """The number of nodes, N."""
        return self._nodes

    @property
    def ports(self) -> int:
        """The number of different ports; at least ``degree``."""
        return self._ports

    def neighbor(self, u: ArrayLike, port: ArrayLike) -> Ints:
        """Return the node at the other end of the arc that leaves ``u`` by ``port``, or -1 where there is none.

        ``u`` and ``port`` are integer arrays (or numbers) that broadcast against each other; so is the result. A number that
        is no node or no port leads nowhere: -1.
        """
        u, port = ints(u), ints(port)
        there = self._is_node(u) & (port >= 0) & (port < self.ports)
        if there.all():  # the ordinary case: nothing has to be masked
            return np.asarray(self._beyond(u, port))
        return np.where(there, self._beyond(np.where(there, u, 0), np.where(there, port, 0)), -1)

    def _is_node(self, u: Ints) -> NDArray[np.bool_]:
        return (u >= 0) & (u < self.nodes)

    @abstractmethod
    def _beyond(self, u: Ints, port: Ints) -> Ints:
        """Return ``neighbor`` of nodes and ports that there are, in arrays that broadcast; where there are none, both are 0."""

    def label(self, u: int) -> str:
        """Return node ``u`` as people write it. Raises NetworkError when ``u`` is no node."""
        return str(self.check_node(u))

    def labels(self, nodes: ArrayLike | None = None) -> list[str]:
        """Return the labels of many nodes, of all by default. Raises NetworkError when one is no node."""
        return self._labels(np.arange(self.nodes) if nodes is None else self.check_nodes(nodes))

    def _labels(self, nodes: Ints) -> list[str]:
        """Return the labels of many nodes that there are."""
        return [self.label(u) for u in nodes.tolist()]

    def _parse_label(self, text: str) -> int | None:
        """Return the node that ``text`` labels, or None when it is no label; plain numbers are dealt with before."""
        return None

    def why_no_label(self, text: str) -> str:
        """Return the reason why a text is no label, where it is much like one; else an empty text."""
        return ""

    def node(self, label: object) -> int:
        """Return the number of the node that ``label`` names: a label, a tuple, as networkx has them, or the number itself.

        Where a text could be both, it is read as a label. Raises NetworkError when it is neither.
        """
        if isinstance(label, tuple):  # networkx names nodes by tuples
            from treecast.networks.reading.links import label_of

            label = label_of(cast("object", label))
        if not isinstance(label, str):
            return self.check_node(label)
        text = label.strip()
        if (found := self._found(text)) is not None:
            return found
        said = text if text.isascii() and text.isdigit() else repr(text)
        raise NetworkError(f"{said} is no node of {self.spec}: {self._how_named(text)}{self.meant(text)}")

    def meant(self, text: str) -> str:
        """Return the hint which node was probably meant."""
        if self.nodes > _MOST_COMPARED or text.isdigit():  # digits are all alike
            return ""
        return did_you_mean(text, self.labels())

    def _found(self, text: str) -> int | None:
        """Return the node that a text names, by a label or else a number; None where it names none."""
        named = self._parse_label(text)
        # without leading zeros, which may be labels
        if named is None and re.fullmatch("0|[1-9][0-9]{0,18}", text) and int(text) < self.nodes:
            return int(text)
        return named

    def _how_named(self, text: str) -> str:
        """Return how nodes are named, for somebody who wrote a text that names none."""
        if reason := self.why_no_label(text):
            return reason
        last, label = self.nodes - 1, self.label(self.nodes - 1)
        apart = [part.strip() for part in text.split(",")]
        if len(apart) > 1 and "," not in label and all(part in self for part in apart):
            return "put spaces between nodes"
        if text.isascii() and text.isdigit():
            return f"nodes go from 0 to {last}" + (f", with labels like {label}" if label != str(last) else "")
        return f"write a label like {label}, or a number from 0 to {last}"

    def check_node(self, u: object) -> int:
        """Return ``u`` when it is the number of a node; raise NetworkError otherwise."""
        try:
            found = operator.index(u)  # type: ignore[reportArgumentType]
        except TypeError:
            hint = "write a whole number, or a label"
            if isinstance(u, str):
                hint = f"network.node({u!r}) finds that of a label"
            raise NetworkError(f"{u!r} is no number of a node of {self.spec}: {hint}") from None
        if not 0 <= found < self.nodes:
            raise NetworkError(f"{found} is no node of {self.spec}: nodes go from 0 to {self.nodes - 1}")
        return found

    def check_nodes(self, u: ArrayLike) -> Ints:
        """Return the numbers of many nodes; raise NetworkError when one is none."""
        u = ints(u)
        for wrong in u[~self._is_node(u)][:1]:  # the first that is none is named
            self.check_node(int(wrong))
        return u

    def neighbors(self, u: NodeName) -> list[int]:
        """Return the nodes that an arc from ``u`` leads to, in the order of their ports; ``u`` is a node or its label."""
        there = self.neighbor(self.node(u), np.arange(self.ports))
        return [int(v) for v in there if v >= 0]

    def degree_at(self, u: NodeName) -> int:
        """Return the number of arcs that leave ``u``."""
        return len(self.neighbors(u))

    def __getitem__(self, u: NodeName) -> list[int]:
        """Return the neighbors of a node, as ``network["2143"]``."""
        return self.neighbors(u)

    def __len__(self) -> int:
        return self.nodes

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.nodes))

    def __contains__(self, node: object) -> bool:
        try:
            return (self._found(node.strip()) is not None) if isinstance(node, str) else self.node(node) >= 0
        except NetworkError:
            return False


class Ranked(Nodes):
    """Nodes of which some may be relays; the others are ranks."""

    relays: NDArray[np.bool_] | None = None
    """Which nodes are relays, bool (N,): they hold and forward, but want nothing and have nothing of their own, as switches do.
    None where every node is a rank."""
    adds: NDArray[np.bool_] | None = None
    """Which relays add contributions to a sum that come by several arcs, bool (N,), as switches with SHARP or NVLS do. None where
    none does."""
    past_routes: "Routes | None" = None
    """The links that its arcs take, where arcs are routes past relays; see ``past_relays``."""
    walk: Ints = np.zeros(0, np.int64)
    """The ranks in the order of a walk past its relays, int64; empty where there is none, or routes join all of them."""
    own_costs: Mapping[tuple[int, int], tuple[float | None, float]] = MappingProxyType({})
    """Of arcs between two nodes, where arcs differ: the latency in seconds, None where none is said, and the bytes a second."""

    @property
    def plain_relays(self) -> NDArray[np.bool_] | None:
        """Which relays do not add, bool (N,); None where every node is a rank."""
        return self.relays if self.relays is None or self.adds is None else self.relays & ~self.adds

    @property
    def rank_count(self) -> int:
        """The number of nodes that take part in collectives."""
        return self.nodes if self.relays is None else len(self.ranks)

    @cached_property
    def ranks(self) -> Ints:
        """The nodes that take part in collectives, all but the relays: int64, ascending."""
        found = np.arange(self.nodes) if self.relays is None else np.flatnonzero(~self.relays)
        found.setflags(write=False)
        return found

    def adding(self, adds: bool = True) -> "Network":
        """Return the network whose relays all add, spelled ``SPEC with relays-add yes``, or of which none does (``no``).

        It is itself where it has none, or they are so.

        Examples
        --------
        >>> from treecast import network
        >>> network("fat-tree:4").adding()
        network('fat-tree:4 with relays-add yes')
        """
        from treecast.networks.past_relays import adding

        return adding(cast("Network", self), adds)

    def past_relays(self) -> "Network":
        """Return the network of its ranks, and of relays that add, joined by routes past the others; itself where there are none.

        Sums are planned there: contributions that come to a relay that does not add leave it one by one.

        Examples
        --------
        >>> from treecast import network
        >>> straight = network("fat-tree:2").past_relays()
        >>> straight, straight.rank_count == straight.nodes
        (network('fat-tree:2 past relays'), True)
        """
        # relays that all add are passed by nobody
        if self.relays is None or (self.adds is not None and self.adds[self.relays].all()):
            return cast("Network", self)
        return self._straight

    @cached_property
    def _straight(self) -> "Network":
        from treecast.networks.past_relays import PastRelays

        return PastRelays(cast("Network", self))

    @property
    def cables_out(self) -> int:
        """Over how many links a node sends at most: past relays more routes than these begin with them."""
        return self.ports if self.past_routes is None else self.past_routes.ports

    @property
    def apart(self) -> "Network":
        """The same nodes and arcs, each arc with a channel of its own; itself where arcs are no routes."""
        return cast("Network", self)
