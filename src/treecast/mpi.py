"""Collectives on a communicator of mpi4py, over schedules of treecast: as its upper-case methods, and surviving failures.

>>> import treecast.mpi                                             # doctest: +SKIP
>>> treecast.mpi.Bcast(comm, buffer, root=0, survive=2)             # doctest: +SKIP

Every rank of the communicator calls the same function. Buffers are those of mpi4py's upper-case methods: contiguous arrays or
bytes, ``[buffer, count, datatype]``, MPI.IN_PLACE. Each function returns the ranks whose data did not come because they have
failed (a tuple, empty when all is well), and raises DeliveryError when more is missing.

``survive``: how many failures of ranks, which nobody knows of, must keep no data of a living rank from the living. The job has to
run under fault tolerance for that: ``treecast launch``. ``deadline``: after so many seconds without any message the links that a
rank waits for count as cut; None, the default, waits for ever, as MPI does.
"""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from treecast.collectives import Collective, Lengths
from treecast.errors import DeliveryError, PlanError
from treecast.execute.mpi import load_mpi, tags_of
from treecast.execute.mpi.buffers import Message, message
from treecast.execute.mpi.choose import contributions, lanes_for, messages_of, network_of
from treecast.execute.mpi.engine import Bytes, Engine, Part, failed_ranks
from treecast.execute.mpi.program import Lane, lanes_of
from treecast.plans import plan

__all__ = ["Allgather", "Allreduce", "Alltoall", "Bcast", "Gather", "Gatherv", "Scatter", "Scatterv"]

_EPOCHS = 16  # operations after which tags are used again
_FLIT = 1 << 18  # bytes of a flit of scatterv and gatherv
_FOREVER = 1e9


class _Channel:
    """A communicator of our own beside the user's, and how many operations went over it."""

    def __init__(self, comm: Any, mpi: Any) -> None:
        self.mpi, self.comm, self.epoch = mpi, comm.Dup(), 0
        self.comm.Set_errhandler(mpi.ERRORS_RETURN)
        self.tags = tags_of(mpi) // _EPOCHS
        self.rank, self.size = int(comm.Get_rank()), int(comm.Get_size())

    def run(self, lanes: tuple[Lane, ...], part: Part, deadline: float | None) -> Any:
        """Carry out one operation, with tags that no operation shortly before it had."""
        self.epoch = (self.epoch + 1) % _EPOCHS
        patience = _FOREVER if deadline is None else deadline
        return Engine(self.mpi, self.comm, lanes, part, patience, self.epoch * self.tags).run()


_KEY: list[int] = []  # under which a communicator keeps its channel


def _channel(comm: Any) -> _Channel:
    mpi = load_mpi()
    if not _KEY:
        _KEY.append(mpi.Comm.Create_keyval(delete_fn=_forget))
    found = comm.Get_attr(_KEY[0])
    if found is None:
        found = _Channel(comm, mpi)
        comm.Set_attr(_KEY[0], found)
    return found


def _forget(comm: Any, key: int, channel: Any) -> None:
    if not channel.mpi.Is_finalized():
        channel.comm.Free()


def _root(channel: _Channel, root: int) -> None:
    if not 0 <= root < channel.size:
        raise PlanError(f"root {root} is no rank: ranks go from 0 to {channel.size - 1}")


