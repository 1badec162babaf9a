"""Collectives on a communicator of mpi4py, over schedules of treecast: as its upper-case methods, and surviving failures.

>>> import treecast.mpi                                             # doctest: +SKIP
>>> treecast.mpi.Bcast(comm, buffer, root=0, survive=2)             # doctest: +SKIP

Every rank of the communicator calls the same function. Buffers are those of mpi4py's upper-case methods: contiguous arrays or
bytes, ``[buffer, count, datatype]``, MPI.IN_PLACE. Each function returns the ranks whose data did not come because they have
failed (a tuple, empty when all is well), and raises DeliveryError when more is missing. The keywords of each function:

``survive``: how many failures of ranks, which nobody knows of, must keep no data of a living rank from the living; 0 by default.
The job has to run under fault tolerance for that: ``treecast launch``.
``deadline``: seconds without any message after which the links that a rank waits for count as cut; by default it waits for ever.
``network``: what joins the ranks, rank r at node r (``torus:4x8``, a Network, a networkx graph with its nodes in that order); by
default a complete network in one memory, else one of the papers that has so many nodes.

Raised besides: PlanError and NetworkError, for what cannot be done, before any data is sent.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypedDict, Unpack

import numpy as np

from treecast.collectives import COLLECTIVES, Collective, Lengths
from treecast.errors import DeliveryError, PlanError
from treecast.execution.layout import even_layout, message_layout
from treecast.mpi.api.buffers import Message, message
from treecast.mpi.engine.channel import Channel, channel_of
from treecast.mpi.engine.choose import chunk_of, lanes_for, messages_of
from treecast.mpi.engine.engine import Bytes, Outcome, Part, failed_ranks
from treecast.mpi.engine.lanes import lanes_of
from treecast.plans import plan

__all__ = ["Allgather", "Allreduce", "Alltoall", "Bcast", "Gather", "Gatherv", "Scatter", "Scatterv"]


class Options(TypedDict, total=False):
    """The keywords that every collective takes."""

    survive: int
    deadline: float | None
    network: Any


class _Asked(NamedTuple):
    """The same, with defaults; what is spelled wrong raises TypeError."""

    survive: int = 0
    deadline: float | None = None
    network: Any = None


def Bcast(comm: Any, buf: Any, root: int = 0, **options: Unpack[Options]) -> tuple[int, ...]:  # noqa: N802
    """Bring the buffer of the root to all ranks."""
    channel = _rooted(comm, root)
    data = message(channel.mpi, buf, "the buffer", channel.rank != root).data
    return _broadcast(channel, data, root, _Asked(**options))


def _broadcast(channel: Channel, data: Bytes, root: int, asked: _Asked) -> tuple[int, ...]:
    held = [0] if channel.rank == root else []
    return _moved(channel, "broadcast", root, len(data), asked, lambda block: data, held, [0])


def Allgather(comm: Any, sendbuf: Any, recvbuf: Any, **options: Unpack[Options]) -> tuple[int, ...]:  # noqa: N802
    """Bring the block of every rank to all ranks: block h of ``recvbuf`` is that of rank h."""
    channel = channel_of(comm)
    mpi, me, size = channel.mpi, channel.rank, channel.size
    blocks = _blocks(message(mpi, recvbuf, "the receive buffer", True), size, "the receive buffer")
    if sendbuf is not mpi.IN_PLACE:
        _copied(message(mpi, sendbuf, "the send buffer").data, blocks[me], "allgather")
    return _moved(channel, "allgather", 0, len(blocks[me]), _Asked(**options), blocks.__getitem__, [me], range(size))


def Alltoall(comm: Any, sendbuf: Any, recvbuf: Any, **options: Unpack[Options]) -> tuple[int, ...]:  # noqa: N802
    """Bring block v of every rank's ``sendbuf`` to rank v: block h of its ``recvbuf`` is the one from rank h."""
    channel = channel_of(comm)
    mpi, me, size = channel.mpi, channel.rank, channel.size
    into = _blocks(message(mpi, recvbuf, "the receive buffer", True), size, "the receive buffer")
    if sendbuf is mpi.IN_PLACE:
        out = [block.copy() for block in into]
    else:
        out = _blocks(message(mpi, sendbuf, "the send buffer"), size, "the send buffer")
    _copied(out[me], into[me], "alltoall")

    def place(block: int) -> Bytes | None:
        source, target = divmod(block, size)
        return out[target] if source == me else into[source] if target == me else None

    mine, wanted = range(me * size, (me + 1) * size), range(me, size * size, size)
    return _moved(channel, "alltoall", 0, len(out[me]), _Asked(**options), place, mine, wanted)


