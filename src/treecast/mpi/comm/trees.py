"""The ways by a schedule: down the trees of a network that a program names, and over one port each between hosts."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from treecast.collectives import COLLECTIVES, Collective
from treecast.errors import DeliveryError, PlanError
from treecast.execution.layout import Bytes, even_layout
from treecast.mpi.comm.options import Options
from treecast.mpi.comm.ways import STRAIGHT, Ways
from treecast.mpi.engine.choose import Operation, Program
from treecast.mpi.engine.communicator import Communicator, builder_of
from treecast.mpi.engine.deaths import failed_ranks
from treecast.mpi.engine.engine import Outcome, Part
from treecast.mpi.ways.call import Call, Piece
from treecast.mpi.ways.outcome import Shape, settle
from treecast.mpi.ways.sums import Sums

_DOWN_TREES = {"Bcast", "Allgather", "Allgatherv", "Alltoall", "Scatter", "Gather", "Allreduce"}
KINDS = {kind.mpi: kind.name for kind in COLLECTIVES.values() if kind.mpi in _DOWN_TREES}
"""The calls that go down trees; all others go straight."""
Failed = tuple[int, ...]
_GATHERING = Shape("allgather")


@dataclass(frozen=True)
class Blocks:
    """Blocks of ``size`` bytes, as one rank sees them: those that it has (``held``), and those that it must receive (``wanted``).

    ``place(block)``: the memory of a block, None of one that only passes.
    """

    size: int
    place: Callable[[int], Bytes | None]
    held: Iterable[int]
    wanted: Iterable[int]


def ways_of(ours: Communicator, name: str, options: Options) -> Ways:
    """Return the ways of a call of mpi4py's: by a schedule where that is right for it, straight elsewhere.

    Their name is ``trees`` over a network that was named; between hosts with one port each it is that of the builder.
    Raises PlanError when the network does not fit, or survives too little.
    """
    kind = KINDS.get(name)
    if kind is None or (options.network is None and ours.near) or (COLLECTIVES[kind].adds and options.survive):
        return STRAIGHT
    where = ours.network(kind, options.survive, options.network)
    trees = Trees(ours, options)
    name = builder_of(kind, where, options.survive) if options.network is None else "trees"
    ways = STRAIGHT._replace(name=name, network=where.spec)
    if COLLECTIVES[kind].lengths:  # to those who call it, it is an allgather of blocks of any length
        return ways._replace(allgather=trees.allgatherv)
    return ways._replace(**{kind: getattr(trees, kind)})


class Trees:
    """Collectives by the schedules of one network; each takes what the straight way of its name takes."""

    def __init__(self, ours: Communicator, options: Options) -> None:
        self._ours, self._options = ours, options

    def broadcast(self, call: Call, data: Piece | None, root: int) -> Failed:
        """Bring the bytes of the root to all ranks."""
        shape = Shape("broadcast", source=root)
        if not self._all_take_part(call, shape) or data is None:
            return ()
        memory, held = bytes_of(data), [0] if call.rank == root else []
        return self._move(call, shape, Blocks(len(memory), lambda block: memory, held, [0]))

    def allgather(self, call: Call, mine: Piece | None, blocks: Sequence[Piece] | None) -> Failed:
        """Bring the block of every rank to all ranks."""
        into, me = self._own_among(call, mine, blocks), call.rank
        if into is None:
            return ()
        return self._move(call, _GATHERING, Blocks(len(into[me]), into.__getitem__, [me], range(call.size)))

    def allgatherv(self, call: Call, mine: Piece | None, blocks: Sequence[Piece] | None) -> Failed:
        """Bring the block of every rank, of any length, to all ranks."""
        into, me = self._own_among(call, mine, blocks), call.rank
        if into is None:
            return ()
        what, flit = self._ours.unequal("allgatherv", tuple(map(len, into)), call.survive, self._options.network)
        program = self._ours.program(what, 0)
        begins, collective = program.collective.begins().tolist(), program.collective

        def view(chunk: int) -> Bytes:
            block, place = map(int, collective.place_of(chunk))
            return into[block][place * flit : (place + 1) * flit]

        held = range(begins[me], begins[me] + (what.lengths or ())[me])
        outcome = self._run(call, what, program, Part(view, held))
        return settle(call, _sources_of_missing(collective, outcome, range(collective.chunks)), _GATHERING)

    def _own_among(self, call: Call, mine: Piece | None, blocks: Sequence[Piece] | None) -> list[Bytes] | None:
        """Return the memory of the blocks of all ranks, this one's with what it sends; None where it does not go on."""
        if not self._all_take_part(call, _GATHERING) or blocks is None:
            return None
        if mine is not None:
            call.copy(blocks[call.rank], mine)
        return [bytes_of(block) for block in blocks]

    def alltoall(self, call: Call, outgoing: Sequence[Piece] | None, incoming: Sequence[Piece] | None) -> Failed:
        """Bring a block from every rank to every rank."""
        shape, me, size = Shape("alltoall"), call.rank, call.size
        if not self._all_take_part(call, shape) or outgoing is None or incoming is None:
            return ()
        call.copy(incoming[me], outgoing[me])
        out, into = [bytes_of(piece) for piece in outgoing], [bytes_of(piece) for piece in incoming]

        def place(block: int) -> Bytes | None:
            source, target = divmod(block, size)
            return out[target] if source == me else into[source] if target == me else None

        mine, wanted = range(me * size, (me + 1) * size), range(me, size * size, size)
        return self._move(call, shape, Blocks(len(out[me]), place, mine, wanted))

    def scatter(self, call: Call, outgoing: Sequence[Piece] | None, mine: Piece | None, root: int) -> Failed:
        """Deal out the root's blocks."""
        shape, me = Shape("scatter", source=root), call.rank
        if not self._all_take_part(call, shape) or (outgoing is None and mine is None):
            return ()
        out = [] if outgoing is None else [bytes_of(piece) for piece in outgoing]
        if outgoing is not None and mine is not None:
            call.copy(mine, outgoing[me])
        into = out[me] if out else bytes_of(mine)

        def place(block: int) -> Bytes | None:
            return out[block] if out else into if block == me else None

        return self._move(call, shape, Blocks(len(into), place, range(call.size) if out else (), [me]))

    def gather(self, call: Call, mine: Piece | None, incoming: Sequence[Piece] | None, root: int) -> Failed:
        """Collect every rank's block at the root."""
        shape, me = Shape("gather", target=root), call.rank
        if not self._all_take_part(call, shape) or (incoming is None and mine is None):
            return ()
        into = [] if incoming is None else [bytes_of(piece) for piece in incoming]
        if incoming is not None and mine is not None:
            call.copy(incoming[me], mine)
        own = into[me] if into else bytes_of(mine)

        def place(block: int) -> Bytes | None:
            return into[block] if into else own if block == me else None

        return self._move(call, shape, Blocks(len(own), place, [me], range(call.size) if into else ()))

    def allreduce(self, call: Call, mine: Piece | None, out: Piece | None, how: Sums | None) -> Failed:
        """Bring the sum of all contributions to all ranks; it is added along the trees, in the order of the schedule."""
        if out is None or how is None:
            return ()
        if not how.op.Is_commutative():
            return STRAIGHT.allreduce(call, mine, out, how)
        if mine is not None:
            call.copy(out, mine)
        received, me = bytes_of(out), call.rank
        item = len(received) // how.entries if how.entries else 1
        what = self._ours.operation("allreduce", 0, -(-len(received) // call.size), 0, self._options.network)
        program, count = self._ours.program(what, 0), what.messages
        sums = program.collective.sums
        # chunks are cut across the whole vector; a finished sum takes the place of the contribution, which is gone by then
        layout = even_layout(len(received), sums, item)

        def view(chunk: int) -> Bytes:
            return received[layout.slice_of(chunk % sums, chunk % sums + 1)]

        def add(into: Bytes, contribution: Bytes) -> None:
            numbers = len(into) // item
            how.op.Reduce_local([contribution, numbers, how.datatype], [into, numbers, how.datatype])

        own = {c: sums + c for c in range(me * count, (me + 1) * count)}
        outcome = self._run(call, what, program, Part(view, (), program.missing, own, add))
        if any(chunk not in outcome.held for chunk in range(sums, 2 * sums)):
            raise DeliveryError(f"allreduce: rank {me} lacks parts of the sum; survive=0 outlives no failure")
        return ()

    def _all_take_part(self, call: Call, shape: Shape) -> bool:
        """Return whether this rank goes on: before anything is sent all learn whether the arguments of some rank were refused."""
        if call.survive:
            settle(call, set(), shape)
        return not call.refused

    def _move(self, call: Call, shape: Shape, blocks: Blocks) -> Failed:
        root = next((end for end in (shape.source, shape.target) if end is not None), 0)
        what = self._ours.operation(shape.name, root, blocks.size, call.survive, self._options.network)
        program, count = self._ours.program(what, root), what.messages

        def chunks(of: Iterable[int]) -> Iterable[int]:
            return (chunk for block in of for chunk in range(block * count, (block + 1) * count))

        memory = _Memory(blocks, count)
        outcome = self._run(call, what, program, Part(memory, chunks(blocks.held), passing=memory.passing))
        return settle(call, _sources_of_missing(program.collective, outcome, chunks(blocks.wanted)), shape)

    def _run(self, call: Call, what: Operation, program: Program, part: Part) -> Outcome:
        self._ours.epoch = call.number  # the same at all ranks, whatever each of them has refused before
        outcome = self._ours.run(what, program, part, self._options.deadline)
        call.fallen |= {*outcome.dead, *failed_ranks(self._ours.mpi, self._ours.comm)}
        call.suspects |= outcome.cut
        return outcome


def bytes_of(piece: Piece) -> Bytes:
    """Return a piece as an array of bytes in the same memory."""
    return np.frombuffer(piece, np.uint8) if len(piece) else np.empty(0, np.uint8)


def _sources_of_missing(collective: Collective, outcome: Outcome, wanted: Iterable[int]) -> set[int]:
    return {int(collective.source_of(chunk)) for chunk in wanted if chunk not in outcome.held}


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
