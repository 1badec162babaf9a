"""The table of collectives: a row each, from which everything else follows.

A collective moves *blocks* of M chunks. A row says how many blocks there are, which nodes hold them before the first step,
and which nodes want them after the last. Nobody outside this table asks for a collective's name. A new collective is a new
row; it needs a rule of its own only where it is unlike all others.

This module does without numpy, so that help texts can read the table.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from treecast.discovery import import_extensions
from treecast.errors import PlanError, did_you_mean


@dataclass(frozen=True, repr=False)
class Kind:
    """A kind of collective.

    ``blocks``: how many blocks of M chunks there are: one, one for each node, or one for each pair of nodes. Block v belongs
    to node v; of pairs, block h·N + v belongs to node h and is for node v. Of a demand there is one for each of its classes,
    which say who holds and who wants it.

    ``starts``: the holdings before the first step: the root holds all blocks, each node holds its own blocks, or every node
    holds a contribution to every block. In the last case the blocks are sums, and the nodes that they belong to own them; a
    single sum is the root's. ``ends``: the wants after the last step: the root wants all blocks, each node wants its own,
    every node wants all, or some nodes want all. Sums that all nodes want travel on as further blocks, the *finished sums*.

    ``part``: the kind of collective in which node 0's data alone takes part. An orbit schedule carries out that one. Empty
    where the nodes differ in their work. ``backwards``: the kind that becomes this one when it runs backwards in time,
    ``there_and_back``: the one that makes this one when it runs backwards and then forwards, if there is one. ``lengths``:
    whether each block has a length of its own, in flits.

    ``summary`` describes it in a sentence. ``mpi``: the name of MPI's function, without the prefix ``MPI_``; empty where MPI has
    none. ``also``: its other names in the literature.

    >>> from treecast.collectives import COLLECTIVES
    >>> gather = COLLECTIVES["gather"]
    >>> gather
    Kind('gather')
    >>> print(gather)
    gather: one node collects a block from every node
    >>> gather.blocks, gather.starts, gather.ends, gather.backwards
    ('node', 'own', 'root', 'scatter')
    >>> gather.personal, gather.direction, gather.all_source
    (True, 'to', False)
    """

    name: str
    blocks: Literal["one", "node", "pair", "class"]
    starts: Literal["root", "own", "every", "classes"]
    ends: Literal["root", "own", "all", "targets", "classes"]
    summary: str
    part: str = ""
    backwards: str = ""
    there_and_back: str = ""
    lengths: bool = False
    mpi: str = ""
    also: tuple[str, ...] = ()

    @property
    def all_source(self) -> bool:
        """Whether no node is the root, which has another part than the others."""
        return self.blocks != "one" and "root" not in (self.starts, self.ends)

    @property
    def adds(self) -> bool:
        """Whether its blocks are sums, to which every node adds a contribution."""
        return self.starts == "every"

    @property
    def results(self) -> bool:
        """Whether finished sums travel on, to nodes that do not own them."""
        return self.adds and self.ends not in ("own", "root")

    @property
    def personal(self) -> bool:
        """Whether each chunk comes from one node alone and is for one node alone."""
        return not self.adds and self.ends in ("root", "own")

    @property
    def one_way(self) -> bool:
        """Whether one node deals out, or collects, messages of different lengths, which go one way each."""
        return self.lengths and self.personal and not self.all_source

    @property
    def spreads(self) -> bool:
        """Whether all data reaches every node as it is: from one node, or from each."""
        return not self.adds and self.ends == "all"

    @property
    def one_to_all(self) -> bool:
        """Whether one node's data reaches every node."""
        return self.spreads and not self.all_source

    @property
    def targets(self) -> bool:
        """Whether the nodes that want the data have to be given."""
        return self.ends == "targets"

    @property
    def direction(self) -> Literal["from", "to"]:
        """Which way data goes, seen from the root: ``from`` it, or ``to`` it."""
        return "to" if self.ends == "root" else "from"

    def __str__(self) -> str:
        return f"{self.name}: {self.summary}"

    def __repr__(self) -> str:
        return f"Kind({self.name!r})"


