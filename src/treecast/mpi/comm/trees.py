"""The ways by a schedule: down the trees of a network that a program names, and over one port each between hosts."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast

import numpy as np

from treecast.algorithms import personal, sums
from treecast.algorithms.spread import copy_here
from treecast.algorithms.sums import Sums
from treecast.calls.call import Call
from treecast.calls.table import Failed, Row
from treecast.collectives import COLLECTIVES
from treecast.engine import blocks
from treecast.engine.blocks import Blocks, bytes_of
from treecast.engine.choose import Operation, Program
from treecast.engine.memory import Part
from treecast.engine.tasks import TASKS
from treecast.errors import DeliveryError
from treecast.execution.layout import Bytes
from treecast.groups.group import Group, Shape
from treecast.groups.memory import scratch
from treecast.mpi.comm.options import Options
from treecast.mpi.comm.state import State
from treecast.mpi.communicator import builder_of
from treecast.transport.base import Piece, Steps

_BETWEEN_HOSTS = {"Bcast", "Allgather", "Allgatherv", "Alltoall", "Alltoallv", "Scatter", "Gather", "Allreduce"}
_DOWN_TREES = {*_BETWEEN_HOSTS, "Reduce"}
KINDS = {kind.mpi: kind.name for kind in COLLECTIVES.values() if kind.mpi in _DOWN_TREES}
"""The calls that go down trees; all others go straight."""


def trees_of(state: State, row: Row, options: Options) -> "Trees | None":
    """Return the plans of a call of mpi4py's where they are right for it, None where it goes straight.

    Raises PlanError when the network does not fit, or survives too little.
    """
    name, named = row.name, options.network is not None
    kind = KINDS.get(name)
    if kind is None or not (named or (name in _BETWEEN_HOSTS and not state.base.near)):
        return None
    adds = COLLECTIVES[kind].adds  # one copy of each contribution: a sum that survives is made anew
    if adds and options.survive and not named:
        return None
    where = state.plans.network(kind, 0 if adds else options.survive, options.network)
    name = builder_of(kind, where, options.survive) if options.network is None else "trees"
    return Trees(state, options, row, name, where.spec)


class Trees:
    """A collective by the schedule of a network; it takes the arguments of the straight one.

    ``name``: ``trees`` over a network that was named; between hosts with one port each it is that of the builder.
    """

    def __init__(self, state: State, options: Options, row: Row, name: str, network: str) -> None:
        self._ours, self._options, self.name, self.network = state.plans, options, name, network
        self._row, self.carry = row, cast("Callable[..., Failed]", getattr(self, KINDS[row.name], self._do))

    def _do(self, call: Call, *parts: Any) -> Failed:
        """Bring blocks to where they belong."""
        task = TASKS[self._row.algorithm](call.ours.rank, *parts)
        if not self._all_take_part(call, task.shape) or not task.pieces:
            return ()
        if self._row.name == "Allgatherv":
            into = [bytes_of(piece) for piece in task.pieces]
            return self._move_unequal(call, task.shape, into.__getitem__, tuple(map(len, into)))
        return self._move(call, task.shape, task.blocks(range(call.ours.size)))

    def alltoallv(
        self, call: Call, outgoing: Sequence[Piece] | None, incoming: Sequence[Piece] | None, *_: Any
    ) -> Failed:
        """Bring a block of any length from every rank to every rank: first all learn how long all blocks are."""
        shape, me, size = Shape("alltoall"), call.ours.rank, call.ours.size
        if self._options.survive:  # nobody knows how long the blocks of the dead are
            return call.run(personal.alltoall(call.group, outgoing, incoming))
        if not self._all_take_part(call, shape) or outgoing is None or incoming is None:
            return ()
        place, sizes = blocks.of_pairs(outgoing, incoming, me).place, np.empty((size, size), np.int64)
        self._ours.comm.Allgather(np.array([len(piece) for piece in outgoing]), sizes)
        np.fill_diagonal(sizes, 0)
        for source in (u for u, piece in enumerate(incoming) if len(piece) < sizes[u, me]):
            raise DeliveryError(
                f"alltoallv: {sizes[source, me]} bytes come from rank {source}, and there is room for less"
            )
        return self._move_unequal(call, shape, place, tuple(sizes.ravel().tolist()))

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
        received, end = bytes_of(work), shape.target
        size = len(received) if end is not None else -(-len(received) // call.ours.size)
        what = self._ours.operation(shape.name, end or 0, size, 0, self._options.network)
        program = self._ours.program(what, end or 0)
        is_whole = blocks.carry_sum(received, how, me, program, partial(self._run, call, what, program))
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

    def _move(self, call: Call, shape: Shape, these: Blocks) -> Failed:
        root = next((end for end in (shape.source, shape.target) if end is not None), 0)
        what = self._ours.operation(shape.name, root, these.size, self._options.survive, self._options.network)
        program = self._ours.program(what, root)
        return _settle(call, blocks.carry(these, program, partial(self._run, call, what, program)), shape)

    def _move_unequal(
        self, call: Call, shape: Shape, place: Callable[[int], Bytes | None], sizes: tuple[int, ...]
    ) -> Failed:
        what, flit = self._ours.unequal(f"{shape.name}v", sizes, self._options.survive, self._options.network)
        program = self._ours.program(what, 0)
        run = partial(self._run, call, what, program)
        return _settle(call, blocks.carry_unequal(place, (sizes, flit), call.ours.rank, program, run), shape)

    def _run(self, call: Call, what: Operation, program: Program, part: Part) -> set[int]:
        self._ours.epoch = call.number  # the same at all ranks, whatever each of them has refused before
        outcome = self._ours.run(what, program, part, self._options.deadline)
        for rank in outcome.dead:
            call.group.lose(rank, True)
        return outcome.held


def _settle(call: Call, lacks: set[int], shape: Shape) -> Failed:
    """End a call whose data others have moved: find its one outcome."""

    def steps(group: Group) -> Steps[Failed]:
        for rank in lacks:
            group.lack(rank)
        return (yield from group.settle(shape)) or ()

    return call.run(steps(call.group))
