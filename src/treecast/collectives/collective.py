"""A collective over some nodes: which chunk starts where, and where it must end. Nothing here knows how it gets there."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treecast.collectives.checks import check
from treecast.collectives.classes import classes_of, holdings_after, holdings_before
from treecast.collectives.demand import Demand
from treecast.collectives.holdings import Holdings
from treecast.collectives.kinds import COLLECTIVES, Kind
from treecast.collectives.lengths import Lengths
from treecast.description import count_of
from treecast.errors import PlanError
from treecast.networks.core import Ints, Network, ints

NO_OWNERS = ((0, -1),)
"""The owners of sums that nobody owns."""


@dataclass(frozen=True, repr=False)
class Collective:
    """A collective of M messages over N nodes: the goal, not the way.

    Its chunks are numbered block by block, M chunks each; the row of its kind in ``COLLECTIVES`` says how many blocks there
    are. Chunk v·M + c belongs to node v where there is a block for each node, chunk (h·N + v)·M + c goes from node h to
    node v where there is one for each pair. Where finished sums travel on, they are numbered behind the sums, in the same
    order. Blocks of different lengths are numbered as their ``lengths`` say.

    Parameters
    ----------
    kind : str
        Its name in ``COLLECTIVES``.
    nodes : int
        N, the number of nodes.
    messages : int
        M, the chunks of each block, from 1 to 2^31 - 1. It is 1 where there are ``lengths``.
    root : int
        The node whose part is not that of the others. Where there is no such node it is 0 and says nothing.
    targets : tuple of int
        Of a multicast: the nodes to reach, in ascending order, without the root.
    lengths : Lengths, optional
        Where blocks have different lengths: the length of each, of pairs N² of them. A root's own is 0.
    relays : tuple of int
        The nodes that take no part, in ascending order: they may pass chunks on. Nobody holds or wants their blocks.
    owners : tuple of (int, int)
        Of an allreduce: where sums are completed, if not each by the rank whose block it is in. Each pair is the first chunk of
        a run of sums, and the node that completes them, which may be a relay; the first pair begins at chunk 0. ``NO_OWNERS``:
        nobody owns them, and several nodes may complete them. Of a demand: by default the first of those that want a sum.
    demand : Demand, optional
        Of a demand: its classes, in numbers of nodes. Each is a block: the sums, then the finished sums, then the copies.

    Raises
    ------
    PlanError
        When there is no such collective.

    Examples
    --------
    >>> from treecast.collectives import Collective
    >>> broadcast = Collective("broadcast", nodes=24, messages=6)
    >>> broadcast
    Collective('broadcast', nodes=24, messages=6)
    >>> print(broadcast)
    broadcast over 24 nodes: 6 messages from node 0
    >>> broadcast.chunks
    6

    The goal, and where a chunk comes from and goes to:

    >>> gather = Collective("gather", nodes=4, messages=2, root=3)
    >>> list(gather.wanted())
    [(3, 0, 8)]
    >>> gather.source_of([0, 1, 2]), gather.destination_of([0, 1, 2])
    (array([0, 0, 1]), array([3, 3, 3]))

    The part of node 0's data alone:

    >>> Collective("alltoall", nodes=4, messages=2).from_node_zero()
    Collective('scatter', nodes=4, messages=2)
    """

    kind: str
    nodes: int
    messages: int
    root: int = 0
    targets: tuple[int, ...] = ()
    lengths: Lengths | None = None
    relays: tuple[int, ...] = ()
    owners: tuple[tuple[int, int], ...] = ()
    demand: Demand | None = None

    def __post_init__(self) -> None:
        check(self)

    @staticmethod
    def over(network: Network, kind: str, messages: int = 1, **more: Any) -> "Collective":
        """Return a collective over the ranks of a network; ``more``: its root, targets and lengths.

        Parameters
        ----------
        network : Network
            Where it takes place: its relays take no part.
        kind : str
            Its name in ``COLLECTIVES``.
        messages : int
            M, the chunks of each block.

        Examples
        --------
        >>> from treecast.networks import network
        >>> Collective.over(network("star:4"), "gather", 2, root=3)
        Collective('gather', nodes=24, messages=2, root=3)
        """
        relays = () if network.relays is None else tuple(np.flatnonzero(network.relays).tolist())
        return Collective(kind, network.nodes, messages, relays=relays, **more)

    @staticmethod
    def of_demand(network: Network, demand: Demand, **more: Any) -> "Collective":
        """Return the collective that a demand is on a network; ``more``: the owners of its sums. Raises as ``Demand.on`` does.

        >>> from treecast.networks import network
        >>> found = Collective.of_demand(network("ring:4"), Demand.of([(0, [1, 2], 5), ([1, "+", 2], [1, 3], 4)]))
        >>> found.sums, found.chunks, list(found.wanted())
        (4, 13, [(1, 4, 8), (3, 4, 8), (1, 8, 13), (2, 8, 13)])
        """
        found = demand.on(network)
        #   sums | finished sums, as long as these | copies
        blocks = np.concatenate([found.size[: found.sums], found.size])
        lengths = Lengths.of(blocks if len(blocks) else [0])
        return Collective.over(network, "demand", demand=found, lengths=lengths, **more)

    # --- from its kind ---

    @cached_property
    def traits(self) -> Kind:
        """The row of its kind in the table of collectives; where a demand has sums, finished ones travel on."""
        kind = COLLECTIVES[self.kind]
        # With sums data starts at every rank and ends at all; without them it is only copied.
        return kind if self.demand is None or not self.demand.sums else replace(kind, starts="every", ends="all")

    @property
    def all_source(self) -> bool:
        """Whether no node is the root."""
        return self.traits.all_source

    @property
    def direction(self) -> str:
        """Which way data goes, seen from the root: ``from`` it, or ``to`` it."""
        return self.traits.direction

    @property
    def personal(self) -> bool:
        """Whether each chunk is for one node alone, and from one node alone."""
        return self.traits.personal

    @property
    def all_keep(self) -> bool:
        """Whether every node has, adds to or wants all chunks, so that nobody passes on what it does not keep.

        >>> [Collective(kind, 4, 1).all_keep for kind in ("broadcast", "reduce", "scatter")]
        [True, True, False]
        """
        if self.relays or self.demand is None:
            return not self.relays and (self.traits.starts == "every" or self.traits.ends == "all")
        (of, node), (wanted, want) = self.demand.held, self.demand.wanted
        each = np.append(of, wanted) * self.nodes + np.append(node, want)
        return len(np.unique(each)) == len(self.demand) * self.nodes

    @property
    def results(self) -> bool:
        """Whether finished sums travel on, as the chunks behind the sums: chunk ``sums`` + c is the finished sum c."""
        return self.traits.results

    # --- its chunks ---

    @property
    def chunks(self) -> int:
        """The number of different chunks."""
        return self.messages * self._blocks if self.lengths is None else self.lengths.total

    @property
    def sums(self) -> int:
        """How many chunks, the first ones, are sums: every node adds its own contribution. 0 when nothing is added up."""
        if self.demand is not None:
            return int(self.demand.size[: self.demand.sums].sum())
        return self.messages * self.first_blocks if self.traits.adds else 0

    @property
    def first_blocks(self) -> int:
        """The number of blocks, finished sums not counted; of a demand they are blocks, too."""
        if self.demand is not None:
            return len(self.demand) + self.demand.sums
        return {"one": 1, "node": self.nodes, "pair": self.nodes**2}[self.traits.blocks]

    @property
    def _blocks(self) -> int:
        """The number of blocks of M chunks."""
        return self.first_blocks * (2 if self.results else 1)  # finished sums are blocks behind the sums

    def ends(self) -> Ints:
        """Return the chunk numbers at which a range that some node holds or wants begins or ends, in order: int64."""
        if self.lengths is not None:
            return np.unique(np.append(self.lengths.stop, 0))
        return np.arange(self._blocks + 1, dtype=np.int64) * self.messages

    def place_of(self, chunk: ArrayLike) -> tuple[Ints, Ints]:
        """Return the block that each chunk is in, and its place in the block: int64 both."""
        chunk = ints(chunk)
        if self.lengths is None:
            block, place = np.divmod(chunk, self.messages)
            return block, place
        block = self.lengths.block_of(chunk)
        return block, chunk - self.lengths.first[block]

    def begins(self) -> Ints:
        """Return the first chunk of each block, finished sums not counted: int64 (blocks,)."""
        return np.arange(self.first_blocks) * self.messages if self.lengths is None else self.lengths.first

    def sizes(self) -> Ints:
        """Return how many chunks each block has, finished sums not counted: int64 (blocks,)."""
        return np.full(self.first_blocks, self.messages) if self.lengths is None else self.lengths.flits

    def demands(self) -> Ints:
        """Return how many chunks each node (row) has for each other (column), where every chunk is for one: int64 (N, N).

        >>> Collective("alltoallv", 2, 1, lengths=Lengths.of([[5, 1], [2, 0]])).demands().tolist()
        [[0, 1], [2, 0]]
        >>> Collective("gather", 3, 4, root=1).demands().tolist()
        [[0, 4, 0], [0, 0, 0], [0, 4, 0]]
        """
        found, (block, source, target) = np.zeros((self.nodes, self.nodes), np.int64), self.addressed()
        found[source, target] = self.sizes()[block]
        return found

    def addressed(self) -> tuple[Ints, Ints, Ints]:
        """Return the blocks that have chunks for another rank, and the source and target of each; each chunk is for one node."""
        block = np.arange(self.first_blocks)
        if self.traits.blocks == "pair":
            source, target = np.divmod(block, self.nodes)
        else:
            root = np.full_like(block, self.root)
            source, target = (block, root) if self.traits.direction == "to" else (root, block)
        # Blocks of relays have their numbers, and no chunk that anybody has.
        idle = np.isin(source, self.relays) | np.isin(target, self.relays)
        some = np.flatnonzero((self.sizes() > 0) & (source != target) & ~idle)
        return some, source[some], target[some]

    def lengths_among(self, nodes: Ints) -> Lengths | None:
        """Return the lengths of the blocks of some nodes, numbered in the order given; None where all are equal."""
        if self.lengths is None:
            return None
        pairs = self.traits.blocks == "pair"
        return Lengths.of(self.lengths.flits[nodes[:, None] * self.nodes + nodes if pairs else nodes])

    def source_of(self, chunk: ArrayLike) -> Ints:
        """Return the node that a chunk comes from, of several the first; of sums and finished ones who owns them, -1: nobody."""
        chunk, kind = ints(chunk), self.traits
        if self.demand is not None:
            first = self.demand.sources[self.place_of(chunk)[0]]
            return np.where(chunk < 2 * self.sums, self._owner_of(chunk), first) if self.owners else first
        if kind.starts == "root" or kind.blocks == "one":
            return np.full_like(chunk, self.root)
        return self._owner_of(chunk) if self.owners else self.home_of_block(self.place_of(chunk)[0])

    def _owner_of(self, sum_: Ints) -> Ints:
        first, node = np.array(self.owners, np.int64).T
        # A finished sum has the owner of its sum: hence the remainder.
        return node[np.searchsorted(first, sum_ % self.sums, side="right") - 1]

    def home_of_block(self, block: Ints) -> Ints:
        """Return the node that each block belongs to."""
        return block // self.nodes if self.traits.blocks == "pair" else block % self.nodes

    def destination_of(self, chunk: ArrayLike) -> Ints:
        """Return the one node that a chunk is for. Raises PlanError when chunks are for more nodes than one."""
        chunk, kind = ints(chunk), self.traits
        if kind.ends == "root":
            return np.full_like(chunk, self.root)
        if kind.ends != "own":
            raise PlanError(f"{self.kind}: each chunk is for several nodes; wanted() says for which")
        return self.place_of(chunk)[0] % self.nodes

    def lost(self, dead: Iterable[int]) -> NDArray[np.bool_]:
        """Return of the chunks between two of ``ends()`` whether all that had them are dead: bool (ends - 1,)."""
        first = self.ends()[:-1]
        if self.demand is None:
            return np.isin(self.source_of(first), list(dead))
        return ~self.demand.lives(dead)[: len(first)]

    # --- who holds and who wants them ---

    def given(self) -> Holdings:
        """Return the holdings of the nodes before the first step (the precondition); of sums, every rank holds a contribution."""
        return holdings_before(self)

    def wanted(self) -> Holdings:
        """Return the holdings that the nodes must have after the last step (the postcondition)."""
        return holdings_after(self)

    @cached_property
    def classes(self) -> tuple[Demand, Ints]:
        """Return the demand that it is, in numbers of nodes, and the first chunk of each of its classes: int64 (classes,).

        Each block that somebody lacks is a class. All are sums, or else copies; those of a demand are sums first.

        >>> wish, first = Collective("alltoall", 2, 3).classes
        >>> print(wish)
        3: 0 > 1
        3: 1 > 0
        >>> first.tolist()
        [3, 6]
        """
        return classes_of(self)

    @property
    def member(self) -> str:
        """The word for who takes part: a rank where there are relays, else a node."""
        return "rank" if self.relays else "node"

    @cached_property
    def ranks(self) -> Ints:
        """The nodes that take part: int64, ascending."""
        found = np.delete(np.arange(self.nodes), list(self.relays))
        # It is kept, and given to many: nobody may change it.
        found.setflags(write=False)
        return found

    def is_used(self, chunk: ArrayLike) -> NDArray[np.bool_]:
        """Return which chunks somebody holds or wants: all but those of relays' blocks."""
        chunk = ints(chunk)
        if not self.relays or self.traits.blocks in ("one", "class"):
            return np.ones(chunk.shape, np.bool_)
        home = self.home_of_block(self.place_of(chunk)[0]) if self.traits.adds else self.source_of(chunk)
        used = ~np.isin(home, self.relays)
        return used & ~np.isin(self.destination_of(chunk), self.relays) if self.personal else used

    # --- orbits ---

    @property
    def shared(self) -> bool:
        """Whether its sums have no owners: a node sends on its sum so far, to several perhaps."""
        return self.owners == NO_OWNERS

    @property
    def alike(self) -> bool:
        """Whether every node has the same part in it, so that an orbit schedule can serve it."""
        return bool(self.traits.part) and not self.owners

    def from_node_zero(self) -> "Collective":
        """Return the collective of the first rank's data alone, which rows of an orbit schedule carry out."""
        root = int(self.ranks[0]) if self.relays else 0
        return replace(self, kind=self.traits.part, root=root) if self.alike else self

    def of_source(self, source: ArrayLike, chunk: ArrayLike, translate: Callable[[Ints, Ints], Ints]) -> Ints:
        """Return the chunk of a source that is the translate of a chunk of node 0's part, ``from_node_zero()``.

        ``source`` and ``chunk`` broadcast. ``translate(h, u)``: where the translation by h carries node u.
        """
        source, chunk = ints(source), ints(chunk)
        block, place = np.divmod(chunk, self.messages)
        # Chunk (h·N + v)·M + c is from h for v; in node 0's part it is v·M + c.
        if self.traits.blocks == "pair":
            return (source * self.nodes + translate(source, block)) * self.messages + place
        return (block * self.nodes + source) * self.messages + place

    # --- how it is shown ---

    def __repr__(self) -> str:
        root = f", root={self.root}" if self.root else ""
        targets = f", targets={len(self.targets):,} nodes" if self.targets else ""
        size = f"messages={self.messages}" if self.lengths is None else f"lengths={self.lengths!r}"
        size = size if self.demand is None else f"demand={self.demand!r}"
        relays = f", relays={len(self.relays):,} nodes" if self.relays else ""
        owners = f", owners={len({node for _, node in self.owners}):,} nodes" if self.owners else ""
        owners = ", owners=NO_OWNERS" if self.shared else owners
        return f"Collective({self.kind!r}, nodes={self.nodes}, {size}{root}{targets}{relays}{owners})"

    def __str__(self) -> str:
        kind, noun = self.traits, "sum" if self.traits.adds else "message"
        load = f"{self.messages:,} {noun}{'' if self.messages == 1 else 's'}"
        if self.demand is not None:
            load = f"{self.demand.chunks:,} chunks in {count_of(len(self.demand), 'class')}"
        elif self.lengths is not None:
            load = f"messages of {self.lengths.total:,} flits in all"
        elif kind.blocks != "one":
            load += f" {'of' if kind.starts == 'own' and kind.blocks == 'node' else 'for'} each {kind.blocks}"
        way = f" {kind.direction} node {self.root}"
        if kind.all_source:
            way = ""
        elif kind.results:
            way = f" by way of node {self.root}"
        elif kind.targets:
            way += f" to {len(self.targets):,} node{'' if len(self.targets) == 1 else 's'}"
        return f"{self.kind} over {self.nodes - len(self.relays):,} {self.member}s: {load}{way}"
