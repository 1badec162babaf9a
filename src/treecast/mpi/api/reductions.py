"""Collectives that combine the data of all ranks: allreduce."""

from typing import Any

from treecast.errors import PlanError
from treecast.execution.layout import Bytes, even_layout
from treecast.mpi.api.blocks import copy_own
from treecast.mpi.api.buffers import read_buffer
from treecast.mpi.api.delivery import lost_ranks
from treecast.mpi.api.options import Asked
from treecast.mpi.engine.choose import Operation, messages_of, program_of
from treecast.mpi.engine.communicator import communicator_of
from treecast.mpi.engine.engine import Part


def allreduce(comm: Any, sendbuf: Any, recvbuf: Any, op: Any, asked: Asked) -> tuple[int, ...]:
    """Combine every rank's data, item by item, and bring the result to all ranks."""
    ours = communicator_of(comm)
    mpi, me, size = ours.mpi, ours.rank, ours.size
    op = mpi.SUM if op is None else op
    if not op.Is_commutative():
        raise PlanError("allreduce needs a commutative operation: contributions arrive in no fixed order")
    received = read_buffer(mpi, recvbuf, "the receive buffer", True)
    if sendbuf is not mpi.IN_PLACE:
        copy_own(read_buffer(mpi, sendbuf, "the send buffer").data, received.data, "allreduce")
    where = ours.network("allreduce", asked.survive, asked.network)
    if size == 1:
        return ()
    count = messages_of("allreduce", where, -(-len(received.data) // size), 0, ours.rate(where))
    mine = program_of(Operation("allreduce", where, 0, count), me, ours.tags)
    sums, item = mine.collective.sums, received.itemsize
    # chunks are cut across the whole vector; a finished sum takes the place of the contribution, which is gone by then
    layout = even_layout(len(received.data), sums, max(item, 1))

    def view(chunk: int) -> Bytes:
        return received.data[layout.slice_of(chunk % sums, chunk % sums + 1)]

    def add(into: Bytes, contribution: Bytes) -> None:
        numbers = len(into) // item
        op.Reduce_local([contribution, numbers, received.datatype], [into, numbers, received.datatype])

    own = {c: sums + c for c in range(me * count, (me + 1) * count)}
    outcome = ours.run(mine.transfers, Part(view, (), mine.missing, own, add), asked.deadline)
    return lost_ranks(ours, mine.collective, outcome, range(sums, 2 * sums))
