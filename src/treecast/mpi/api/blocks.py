"""Collectives that move blocks of one length: broadcast, allgather, alltoall, scatter, gather."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from treecast.errors import PlanError
from treecast.execution.layout import Bytes, even_layout
from treecast.mpi.api.buffers import Message, read_buffer
from treecast.mpi.api.delivery import lost_ranks
from treecast.mpi.api.options import Asked
from treecast.mpi.engine.choose import Operation, messages_of, program_of
from treecast.mpi.engine.communicator import Communicator, communicator_of
from treecast.mpi.engine.engine import Part


@dataclass(frozen=True)
class Blocks:
    """Blocks of ``size`` bytes, as one rank sees them: those that it has (``held``), and those that it must receive (``wanted``).

    ``place(block)``: the memory of a block, None of one that only passes.
    """

    size: int
    place: Callable[[int], Bytes | None]
    held: Iterable[int]
    wanted: Iterable[int]


def broadcast(comm: Any, buffer: Any, root: int, asked: Asked) -> tuple[int, ...]:
    """Bring the buffer of the root to all ranks."""
    ours = communicator_with(comm, root)
    return broadcast_bytes(ours, read_buffer(ours.mpi, buffer, "the buffer", ours.rank != root).data, root, asked)


def broadcast_bytes(ours: Communicator, data: Bytes, root: int, asked: Asked) -> tuple[int, ...]:
    """Bring the bytes of the root to all ranks."""
    held = [0] if ours.rank == root else []
    return move(ours, "broadcast", root, Blocks(len(data), lambda block: data, held, [0]), asked)


def allgather(comm: Any, sendbuf: Any, recvbuf: Any, asked: Asked) -> tuple[int, ...]:
    """Bring the block of every rank to all ranks."""
    ours = communicator_of(comm)
    mpi, me, size = ours.mpi, ours.rank, ours.size
    into = cut_into_blocks(read_buffer(mpi, recvbuf, "the receive buffer", True), size, "the receive buffer")
    if sendbuf is not mpi.IN_PLACE:
        copy_own(read_buffer(mpi, sendbuf, "the send buffer").data, into[me], "allgather")
    return move(ours, "allgather", 0, Blocks(len(into[me]), into.__getitem__, [me], range(size)), asked)


def alltoall(comm: Any, sendbuf: Any, recvbuf: Any, asked: Asked) -> tuple[int, ...]:
    """Bring block v of every rank to rank v."""
    ours = communicator_of(comm)
    mpi, me, size = ours.mpi, ours.rank, ours.size
    into = cut_into_blocks(read_buffer(mpi, recvbuf, "the receive buffer", True), size, "the receive buffer")
    if sendbuf is mpi.IN_PLACE:
        out = [block.copy() for block in into]
    else:
        out = cut_into_blocks(read_buffer(mpi, sendbuf, "the send buffer"), size, "the send buffer")
    copy_own(out[me], into[me], "alltoall")

    def place(block: int) -> Bytes | None:
        source, target = divmod(block, size)
        return out[target] if source == me else into[source] if target == me else None

    mine, wanted = range(me * size, (me + 1) * size), range(me, size * size, size)
    return move(ours, "alltoall", 0, Blocks(len(out[me]), place, mine, wanted), asked)


def scatter(comm: Any, sendbuf: Any, recvbuf: Any, root: int, asked: Asked) -> tuple[int, ...]:
    """Deal out the root's blocks."""
    ours = communicator_with(comm, root)
    mpi, me, size = ours.mpi, ours.rank, ours.size
    out: list[Bytes] = []
    if me == root:
        out = cut_into_blocks(read_buffer(mpi, sendbuf, "the send buffer"), size, "the send buffer")
    into = out[me] if recvbuf is mpi.IN_PLACE and out else read_buffer(mpi, recvbuf, "the receive buffer", True).data
    if out and recvbuf is not mpi.IN_PLACE:
        copy_own(out[me], into, "scatter")

    def place(block: int) -> Bytes | None:
        return out[block] if out else into if block == me else None

    return move(ours, "scatter", root, Blocks(len(into), place, range(size) if out else (), [me]), asked)


