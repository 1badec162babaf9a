"""Collectives: which chunk starts where, and where it must end. Nothing here knows how it gets there."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from treecast.errors import PlanError
from treecast.networks.core import Ints, ints


@dataclass(frozen=True)
class Holdings:
    """Who holds, or must hold, what: node ``node[i]`` the chunks ``first[i] … stop[i]-1`` (int64 arrays of one length)."""

    node: Ints
    first: Ints
    stop: Ints


@dataclass(frozen=True)
class Collective:
    """A collective of ``messages`` chunks per source (or pair, or block) over ``nodes`` nodes; M is their number below.

    One root, whose part in it is not that of the others:

    - ``broadcast``: the root's chunks 0 … M-1 reach every node.
    - ``scatter``: chunk v·M + c of the root reaches node v; ``gather``: chunk v·M + c of node v reaches the root.
    - ``multicast``: the root's chunks 0 … M-1 reach the ``targets``, node numbers in ascending order, the root not among them.
    - ``reduce``: chunks 0 … M-1 are *sums*: every node contributes to them, and they end, complete, at the root.
    - ``reduce-broadcast``: the same, and chunk M + c, the finished sum c, goes from the root to every node.

    Every node alike, so that an orbit schedule can serve it; the ``root`` is 0 and says nothing:

    - ``allgather``: chunk h·M + c of node h reaches every node (the papers' multinode broadcast).
    - ``alltoall``: chunk (h·N + v)·M + c of node h reaches node v (the papers' total exchange).
    - ``reduce-scatter``: chunk h·M + c is a sum of contributions of all nodes, and ends, complete, at node h, its owner.
    - ``allreduce``: the same, and chunk N·M + h·M + c, the finished sum, goes from its owner h to every node.
    """

    kind: str
    nodes: int
    messages: int
    root: int = 0
    targets: tuple[int, ...] = ()

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
        if bool(self.targets) != (self.kind == "multicast"):
            raise PlanError("a multicast, and nothing else, needs targets: one node or more")
        if list(self.targets) != sorted(set(self.targets) - {self.root}):
            raise PlanError("targets are given in ascending order, each once, without the root")
        if self.targets and not 0 <= self.targets[0] <= self.targets[-1] < self.nodes:
            raise PlanError(f"a target is no node: nodes go from 0 to {self.nodes - 1}")
        if self.chunks >= 2**62:
            raise PlanError(f"{self.kind} of {self.messages} messages over {self.nodes} nodes has too many chunks")

    @property
    def chunks(self) -> int:
        """The number of different chunks."""
        return self.messages * self._blocks

    @property
    def _blocks(self) -> int:
        """The number of blocks of M chunks that belong together."""
        n = self.nodes
        return {
            "broadcast": 1,
            "multicast": 1,
            "reduce": 1,
            "reduce-broadcast": 2,
            "alltoall": n * n,
            "allreduce": 2 * n,
        }.get(self.kind, n)

    @property
    def all_source(self) -> bool:
        """Whether every node has the same part in it, so that an orbit schedule can serve it."""
        return self.kind in _PART_OF_NODE_ZERO

    @property
    def direction(self) -> str:
        """Which way data goes, seen from the root: ``from`` it, or ``to`` it."""
        return "to" if self.kind in ("gather", "reduce") else "from"

    @property
    def personal(self) -> bool:
        """Whether each chunk is for one node alone, and from one node alone."""
        return self.kind in ("scatter", "gather", "alltoall")

    @property
    def sums(self) -> int:
        """How many chunks, the first ones, are sums: every node adds its own contribution. 0 when nothing is reduced."""
        of = {"reduce": 1, "reduce-broadcast": 1, "reduce-scatter": self.nodes, "allreduce": self.nodes}
        return self.messages * of.get(self.kind, 0)

    @property
    def results(self) -> bool:
        """Whether finished sums travel on, as the chunks behind the sums: chunk ``sums`` + c is the finished sum c."""
        return self.kind in ("reduce-broadcast", "allreduce")

    def from_node_zero(self) -> "Collective":
        """Return the collective that node 0's data alone takes part in: what the rows of an orbit schedule carry out."""
        return Collective(_PART_OF_NODE_ZERO[self.kind], self.nodes, self.messages) if self.all_source else self

    def of_source(self, source: ArrayLike, chunk: ArrayLike, translate: Callable[[Ints, Ints], Ints]) -> Ints:
        """Return the chunk of ``source`` that is the translate of ``chunk`` of node 0's part (arrays that broadcast).

        ``translate(h, u)``: where the translation by h carries node u.
        """
        source, chunk = ints(source), ints(chunk)
        block, place = np.divmod(chunk, self.messages)
        if self.kind == "alltoall":
            return (source * self.nodes + translate(source, block)) * self.messages + place
        return (block * self.nodes + source) * self.messages + place

    def source_of(self, chunk: ArrayLike) -> Ints:
        """Return the node that a chunk comes from; of sums and finished sums, their owner."""
        block = ints(chunk) // self.messages
        if self.kind == "alltoall":
            return block // self.nodes
        return block % self.nodes if self.all_source or self.kind == "gather" else np.full_like(block, self.root)

    def destination_of(self, chunk: ArrayLike) -> Ints:
        """Return the one node that a chunk of a personal collective is for."""
        block = ints(chunk) // self.messages
        return np.full_like(block, self.root) if self.kind == "gather" else block % self.nodes

    def ends(self) -> Ints:
        """Return the chunk numbers at which what some node holds or wants begins or ends, in order."""
        return np.arange(self._blocks + 1, dtype=np.int64) * self.messages

    def given(self) -> Holdings:
        """Return what the nodes hold before the first step (the precondition); of sums, all nodes hold a contribution."""
        every, size = np.arange(self.nodes), self.messages
        if self.sums:
            return Holdings(every, np.zeros_like(every), np.full_like(every, self.sums))
        if self.kind in ("allgather", "gather"):
            return Holdings(every, every * size, (every + 1) * size)
        if self.kind == "alltoall":
            return Holdings(every, every * size * self.nodes, (every + 1) * size * self.nodes)
        return Holdings(np.array([self.root]), np.array([0]), np.array([self.chunks]))

    def wanted(self) -> Holdings:
        """Return what the nodes must hold after the last step (the postcondition)."""
        every, size = np.arange(self.nodes), self.messages
        if self.kind in ("scatter", "reduce-scatter"):
            return Holdings(every, every * size, (every + 1) * size)
        if self.kind == "alltoall":
            first = np.arange(self.nodes**2) * size
            return Holdings(np.tile(every, self.nodes), first, first + size)
        if self.targets:
            aims = np.array(self.targets, np.int64)
            return Holdings(aims, np.zeros_like(aims), np.full_like(aims, self.chunks))
        if self.kind in ("gather", "reduce"):
            return Holdings(np.array([self.root]), np.array([0]), np.array([self.chunks]))
        return Holdings(every, np.full_like(every, self.sums), np.full_like(every, self.chunks))


COLLECTIVES = {
    "broadcast": "one node's data reaches every node",
    "multicast": "one node's data reaches some nodes",
    "scatter": "one node's data is dealt out: each node gets its own block",
    "gather": "one node collects a block from every node",
    "reduce": "the sum of every node's data ends at one node",
    "reduce-broadcast": "the sum of every node's data reaches every node, by way of one node",
    "allgather": "every node's data reaches every node (multinode broadcast, gossip)",
    "alltoall": "every node sends every other node a block of its own (total exchange)",
    "reduce-scatter": "the sum of every node's data ends in blocks, one at each node",
    "allreduce": "the sum of every node's data reaches every node (reduce-scatter, then allgather)",
}
"""Every collective, and what it does."""
_PART_OF_NODE_ZERO = {
    "allgather": "broadcast",
    "alltoall": "scatter",
    "reduce-scatter": "reduce",
    "allreduce": "reduce-broadcast",
}
