"""Atoms: chunks that travel together, so that a stream of a million chunks is judged as one.

The chunk numbers are cut where the range of a payload begins or ends, and where the chunks that a node has or wants do.
All chunks of an atom are then in the same payloads, and in a stream each follows the one before by one step: a fact
about the first chunk of the atom holds for all. In a paced stream it follows by as many steps as the row's pace says.

A payload of two ranges, chunks 0-5 and 8-9, and another of chunks 4-9, cut into atoms:

    chunks      0 1 2 3 | 4 5 | 6 7 | 8 9
    payload 0   ------- | --- |     | ---       places 0, 4, 6
    payload 1           | --- | --- | ---       places 0, 2, 4
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from treecast.collectives import Collective, Holdings
from treecast.errors import ScheduleError
from treecast.ragged import Ints, explode, places, starts
from treecast.schedule import Payloads, Schedule
from treecast.steps import NEVER

_MOST_ATOMS = 10_000_000


@dataclass(frozen=True, eq=False)
class Atoms:
    """The atoms of a schedule, and where they lie in its payloads.

    Atom a is the chunks ``bounds[a] … bounds[a+1]-1`` (int64, (atoms+1,)). Payload p consists of the atoms ``atom[i]``,
    each ``place[i]`` chunks behind the payload's beginning, for i in ``start[p] … start[p+1]-1`` (int64).
    ``shift``: how many steps the chunks of an atom follow one another by, 0 where they all move at once: int64 (atoms,).
    """

    bounds: Ints
    start: Ints
    atom: Ints
    place: Ints
    shift: Ints

    def __len__(self) -> int:
        return len(self.bounds) - 1

    @property
    def lengths(self) -> Ints:
        """The number of chunks of each atom."""
        return np.diff(self.bounds)

    @property
    def steps(self) -> Ints:
        """For how many steps a row sends each atom: int64 (atoms,)."""
        return (self.lengths - 1) * self.shift + 1

    def of_chunk(self, chunk: int) -> tuple[int, int]:
        """Return the atom of a chunk, and the chunk's place in it."""
        atom = int(np.searchsorted(self.bounds, chunk, side="right")) - 1
        return atom, chunk - int(self.bounds[atom])

    def of_source(self, collective: Collective, node: int) -> tuple[int, int]:
        """Return the first atom of the data of one source of an allgather, and the one behind the last."""
        first, stop = np.searchsorted(self.bounds, [node * collective.messages, (node + 1) * collective.messages])
        return int(first), int(stop)

    def spans(self, holdings: Holdings) -> tuple[Ints, Ints]:
        """Return for each entry the first atom that it holds, and the one behind the last; atoms may end before it does."""
        first, stop = (np.searchsorted(self.bounds, ends) for ends in (holdings.first, holdings.stop))
        return np.minimum(first, len(self)), np.minimum(stop, len(self))

    def table(self, holdings: Holdings) -> tuple[Ints, Ints]:
        """Return (node, atom), one entry for each atom that each node holds."""
        first, stop = self.spans(holdings)
        count = stop - first
        return np.repeat(holdings.node, count), np.repeat(first, count) + places(count)


