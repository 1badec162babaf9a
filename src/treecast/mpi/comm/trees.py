"""The ways by a schedule: down the trees of a network that a program names, and over one port each between hosts."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from treecast.algorithms import personal, sums
from treecast.algorithms.spread import copy_here, scratch
from treecast.algorithms.sums import Sums, width_of
from treecast.collectives import COLLECTIVES, Collective
from treecast.errors import DeliveryError, PlanError
from treecast.execution.layout import Bytes, even_layout, ranges_at
from treecast.groups.group import Group, Shape
from treecast.mpi.comm.call import Call
from treecast.mpi.comm.options import Options
from treecast.mpi.comm.state import State
from treecast.mpi.engine.choose import Operation, Program
from treecast.mpi.engine.communicator import builder_of
from treecast.mpi.engine.engine import Outcome, Part
from treecast.transport.base import Piece, Steps

_BETWEEN_HOSTS = {"Bcast", "Allgather", "Allgatherv", "Alltoall", "Alltoallv", "Scatter", "Gather", "Allreduce"}
_DOWN_TREES = {*_BETWEEN_HOSTS, "Reduce"}
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


def trees_of(state: State, name: str, options: Options) -> "Trees | None":
    """Return the plans of a call of mpi4py's where they are right for it, None where it goes straight.

    Raises PlanError when the network does not fit, or survives too little.
    """
    kind, named = KINDS.get(name), options.network is not None
    if kind is None or not (named or (name in _BETWEEN_HOSTS and not state.base.near)):
        return None
    adds = COLLECTIVES[kind].adds  # one copy of each contribution: what survives is made anew
    if adds and options.survive and not named:
        return None
    where = state.plans.network(kind, 0 if adds else options.survive, options.network)
    name = builder_of(kind, where, options.survive) if options.network is None else "trees"
    return Trees(state, options, kind, name, where.spec)


class Trees:
    """A collective by the schedule of a network; it takes what the straight one takes.

    ``name``: ``trees`` over a network that was named; between hosts with one port each it is that of the builder.
    """

    def __init__(self, state: State, options: Options, kind: str, name: str, network: str) -> None:
        self._ours, self._options, self.name, self.network = state.plans, options, name, network
        self.carry: Callable[..., Failed] = getattr(self, kind)

    def broadcast(self, call: Call, data: Piece | None, root: int) -> Failed:
        """Bring the bytes of the root to all ranks."""
        shape = Shape("broadcast", source=root)
        if not self._all_take_part(call, shape) or data is None:
            return ()
        memory, held = bytes_of(data), [0] if call.ours.rank == root else []
        return self._move(call, shape, Blocks(len(memory), lambda block: memory, held, [0]))

    def allgather(self, call: Call, mine: Piece | None, blocks: Sequence[Piece] | None) -> Failed:
        """Bring the block of every rank to all ranks."""
        into, me = self._own_among(call, mine, blocks), call.ours.rank
        if into is None:
            return ()
        return self._move(call, _GATHERING, Blocks(len(into[me]), into.__getitem__, [me], range(call.ours.size)))

    def allgatherv(self, call: Call, mine: Piece | None, blocks: Sequence[Piece] | None) -> Failed:
        """Bring the block of every rank, of any length, to all ranks."""
        into, me = self._own_among(call, mine, blocks), call.ours.rank
        if into is None:
            return ()
        what, flit = self._ours.unequal(
            "allgatherv", tuple(map(len, into)), self._options.survive, self._options.network
        )
        program = self._ours.program(what, 0)
        begins, collective = program.collective.begins().tolist(), program.collective

        def view(chunk: int) -> Bytes:
            block, place = map(int, collective.place_of(chunk))
            return into[block][place * flit : (place + 1) * flit]

        held = range(begins[me], begins[me] + (what.lengths or ())[me])
        outcome = self._run(call, what, program, Part(view, held))
        return _settle(call, _sources_of_missing(collective, outcome, range(collective.chunks)), _GATHERING)

    def _own_among(self, call: Call, mine: Piece | None, blocks: Sequence[Piece] | None) -> list[Bytes] | None:
        """Return the memory of the blocks of all ranks, this one's with what it sends; None where it does not go on."""
        if not self._all_take_part(call, _GATHERING) or blocks is None:
            return None
        if mine is not None:
            copy_here(blocks[call.ours.rank], mine)
        return [bytes_of(block) for block in blocks]

    def alltoall(
        self, call: Call, outgoing: Sequence[Piece] | None, incoming: Sequence[Piece] | None, *_: Any
    ) -> Failed:
        """Bring a block from every rank to every rank."""
        shape, me, size = Shape("alltoall"), call.ours.rank, call.ours.size
        if not self._all_take_part(call, shape) or outgoing is None or incoming is None:
            return ()
        copy_here(incoming[me], outgoing[me])
        out, into = [bytes_of(piece) for piece in outgoing], [bytes_of(piece) for piece in incoming]

        def place(block: int) -> Bytes | None:
            source, target = divmod(block, size)
            return out[target] if source == me else into[source] if target == me else None

        mine, wanted = range(me * size, (me + 1) * size), range(me, size * size, size)
        return self._move(call, shape, Blocks(len(out[me]), place, mine, wanted))

    def alltoallv(
        self, call: Call, outgoing: Sequence[Piece] | None, incoming: Sequence[Piece] | None, *_: Any
    ) -> Failed:
        """Bring a block of any length from every rank to every rank: first all learn how long all blocks are."""
        shape, me, size = Shape("alltoall"), call.ours.rank, call.ours.size
        if self._options.survive:  # nobody knows how long the blocks of the dead are
            return call.run(personal.alltoall(call.group, outgoing, incoming))
        if not self._all_take_part(call, shape) or outgoing is None or incoming is None:
            return ()
        copy_here(incoming[me], outgoing[me])
        out, into = [bytes_of(piece) for piece in outgoing], [bytes_of(piece) for piece in incoming]
        sizes = np.empty((size, size), np.int64)
        self._ours.comm.Allgather(np.array([len(piece) for piece in out]), sizes)
        np.fill_diagonal(sizes, 0)
        for source in (u for u, piece in enumerate(into) if len(piece) < sizes[u, me]):
            raise DeliveryError(
                f"alltoallv: {sizes[source, me]} bytes come from rank {source}, and there is room for less"
            )
        what, flit = self._ours.unequal("alltoallv", tuple(sizes.ravel().tolist()), 0, self._options.network)
        program = self._ours.program(what, 0)
        collective = program.collective

        def span(chunk: int) -> tuple[int, int, slice]:
            block, place = map(int, collective.place_of(chunk))
            return *divmod(block, size), slice(place * flit, min((place + 1) * flit, int(sizes.flat[block])))

        def view(chunk: int) -> Bytes:
            source, target, part = span(chunk)
            return (out[target] if source == me else into[source])[part]

        def passing(chunk: int) -> int | None:
            source, target, part = span(chunk)
            return None if me in (source, target) else part.stop - part.start

        chunks = [
            [c for a, b in ranges_at(some, me) for c in range(a, b)]
            for some in (collective.given(), collective.wanted())
        ]
        outcome = self._run(call, what, program, Part(view, chunks[0], passing=passing))
        return _settle(call, _sources_of_missing(collective, outcome, chunks[1]), shape)

    def scatter(self, call: Call, outgoing: Sequence[Piece] | None, mine: Piece | None, root: int, *_: Any) -> Failed:
        """Deal out the root's blocks."""
        shape, me = Shape("scatter", source=root), call.ours.rank
        if not self._all_take_part(call, shape) or (outgoing is None and mine is None):
            return ()
        out = [] if outgoing is None else [bytes_of(piece) for piece in outgoing]
        if outgoing is not None and mine is not None:
            copy_here(mine, outgoing[me])
        into = out[me] if out else bytes_of(mine)

        def place(block: int) -> Bytes | None:
            return out[block] if out else into if block == me else None

        return self._move(call, shape, Blocks(len(into), place, range(call.ours.size) if out else (), [me]))

    def gather(self, call: Call, mine: Piece | None, incoming: Sequence[Piece] | None, root: int, *_: Any) -> Failed:
        """Collect every rank's block at the root."""
        shape, me = Shape("gather", target=root), call.ours.rank
        if not self._all_take_part(call, shape) or (incoming is None and mine is None):
            return ()
        into = [] if incoming is None else [bytes_of(piece) for piece in incoming]
        if incoming is not None and mine is not None:
            copy_here(incoming[me], mine)
        own = into[me] if into else bytes_of(mine)

        def place(block: int) -> Bytes | None:
            return into[block] if into else own if block == me else None

        return self._move(call, shape, Blocks(len(own), place, [me], range(call.ours.size) if into else ()))

    def allreduce(self, call: Call, mine: Piece | None, out: Piece | None, how: Sums | None) -> Failed:
        """Bring the sum of all contributions to all ranks; it is added along the trees, in the order of the schedule."""

        def straight(given: Piece | None) -> Steps[Failed]:
            return sums.allreduce(call.group, given, out, how)

        return self._sum(call, (mine, out), how, Shape("allreduce"), straight)

    def reduce(self, call: Call, mine: Piece | None, out: Piece | None, root: int, how: Sums | None) -> Failed:
        """Bring the sum of all contributions to the root, added in the same way."""

        def straight(given: Piece | None) -> Steps[Failed]:
            return sums.reduce(call.group, given, out, root, how)

        return self._sum(call, (mine, out), how, Shape("reduce", target=root), straight)

    def _sum(
        self,
        call: Call,
        ends: tuple[Piece | None, Piece | None],
        how: Sums | None,
        shape: Shape,
        straight: Callable[[Piece | None], Steps[Failed]],
    ) -> Failed:
        """Bring a sum down the plan, one contribution each; when a rank dies before all have it, it is made anew, straight."""
        (mine, out), group, me = ends, call.group, call.ours.rank
        if not self._all_take_part(call, shape) or how is None:
            return ()
        if not how.op.Is_commutative() or len(group.agreement.members) < group.size:
            return call.run(straight(mine))
        given: Piece = out if mine is None else mine
        work = scratch(len(given)) if out is None else out
        if mine is None and self._options.survive:  # another try needs it again
            given = scratch(len(work))
        copy_here(*((given, work) if mine is None else (work, given)))
        received, item, end = bytes_of(work), width_of(work, how) or 1, shape.target
        size = len(received) if end is not None else -(-len(received) // call.ours.size)
        what = self._ours.operation(shape.name, end or 0, size, 0, self._options.network)
        program, count = self._ours.program(what, end or 0), what.messages
        total, results = program.collective.sums, program.collective.results
        # chunks are cut across the whole vector; a finished sum takes the place of the contribution, which is gone by then
        layout = even_layout(len(received), total, item)

        def view(chunk: int) -> Bytes:
            return received[layout.slice_of(chunk % total, chunk % total + 1)]

        def add(into: Bytes, contribution: Bytes) -> None:
            numbers = len(into) // item
            how.op.Reduce_local([contribution, numbers, how.datatype], [into, numbers, how.datatype])

        own = {c: total + c for c in range(me * count, (me + 1) * count)} if results else {}
        outcome = self._run(call, what, program, Part(view, (), program.missing, own, add))
        wanted = range(total, 2 * total) if results else range(total) if me == end else ()
        is_whole = outcome.held.issuperset(wanted)
        if not self._options.survive:
            if is_whole:
                return ()
            raise DeliveryError(f"{shape.name}: rank {me} lacks parts of the sum; survive=0 outlives no death")

        def steps() -> Steps[Failed]:
            if not is_whole:
                group.lack(me)
            failed = yield from group.settle(shape._replace(redo=True))
            if failed is not None:
                return failed
            group.restart()
            return (yield from straight(given))

        return call.run(steps())

    def _all_take_part(self, call: Call, shape: Shape) -> bool:
        """Return whether this rank goes on: before anything is sent all learn whether the arguments of some rank were refused."""
        if self._options.survive:
            _settle(call, set(), shape)
        return not call.refused

    def _move(self, call: Call, shape: Shape, blocks: Blocks) -> Failed:
        root = next((end for end in (shape.source, shape.target) if end is not None), 0)
        what = self._ours.operation(shape.name, root, blocks.size, self._options.survive, self._options.network)
        program, count = self._ours.program(what, root), what.messages

        def chunks(of: Iterable[int]) -> Iterable[int]:
            return (chunk for block in of for chunk in range(block * count, (block + 1) * count))

        memory = Memory(blocks, count)
        outcome = self._run(call, what, program, Part(memory, chunks(blocks.held), passing=memory.passing))
        return _settle(call, _sources_of_missing(program.collective, outcome, chunks(blocks.wanted)), shape)

    def _run(self, call: Call, what: Operation, program: Program, part: Part) -> Outcome:
        self._ours.epoch = call.number  # the same at all ranks, whatever each of them has refused before
        outcome = self._ours.run(what, program, part, self._options.deadline)
        for rank in outcome.dead:
            call.group.lose(rank, True)
        return outcome


def _settle(call: Call, lacks: set[int], shape: Shape) -> Failed:
    """End a call whose data others have moved: find its one outcome."""

    def steps(group: Group) -> Steps[Failed]:
        for rank in lacks:
            group.lack(rank)
        return (yield from group.settle(shape)) or ()

    return call.run(steps(call.group))


def bytes_of(piece: Piece) -> Bytes:
    """Return a piece as an array of bytes in the same memory."""
    return np.frombuffer(piece, np.uint8) if len(piece) else np.empty(0, np.uint8)


def _sources_of_missing(collective: Collective, outcome: Outcome, wanted: Iterable[int]) -> set[int]:
    return {int(collective.source_of(chunk)) for chunk in wanted if chunk not in outcome.held}


class Memory:
    """Where chunks lie, each block cut into ``count`` of them."""

    def __init__(self, blocks: Blocks, count: int) -> None:
        self._place, self._count, self._layout = blocks.place, count, even_layout(blocks.size, count)

    def __call__(self, chunk: int) -> Bytes:
        """Return the bytes of a chunk."""
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
