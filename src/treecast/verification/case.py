"""A schedule under judgement, and the data of several rules, computed once."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from math import lcm
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treecast.collectives import Collective, find_kind
from treecast.description import spell_range
from treecast.errors import ScheduleError
from treecast.models import Model
from treecast.networks.core import Ints
from treecast.ragged import explode, places, read_only
from treecast.schedule import Payloads, Rows, Schedule
from treecast.schedule.atoms import Atoms, cut_into_atoms, find_moves
from treecast.schedule.tree_of_rows import outward, trees_of_rows
from treecast.steps import NEVER
from treecast.verification.orbits import Orbits, orbits_of
from treecast.verification.report import SHOWN, Broken, Violation

BLOCK = 1 << 18
"""The number of rows that one thread takes at a time."""
_FREE_CELLS = 2**27  # of a table that any schedule may have: 512 MiB
_CELLS_PER_ROW = 128
_FEW = 1 << 12  # nodes that one thread looks after
_MOST_CELLS = 2**31  # of the table of nodes x atoms: 8 GiB


class StreamColumns(NamedTuple):
    """Rows as sends of one chunk in every period: row ``row[i]`` sends one in step ``turn · period + remainder[i]`` of each of
    the turns ``step[i] … step[i]+steps[i]-1``. Sorted by when they begin. int64 (streams,); steps are int32.

    With a period of 1 they are the rows themselves.

    A row of pace 3 and five chunks, and one of pace 2, in periods of 6:

        step        0  1  2  3  4  5 | 6  7  8  9 10 11 | 12
        pace 3      c  .  .  c  .  . | c  .  .  c  .  . |  c        streams of remainder 0 and 3
        pace 2      c  .  c  .  c  . | c  .  c  .  c  . |  c        streams of remainder 0, 2 and 4
    """

    row: Ints
    step: NDArray[np.int32]
    steps: NDArray[np.int32]
    remainder: Ints
    period: int

    def of(self, column: NDArray[Any]) -> NDArray[Any]:
        """Return a column of rows for each stream."""
        return column if self.period == 1 and len(column) == len(self.row) else column[self.row]

    def at(self, resource: NDArray[Any]) -> NDArray[Any]:
        """Return a number for a resource of each row at the remainder of each stream: those of different ones never meet."""
        # resource and remainder in one number
        return self.of(resource) if self.period == 1 else self.of(resource) * np.int64(self.period) + self.remainder


class Case:
    """A schedule under judgement, and the data of several rules, computed once.

    ``row_numbers``, ``first_chunk``: of a part of a larger schedule, the numbers that its rows, int64 (rows,), and its first
    chunk have there. ``asked``: the first chunk and the size of each run of chunks that are judged, int64; all, unless given.
    """

    def __init__(
        self,
        schedule: Schedule,
        model: Model,
        *,
        row_numbers: Ints | None = None,
        first_chunk: int = 0,
        asked: tuple[Ints, Ints] | None = None,
    ) -> None:
        self.schedule, self.model, self.rows, self.part = schedule, model, schedule.rows, schedule.part
        self.row_numbers, self.first_chunk, self._asked = row_numbers, first_chunk, asked
        self.nodes = schedule.network.nodes
        self.afford(self.nodes, f"{self.nodes:,} nodes")

    def affordable(self, cells: int) -> bool:
        """Return whether a table of so many cells is in proportion to the rows, or small."""
        # a hostile file must not ask for memory that its rows do not pay for
        return cells <= min(_MOST_CELLS, max(_FREE_CELLS, _CELLS_PER_ROW * len(self.rows)))

    def afford(self, cells: int, subject: str) -> None:
        """Raise ScheduleError when a table of so many cells would be out of proportion."""
        if not self.affordable(cells):
            raise ScheduleError(f"{subject} are too many to judge for a schedule of {len(self.rows):,} rows")

    @cached_property
    def orbits(self) -> Orbits | None:
        """The resources of an orbit; None of other schedules. Raises ScheduleError when its symmetry does not prove to be one."""
        return None if self.schedule.symmetry is None else orbits_of(self.schedule, self.schedule.symmetry)

    @cached_property
    def atoms(self) -> Atoms:
        """The atoms of the schedule; few enough for a table of nodes and atoms where the rules need one."""
        asked = None if self._asked is None else np.concatenate([self._asked[0], sum(self._asked)])
        atoms = cut_into_atoms(self.schedule, asked, few=asked is not None)
        if not self.part.personal:  # personal chunks want no such table: one node gives, one gets
            self.afford(self.nodes * len(atoms), f"{self.nodes:,} nodes x {len(atoms):,} runs of chunks")
        return atoms

    def is_wanted(self, chunk: Ints) -> NDArray[np.bool_]:
        """Return which chunks some rank wants, of those that are judged: bool, as long as ``chunk``."""
        return self.part.is_used(chunk) & self.is_judged(chunk)

    def is_judged(self, chunk: Ints) -> NDArray[np.bool_]:
        """Return which chunks are judged: bool, as long as ``chunk``."""
        if self._asked is None:
            return np.ones(chunk.shape, np.bool_)
        order = np.argsort(self._asked[0])
        first, size = (column[order] for column in self._asked)
        # the last run that begins at a chunk or before is the only one that can have it
        at = np.searchsorted(first, chunk, side="right") - 1
        return (at >= 0) & (chunk < np.append(first + size, 0)[at])

    @cached_property
    def streams(self) -> StreamColumns:
        """The rows as streams of one chunk in every period, the least common multiple of their paces.

        A row of pace p is period / p of them, or as many as it has chunks, if that are fewer, or p does not divide the period.
        """
        rows = self.rows
        if self.model.arcs:
            return self._with_gaps()
        # a period longer than the schedule would tell nothing more
        period = min(lcm(*np.unique(rows.pace[rows.pace > 1]).tolist()), max(self.schedule.steps, 1))
        if period == 1:
            return StreamColumns(
                np.arange(len(rows)),
                rows.step.astype(np.int32, copy=False),
                rows.steps,
                np.zeros(len(rows), np.int64),
                1,
            )
        # 1. How many streams each row is.
        chunks, pace = rows.messages, np.maximum(rows.pace, 1)
        apart = np.where(period % pace == 0, period // pace, chunks)  # chunks of one stream are so far apart in the row
        count = np.minimum(chunks, apart)
        self.afford(int(count.sum()), f"streams whose paces have the common multiple {period:,}")
        # 2. Each begins with another chunk of the row, and goes on by whole periods.
        row, place = np.repeat(np.arange(len(rows)), count), places(count)
        step = rows.leaves(row, place)
        order = np.argsort(step, kind="stable")
        row, place, step = row[order], place[order], step[order]
        # every ``apart``-th chunk, from ``place`` on
        steps = -(-(chunks[row] - place) // apart[row])
        return StreamColumns(row, (step // period).astype(np.int32), steps.astype(np.int32), step % period, period)

    def _with_gaps(self) -> StreamColumns:
        """Return the rows, for as long as they keep what they take; each chunk by itself where others may go between two."""
        gap, pace = self.model.ticks(self.rows.src, self.rows.dst)[0], self.rows.pace
        # a stream at the pace of its arc leaves no gap for others
        count = np.where((pace > 0) & (pace != gap), self.rows.messages, 1)
        self.afford(int(count.sum()), "chunks of streams whose pace is not the gap of their arc")
        row, place = np.repeat(np.arange(len(self.rows)), count), places(count)
        step = self.rows.leaves(row, place)
        order = np.argsort(step, kind="stable")
        row, step = row[order], step[order]
        steps = np.where(count[row] > 1, 0, self.rows.steps[row] - 1) + gap[row]  # a chunk keeps its arc for its gap
        return StreamColumns(row, step.astype(np.int32), steps.astype(np.int32), np.zeros(len(row), np.int64), 1)

    def marked(self, row: Ints) -> NDArray[np.bool_]:
        """Return which rows are among some: bool (rows,)."""
        found = np.zeros(len(self.rows), np.bool_)
        found[row] = True
        return found

    @cached_property
    def arrival(self) -> NDArray[np.int32]:
        """The step at which each node first holds the first chunk of each atom: int32 (N, atoms)."""
        from treecast.verification.kernels.rules import arrivals

        table = np.full((self.nodes, len(self.atoms)), NEVER, np.int32)
        table[self.atoms.table(self.part.given())] = 0  # what a node begins with is there from step 0
        if self.part.shared:  # whoever has all contributions has a finished sum
            table[:, self.sums : 2 * self.sums] = self.joined[0]
        elif self.part.results:  # the owner has a finished sum when the last contribution is there
            done = self.contributions[0][self.owners, np.arange(self.sums)]
            used = self.part.is_used(self.atoms.bounds[: self.sums])
            table[self.owners, self.sums + np.arange(self.sums)] = np.where(used, done, NEVER)
        rows, atoms = self.rows, self.atoms
        columns = (rows.step, rows.pace, rows.dst, rows.payload, atoms.start, atoms.atom, atoms.place, table)
        self.by_node(lambda low, high: arrivals(low, high, self.late, *columns))
        return table

    @cached_property
    def late(self) -> Ints:
        """How many steps after it began each send of each row has arrived: int64 (rows,)."""
        return self.schedule.late(self.model)

    @property
    def sums(self) -> int:
        """How many atoms, the first ones, are sums."""
        return int(np.searchsorted(self.atoms.bounds, self.part.sums))

    @cached_property
    def givers(self) -> NDArray[np.bool_]:
        """Who has a contribution to the sums of each atom: bool (N, sums)."""
        node, atom = self.atoms.table(self.part.given())
        found = np.zeros((self.nodes, self.sums), np.bool_)
        found[node[atom < self.sums], atom[atom < self.sums]] = True
        return found

    @property
    def owners(self) -> Ints:
        """The node at which the sums of each atom are to end: int64 (sums,)."""
        return self.part.source_of(self.atoms.bounds[: self.sums])

    @cached_property
    def contributions(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """For each node and atom of sums: the step from which all its contributions are there, and how often it sends the sum."""
        from treecast.verification.kernels.rules import contributions

        last, sends = np.zeros((2, self.nodes, self.sums), np.int32)
        rows, atoms = self.rows, self.atoms
        columns = (rows.step, rows.pace, rows.src, rows.dst, rows.payload, atoms.start, atoms.atom, atoms.place)
        self.by_node(lambda low, high: contributions(low, high, self.late, *columns, last, sends))
        return last, sends

    @cached_property
    def joined(self) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
        """Of sums without owners: the step from which each node has all contributions to each atom, int32 (N, sums).

        And which rows bring some that are there already.
        """
        from treecast.verification.kernels.rules import join

        found, sums = find_moves(self.schedule, self.atoms), self.sums
        done, twice = np.full((self.nodes, sums), NEVER, np.int32), np.zeros(len(self.rows), np.bool_)
        # 63 nodes a word, as in the kernel
        begins = np.zeros((self.nodes, -(-self.nodes // 63)), np.int64)
        begins[self.part.ranks, self.part.ranks // 63] = 1 << self.part.ranks % 63
        columns = (found.row, found.time, self.rows.src, self.rows.dst, self.late, found.coming(self.late))
        join(found.start[: sums + 1], *columns, begins, done, twice)
        done[:, ~self.part.is_used(self.atoms.bounds[:sums])] = NEVER  # sums that nobody gives to
        return done, twice

    @cached_property
    def trees(self) -> int:
        """The number of trees that the rows name."""
        return int(self.rows.tree.max(initial=-1)) + 1

    @cached_property
    def sources(self) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
        """The source of each node in each tree, int32 (trees, N), -1 for none; and the rows that give a node a second one."""
        self.afford(self.trees * self.nodes, f"{self.trees:,} trees of {self.nodes:,} nodes")
        found = trees_of_rows(self.rows.src, self.rows.dst, self.nodes, self.rows.tree)
        return found.parent.astype(np.int32, copy=False), found.clash

    @property
    def depth(self) -> int:
        """The greatest number of arcs from the root to a node in a tree that the rows name; 0 when they name none."""
        from treecast.verification.kernels.rules import tree_depths

        one_root = self.schedule.orbit or not self.schedule.collective.all_source
        if not one_root or self.schedule.sparing or not self.affordable(self.trees * self.nodes):
            return 0  # with several roots, or under silence, trees have no one depth
        depth = np.zeros((self.trees, self.nodes), np.int32)
        # control flits may go against the tree
        src, dst, tree = self.rows.src, self.rows.dst, np.where(self.rows.control, np.int16(-1), self.rows.tree)
        if self.part.personal and self.model.buffered:
            ends = (dst, src) if self.part.direction == "to" else (src, dst)
            # ways of single chunks that make no tree together
            if bool(trees_of_rows(*ends, self.nodes, tree).clash.any()):
                return self._longest_way()
        if self.part.direction == "to":  # towards the root: look at it backwards
            # the last to arrive first: so each tree grows from its root
            late = np.argsort(-(self.rows.step.astype(np.int64) + self.rows.steps), kind="stable")
            src, dst, tree = dst[late], src[late], tree[late]
        elif self.part.results:
            out = outward(self.schedule)
            src, dst, tree = src[out], dst[out], tree[out]
        return int(tree_depths(read_only(src, np.int32), read_only(dst, np.int32), read_only(tree, np.int16), depth))

    def _longest_way(self) -> int:
        """Return the most rows of a tree that carry one chunk: of personal chunks, whose ways need not make a tree together."""
        row, entry = explode(self.atoms.start, self.rows.payload)
        tree = self.rows.tree[row].astype(np.int64)
        ways = self.atoms.atom[entry] * self.trees + tree
        return int(np.unique(ways[tree >= 0], return_counts=True)[1].max(initial=0))

    def by_root(self) -> "Iterator[Case]":
        """Yield for each root its own part: of a collective in which all nodes spread data a broadcast, of an orbit its part.

        Of a demand without sums each class is a part.
        """
        # 1. Which chunks are of which root.
        rows, part, demand = self.rows, self.part, self.part.demand
        if self.schedule.orbit:
            kind, roots = part.kind, np.array(self.schedule.roots)
            begin, sizes = np.arange(len(roots)) * part.chunks, np.full(len(roots), part.messages)
            table = rows.payloads.within_blocks(part.chunks)
        elif demand is not None:
            kind, roots, begin, sizes = part.kind, np.arange(len(demand)), part.begins(), demand.size
            table = rows.payloads.within_blocks_of(part)
        else:
            kind, roots = find_kind("broadcast").name, np.arange(self.nodes)
            begin, sizes = part.begins(), part.sizes()
            sizes = np.where(np.isin(roots, part.ranks), sizes, 0)
            table = rows.payloads.within_blocks_of(part)
        # 2. Rows cut by root: each part is a row of its own, which begins later by what went before it.
        row, entry = explode(table.start, rows.payload)
        first, stop, pace = table.first[entry], table.stop[entry], rows.pace[row]
        of = part.place_of(first)[0] if demand is not None else part.source_of(first)
        root = first // part.chunks if self.schedule.orbit else of
        first, stop = first - begin[root], stop - begin[root]
        columns = {name: column[row] for name, column in rows.columns().items()}
        # chunks of other roots in the row went before
        columns["step"] = columns["step"] + pace * table.before[entry]
        columns["steps"] = (stop - first - 1) * pace + 1
        # 3. Those of each root, sorted as a schedule has them.
        order = np.lexsort((columns["tree"], columns["dst"], columns["src"], columns["step"], root))
        ends = np.searchsorted(root[order], np.arange(len(roots) + 1))
        for i, (node, messages) in enumerate(zip(roots.tolist(), sizes.tolist(), strict=True)):
            if not messages:
                continue
            mine = order[ends[i] : ends[i + 1]]
            own = {name: column[mine] for name, column in columns.items()} | {"payload": np.arange(len(mine))}
            if demand is None:
                own_part = replace(part, kind=kind, root=node, messages=messages, lengths=None)
            else:
                network = self.schedule.network
                own_part = Collective.of_demand(network, demand.take(np.array([node])).named(network))
            schedule = replace(
                self.schedule,
                collective=own_part,
                rows=Rows.of(Payloads.of_ranges(first[mine], stop[mine]), **own),
                orbit=False,
                claims=None,
                sizes=None,
            )
            yield Case(schedule, self.model, row_numbers=row[mine], first_chunk=int(begin[i]))

    def by_node(self, work: Callable[[int, int], object], keys: int | None = None) -> None:
        """Run ``work(low, high)`` for the two halves of the nodes (or of ``keys``) at once: each fills its half of a table."""
        from treecast.compiled import in_parallel

        total = self.nodes if keys is None else keys
        in_parallel(work, total, max(_FEW, -(-total // 2)))

    def label(self, node: int) -> str:
        """Return a node as people write it."""
        return self.schedule.network.label(int(node))

    def row_number(self, row: int) -> int:
        """Return the number of a row in the schedule that people know."""
        return row if self.row_numbers is None else int(self.row_numbers[row])

    def row_name(self, row: int) -> str:
        """Return how findings call a row."""
        return self.rows.name(row if len(self.rows.lines) else self.row_number(row))

    def chunk(self, atom: int) -> int:
        """Return the first chunk of an atom, by its number in the schedule that people know."""
        return int(self.atoms.bounds[atom]) + self.first_chunk

    def chunks(self, atom: int) -> str:
        """Return the chunks of an atom in words."""
        first, stop = self.atoms.bounds[atom : atom + 2].tolist()
        return f"chunk{'' if stop == first + 1 else 's'} {spell_range(first, stop)}"

    def at_nodes(self, rule: str, nodes: Ints, sentence: Callable[[int], str]) -> Broken:
        """Return how many nodes a rule is broken at, and the first violations."""
        return len(nodes), [Violation(rule, sentence(v), -1, (v,)) for v in nodes[:SHOWN].tolist()]

    def at_atom(self, rule: str, node: int, atom: int, text: str) -> Violation:
        """Return a violation that concerns one node and one atom, not one row."""
        return Violation(rule, text, -1, (node,), self.chunk(atom))

    def missed(self, node: int, atom: int) -> Violation:
        """Return the violation of the rule ``delivered`` that an atom does not reach a node."""
        return self.at_atom("delivered", node, atom, f"{self.label(node)} never receives {self.chunks(atom)}")

    def broken(self, rule: str, where: NDArray[np.bool_], sentence: Callable[[int], str]) -> Broken:
        """Return the number of rows that a mask marks, and the first violations."""
        bad, shown = np.flatnonzero(where), list[Violation]()
        for row in map(int, bad[:SHOWN]):
            at, number = self.rows[row], self.row_number(row)
            begin = f"{self.row_name(row)}: {self.label(at.src)} > {self.label(at.dst)} at step {at.step}"
            shown.append(Violation(rule, f"{begin} {sentence(row)}", number, (at.src, at.dst)))
        return len(bad), shown