def cut_into_atoms(schedule: Schedule, extra: Ints | None = None, *, few: bool = False) -> Atoms:
    """Return the atoms of a schedule; ``extra``: more chunk numbers at which to cut.

    ``few``: of the blocks of chunks, all of one length, only those are told apart of which rows send something.
    Where rows send an atom at different paces, or combined, it is cut into single chunks.
    """
    part, table = schedule.part, schedule.rows.payloads
    # the ends of blocks are all told apart otherwise
    if not few and part.lengths is None and part.chunks // part.messages > _MOST_ATOMS:
        raise ScheduleError(f"{part.kind} over {part.nodes:,} nodes has too many blocks of chunks to judge one by one")
    # 1. Cut where ranges begin or end, and where blocks do.
    ends = [table.first, table.stop, _ends_within(table, part.messages) if few else part.ends()]
    if extra is not None:
        ends.append(extra[(extra > 0) & (extra < part.chunks)])  # others cut nothing
    bounds = _with_results(part, np.unique(np.concatenate(ends)))
    paces = _paces_of_payloads(schedule)
    # 2. At which paces rows send each atom. Where they differ it falls apart, which may cut others: so again.
    while True:
        start, atom, place = _places(schedule, bounds)
        least, most = np.full(len(bounds) - 1, NEVER), np.zeros(len(bounds) - 1, np.int64)
        for found, extreme, of_payload in zip((least, most), (np.minimum, np.maximum), paces, strict=True):
            extreme.at(found, atom, np.repeat(of_payload, np.diff(start)))
            if part.results:  # a finished sum moves as its sum does, or each chunk by itself
                both = found[: 2 * int(np.searchsorted(bounds, part.sums))]
                both[:] = np.tile(extreme(*both.reshape(2, -1)), 2)
        mixed = np.flatnonzero((least < most) & (np.diff(bounds) > 1))
        if int(np.diff(bounds)[mixed].sum()) + len(bounds) > _MOST_ATOMS:
            raise ScheduleError("too many different runs of chunks to judge: send chunks in longer, equal ranges")
        if not len(mixed):
            # of one chunk: any pace will do
            return Atoms(bounds, start, atom, place, np.where(least < NEVER, least, 1))
        singles: list[Ints] = [np.arange(bounds[a], bounds[a + 1], dtype=np.int64) for a in mixed]
        bounds = _with_results(part, np.unique(np.concatenate([bounds, *singles])))


def _ends_within(table: Payloads, size: int) -> Ints:
    """Return where blocks of a size end within the ranges of payloads. Raises ScheduleError where that is very often."""
    first = table.first // size + 1
    count = np.maximum((table.stop - 1) // size + 1 - first, 0)
    if int(count.sum()) > _MOST_ATOMS:
        raise ScheduleError("too many different runs of chunks to judge: send chunks in longer, equal ranges")
    return (np.repeat(first, count) + places(count)) * size


def _with_results(part: Collective, bounds: Ints) -> Ints:
    """Return chunk numbers at which to cut such that sums and finished sums are cut alike."""
    if not part.results:
        return bounds
    # where a sum is cut its finished sum is, and the other way round
    both = np.unique(bounds[bounds <= 2 * part.sums] % part.sums)
    return np.unique(np.concatenate([bounds, both, both + part.sums]))


def _places(schedule: Schedule, bounds: Ints) -> tuple[Ints, Ints, Ints]:
    table = schedule.rows.payloads
    first, stop = np.searchsorted(bounds, table.first), np.searchsorted(bounds, table.stop)
    count = stop - first
    atom = places(count) + np.repeat(first, count)
    # places in the payload, from where its range begins
    place = np.repeat(table.before - table.first, count) + bounds[atom]
    # atoms of a payload's ranges stand side by side, so it begins where its first range does
    return starts(count)[table.start], atom, place


def _paces_of_payloads(schedule: Schedule) -> tuple[Ints, Ints]:
    """Return the least and the greatest pace at which rows send each payload; of those of one chunk NEVER and 0."""
    rows = schedule.rows
    least, most = np.full(len(rows.payloads), NEVER), np.zeros(len(rows.payloads), np.int64)
    several = rows.chunks_sent > 1
    for found, extreme in ((least, np.minimum), (most, np.maximum)):
        extreme.at(found, rows.payload[several], rows.pace[several])
    return least, most


@dataclass(frozen=True, eq=False)
class AtomMoves:
    """Every sending of an atom by a row, sorted by atom and then by step, for replays.

    Atom a moves in rows ``row[i]``, its first chunk at step ``time[i]``, for i in ``start[a] … start[a+1]-1`` (int64).
    """

    start: Ints
    row: Ints
    time: Ints

    def coming(self, late: Ints) -> Ints:
        """Return the moves of each atom in the order in which they arrive, by how much later that of each row does."""
        return np.lexsort((self.time + late[self.row], self.atom))

    @cached_property
    def atom(self) -> Ints:
        """The atom that each move carries: int64 (moves,)."""
        return np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))


def find_moves(schedule: Schedule, atoms: Atoms) -> AtomMoves:
    """Return every sending of an atom by a row."""
    rows = schedule.rows
    row, entry = explode(atoms.start, rows.payload)
    time = rows.leaves(row, atoms.place[entry])
    # by atom and then by time, as replays take them
    order = np.lexsort((time, atoms.atom[entry]))
    start = starts(np.bincount(atoms.atom[entry], minlength=len(atoms)))
    return AtomMoves(start, row[order], time[order])
