"""The simulator: which data arrives when, over which tree, under which faults, and which is lost."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treecast.description import Described, Description, count_of, describe, spell_range, values_of
from treecast.errors import ScheduleError
from treecast.models import Cost
from treecast.networks.core import Ints
from treecast.schedule import Schedule, describe_job, longest_messages
from treecast.schedule.atoms import AtomMoves, Atoms, cut_into_atoms, find_moves
from treecast.schedule.costs import seconds_by_steps
from treecast.schedule.description import spell_steps
from treecast.simulation.bit_replay import Gossip, gossip, is_gossip
from treecast.simulation.faults import Faults, describe_delivery, describe_late, describe_sends, living_ranks, wanted
from treecast.steps import NEVER

_MOST_CELLS = 2**29  # of the tables of atoms x nodes: 6 GiB in all
_MOST_SENDS = 2**20  # of a gossip: with more a bit for each source is faster


@dataclass(frozen=True, eq=False, repr=False)
class Trace(Described):
    """The run of a schedule under faults.

    A node holds a sum from when all that it is to add to it is there; its ``via`` is the row of the last contribution.

    Parameters
    ----------
    schedule : Schedule
        The schedule that ran, written out where it was an orbit.
    faults : Faults
        The faults.
    atoms : Atoms
        The runs of chunks that travel together.
    moves : AtomMoves
        The sends of the atoms.
    arrival : int32 (atoms, N)
        The step from which each node holds the first chunk of each atom; 0: from the start, NEVER: not at all.
    via : int64 (atoms, N)
        The row by which it came first; -1 for none.
    moved : bool (moves,)
        Which sends took place, those that are lost on the way among them.

    Examples
    --------
    >>> import treecast
    >>> schedule = treecast.plan("broadcast", "star:4", messages=6, survive=2)
    >>> trace = treecast.simulate(schedule, ["2134", "3214@2"])
    >>> trace.delivered, trace.steps, trace.transmissions, trace.lost_sends, trace.lost
    (22, 11, 290, 24, [])
    >>> trace.arrival_step(node=23, chunk=0)
    4
    >>> float(trace.completed.mean()), int(trace.completed.count())
    (8.5, 22)
    >>> treecast.simulate(treecast.plan("broadcast", "path:4"), ["2"]).lost
    [(3, 0, 1)]
    """

    schedule: Schedule
    faults: Faults
    atoms: Atoms
    moves: AtomMoves
    arrival: NDArray[np.int32]
    via: Ints
    moved: NDArray[np.bool_]

    def __repr__(self) -> str:
        reached = f"{self.delivered:,} of {int(self.living.sum()):,} living nodes have everything"
        return f"<Trace under {count_of(len(self.faults), 'fault')}: {reached}, {count_of(self.steps, 'step')}>"

    @cached_property
    def living(self) -> NDArray[np.bool_]:
        """Which nodes take part and never fail: bool (N,)."""
        return living_ranks(self.schedule.collective, self.faults)

    def arrival_step(self, node: int, chunk: int) -> int | None:
        """Return the step from which a node holds a chunk, or None when it never does."""
        atom, place = self.atoms.of_chunk(chunk)
        first = int(self.arrival[atom, node])
        if first == NEVER:
            return None
        # later chunks of an atom follow by its shift
        return first if first == 0 else first + place * int(self.atoms.shift[atom])

    @cached_property
    def _wanted(self) -> tuple[Ints, Ints]:
        """The (node, atom) pairs to deliver: each atom that a living node wants and that ever existed."""
        return self.atoms.table(wanted(self.schedule.part, self.faults))

    @cached_property
    def lost(self) -> list[tuple[int, int, int]]:
        """The chunks that living nodes want and never get: (node, first chunk, stop), sorted, as long ranges as there are.

        A chunk whose only source was dead from the start never existed, so it is not lost.
        """
        node, atom = self._wanted
        without = self.arrival[atom, node] == NEVER
        bounds, found = self.atoms.bounds, list[tuple[int, int, int]]()
        # ranges that touch become one
        for v, a in sorted(zip(node[without].tolist(), atom[without].tolist(), strict=True)):
            if found and found[-1][0] == v and found[-1][2] == bounds[a]:
                found[-1] = (v, found[-1][1], int(bounds[a + 1]))
            else:
                found.append((v, int(bounds[a]), int(bounds[a + 1])))
        return found

    @property
    def delivered(self) -> int:
        """How many living nodes end with all that they want."""
        return int(self.living.sum()) - len({node for node, _, _ in self.lost})

    @property
    def holds(self) -> bool:
        """Whether a node lives, and every living node ends with all that it wants."""
        return not self.lost and bool(self.living.any())

    @cached_property
    def completion(self) -> Ints:
        """The step from which each node has all that it wants: int64 (N,); NEVER, 2^31 - 1, where it fails or lost something."""
        node, atom = self._wanted
        first = self.arrival[atom, node].astype(np.int64)
        # an atom is whole when its last chunk is there
        last = np.where(first > 0, first + (self.atoms.steps - 1)[atom], 0)
        done = np.zeros(self.schedule.network.nodes, np.int64)
        np.maximum.at(done, node, np.where(first == NEVER, NEVER, last))
        done[list(self.faults.nodes)] = NEVER
        return done

    @cached_property
    def completed(self) -> "np.ma.MaskedArray[Any, Any]":
        """``completion``, masked where it is NEVER: so ``trace.completed.mean()`` is that of the nodes that have all."""
        return np.ma.masked_equal(self.completion, NEVER)

    @property
    def steps(self) -> int:
        """The number of steps until the last send that takes place has arrived."""
        late = self.schedule.late(self.schedule.model)[self.moves.row]
        # when the last chunk of each move has arrived
        end = self.moves.time + self.atoms.steps[self.moves.atom] - 1 + late
        return int(end[self.moved].max(initial=0))

    @cached_property
    def sent(self) -> Ints:
        """The number of chunks that each row really sends: int64 (rows,)."""
        atom = self.moves.atom
        chunks = np.where(self.moved, self.atoms.lengths[atom], 0)
        return np.bincount(self.moves.row, chunks, minlength=len(self.schedule.rows)).astype(np.int64)

    @property
    def transmissions(self) -> int:
        """The number of (chunk, arc) sends that take place; a node sends over a failed arc and to a failed node all the same."""
        return int(self.sent.sum())

    @cached_property
    def arrived(self) -> NDArray[np.bool_]:
        """Which of these sends arrive, over an arc that has not failed at a node that has not: bool (moves,)."""
        rows, (node_dies, arc_dies) = self.schedule.rows, self.faults.by_step(self.schedule.network)
        # a fault hits all chunks of an atom alike: the first one's step decides
        row, time = self.moves.row, self.moves.time
        arc = self.schedule.network.arc(rows.src, rows.port)[row]
        return self.moved & (time < arc_dies[arc]) & (time < node_dies[rows.dst[row]])

    @cached_property
    def lost_sends(self) -> int:
        """The number of those sends that go over a failed arc or to a failed node."""
        atom = self.moves.atom
        return int(self.atoms.lengths[atom][self.moved & ~self.arrived].sum())

    def arc_load(self) -> Ints:
        """Return the number of chunks that each arc carries: int64 (N, ports)."""
        network, rows = self.schedule.network, self.schedule.rows
        arcs = network.nodes * network.ports
        load = np.bincount(network.arc(rows.src, rows.port), self.sent, minlength=arcs + 1)
        return load[:arcs].astype(np.int64).reshape(network.nodes, -1)

    def node_load(self) -> Ints:
        """Return the number of chunks that each node sends: int64 (N,)."""
        return self.arc_load().sum(axis=1)

    @cached_property
    def message_sizes(self) -> Ints:
        """The most chunks that one message has in each step, of those that are sent: int64 (steps,)."""
        atom = self.moves.atom[self.moved]
        rows, length = self.schedule.rows, self.atoms.lengths[atom]
        arc = self.schedule.network.arc(rows.src, rows.port)[self.moves.row[self.moved]]
        model, step, shift = self.schedule.model, self.moves.time[self.moved], self.atoms.shift[atom]
        return longest_messages(model, step, shift, chunks=length, carrier=arc, total=self.steps)

    def seconds(self, cost: Cost, chunk_bytes: int) -> float:
        """Return the time of all steps, in seconds: each takes β + Fτ for its longest message, F its bytes."""
        return sum(cost.step_time(size * chunk_bytes) for size in self.message_sizes.tolist())


def replay(schedule: Schedule, faults: Faults | None = None) -> Trace:
    """Replay a schedule exactly: a living node sends a chunk if it holds it, and skips the row otherwise.

    In a sparing schedule it leaves out data that it has sent over that link or received over it, whether or not it arrived.
    Where an initiator starts the others, a node that was not started sends nothing.

    A node sends a sum once all contributions that it adds have arrived; if one never comes, the sum is never sent. Of sums
    without owners these are the contributions that are to come before the row.
    Raises FaultError when the source of all data fails before the first step, ScheduleError when there is too much to replay.
    """
    from treecast.simulation.kernels import replay as kernels

    # 1. Atoms that every fault hits as a whole, and their moves.
    faults = faults or Faults()
    faults.check(schedule)
    schedule = schedule.plain()
    network, rows, collective = schedule.network, schedule.rows, schedule.collective
    atoms = cut_into_atoms(schedule)
    found = find_moves(schedule, atoms)
    # faults from the start hit all chunks of an atom alike
    dies = sorted({step for step in (*faults.nodes.values(), *faults.arcs.values()) if step > 0})
    if dies:
        atoms = cut_into_atoms(schedule, _times_of_change(atoms, found, dies))
        found = find_moves(schedule, atoms)
    # 2. Nothing has arrived yet.
    node_dies, arc_dies = faults.by_step(network)
    if len(atoms) * network.nodes > _MOST_CELLS:
        raise ScheduleError(f"{network.nodes:,} nodes x {len(atoms):,} runs of chunks are too many to replay")
    arrival = np.full((len(atoms), network.nodes), NEVER, np.int32)
    via = np.full((len(atoms), network.nodes), -1, np.int64)
    moved = np.zeros(len(found.row), np.bool_)  # whether each move took place
    arc, late = network.arc(rows.src, rows.port), schedule.late(schedule.model)
    columns = (found.row, found.time, rows.src, rows.dst, arc, late, node_dies, arc_dies)
    begins = np.zeros(network.nodes, np.int32)
    # 3. Sums go first: what follows from them, finished sums, comes after.
    sums = int(np.searchsorted(atoms.bounds, collective.sums))  # how many atoms, the first ones, are sums
    node, atom = atoms.table(collective.given())
    if sums:
        adds, shared, own = np.zeros((sums, network.nodes), np.bool_), collective.shared, atom < sums
        adds[:, [] if collective.demand is not None else collective.ranks] = True
        adds[atom[own], node[own]] = True
        kernels.replay_sums(
            found.start[: sums + 1], *columns, found.coming(late), adds, shared, arrival[:sums], via[:sums], moved
        )
    # 4. Other data is where it begins; finished sums are where they are completed.
    # who is dead from the start has nothing
    alive = (node_dies[node] > 0) & (atom >= sums)
    arrival[atom[alive], node[alive]] = 0
    if collective.shared:  # who is told nothing has all contributions in the end
        told = np.zeros((len(atoms), network.nodes), np.bool_)
        told[found.atom, rows.dst[found.row]] = True
        arrival[sums:] = np.where(told[sums:], NEVER, arrival[:sums])
    elif collective.results:  # the owner has a finished sum when the last contribution is there
        owner = collective.source_of(atoms.bounds[:sums])
        arrival[sums + np.arange(sums), owner] = arrival[np.arange(sums), owner]
    # 5. The initiator's data goes first: it says from when each node sends.
    parts = [(sums, len(atoms))]
    if schedule.initiator is not None:
        own, stop = atoms.of_source(collective, schedule.initiator)
        kernels.replay(
            found.start[own : stop + 1], *columns, schedule.arcs_back, begins, arrival[own:stop], via[own:stop], moved
        )
        begins, parts = arrival[own].copy(), [(0, own), (stop, len(atoms))]
    # 6. All the rest.
    for low, high in parts:
        some = slice(low, high)
        kernels.replay(
            found.start[low : high + 1], *columns, schedule.arcs_back, begins, arrival[some], via[some], moved
        )
    return Trace(schedule, faults, atoms, found, arrival, via, moved)


def _times_of_change(atoms: Atoms, found: AtomMoves, dies: list[int]) -> Ints:
    """Return where to cut atoms so that each fault hits all chunks of an atom alike.

    The j-th chunk of an atom of shift T moves j T steps after the first, so a fault at step s divides the atom, for each move
    at step t, into the chunks j < (s - t) / T that are before it and the rest.
    """
    cuts: list[Ints] = [np.empty(0, np.int64)]
    for a in np.flatnonzero((atoms.shift > 0) & (atoms.lengths > 1)).tolist():
        times = np.unique(found.time[found.start[a] : found.start[a + 1]])
        for step in dies:
            # rounded up: the first chunk that moves at the step or later
            place = -((times - step) // atoms.shift[a])
            cuts.append(atoms.bounds[a] + place[(place > 0) & (place < atoms.lengths[a])])
    return np.concatenate(cuts)


def simulate(schedule: Schedule, faults: Faults | None = None) -> Trace | Gossip:
    """Replay a schedule under faults: a ``Trace``, or of a gossip of more than 2^20 sends on a hypercube a ``Gossip``.

    A gossip keeps one bit for each source and node: it counts the missing chunks of each node, and does not know when they
    arrive. Raises FaultError when the source of all data fails before the first step, ScheduleError when there is too much
    to replay.
    """
    if is_gossip(schedule) and schedule.network.nodes * len(schedule) > _MOST_SENDS:
        return gossip(schedule, faults)
    return replay(schedule, faults)


def seconds_replayed(found: Trace | Gossip) -> float | None:
    """Return how long the sends take under faults, step by step; None where their bytes or costs are not said.

    Where arcs cost differently, each step lasts as long as it was planned.
    """
    schedule = found.schedule
    if schedule.costs is None:
        return None
    if schedule.sizes is None:
        raise ScheduleError("nobody says how many bytes chunks have: say bytes='16MiB', or chunk='64KiB'")
    if schedule.costs.arcs:
        return seconds_by_steps(schedule[: found.steps], schedule.costs)
    return found.seconds(schedule.costs.default, schedule.sizes.chunk)


@describe.register
def _(trace: Trace) -> Description:
    network = trace.schedule.network
    busiest_arc, busiest_node = int(trace.arc_load().max(initial=0)), int(trace.node_load().max(initial=0))
    ranks = trace.schedule.collective.ranks
    done = zip(ranks.tolist(), trace.completion[ranks].tolist(), strict=True)
    figures = {
        "lost": [{"node": network.label(node), "chunks": (first, stop)} for node, first, stop in trace.lost],
        **values_of(trace, "steps", "transmissions", "lost_sends"),
        "busiest_arc": busiest_arc,
        "busiest_node": busiest_node,
        "complete_from_step": {network.label(node): None if at == NEVER else at for node, at in done},
    }
    most = f"at most {busiest_arc:,} over one arc, {busiest_node:,} from one node"
    sends = describe_sends(trace.transmissions, trace.lost_sends)
    lines = {"steps": spell_steps(trace.schedule, trace.steps), "transmissions": f"{sends}, {most}"}
    lacking = [f"{network.label(node)} lacks {spell_range(first, stop)}" for node, first, stop in trace.lost]
    words = (trace.schedule.collective.member, "faults")
    begin = describe_delivery(trace.delivered, int(trace.living.sum()), trace.faults.describe(network), lacking, words)
    late = describe_late(trace.schedule, trace.faults)
    return begin.joined(late).joined(describe_job(trace.schedule)).adding(figures, lines)