def gather(comm: Any, sendbuf: Any, recvbuf: Any, root: int, asked: Asked) -> tuple[int, ...]:
    """Collect every rank's block at the root."""
    ours = communicator_with(comm, root)
    mpi, me, size = ours.mpi, ours.rank, ours.size
    into: list[Bytes] = []
    if me == root:
        into = cut_into_blocks(read_buffer(mpi, recvbuf, "the receive buffer", True), size, "the receive buffer")
    own = into[me] if sendbuf is mpi.IN_PLACE and into else read_buffer(mpi, sendbuf, "the send buffer").data
    if into and sendbuf is not mpi.IN_PLACE:
        copy_own(own, into[me], "gather")

    def place(block: int) -> Bytes | None:
        return into[block] if into else own if block == me else None

    return move(ours, "gather", root, Blocks(len(own), place, [me], range(size) if into else ()), asked)


def move(ours: Communicator, kind: str, root: int, blocks: Blocks, asked: Asked) -> tuple[int, ...]:
    """Carry out a collective of blocks of one length; return the failed ranks whose blocks did not come."""
    where = ours.network(kind, asked.survive, asked.network)
    if ours.size == 1:
        return ()
    count = messages_of(kind, where, blocks.size, asked.survive, ours.rate(where))
    mine = program_of(Operation(kind, where, root, count, asked.survive), ours.rank, ours.tags)

    def chunks(of: Iterable[int]) -> Iterable[int]:
        return (chunk for block in of for chunk in range(block * count, (block + 1) * count))

    memory = _Memory(blocks, count)
    part = Part(memory, chunks(blocks.held), passing=memory.passing)
    outcome = ours.run(mine.transfers, part, asked.deadline)
    return lost_ranks(ours, mine.collective, outcome, chunks(blocks.wanted))


class _Memory:
    """Where chunks lie, each block cut into ``count`` of them."""

    def __init__(self, blocks: Blocks, count: int) -> None:
        self._place, self._count, self._layout = blocks.place, count, even_layout(blocks.size, count)

    def __call__(self, chunk: int) -> Bytes:
        block, place = divmod(chunk, self._count)
        memory = self._place(block)
        if memory is None:
            raise PlanError(f"chunk {chunk} only passes, and has no place")
        return memory[self._layout.slice_of(place, place + 1)]

    def passing(self, chunk: int) -> int | None:
        """Return how many bytes a chunk has that only passes; None of one that has a place."""
        block, place = divmod(chunk, self._count)
        where = self._layout.slice_of(place, place + 1)
        return where.stop - where.start if self._place(block) is None else None


def communicator_with(comm: Any, root: int) -> Communicator:
    """Return what a communicator is to treecast. Raises PlanError when the root is no rank of it."""
    ours = communicator_of(comm)
    if not 0 <= root < ours.size:
        raise PlanError(f"root {root} is no rank: ranks go from 0 to {ours.size - 1}")
    return ours


def cut_into_blocks(received: Message, size: int, what: str) -> list[Bytes]:
    """Return a buffer as ``size`` blocks of one length. Raises PlanError when it cannot be cut so."""
    block, rest = divmod(len(received.data), size)
    if rest:
        raise PlanError(f"{what} of {len(received.data):,} bytes cannot be cut into {size} equal blocks")
    return [received.data[b * block : (b + 1) * block] for b in range(size)]


def copy_own(source: Bytes, target: Bytes, what: str) -> None:
    """Copy a rank's own block. Raises PlanError when the lengths differ."""
    if len(source) != len(target):
        raise PlanError(f"{what}: {len(source):,} bytes are sent where {len(target):,} are received")
    target[:] = source