def _cuts(size: int, count: int, item: int = 1) -> list[int]:
    """Return where each of ``count`` chunks of ``size`` bytes begins, and the end, between items."""
    return [c * (size // item) // count * item for c in range(count + 1)]


class _Places:
    """Where chunks lie: in blocks of ``count`` chunks, ``block(b)`` the memory of block b, or None if it only passes."""

    def __init__(self, size: int, count: int, block: Callable[[int], Bytes | None], item: int = 1) -> None:
        self._cuts, self._count, self._block = _cuts(size, count, item), count, block
        self._passing: dict[int, Bytes] = {}

    def __call__(self, chunk: int) -> Bytes:
        b, place = divmod(chunk, self._count)
        memory = self._block(b)
        first, stop = self._cuts[place], self._cuts[place + 1]
        if memory is not None:
            return memory[first:stop]
        if chunk not in self._passing:
            self._passing[chunk] = np.empty(stop - first, np.uint8)
        return self._passing[chunk]


def _finished(channel: _Channel, collective: Collective, outcome: Any, wanted: Iterable[int]) -> tuple[int, ...]:
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


def Bcast(comm: Any, buf: Any, root: int = 0, *, survive: int = 0, deadline: float | None = None) -> tuple[int, ...]:  # noqa: N802
    """Bring the buffer of the root to all ranks."""
    channel = _channel(comm)
    _root(channel, root)
    data = message(channel.mpi, buf, "the buffer", channel.rank != root).data
    return _broadcast(channel, data, root, survive, deadline)


def _broadcast(
    channel: _Channel, data: Bytes, root: int, survive: int, deadline: float | None, chunks: int | None = None
) -> tuple[int, ...]:
    if channel.size == 1:
        return ()
    count = chunks or messages_of("broadcast", channel.size, len(data), survive)
    collective, lanes, _ = lanes_for("broadcast", channel.size, channel.rank, root, count, survive, channel.tags)
    held = range(count) if channel.rank == root else ()
    outcome = channel.run(lanes, Part(_Places(len(data), count, lambda b: data), held), deadline)
    return _finished(channel, collective, outcome, range(count))


def _blocks(received: Message, size: int, what: str) -> list[Bytes]:
    block, rest = divmod(len(received.data), size)
    if rest:
        raise PlanError(f"{what} of {len(received.data):,} bytes cannot be cut into {size} equal blocks")
    return [received.data[b * block : (b + 1) * block] for b in range(size)]


def _same(a: int, b: int, what: str) -> None:
    if a != b:
        raise PlanError(f"{what}: {a:,} bytes are sent where {b:,} are received")


def Allgather(  # noqa: N802
    comm: Any, sendbuf: Any, recvbuf: Any, *, survive: int = 0, deadline: float | None = None
) -> tuple[int, ...]:
    """Bring the block of every rank to all ranks: block h of ``recvbuf`` is that of rank h."""
    channel = _channel(comm)
    mpi, me, size = channel.mpi, channel.rank, channel.size
    blocks = _blocks(message(mpi, recvbuf, "the receive buffer", True), size, "the receive buffer")
    if sendbuf is not mpi.IN_PLACE:
        own = message(mpi, sendbuf, "the send buffer").data
        _same(len(own), len(blocks[me]), "allgather")
        blocks[me][:] = own
    if size == 1:
        return ()
    count = messages_of("allgather", size, len(blocks[me]), survive)
    collective, lanes, _ = lanes_for("allgather", size, me, 0, count, survive, channel.tags)
    part = Part(_Places(len(blocks[me]), count, lambda b: blocks[b]), range(me * count, (me + 1) * count))
    return _finished(channel, collective, channel.run(lanes, part, deadline), range(size * count))


def Alltoall(  # noqa: N802
    comm: Any, sendbuf: Any, recvbuf: Any, *, survive: int = 0, deadline: float | None = None
) -> tuple[int, ...]:
    """Bring block v of every rank's ``sendbuf`` to rank v: block h of its ``recvbuf`` is the one from rank h."""
    channel = _channel(comm)
    mpi, me, size = channel.mpi, channel.rank, channel.size
    into = _blocks(message(mpi, recvbuf, "the receive buffer", True), size, "the receive buffer")
    if sendbuf is mpi.IN_PLACE:
        out = [block.copy() for block in into]
    else:
        out = _blocks(message(mpi, sendbuf, "the send buffer"), size, "the send buffer")
    _same(len(out[me]), len(into[me]), "alltoall")
    into[me][:] = out[me]
    if size == 1:
        return ()
    count = messages_of("alltoall", size, len(out[me]), survive)
    collective, lanes, _ = lanes_for("alltoall", size, me, 0, count, survive, channel.tags)

    def block(b: int) -> Bytes | None:
        source, target = divmod(b, size)
        return out[target] if source == me else into[source] if target == me else None

    part = Part(_Places(len(out[me]), count, block), range(me * size * count, (me + 1) * size * count))
    wanted = (b * count + c for b in range(me, size * size, size) for c in range(count))
    return _finished(channel, collective, channel.run(lanes, part, deadline), wanted)


def Scatter(  # noqa: N802
    comm: Any, sendbuf: Any, recvbuf: Any, root: int = 0, *, survive: int = 0, deadline: float | None = None
) -> tuple[int, ...]:
    """Deal out the root's ``sendbuf``: rank v gets block v."""
    channel = _channel(comm)
    _root(channel, root)
    mpi, me, size = channel.mpi, channel.rank, channel.size
    out: list[Bytes] = []
    if me == root:
        out = _blocks(message(mpi, sendbuf, "the send buffer"), size, "the send buffer")
        into = out[me] if recvbuf is mpi.IN_PLACE else message(mpi, recvbuf, "the receive buffer", True).data
        _same(len(out[me]), len(into), "scatter")
        if recvbuf is not mpi.IN_PLACE:
            into[:] = out[me]
    else:
        into = message(mpi, recvbuf, "the receive buffer", True).data
    if size == 1:
        return ()
    count = messages_of("scatter", size, len(into), survive)
    collective, lanes, _ = lanes_for("scatter", size, me, root, count, survive, channel.tags)
    held = range(size * count) if me == root else ()
    part = Part(_Places(len(into), count, lambda b: out[b] if out else into if b == me else None), held)
    return _finished(channel, collective, channel.run(lanes, part, deadline), range(me * count, (me + 1) * count))


def Gather(  # noqa: N802
    comm: Any, sendbuf: Any, recvbuf: Any, root: int = 0, *, survive: int = 0, deadline: float | None = None
) -> tuple[int, ...]:
    """Collect every rank's ``sendbuf`` at the root: block h of its ``recvbuf`` is that of rank h."""
    channel = _channel(comm)
    _root(channel, root)
    mpi, me, size = channel.mpi, channel.rank, channel.size
    into: list[Bytes] = []
    if me == root:
        into = _blocks(message(mpi, recvbuf, "the receive buffer", True), size, "the receive buffer")
        own = into[me]
        if sendbuf is not mpi.IN_PLACE:
            sent = message(mpi, sendbuf, "the send buffer").data
            _same(len(sent), len(own), "gather")
            own[:] = sent
    else:
        own = message(mpi, sendbuf, "the send buffer").data
    if size == 1:
        return ()
    count = messages_of("gather", size, len(own), survive)
    collective, lanes, _ = lanes_for("gather", size, me, root, count, survive, channel.tags)
    part = Part(
        _Places(len(own), count, lambda b: into[b] if into else own if b == me else None),
        range(me * count, (me + 1) * count),
    )
    wanted = range(size * count) if me == root else ()
    return _finished(channel, collective, channel.run(lanes, part, deadline), wanted)


def Allreduce(  # noqa: N802
    comm: Any, sendbuf: Any, recvbuf: Any, op: Any = None, *, survive: int = 0, deadline: float | None = None
) -> tuple[int, ...]:
    """Combine every rank's ``sendbuf``, item by item, by a commutative operation (MPI.SUM), and bring the result to all ranks.

    Floating-point sums are added in an order of their own, the same one in every run.
    """
    channel = _channel(comm)
    mpi, me, size = channel.mpi, channel.rank, channel.size
    op = mpi.SUM if op is None else op
    if not op.Is_commutative():
        raise PlanError("allreduce needs a commutative operation: contributions come in the order of a tree")
    received = message(mpi, recvbuf, "the receive buffer", True)
    if sendbuf is not mpi.IN_PLACE:
        sent = message(mpi, sendbuf, "the send buffer")
        _same(len(sent.data), len(received.data), "allreduce")
        received.data[:] = sent.data
    if size == 1:
        return ()
    count = messages_of("allreduce", size, -(-len(received.data) // size), survive)
    collective, lanes, missing = lanes_for("allreduce", size, me, 0, count, survive, channel.tags)
    sums, item = collective.sums, received.itemsize
    # chunks are cut across the whole vector; a finished sum takes the place of the contribution, which is gone by then
    cuts = _cuts(len(received.data), sums, item)

    def view(chunk: int) -> Bytes:
        place = chunk % sums
        return received.data[cuts[place] : cuts[place + 1]]

    def add(into: Bytes, contribution: Bytes) -> None:
        numbers = len(into) // item
        op.Reduce_local([contribution, numbers, received.datatype], [into, numbers, received.datatype])

    own = {c: sums + c for c in range(me * count, (me + 1) * count)}
    outcome = channel.run(lanes, Part(view, (), missing, own, add), deadline)
    return _finished(channel, collective, outcome, range(sums, 2 * sums))


def Scatterv(  # noqa: N802
    comm: Any, sendbuf: Any, recvbuf: Any, root: int = 0, *, survive: int = 0, deadline: float | None = None
) -> tuple[int, ...]:
    """Deal out blocks of different lengths: ``sendbuf`` of the root is ``[buffer, counts, places, datatype]``."""
    return _different(comm, "scatterv", sendbuf, recvbuf, root, survive, deadline)


def Gatherv(  # noqa: N802
    comm: Any, sendbuf: Any, recvbuf: Any, root: int = 0, *, survive: int = 0, deadline: float | None = None
) -> tuple[int, ...]:
    """Collect blocks of different lengths: ``recvbuf`` of the root is ``[buffer, counts, places, datatype]``."""
    return _different(comm, "gatherv", recvbuf, sendbuf, root, survive, deadline)


def _different(
    comm: Any, kind: str, many: Any, one: Any, root: int, survive: int, deadline: float | None
) -> tuple[int, ...]:
    """Carry out a scatterv or gatherv: ``many`` are the root's blocks, ``one`` a rank's own."""
    channel = _channel(comm)
    _root(channel, root)
    mpi, me, size = channel.mpi, channel.rank, channel.size
    if survive:
        raise PlanError(f"{kind} sends each message one way, and survives no failure: leave survive out")
    scatters = kind == "scatterv"
    blocks: list[Bytes] = []
    lengths = np.zeros(size, np.int64)
    if me == root:
        all_of = message(mpi, many, "the root's buffer", not scatters)
        if all_of.counts is None or len(all_of.counts) != size:
            raise PlanError(f"{kind}: the root gives a count for each of the {size} ranks: [buffer, counts, datatype]")
        blocks = [all_of.block(rank) for rank in range(size)]
        lengths[:] = [len(block) for block in blocks]
    _broadcast(channel, lengths.view(np.uint8), root, 0, deadline)  # only the root knows them
    if one is mpi.IN_PLACE:
        own = blocks[me]
    else:
        own = message(mpi, one, "a rank's own buffer", scatters).data
        if len(own) < lengths[me] or (not scatters and len(own) != lengths[me]):
            raise PlanError(f"{kind}: rank {me} has a buffer of {len(own):,} bytes where the root says {lengths[me]:,}")
        own = own[: lengths[me]]
    if me == root and one is not mpi.IN_PLACE:
        (own if scatters else blocks[me])[:] = blocks[me] if scatters else own
    flits = -(-lengths // _FLIT)
    flits[root] = 0
    if size == 1 or not flits.any():
        return ()
    name = "farthest-first" if scatters else "nearest-first"
    whole = plan(kind, network_of(size), root=root, lengths=flits.tolist(), builder=name, model="bufferless-multiport")
    mine = whole.program(me)
    layout: Lengths = mine.collective.lengths or Lengths.of(flits)
    passing: dict[int, Bytes] = {}

    def view(chunk: int) -> Bytes:
        rank = int(layout.node_of(chunk))
        first = (chunk - int(layout.first[rank])) * _FLIT
        if blocks or rank == me:
            return (blocks[rank] if blocks else own)[first : first + _FLIT]
        if chunk not in passing:
            passing[chunk] = np.empty(min(_FLIT, int(lengths[rank]) - first), np.uint8)
        return passing[chunk]

    everything, mine_alone = range(layout.total), range(int(layout.first[me]), int(layout.stop[me]))
    held, wanted = (everything, mine_alone) if scatters else (mine_alone, everything)
    if me != root:
        held, wanted = (range(0), mine_alone) if scatters else (mine_alone, range(0))
    elif scatters:
        wanted = range(0)
    lanes = lanes_of(mine, me, channel.tags)
    outcome = channel.run(lanes, Part(view, held, contributions(mine, me)), deadline)
    return _finished(channel, mine.collective, outcome, wanted)
