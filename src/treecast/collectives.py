"""Collectives: which chunk starts where, and where it must end. Nothing here knows how it gets there."""

from dataclasses import dataclass

import numpy as np

from treecast.errors import PlanError
from treecast.networks.core import Ints


@dataclass(frozen=True)
class Holdings:
    """Who holds, or must hold, what: node ``node[i]`` the chunks ``first[i] … stop[i]-1`` (int64 arrays of one length)."""

    node: Ints
    first: Ints
    stop: Ints


@dataclass(frozen=True)
class Collective:
    """A collective of ``messages`` chunks per source over ``nodes`` nodes.

    ``broadcast``: the root's chunks 0 … M-1 reach every node.
    ``allgather``: every node is a source; chunk h·M + c is chunk c of node h, and all reach every node (the papers'
    multinode broadcast). Its ``root`` is 0 and says nothing.
    """

    kind: str
    nodes: int
    messages: int
    root: int = 0

    def __post_init__(self) -> None:
        for name, value in (("nodes", self.nodes), ("messages", self.messages), ("root", self.root)):
            if not hasattr(value, "__index__"):
                raise PlanError(f"{name} must be a whole number, not {value!r}")
        if self.kind not in COLLECTIVES:
            raise PlanError(f"{self.kind!r} is no collective: write one of {', '.join(COLLECTIVES)}")
        if not 1 <= self.messages < 2**31:
            raise PlanError(f"{self.messages} messages cannot be sent: write a number from 1 to {2**31 - 1}")
        if not 0 <= self.root < self.nodes:
            raise PlanError(f"root {self.root} is no node: nodes go from 0 to {self.nodes - 1}")

    @property
    def chunks(self) -> int:
        """The number of different chunks."""
        return self.messages * (self.nodes if self.all_source else 1)

    @property
    def all_source(self) -> bool:
        """Whether every node is a source, so that an orbit schedule can serve it."""
        return self.kind == "allgather"

    def from_node_zero(self) -> "Collective":
        """Return the collective that node 0's data alone takes part in: what the rows of an orbit schedule carry out."""
        return Collective("broadcast", self.nodes, self.messages) if self.all_source else self

    def ends(self) -> Ints:
        """Return the chunk numbers at which what some node holds or wants begins or ends, in order."""
        return np.arange((self.nodes if self.all_source else 1) + 1, dtype=np.int64) * self.messages

    def given(self) -> Holdings:
        """Return what the nodes hold before the first step (the precondition)."""
        if self.all_source:
            sources = np.arange(self.nodes)
            return Holdings(sources, sources * self.messages, (sources + 1) * self.messages)
        return Holdings(np.array([self.root]), np.array([0]), np.array([self.messages]))

    def wanted(self) -> Holdings:
        """Return what the nodes must hold after the last step (the postcondition)."""
        every = np.arange(self.nodes)
        return Holdings(every, np.zeros_like(every), np.full_like(every, self.chunks))


COLLECTIVES = {
    "broadcast": "one node's data reaches every node",
    "allgather": "every node's data reaches every node (multinode broadcast, gossip)",
}
"""Every collective, and what it does."""