def Scatter(comm: Any, sendbuf: Any, recvbuf: Any, root: int = 0, **options: Unpack[Options]) -> tuple[int, ...]:  # noqa: N802
    """Deal out the root's ``sendbuf``: rank v gets block v."""
    channel = _rooted(comm, root)
    mpi, me, size = channel.mpi, channel.rank, channel.size
    out: list[Bytes] = []
    if me == root:
        out = _blocks(message(mpi, sendbuf, "the send buffer"), size, "the send buffer")
    into = out[me] if recvbuf is mpi.IN_PLACE and out else message(mpi, recvbuf, "the receive buffer", True).data
    if out and recvbuf is not mpi.IN_PLACE:
        _copied(out[me], into, "scatter")

    def place(block: int) -> Bytes | None:
        return out[block] if out else into if block == me else None

    return _moved(channel, "scatter", root, len(into), _Asked(**options), place, range(size) if out else (), [me])


def Gather(comm: Any, sendbuf: Any, recvbuf: Any, root: int = 0, **options: Unpack[Options]) -> tuple[int, ...]:  # noqa: N802
    """Collect every rank's ``sendbuf`` at the root: block h of its ``recvbuf`` is that of rank h."""
    channel = _rooted(comm, root)
    mpi, me, size = channel.mpi, channel.rank, channel.size
    into: list[Bytes] = []
    if me == root:
        into = _blocks(message(mpi, recvbuf, "the receive buffer", True), size, "the receive buffer")
    own = into[me] if sendbuf is mpi.IN_PLACE and into else message(mpi, sendbuf, "the send buffer").data
    if into and sendbuf is not mpi.IN_PLACE:
        _copied(own, into[me], "gather")

    def place(block: int) -> Bytes | None:
        return into[block] if into else own if block == me else None

    return _moved(channel, "gather", root, len(own), _Asked(**options), place, [me], range(size) if into else ())


