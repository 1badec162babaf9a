"""Ways: over which arcs chunks go, and which send waits for which; nothing here says when.

A *hop* is a payload over an arc. It waits for those that bring its payload to where it begins: in a tree for one, and a sum for
all that bring contributions there. Copies are a property of ways alone: the numbers of trees are their certificate, whatever the
times.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from treecast.errors import ScheduleError
from treecast.networks import Network
from treecast.networks.arcs import arcs_of
from treecast.networks.core import Ints
from treecast.ragged import places, starts
from treecast.schedule import Payloads, Schedule
from treecast.schedule.atoms import Atoms, cut_into_atoms, find_moves
from treecast.schedule.trees import TreeSet
from treecast.takes import Takes


@dataclass(frozen=True, eq=False)
class Ways:
    """Hops without times.

    ``arc``: that of each, as ``arcs_of`` numbers it. ``payload``: a number in ``payloads``, which are ranges of chunks.
    ``tree``: the one that it belongs to; -1: none. ``turn``: of those payloads of a block that go down its tree, how many are
    before this one; of sums in one copy, of all payloads of the block. All int64 (hops,). ``before``, ``after``, int64 (pairs,):
    pairs of hops, of which the second waits for the first.

    >>> from treecast.plans import plan
    >>> found = Ways.of_schedule(plan("broadcast", "path:4", messages=2))
    >>> len(found), found.heights.tolist(), found.turn.tolist()
    (6, [3, 2, 3, 1, 2, 1], [0, 0, 1, 0, 1, 1])
    """

    network: Network
    arc: Ints
    payload: Ints
    payloads: Payloads
    tree: Ints
    turn: Ints
    before: Ints
    after: Ints

    def __len__(self) -> int:
        return len(self.arc)

    @cached_property
    def lengths(self) -> Ints:
        """The number of chunks of each hop: int64 (hops,)."""
        return self.payloads.lengths[self.payload]

    @cached_property
    def followers(self) -> tuple[Ints, Ints]:
        """The hops that wait for each: those of hop i are ``hop[first[i]] … hop[first[i+1]-1]``. int64 (hops + 1,), (pairs,)."""
        return grouped(self.before, self.after, len(self))

    @property
    def heights(self) -> Ints:
        """How many hops come one after the other from each on, itself included: int64 (hops,)."""
        return self._measures[0]

    @property
    def below(self) -> Ints:
        """How many hops there are in all the trees below each, itself included: int64 (hops,)."""
        return self._measures[1]

    @cached_property
    def _measures(self) -> tuple[Ints, Ints]:
        return self.lasting(np.ones(len(self), np.int64))

    def lasting(self, delay: Ints) -> tuple[Ints, Ints]:
        """Return ``heights`` and ``below`` where hops arrive so much later each: int64 (hops,), the first in steps."""
        from treecast.plans.kernels.timetable import measure

        height, below = delay.astype(np.int64), np.ones(len(self), np.int64)
        measure(*self.followers, np.bincount(self.after, minlength=len(self)), delay, height, below)
        return height, below

    def loads(self, wanted: Takes) -> Ints:
        """Return for how many steps each resource is taken at least: int64 (resources,)."""
        taken = wanted.resource[self.arc]
        weights = np.broadcast_to((self.lengths * wanted.gap[self.arc])[:, None], taken.shape)
        sends = np.bincount(taken.ravel(), weights.ravel(), minlength=wanted.resources).astype(np.int64)
        return -(-sends // wanted.room)

    def to(self, wanted: NDArray[np.bool_]) -> "Ways":
        """Return some hops, and all that these wait for. ``wanted``: bool (hops,)."""
        kept = wanted.copy()
        # what is kept needs those before it: until nothing new is needed
        while (more := ~kept[self.before] & kept[self.after]).any():
            kept[self.before[more]] = True
        place, pairs = np.cumsum(kept) - 1, kept[self.after]
        arc, payload, tree, turn = (column[kept] for column in (self.arc, self.payload, self.tree, self.turn))
        before, after = place[self.before[pairs]], place[self.after[pairs]]
        return Ways(self.network, arc, payload, self.payloads, tree, turn, before, after)

    @staticmethod
    def of_paths(
        network: Network, first: Ints, arc: Ints, *, chunk: Ints, size: Ints, tree: Ints | None = None
    ) -> "Ways":
        """Return the ways of runs of chunks that go along paths.

        Run i carries the chunks ``chunk[i] … chunk[i]+size[i]-1`` over ``arc[first[i]] … arc[first[i+1]-1]``. ``tree`` numbers
        the ways of a chunk where it has several.
        """
        run = np.repeat(np.arange(len(chunk)), np.diff(first))
        before = np.flatnonzero(run[1:] == run[:-1])
        number = np.full_like(run, -1) if tree is None else tree[run]
        payloads = Payloads.of_ranges(chunk, chunk + size)
        return Ways(network, arc, run, payloads, number, np.zeros_like(run), before, before + 1)

    @staticmethod
    def of_trees(
        network: Network, parts: Sequence[tuple[TreeSet, Sequence[list[tuple[int, int]]]]], *, apart: bool = False
    ) -> "Ways":
        """Return the ways of ranges of chunks down the trees of some sets: for each set, the ranges that each tree carries.

        ``apart``: each range is a payload of its own.
        """
        if apart:
            parts = [
                (trees, [ranges[turn : turn + 1] for ranges in carried])
                for trees, carried in parts
                for turn in range(max(map(len, carried), default=0))
            ]
        columns, table, count = [np.zeros((4, 0), np.int64)], list[list[tuple[int, int]]](), 0
        for trees, carried in parts:
            for tree, ranges in enumerate(carried):
                up = trees.parent[tree].astype(np.int64)
                dst = np.flatnonzero(up >= 0) if ranges else np.zeros(0, np.int64)
                # where the hop into each node stands: the hop into its parent comes before it
                place = np.full(len(up), -1)
                place[dst] = count + np.arange(len(dst))
                arc = arcs_of(network).number(up[dst], trees.port[tree, dst])
                facts = np.full((2, len(dst)), [[tree], [len(table)]])
                columns.append(np.stack([arc, place[up[dst]], *facts]))
                table.append(ranges)
                count += len(dst)
        arc, above, tree, payload = np.concatenate(columns, axis=1)
        after = np.flatnonzero(above >= 0)
        return Ways(network, arc, payload, Payloads.of(table), tree, np.zeros_like(arc), above[after], after)

    def in_blocks(self, block: int) -> tuple["Ways", Ints]:
        """Return the ways of blocks of at most so many chunks, which go one turn after the other, and the hop that each is of.

        Each payload is a single range.
        """
        # each hop is as many as it has blocks; the first blocks wait for the first, and so on
        turns = -(-self.lengths // block)
        base, hop, when = starts(turns)[:-1], np.repeat(np.arange(len(turns)), turns), places(turns)
        pairs = turns[self.before]
        before, after = (np.repeat(base[ends], pairs) + places(pairs) for ends in (self.before, self.after))
        begin = self.payloads.first[self.payloads.start[self.payload[hop]]] + when * block
        payloads = Payloads.of_ranges(begin, begin + np.minimum(block, self.lengths[hop] - when * block))
        cut = Ways(self.network, self.arc[hop], np.arange(len(hop)), payloads, self.tree[hop], when, before, after)
        return cut, hop

    def dealt(self, few: int, many: int) -> "Ways":
        """Return the ways of ``many`` messages of each block, dealt by turns to those of ``few``, which are of a chunk each."""
        turns = -(-many // few)
        block, place = np.divmod(self.payloads.first[self.payloads.start[self.payload]], few)
        # all hops once for each turn; what is beyond the last message is dropped
        turn, at = np.repeat(np.arange(turns), len(self)), np.arange(turns)[:, None]
        number = (at * few + place).reshape(-1)
        kept, chunk = number < many, np.tile(block, turns) * many + number
        before, after = ((at * len(self) + ends).reshape(-1) for ends in (self.before, self.after))
        new, both = np.cumsum(kept) - 1, kept[after]
        first, payload = np.unique(chunk[kept], return_inverse=True)
        arc, tree = (np.tile(column, turns)[kept] for column in (self.arc, self.tree))
        payloads = Payloads.of_ranges(first, first + 1)
        return Ways(
            self.network, arc, payload.reshape(-1), payloads, tree, turn[kept], new[before[both]], new[after[both]]
        )

    @staticmethod
    def joined(parts: "Sequence[Ways]") -> "Ways":
        """Return the ways of several, one behind the other."""
        hops, payloads = (starts([len(each) for each in column]) for column in (parts, [w.payloads for w in parts]))
        return Ways(
            parts[0].network,
            np.concatenate([part.arc for part in parts]),
            np.concatenate([part.payload + at for part, at in zip(parts, payloads.tolist(), strict=False)]),
            Payloads.concatenated([part.payloads for part in parts]),
            np.concatenate([part.tree for part in parts]),
            np.concatenate([part.turn for part in parts]),
            np.concatenate([part.before + at for part, at in zip(parts, hops.tolist(), strict=False)]),
            np.concatenate([part.after + at for part, at in zip(parts, hops.tolist(), strict=False)]),
        )

    @staticmethod
    def of_schedule(schedule: Schedule, *, most: int = 2**18, scale: int = 1, of_one: bool = False) -> "Ways":
        """Return the ways of a schedule that holds and is not sparing: whoever brought a chunk to a node first has brought
        it.

        Hops are in the order of its steps. There may be about ``most`` of them; where single chunks were more, payloads are
        longer. ``scale`` chunks are to go the way of each: a schedule of M messages has the ways of ``scale`` · M, all
        together. ``of_one``: of an orbit, the ways of the rows that stand for all. Raises ScheduleError when there are too many
        hops whatever the payloads.
        """
        if schedule.collective.shared:
            raise ScheduleError("where nobody owns a sum, the contents of a send depend on its step")
        plain = schedule if of_one else schedule.plain()
        block = max(1, -(-plain.transmissions // most)) if scale == 1 else plain.collective.chunks
        atoms = cut_into_atoms(plain)
        count = -(-atoms.lengths // block)
        atoms = cut_into_atoms(plain, np.repeat(atoms.bounds[:-1], count) + places(count) * block)
        return _ways_of(plain, atoms, scale)


def _ways_of(plain: Schedule, atoms: Atoms, scale: int) -> Ways:
    """Return the ways of a schedule that is no orbit; its moves are the hops."""
    moves, rows, network, part = find_moves(plain, atoms), plain.rows, plain.network, plain.collective
    # 1. Moves in the order of their steps.
    order = np.argsort(moves.time, kind="stable")
    row, atom = moves.row[order], moves.atom[order]
    src, dst = rows.src[row].astype(np.int64), rows.dst[row].astype(np.int64)
    # in one copy a chunk comes by whatever tree
    tree = rows.tree[row].astype(np.int64) if plain.copies > 1 else np.zeros(len(row), np.int64)
    chunk, sums = atoms.bounds[atom], int(np.searchsorted(atoms.bounds, part.sums))
    owner = part.source_of(chunk)
    # 2. Visits: whoever comes first brings an atom, others are left out, but contributions all count.
    at = (atom * (int(tree.max(initial=0)) + 1) + tree) * network.nodes  # a visit: a node, and an atom in a tree
    new = np.zeros(len(row), np.bool_)
    new[np.unique(at + dst, return_index=True)[1]] = True
    kept = (atom < sums) | (new & (dst != owner))  # chunks that a node has already need not come again
    row, atom, src, dst, at, chunk, owner, tree = np.stack([row, atom, src, dst, at, chunk, owner, tree])[:, kept]
    # a finished sum waits at its owner for all contributions
    finished = np.where((atom >= sums) & (src == owner) & (sums > 0), sums * network.nodes, 0)
    # 3. A hop waits for all that came to where it begins.
    before, after = pairs_of(at + dst, at + src - finished)
    return Ways(
        network,
        arcs_of(network).number(rows.src[row], rows.port[row]),
        atom,
        Payloads.of_ranges(atoms.bounds[:-1] * scale, atoms.bounds[1:] * scale),
        rows.tree[row].astype(np.int64),
        _turns(part.place_of(chunk)[0], tree if part.sums else rows.tree[row].astype(np.int64), atom),
        before,
        after,
    )


def pairs_of(brings: Ints, needs: Ints) -> tuple[Ints, Ints]:
    """Return all pairs of hops of which the first brings the chunk that the second needs."""
    # those that bring something, sorted: what each hop needs is a range of them
    order = np.argsort(brings, kind="stable")
    first = np.searchsorted(brings[order], needs, side="left")
    count = np.searchsorted(brings[order], needs, side="right") - first
    after = np.repeat(np.arange(len(needs)), count)
    return order[np.repeat(first, count) + places(count)], after


def _turns(block: Ints, tree: Ints, atom: Ints) -> Ints:
    """Return how many atoms of its block go down its tree before that of each hop."""
    order = np.lexsort((atom, tree, block))
    begins, other = np.ones((2, len(order)), np.bool_)  # a tree of a block, and an atom
    begins[1:] = (np.diff(block[order]) != 0) | (np.diff(tree[order]) != 0)
    other[1:] = begins[1:] | (np.diff(atom[order]) != 0)
    count = np.cumsum(other)
    found = np.empty(len(order), np.int64)
    # counted through, less the count where its tree of a block begins
    found[order] = count - np.maximum.accumulate(np.where(begins, count, 0))
    return found


def grouped(key: Ints, value: Ints, count: int) -> tuple[Ints, Ints]:
    """Return the values of each key below ``count``, one behind the other, and where those of each begin."""
    return starts(np.bincount(key, minlength=count)), value[np.argsort(key, kind="stable")]
