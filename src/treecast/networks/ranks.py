"""The ranks among the nodes of a network, and its relays: whether they add, and the network past those that do not."""

from functools import cached_property
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from treecast.networks.nodes import Nodes
from treecast.ragged import Ints

if TYPE_CHECKING:
    from treecast.networks.core import Network
    from treecast.networks.past_relays import Routes


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

    def adding(self) -> "Network":
        """Return the network whose relays all add, spelled ``SPEC with relays-add yes``; itself where it has none, or they do.

        Examples
        --------
        >>> from treecast import network
        >>> network("fat-tree:4").adding()
        network('fat-tree:4 with relays-add yes')
        """
        from treecast.networks.past_relays import adding

        return adding(cast("Network", self))

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