def Allreduce(  # noqa: N802
    comm: Any, sendbuf: Any, recvbuf: Any, op: Any = None, **options: Unpack[Options]
) -> tuple[int, ...]:
    """Combine every rank's ``sendbuf``, item by item, by a commutative operation (MPI.SUM), and bring the result to all ranks.

    Floating-point sums are added in the order in which they come.
    """
    channel = channel_of(comm)
    mpi, me, size = channel.mpi, channel.rank, channel.size
    op = mpi.SUM if op is None else op
    if not op.Is_commutative():
        raise PlanError("allreduce needs a commutative operation: contributions come in no order that could be told")
    received = message(mpi, recvbuf, "the receive buffer", True)
    if sendbuf is not mpi.IN_PLACE:
        _copied(message(mpi, sendbuf, "the send buffer").data, received.data, "allreduce")
    asked = _Asked(**options)
    where = channel.network("allreduce", asked.survive, asked.network)
    if size == 1:
        return ()
    count = messages_of("allreduce", where, -(-len(received.data) // size), 0, channel.rate(where))
    collective, lanes, missing = lanes_for("allreduce", where, me, 0, count, 0, channel.tags)
    sums, item = collective.sums, received.itemsize
    # chunks are cut across the whole vector; a finished sum takes the place of the contribution, which is gone by then
    layout = even_layout(len(received.data), sums, item)

    def view(chunk: int) -> Bytes:
        return received.data[layout.slice_of(chunk % sums, chunk % sums + 1)]

    def add(into: Bytes, contribution: Bytes) -> None:
        numbers = len(into) // item
        op.Reduce_local([contribution, numbers, received.datatype], [into, numbers, received.datatype])

    own = {c: sums + c for c in range(me * count, (me + 1) * count)}
    outcome = channel.run(lanes, Part(view, (), missing, own, add), asked.deadline)
    return _finished(channel, collective, outcome, range(sums, 2 * sums))


def Scatterv(comm: Any, sendbuf: Any, recvbuf: Any, root: int = 0, **options: Unpack[Options]) -> tuple[int, ...]:  # noqa: N802
    """Deal out blocks of different lengths: ``sendbuf`` of the root is ``[buffer, counts, places, datatype]``."""
    return _different(_rooted(comm, root), "scatterv", sendbuf, recvbuf, root, _Asked(**options))


def Gatherv(comm: Any, sendbuf: Any, recvbuf: Any, root: int = 0, **options: Unpack[Options]) -> tuple[int, ...]:  # noqa: N802
    """Collect blocks of different lengths: ``recvbuf`` of the root is ``[buffer, counts, places, datatype]``."""
    return _different(_rooted(comm, root), "gatherv", recvbuf, sendbuf, root, _Asked(**options))


def _different(channel: Channel, kind: str, many: Any, one: Any, root: int, asked: _Asked) -> tuple[int, ...]:
    """Carry out a scatterv or gatherv: ``many`` are the root's blocks, ``one`` a rank's own."""
    where = channel.network(kind, asked.survive, asked.network)
    mpi, me, size, scatters = channel.mpi, channel.rank, channel.size, COLLECTIVES[kind].direction == "from"
    blocks: list[Bytes] = []
    own, error = np.empty(0, np.uint8), ""
    lengths = np.zeros(size, np.int64)
    try:
        if me == root:
            all_of = message(mpi, many, "the root's buffer", not scatters)
            if all_of.counts is None or len(all_of.counts) != size:
                raise PlanError(
                    f"{kind}: the root gives a count for each of the {size} ranks: [buffer, counts, datatype]"
                )
            blocks = [all_of.block(rank) for rank in range(size)]
            lengths[:] = [len(block) for block in blocks]
        own = blocks[me] if one is mpi.IN_PLACE and blocks else message(mpi, one, "a rank's own buffer", scatters).data
    except PlanError as wrong:
        error = str(wrong)
    _broadcast(channel, lengths.view(np.uint8), root, asked)  # only the root knows them
    if not error and (len(own) < lengths[me] or (not scatters and len(own) != lengths[me])):
        error = f"{kind}: rank {me} has a buffer of {len(own):,} bytes where the root says {lengths[me]:,}"
    first = channel.comm.allreduce((0, error) if error else (1, ""), mpi.MIN)[1] if size > 1 else error
    if first:  # nobody may wait for a rank that has stopped
        raise PlanError(error or f"{kind}: another rank cannot: {first}")
    own = own[: lengths[me]]
    if me == root and one is not mpi.IN_PLACE:
        (own if scatters else blocks[me])[:] = blocks[me] if scatters else own
    flit = chunk_of(int(lengths.sum()), where.diameter + 1, channel.rate(where))
    flits = -(-lengths // flit)
    flits[root] = 0
    if size == 1 or not flits.any():
        return ()
    name = "farthest-first" if scatters else "nearest-first"
    whole = plan(kind, where, root=root, lengths=flits.tolist(), builder=name, model="bufferless-multiport")
    mine = whole.program(me)
    numbers: Lengths = mine.collective.lengths or Lengths.of(flits)
    layout = message_layout(numbers, np.where(flits, lengths, 0), flit)
    passing: dict[int, Bytes] = {}

    def view(chunk: int) -> Bytes:
        rank = int(numbers.node_of(chunk))
        where, begin = layout.slice_of(chunk, chunk + 1), int(layout.bounds[numbers.first[rank]])
        if blocks or rank == me:
            return (blocks[rank] if blocks else own)[where.start - begin : where.stop - begin]
        if chunk not in passing:
            passing[chunk] = np.empty(where.stop - where.start, np.uint8)
        return passing[chunk]

    everything, mine_alone = range(numbers.total), range(int(numbers.first[me]), int(numbers.stop[me]))
    held, wanted = (everything, mine_alone) if scatters else (mine_alone, everything)
    if me != root:
        held, wanted = (range(0), mine_alone) if scatters else (mine_alone, range(0))
    elif scatters:
        wanted = range(0)
    lanes = lanes_of(mine, me, channel.tags)
    outcome = channel.run(lanes, Part(view, held), asked.deadline)
    return _finished(channel, mine.collective, outcome, wanted)


# -- what they share ---------------------------------------------------------------------------------------------------


def _rooted(comm: Any, root: int) -> Channel:
    channel = channel_of(comm)
    if not 0 <= root < channel.size:
        raise PlanError(f"root {root} is no rank: ranks go from 0 to {channel.size - 1}")
    return channel


def _moved(
    channel: Channel, kind: str, root: int, size: int, asked: _Asked, place: Callable[[int], Bytes | None],
    held: Iterable[int], wanted: Iterable[int],
) -> tuple[int, ...]:  # fmt: skip
    """Move blocks of ``size`` bytes: this rank has those in ``held``, and is to get those in ``wanted``.

    ``place(block)``: where a block lies, None of one that only passes.
    """
    where, survive = channel.network(kind, asked.survive, asked.network), asked.survive
    if channel.size == 1:
        return ()
    count = messages_of(kind, where, size, survive, channel.rate(where))
    collective, lanes, _ = lanes_for(kind, where, channel.rank, root, count, survive, channel.tags)

    def chunks(blocks: Iterable[int]) -> Iterable[int]:
        return (chunk for block in blocks for chunk in range(block * count, (block + 1) * count))

    outcome = channel.run(lanes, Part(_Places(size, count, place), chunks(held)), asked.deadline)
    return _finished(channel, collective, outcome, chunks(wanted))


class _Places:
    """Where chunks lie: in blocks of ``count`` chunks, ``block(b)`` the memory of block b, or None if it only passes."""

    def __init__(self, size: int, count: int, block: Callable[[int], Bytes | None]) -> None:
        self._layout, self._count, self._block = even_layout(size, count), count, block
        self._passing: dict[int, Bytes] = {}

    def __call__(self, chunk: int) -> Bytes:
        b, place = divmod(chunk, self._count)
        memory = self._block(b)
        where = self._layout.slice_of(place, place + 1)
        if memory is not None:
            return memory[where]
        if chunk not in self._passing:
            self._passing[chunk] = np.empty(where.stop - where.start, np.uint8)
        return self._passing[chunk]


def _finished(channel: Channel, collective: Collective, outcome: Outcome, wanted: Iterable[int]) -> tuple[int, ...]:
    """Return the failed ranks whose data is missing. Raises DeliveryError when data of a living one is."""
    lacking = [chunk for chunk in wanted if chunk not in outcome.held]
    if not lacking:
        return ()
    dead = {*outcome.dead, *failed_ranks(channel.mpi, channel.comm)}
    sources = {int(collective.source_of(chunk)) for chunk in lacking}
    if sources <= dead and not collective.sums and (collective.all_source or collective.direction == "to"):
        return tuple(sorted(sources))
    who = f"ranks {', '.join(map(str, sorted(dead)))} have failed" if dead else "no rank is known to have failed"
    cut = f", links to {', '.join(map(str, sorted(outcome.cut)))} count as cut" if outcome.cut else ""
    raise DeliveryError(f"{collective.kind}: rank {channel.rank} lacks {len(lacking):,} chunks: {who}{cut}")


def _blocks(received: Message, size: int, what: str) -> list[Bytes]:
    block, rest = divmod(len(received.data), size)
    if rest:
        raise PlanError(f"{what} of {len(received.data):,} bytes cannot be cut into {size} equal blocks")
    return [received.data[b * block : (b + 1) * block] for b in range(size)]


def _copied(source: Bytes, target: Bytes, what: str) -> None:
    """Copy a rank's own block. Raises PlanError when the lengths differ."""
    if len(source) != len(target):
        raise PlanError(f"{what}: {len(source):,} bytes are sent where {len(target):,} are received")
    target[:] = source
