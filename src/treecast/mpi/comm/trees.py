"""The ways by a schedule: down the trees of a network that a program names, and over one port each between hosts."""

from functools import partial
from typing import Any

import numpy as np

from treecast.algorithms.spread import copy_here
from treecast.calls.call import Call
from treecast.calls.table import Failed, Row
from treecast.collectives import Kind
from treecast.engine import blocks
from treecast.engine.blocks import Task, bytes_of, shape_of, task_of
from treecast.engine.choose import Operation, Role
from treecast.engine.memory import Part
from treecast.errors import DeliveryError
from treecast.groups.group import Group
from treecast.groups.memory import scratch
from treecast.groups.shape import Shape
from treecast.groups.terms import Terms
from treecast.mpi.comm.state import State
from treecast.mpi.communicator import builder_of
from treecast.transport.base import Piece, Steps


def trees_of(state: State, row: Row, options: Terms) -> "Trees | None":
    """Return the plans of a call of mpi4py's where they are right for it, None where it goes straight.

    Raises PlanError when the network does not fit, or survives too little.
    """
    named = options.network is not None
    if not named and state.base.near:
        return None
    kind = row.planned
    # between hosts a sum for one rank is not faster, and one copy goes of each contribution
    if kind is None or (kind.adds and not named and (options.survive or not kind.results)):
        return None
    where = state.plans.network(kind.name, 0 if kind.adds else options.survive, options.network)
    name = "trees" if named else builder_of(kind.name, where, options.survive)
    return Trees(state, options, (row, kind), name, where.spec)


class Trees:
    """A collective by the schedule of a network. ``carry`` takes the arguments of the straight one.

    ``name``: ``trees`` over a network that was named; between hosts with one port each it is that of the builder.
    """

    def __init__(self, state: State, options: Terms, which: tuple[Row, Kind], name: str, network: str) -> None:
        self._ours, self._options, self.name, self.network = state.plans, options, name, network
        (self._row, self._kind), self.carry = which, self._sum if which[1].adds else self._move

    def _move(self, call: Call, *given: Any) -> Failed:
        """Bring blocks to where they belong."""
        kind, me = self._kind, call.ours.rank
        if kind.personal and kind.lengths and self._options.survive:  # nobody knows how long the blocks of the dead are
            return call.run(self._row.algorithm(call.group, *given))
        task = task_of(kind, me, given)
        if not self._all_take_part(call, task.shape) or not task.pieces:
            return ()
        root = task.shape.end or 0
        sizes = self._sizes(task, me) if kind.lengths else [len(task.pieces[0])]
        operation, cut = self._ours.operation(kind.name, root, sizes, self._options.survive, self._options.network)
        role = self._ours.role(operation, root)
        run = partial(self._run, call, operation, role)
        return _settle(call, blocks.carry(task.place(range(call.ours.size)), cut, me, role, run), task.shape)

    def _sizes(self, task: Task, me: int) -> list[int]:
        """Return the bytes of each block; where each is for one rank, all learn them first."""
        lengths = [len(piece) for piece in task.pieces]
        if not self._kind.personal:
            return lengths
        size = len(lengths) // 2
        sizes = np.empty((size, size), np.int64)
        self._ours.comm.Allgather(np.array(lengths[:size]), sizes)
        np.fill_diagonal(sizes, 0)
        for source in (u for u, room in enumerate(lengths[size:]) if room < sizes[u, me]):
            raise DeliveryError(
                f"{self._kind.name}: {sizes[source, me]} bytes come from rank {source}, and there is room for less"
            )
        found: list[int] = sizes.ravel().tolist()
        return found

    def _sum(self, call: Call, mine: Piece | None, out: Piece | None, *rest: Any) -> Failed:
        """Bring a sum down the plan, one contribution each, added along the trees, in the order of the schedule.

        When a rank dies before all have it, it is made anew, straight.
        """
        kind, group, me, how = self._kind, call.group, call.ours.rank, rest[-1]
        shape = shape_of(kind, (mine, out, *rest))

        def straight(given: Piece | None) -> Steps[Failed]:
            return self._row.algorithm(group, given, out, *rest)

        if not self._all_take_part(call, shape) or how is None:
            return ()
        if not how.op.Is_commutative() or len(group.agreement.members) < group.size:
            return call.run(straight(mine))
        given: Piece = out if mine is None else mine
        work = scratch(len(given)) if out is None else out
        if mine is None and self._options.survive:  # another try needs it again
            given = scratch(len(work))
        copy_here(*((given, work) if mine is None else (work, given)))
        received, root = bytes_of(work), shape.target or 0
        size = len(received) if kind.blocks == "one" else -(-len(received) // call.ours.size)
        operation, _ = self._ours.operation(kind.name, root, [size], 0, self._options.network)
        role = self._ours.role(operation, root)
        is_whole = blocks.carry_sum(received, how, me, role, partial(self._run, call, operation, role))
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

    def _run(self, call: Call, operation: Operation, role: Role, part: Part) -> set[int]:
        outcome = self._ours.run(operation, role, part, self._options.deadline, call.number)
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
