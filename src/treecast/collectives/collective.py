"""Collectives: which chunk starts where, and where it must end. Nothing here knows how it gets there."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

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


@dataclass(frozen=True, eq=False)
class Lengths:
    """Messages of different lengths, one for, or from, each node: ``flits``, int64 (N,), the chunks that each consists of.

    ``sequence``: int64 (N,), the nodes in the order in which their chunks are numbered: those of ``sequence[0]`` first.
    Raises PlanError when a length is negative, or the sequence does not hold each node once.
    """

    flits: Ints
    sequence: Ints

    def __post_init__(self) -> None:
        object.__setattr__(self, "flits", _frozen(self.flits, "lengths"))
        object.__setattr__(self, "sequence", _frozen(self.sequence, "a sequence of nodes"))
        if not len(self.flits) or int(self.flits.min()) < 0:
            raise PlanError("lengths are given for every node, in flits from 0")
        if int(self.flits.max()) >= 2**31 or self.total >= 2**31:
            raise PlanError(f"so many flits cannot be sent: all lengths together are at most {2**31 - 1:,}")
        if not np.array_equal(np.sort(self.sequence), np.arange(len(self.flits))):
            raise PlanError("a sequence of nodes holds every node once")

    @staticmethod
    def of(flits: ArrayLike) -> "Lengths":
        """Return messages numbered in the order of their nodes."""
        flits = np.asarray(flits)
        return Lengths(flits, np.arange(len(flits)))

    @cached_property
    def total(self) -> int:
        """The number of flits in all."""
        return int(self.flits.sum())

    @cached_property
    def stop(self) -> Ints:
        """The chunk behind each node's last: int64 (N,)."""
        stop = np.empty_like(self.flits)
        stop[self.sequence] = np.cumsum(self.flits[self.sequence])
        return stop

    @cached_property
    def first(self) -> Ints:
        """Each node's first chunk: int64 (N,)."""
        return self.stop - self.flits

    def node_of(self, chunk: ArrayLike) -> Ints:
        """Return the node whose message a chunk belongs to."""
        return self.sequence[np.searchsorted(self.stop[self.sequence], ints(chunk), side="right")]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Lengths):
            return NotImplemented
        return np.array_equal(self.flits, other.flits) and np.array_equal(self.sequence, other.sequence)

    def __hash__(self) -> int:
        return hash((self.flits.tobytes(), self.sequence.tobytes()))


def _frozen(values: ArrayLike, what: str) -> Ints:
    array = np.array(values)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise PlanError(f"{what}: whole numbers, one for each node")
    if array.size and int(array.max()) >= 2**62:
        raise PlanError(f"{what}: {int(array.max()):,} is too large a number")
    array = array.astype(np.int64)
    array.setflags(write=False)
    return array


@dataclass(frozen=True)
class Collective:
    """A collective of ``messages`` chunks per source (or pair, or block) over ``nodes`` nodes; M is their number below.

    One root, whose part in it is not that of the others:

    - ``broadcast``: the root's chunks 0 … M-1 reach every node.
    - ``scatter``: chunk v·M + c of the root reaches node v; ``gather``: chunk v·M + c of node v reaches the root.
    - ``scatterv``, ``gatherv``: the same with messages of different ``lengths`` (M = 1 says nothing); the root's own is null.
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
    lengths: Lengths | None = None

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
        self._check_lengths()
        if self.chunks >= 2**62:
            raise PlanError(f"{self.kind} of {self.messages} messages over {self.nodes} nodes has too many chunks")

    def _check_lengths(self) -> None:
        if (self.lengths is None) == self.kind.endswith("v"):
            raise PlanError("a scatterv or gatherv, and nothing else, needs lengths: how many flits for each node")
        if self.lengths is not None:
            if len(self.lengths.flits) != self.nodes:
                raise PlanError(f"{len(self.lengths.flits):,} lengths are given for {self.nodes:,} nodes: one for each")
            if self.lengths.flits[self.root]:
                raise PlanError("the root sends itself nothing: its own length is 0")
            if self.messages != 1:
                raise PlanError(f"{self.kind} takes lengths instead of a number of messages")

    @property
    def chunks(self) -> int:
        """The number of different chunks."""
        return self.messages * self._blocks if self.lengths is None else self.lengths.total

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
        return "to" if self.kind in ("gather", "gatherv", "reduce") else "from"

    @property
    def personal(self) -> bool:
        """Whether each chunk is for one node alone, and from one node alone."""
        return self.kind in ("scatter", "gather", "alltoall", "scatterv", "gatherv")

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
        if self.lengths is not None:
            return self.lengths.node_of(chunk) if self.kind == "gatherv" else np.full_like(ints(chunk), self.root)
        block = ints(chunk) // self.messages
        if self.kind == "alltoall":
            return block // self.nodes
        return block % self.nodes if self.all_source or self.kind == "gather" else np.full_like(block, self.root)

    def destination_of(self, chunk: ArrayLike) -> Ints:
        """Return the one node that a chunk of a personal collective is for."""
        if self.lengths is not None:
            return self.lengths.node_of(chunk) if self.kind == "scatterv" else np.full_like(ints(chunk), self.root)
        block = ints(chunk) // self.messages
        return np.full_like(block, self.root) if self.kind == "gather" else block % self.nodes

    def ends(self) -> Ints:
        """Return the chunk numbers at which what some node holds or wants begins or ends, in order."""
        if self.lengths is not None:
            return np.unique(np.append(self.lengths.stop, 0))
        return np.arange(self._blocks + 1, dtype=np.int64) * self.messages

    def given(self) -> Holdings:
        """Return what the nodes hold before the first step (the precondition); of sums, all nodes hold a contribution."""
        every, size = np.arange(self.nodes), self.messages
        if self.lengths is not None and self.kind == "gatherv":
            return self._messages(self.lengths)
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
        if self.lengths is not None and self.kind == "scatterv":
            return self._messages(self.lengths)
        if self.kind in ("scatter", "reduce-scatter"):
            return Holdings(every, every * size, (every + 1) * size)
        if self.kind == "alltoall":
            first = np.arange(self.nodes**2) * size
            return Holdings(np.tile(every, self.nodes), first, first + size)
        if self.targets:
            aims = np.array(self.targets, np.int64)
            return Holdings(aims, np.zeros_like(aims), np.full_like(aims, self.chunks))
        if self.direction == "to":
            return Holdings(np.array([self.root]), np.array([0]), np.array([self.chunks]))
        return Holdings(every, np.full_like(every, self.sums), np.full_like(every, self.chunks))

    def _messages(self, lengths: Lengths) -> Holdings:
        node = np.flatnonzero(lengths.flits)
        return Holdings(node, lengths.first[node], lengths.stop[node])


COLLECTIVES = {
    "broadcast": "one node's data reaches every node",
    "multicast": "one node's data reaches some nodes",
    "scatter": "one node's data is dealt out: each node gets its own block",
    "gather": "one node collects a block from every node",
    "scatterv": "a scatter of blocks of different lengths",
    "gatherv": "a gather of blocks of different lengths",
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
