"""Collectives that move blocks of different lengths: scatterv, gatherv."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from treecast.collectives import COLLECTIVES, Lengths
from treecast.errors import PlanError
from treecast.execution.layout import Bytes, message_layout
from treecast.mpi.api.blocks import broadcast_bytes, communicator_with
from treecast.mpi.api.buffers import read_buffer
from treecast.mpi.api.delivery import lost_ranks
from treecast.mpi.api.options import Asked
from treecast.mpi.engine.choose import chunk_of
from treecast.mpi.engine.communicator import Communicator
from treecast.mpi.engine.engine import Part
from treecast.mpi.engine.transfers import transfers_of
from treecast.networks import Network
from treecast.networks.core import Ints
from treecast.plans import plan


def scatterv(comm: Any, sendbuf: Any, recvbuf: Any, root: int, asked: Asked) -> tuple[int, ...]:
    """Deal out the root's blocks of different lengths."""
    ours = communicator_with(comm, root)
    where = ours.network("scatterv", asked.survive, asked.network)
    blocks = _agree(ours, _Buffers("scatterv", root, sendbuf, recvbuf), asked)
    if ours.rank == root and recvbuf is not ours.mpi.IN_PLACE:
        blocks.own[:] = blocks.all_of[root]
    return _move(ours, where, "scatterv", blocks, asked)


def gatherv(comm: Any, sendbuf: Any, recvbuf: Any, root: int, asked: Asked) -> tuple[int, ...]:
    """Collect blocks of different lengths at the root."""
    ours = communicator_with(comm, root)
    where = ours.network("gatherv", asked.survive, asked.network)
    blocks = _agree(ours, _Buffers("gatherv", root, recvbuf, sendbuf), asked)
    if ours.rank == root and sendbuf is not ours.mpi.IN_PLACE:
        blocks.all_of[root][:] = blocks.own
    return _move(ours, where, "gatherv", blocks, asked)


@dataclass(frozen=True)
class _Buffers:
    """What a rank was called with: ``many``, the root's buffer of all blocks, and ``one``, the rank's own."""

    kind: str
    root: int
    many: Any
    one: Any

    @property
    def scatters(self) -> bool:
        return COLLECTIVES[self.kind].direction == "from"


@dataclass(frozen=True)
class _Blocks:
    """What a rank knows of the blocks: ``all_of`` them (at the root only), its ``own``, and the bytes of each."""

    root: int
    all_of: list[Bytes]
    own: Bytes
    lengths: Ints


def _agree(ours: Communicator, given: _Buffers, asked: Asked) -> _Blocks:
    """Return the blocks, when every rank can take part. Raises PlanError at all ranks when one cannot."""
    mpi, me, kind = ours.mpi, ours.rank, given.kind
    all_of: list[Bytes] = []
    own, error = np.empty(0, np.uint8), ""
    try:
        if me == given.root:
            all_of = _blocks_of(ours, given)
        if given.one is mpi.IN_PLACE and all_of:
            own = all_of[me]
        else:
            own = read_buffer(mpi, given.one, "a rank's own buffer", given.scatters).data
    except PlanError as wrong:
        error = str(wrong)
    lengths = np.zeros(ours.size, np.int64)
    lengths[: len(all_of)] = [len(block) for block in all_of]
    broadcast_bytes(ours, lengths.view(np.uint8), given.root, asked)  # only the root knows them
    if not error and (len(own) < lengths[me] or (not given.scatters and len(own) != lengths[me])):
        error = f"{kind}: rank {me} has a buffer of {len(own):,} bytes where the root says {lengths[me]:,}"
    first = ours.comm.allreduce((0, error) if error else (1, ""), mpi.MIN)[1] if ours.size > 1 else error
    if first:  # nobody may wait for a rank that has stopped
        raise PlanError(error or f"{kind}: another rank cannot: {first}")
    return _Blocks(given.root, all_of, own[: lengths[me]], lengths)


def _blocks_of(ours: Communicator, given: _Buffers) -> list[Bytes]:
    """Return the root's blocks. Raises PlanError when it does not say how long each is."""
    found = read_buffer(ours.mpi, given.many, "the root's buffer", not given.scatters)
    if found.counts is None or len(found.counts) != ours.size:
        raise PlanError(
            f"{given.kind}: the root gives a count for each of the {ours.size} ranks: [buffer, counts, datatype]"
        )
    return [found.block(rank) for rank in range(ours.size)]


def _move(ours: Communicator, where: Network, kind: str, blocks: _Blocks, asked: Asked) -> tuple[int, ...]:
    """Carry a scatterv or gatherv out; return the failed ranks whose blocks did not come."""
    me, root = ours.rank, blocks.root
    flit = chunk_of(int(blocks.lengths.sum()), where.diameter + 1, ours.rate(where))
    flits = -(-blocks.lengths // flit)
    flits[root] = 0
    if ours.size == 1 or not flits.any():
        return ()
    scatters = COLLECTIVES[kind].direction == "from"
    name = "farthest-first" if scatters else "nearest-first"
    whole = plan(kind, where, root=root, lengths=flits.tolist(), builder=name, model="bufferless-multiport")
    mine = whole.at(me)
    lengths = mine.collective.lengths or Lengths.of(flits)
    everything, own = range(lengths.total), range(int(lengths.first[me]), int(lengths.stop[me]))
    begins, ends = (everything if me == root else range(0)), own
    held, wanted = (begins, ends) if scatters else (ends, begins)
    memory = _Memory(me, blocks, lengths, flit)
    part = Part(memory, held, passing=memory.passing)
    outcome = ours.run(transfers_of(mine, me, ours.tags), part, asked.deadline)
    return lost_ranks(ours, mine.collective, outcome, wanted)


class _Memory:
    """Where flits of ``flit`` bytes lie: in the blocks of the root, or in a rank's own."""

    def __init__(self, me: int, blocks: _Blocks, lengths: Lengths, flit: int) -> None:
        self._me, self._blocks, self._lengths = me, blocks, lengths
        self._layout = message_layout(lengths, blocks.lengths, flit)

    def __call__(self, chunk: int) -> Bytes:
        rank, where = int(self._lengths.node_of(chunk)), self._layout.slice_of(chunk, chunk + 1)
        block = self._blocks.all_of[rank] if self._blocks.all_of else self._blocks.own
        begin = int(self._layout.bounds[self._lengths.first[rank]])
        return block[where.start - begin : where.stop - begin]

    def passing(self, chunk: int) -> int | None:
        """Return how many bytes a flit has that only passes; None of one that has a place."""
        if self._blocks.all_of or int(self._lengths.node_of(chunk)) == self._me:
            return None
        where = self._layout.slice_of(chunk, chunk + 1)
        return where.stop - where.start