# fmt: off
_TABLE = (
    Kind("broadcast", "one", "root", "all", "one node's data reaches every node",
         mpi="Bcast", also=("single node broadcast", "one-to-all broadcast")),
    Kind("multicast", "one", "root", "targets", "one node's data reaches some nodes"),
    Kind("scatter", "node", "root", "own", "one node's data is dealt out: each node gets its own block",
         mpi="Scatter", also=("single node scatter", "one-to-all personalized communication")),
    Kind("gather", "node", "own", "root", "one node collects a block from every node",
         backwards="scatter", mpi="Gather", also=("single node gather",)),
    Kind("scatterv", "node", "root", "own", "a scatter of blocks of different lengths",
         lengths=True, mpi="Scatterv"),
    Kind("gatherv", "node", "own", "root", "a gather of blocks of different lengths",
         lengths=True, backwards="scatterv", mpi="Gatherv"),
    Kind("reduce", "one", "every", "root", "the sum of every node's data ends at one node",
         backwards="broadcast", mpi="Reduce", also=("single node accumulation",)),
    Kind("reduce-broadcast", "one", "every", "all", "the sum of every node's data reaches every node, by way of one node",
         there_and_back="broadcast"),
    Kind("allgather", "node", "own", "all", "every node's data reaches every node",
         part="broadcast", mpi="Allgather", also=("multinode broadcast", "all-to-all broadcast", "gossip")),
    Kind("allgatherv", "node", "own", "all", "an allgather of blocks of different lengths",
         lengths=True, mpi="Allgatherv", also=("irregular allgather",)),
    Kind("alltoall", "pair", "own", "own", "every node sends every other node a block of its own",
         part="scatter", mpi="Alltoall", also=("total exchange", "all-to-all personalized communication")),
    Kind("alltoallv", "pair", "own", "own", "an alltoall of blocks of different lengths, by a matrix of demands",
         lengths=True, mpi="Alltoallv", also=("irregular alltoall",)),
    Kind("reduce-scatter", "node", "every", "own", "the sum of every node's data ends in blocks, one at each node",
         part="reduce", backwards="allgather", mpi="Reduce_scatter_block", also=("multinode accumulation",)),
    Kind("allreduce", "node", "every", "all",
         "the sum of every node's data reaches every node: a reduce-scatter, then an allgather",
         part="reduce-broadcast", there_and_back="allgather", mpi="Allreduce"),
    Kind("demand", "class", "classes", "classes", "whoever wants a chunk, or a sum, gets it from whoever has it", lengths=True),
)
# fmt: on

_KINDS = {kind.name: kind for kind in _TABLE}
COLLECTIVES: Mapping[str, Kind] = MappingProxyType(_KINDS)
"""Every kind of collective by its name, in the order in which lists show them.

>>> from treecast.collectives import COLLECTIVES
>>> [name for name, kind in COLLECTIVES.items() if kind.all_source]
['allgather', 'allgatherv', 'alltoall', 'alltoallv', 'reduce-scatter', 'allreduce']
>>> COLLECTIVES["allgather"].also
('multinode broadcast', 'all-to-all broadcast', 'gossip')
"""


def find_backwards(name: str) -> str:
    """Return the name of the kind of collective that is another one, run backwards.

    >>> find_backwards("broadcast")
    'reduce'
    """
    return next(kind.name for kind in COLLECTIVES.values() if kind.backwards == name)


def add_kind(row: Kind) -> Kind:
    """Add a row to the table, and return it."""
    _KINDS[row.name] = row
    return row


def collective(name: str, blocks: Any, starts: Any, ends: Any, summary: str, **more: Any) -> Kind:
    """Add a kind of collective, a row of the table, and return it.

    Who has what before the first step, and who wants it after the last, is said by ``blocks`` (``one``, ``node``, ``pair``),
    ``starts`` (``root``, ``own``, ``every``) and ``ends`` (``root``, ``own``, ``all``, ``targets``); ``more`` are other fields of
    Kind.
    """
    return add_kind(Kind(name, blocks, starts, ends, summary, **more))


def find_unequal(name: str) -> str:
    """Return the name of the kind of collective that is another one, but of blocks of different lengths.

    >>> find_unequal("allgather")
    'allgatherv'
    """
    like = COLLECTIVES[name]
    where = like.blocks, like.starts, like.ends
    return next(
        kind.name for kind in COLLECTIVES.values() if kind.lengths and (kind.blocks, kind.starts, kind.ends) == where
    )


def find_kind(name: str) -> Kind:
    """Return the kind of collective that has a name.

    Raises PlanError when there is none. The message names the one that was probably meant: it knows MPI's names and the
    papers', too.

    >>> find_kind("alltoall").personal
    True
    """
    # A kind of an extension: these are imported when a name is not known, and not for every command.
    if name not in COLLECTIVES:
        import_extensions()
    if name in COLLECTIVES:
        return COLLECTIVES[name]
    stands_for = {
        other: kind.name for kind in COLLECTIVES.values() for other in (*kind.also, kind.mpi, kind.name) if other
    }
    hint = did_you_mean(str(name), stands_for, stands_for)
    raise PlanError(f"{name!r} is no collective: write one of {', '.join(COLLECTIVES)}{hint}")
