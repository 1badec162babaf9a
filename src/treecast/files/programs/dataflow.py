"""The effect of programs on places, and the contents of places at the end: rules ``undefined`` and ``delivered``.

A place holds a multiset of (rank, chunk). It stands as two random residues modulo a prime and a size, drawn anew in each run, so
that nobody can write a file in which two different multisets look alike; missing and double parts are then counted out. Where
sums are maxima or minima, it holds a set, as bits.
"""

import secrets
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treecast.collectives import COLLECTIVES, Kind
from treecast.errors import FormatError
from treecast.files.programs.order import ExecutionOrder
from treecast.files.programs.program import ADD, BUFFER, READ, RECEIVE, SEND, WRITE, Place
from treecast.files.programs.verdict import Findings, Where
from treecast.ragged import Ints, starts
from treecast.verification.bits import Bits, bits_of
from treecast.verification.file_rules import rule

_MOST_PLACES, _MOST_BITS = 2**25, 2**30
_PRIME = 2**61 - 1  # of residues: the sum of two is an int64
_MANY = 2**60  # a size that no right sum has
Name = Callable[[int, int, int], Place]
"""From a rank, a place of its output and the operation that wrote it to how findings name them."""
_MOST_TOLD = 20  # places of the output whose contents are counted out


@dataclass(frozen=True, eq=False, kw_only=True)
class Places:
    """The buffers of all ranks as one row of ``total`` places, of which a chunk takes ``units``.

    ``base`` and ``size``, int64 (ranks, buffers): where each buffer begins, and how many places it has; two may share places.
    ``given``, int64 (ranks,): how many places of its first buffer a rank has at the beginning. ``inplace``: whether the first two
    buffers are one.
    """

    ranks: int
    units: int
    base: Ints
    size: Ints
    total: int
    given: Ints
    inplace: bool

    def __post_init__(self) -> None:
        if self.total > _MOST_PLACES:
            raise FormatError(f"{self.total:,} places of buffers are too many to judge: the most are {_MOST_PLACES:,}")

    def of(self, rank: Ints, column: Ints) -> Ints:
        """Return the places that a column of a program names, of these ranks."""
        buffer, offset = np.divmod(column, BUFFER)
        return self.base[rank, buffer] + offset

    def begin(self, slots: int = 0) -> Ints:
        """Return the value of each place at the beginning, -1: none, of which ``slots`` stand behind those of buffers."""
        value = np.full(self.total + slots, -1, np.int64)
        for rank, count in enumerate(self.given.tolist()):
            first = self.base[rank, 0]
            value[first : first + count] = rank * self.most + np.arange(count)
        return value

    @property
    def most(self) -> int:
        """How many places a rank has at the beginning, at most: place c of rank r is value ``r * most + c``."""
        return int(self.given.max(initial=0))


@dataclass(frozen=True, eq=False)
class Moves:
    """The moves of operations in an order in which they end; an operation may be several.

    Move m is part of ``operation[m]`` and goes over ``units[m]`` places, one behind the other: it adds up all that begin at
    ``reads[read_start[m]:read_start[m + 1]]``, and writes the result to those that begin at ``writes[write_start[m]: …]``.
    """

    operation: Ints
    units: Ints
    read_start: Ints
    reads: Ints
    write_start: Ints
    writes: Ints


def table_of(columns: ArrayLike) -> tuple[Ints, Ints]:
    """Return a table with -1 where nothing is as a ragged one: where its rows begin, and the flat entries."""
    table = np.asarray(columns, np.int64)
    there = table >= 0
    return starts(there.sum(axis=1)), table[there]


@dataclass(frozen=True, eq=False)
class Contents:
    """The values of places at the end, and how they came there.

    ``value`` and ``writer``, int64 (places,): the value of each place, and the operation that wrote it, or -1; places of messages
    stand behind the others. Sum k, of ``left[k]`` and ``right[k]``, is the value ``atoms + k``; where ``sets``, sums are maxima
    or minima, which count a contribution once. ``bare``, int64 (reads, 2): operations that read places that nobody wrote, and
    the places. ``pairs``, int64 (2, pairs): operations of different lanes that must be ordered, since both use a place and one
    writes it. ``moves`` and ``twins``: as ``trace`` took them.
    """

    places: Places
    sets: bool
    moves: Moves
    twins: Ints
    value: Ints
    writer: Ints
    left: Ints
    right: Ints
    bare: Ints
    pairs: Ints

    @property
    def atoms(self) -> int:
        """How many values there are at the beginning."""
        return self.places.ranks * self.places.most

    @cached_property
    def count(self) -> Ints:
        """How many contributions each value has."""
        return self._residues[2]

    @cached_property
    def _residues(self) -> tuple[Ints, Ints, Ints]:
        from treecast.files.programs.kernels.queues import add_up

        random = np.random.default_rng(secrets.randbits(128))
        count = self.atoms + len(self.left)
        first, second = (random.integers(0, _PRIME, count, np.int64) for _ in range(2))
        size = np.ones(count, np.int64)
        add_up(self.left, self.right, first, second, size, self.atoms, _MANY, _PRIME)
        return first, second, size

    @cached_property
    def marks(self) -> tuple[NDArray[Any], ...]:
        """The marks that tell values apart: two residues and the size of each, or its set as bits."""
        if not self.sets:
            return self._residues
        if self.atoms * (self.atoms + len(self.left)) > _MOST_BITS:
            raise FormatError("this plan is too large to judge with reduce_op max or min")
        bits: list[int] = [1 << k for k in range(self.atoms)]  # a bit for each
        parts: list[list[int]] = np.stack([self.left, self.right], axis=1).tolist()
        for a, b in parts:
            bits.append(bits[a] | bits[b])
        found = np.empty(len(bits), object)
        found[:] = bits
        return (found,)

    def all_of(self, mark: NDArray[Any], count: int) -> NDArray[Any]:
        """Return the mark of each of the first ``count`` chunks added up over all ranks."""
        every = mark[: self.atoms].reshape(self.places.ranks, -1)[:, :count]
        total = every[0]
        for one in every[1:]:
            total = total | one if self.sets else (total + one) % _PRIME
        return total

    @cached_property
    def _sides(self) -> list[tuple[int, int]]:
        """The two values of each sum."""
        return list(zip(self.left.tolist(), self.right.tolist(), strict=True))

    def steps_of(self, value: int, atom: int, others: Sequence[int]) -> tuple[int, int]:
        """Return the operation after which no place holds a contribution, and the first that adds it to others, on the way to a
        value; -1: none.
        """
        from treecast.files.programs.kernels.queues import follow_value

        # 1. The values that hold it, and those that hold the others.
        atoms, sides = self.atoms, self._sides
        holds = np.zeros((2, atoms + len(sides)), np.bool_)
        holds[0, atom], holds[1, list(others)] = True, True
        for k, (a, b) in enumerate(sides):
            holds[:, atoms + k] = holds[:, a] | holds[:, b]

        # 2. The first sum on the way to the value that has it from one side, and them from the other.
        todo, inside = [value], set[int]()
        while todo:
            one = todo.pop()
            if one >= atoms and one not in inside:
                inside.add(one)
                todo += sides[one - atoms]
        ends = [(one - atoms, *sides[one - atoms]) for one in inside]
        met = min((k for k, a, b in ends if (holds[0, a] and holds[1, b]) or (holds[0, b] and holds[1, a])), default=-1)

        # 3. Who makes that sum, and who loses the contribution.
        moves, begin = self.moves, self.places.begin(len(self.value) - self.places.total)
        columns = (moves.operation, moves.units, moves.read_start, moves.reads, moves.write_start, moves.writes)
        found = follow_value(columns, self.twins, begin, self.places.total, holds[0], self.atoms, met)
        lost, maker = (int(moves.operation[move]) if move >= 0 else -1 for move in found)
        return lost, maker

    def parts(self, value: int) -> Counter[int]:
        """Return the parts of a value, by their number at the beginning; no count is above ``_MANY``."""
        found, todo = Counter[int](), Counter({value: 1} if value >= 0 else {})
        while todo:
            # sums stand behind what they add up, so the greatest number comes up once only
            one = max(todo)
            times = todo.pop(one)
            if one < self.atoms:
                found[one] = 1 if self.sets else min(found[one] + times, _MANY)
                continue
            for part in (int(self.left[one - self.atoms]), int(self.right[one - self.atoms])):
                todo[part] = min(todo[part] + times, _MANY)
        return found


def trace(
    places: Places, moves: Moves, lane: Ints, slots: int = 0, *, twins: Ints | None = None, sets: bool = False
) -> Contents:
    """Return the contents of places after all moves.

    ``lane``, int64 (operations,), is that of each operation. ``slots`` places stand behind those of buffers, for messages under
    way. ``twins``, int64 (2 · all places,): the two places that hold nothing more when a place is written, or -1. ``sets``:
    whether sums are maxima or minima.
    """
    from treecast.files.programs.kernels.queues import trace_values

    value = places.begin(slots)
    reading = int((moves.units * np.diff(moves.read_start)).sum())
    using = reading + int((moves.units * np.diff(moves.write_start)).sum())
    writer, found = np.full(len(value), -1, np.int64), np.zeros(3, np.int64)
    left, right, bare = np.empty(reading, np.int64), np.empty(reading, np.int64), np.empty(2 * reading, np.int64)
    pairs = np.empty((2, using + reading), np.int64)
    atoms = places.ranks * places.most
    columns = (moves.operation, moves.units, moves.read_start, moves.reads, moves.write_start, moves.writes)
    none = np.empty(0, np.int64) if twins is None else twins
    outputs = (writer, left, right, bare, pairs[0], pairs[1], found)
    trace_values(columns, lane, none, value, places.total, *outputs, atoms)
    sums, bares, count = found.tolist()
    used = np.unique(pairs[:, :count], axis=1) if count else pairs[:, :0]
    sides, reads = (left[:sums].copy(), right[:sums].copy()), bare[: 2 * bares].reshape(-1, 2)
    return Contents(places, sets, moves, none, value, writer, *sides, reads, used)


def trace_program(order: ExecutionOrder, buffers: Places) -> Contents:
    """Return the contents of buffers after a program. Messages under way stand behind them, send by send."""
    program, ended = order.program, order.ended
    count = np.zeros(len(program), np.int64)
    count[order.pairs.send] = program.units[order.pairs.send]
    slot = buffers.total + starts(count)[:-1]
    source, target = (buffers.of(program.rank, column) for column in (program.read, program.write))
    receives, sends = program.does(RECEIVE), program.does(SEND)
    reads = [
        np.where(program.does(READ), source, -1),
        np.where(program.does(ADD) & ~receives, target, -1),
        np.where(receives, slot[order.pairs.sender], -1),
    ]
    writes = [np.where(program.does(WRITE), target, -1), np.where(sends, slot, -1)]
    tables = (table for columns in (reads, writes) for table in table_of(np.stack(columns, axis=1)[ended]))
    return trace(buffers, Moves(ended, program.units[ended], *tables), program.lane, int(count.sum()))


def kind_of(named: str, title: str) -> str:
    """Return the collective that a file names, as treecast calls it; "" where its result is not known.

    Where it is of no kind that the format knows, the title may begin with one.
    """
    known = {
        kind.replace("-", ""): kind for kind, row in COLLECTIVES.items() if not row.lengths and row.ends != "targets"
    }
    plain = named.replace("_", "").replace("-", "")
    if plain != "custom":
        return known.get(plain, "")
    first = title.partition(" ")[0]
    row = COLLECTIVES.get(first)
    rooted = row is not None and "root" in (row.starts, row.ends) and row.blocks == "node"
    return first if rooted and first in known.values() else ""


def wanted_at(kind: Kind, places: Places, loop: int, root: int, rank: int) -> tuple[Ints, Ints]:
    """Return the places of a rank's output that must be right, and the contents that must be there.

    That is a chunk as (rank · loop + chunk), and of sums the chunk that is added up. ``loop``: the places of all blocks.
    """
    every, share = np.arange(loop), loop // places.ranks
    if kind.ends == "root" and rank != root:
        return every[:0], every[:0]
    if kind.adds:
        own = np.arange(share)
        return (own, rank * share + own) if kind.ends == "own" else (every, every)
    # with fewer places than ranks a block has none
    if not share and kind.blocks != "one":
        return every[:0], every[:0]
    if kind.ends == "own":
        if kind.blocks == "pair":
            # place p is of the source p // share: its block for this rank
            return every, every // share * loop + rank * share + every % share
        own = rank * share + np.arange(share)
        return own, root * loop + own
    if kind.starts == "root":
        return every, root * loop + every
    return every, every // share * loop + (every % share if kind.ends == "all" else every)


def root_of(contents: Contents, kind: Kind) -> int:
    """Return the root of a collective that has one: who has the only input or output, else who seems to be it."""
    if kind.all_source:
        return 0
    side, places = int(kind.direction == "to"), contents.places
    having = np.flatnonzero(places.size[:, side])  # who alone has an input, or an output
    if len(having) == 1:
        return int(having[0])
    # an empty output may begin behind all places
    value = contents.value[np.minimum(places.base[:, 1], len(contents.value) - 1)]
    if side == 0:
        origin = value[(value >= 0) & (value < contents.atoms)] // max(places.most, 1)
        return int(np.bincount(origin).argmax()) if len(origin) else 0  # whose data most outputs begin with
    # whose output has most contributions
    return int(np.where(value >= 0, contents.count[value], 0).argmax()) if len(contents.count) else 0


@rule("delivered", "every rank ends with the data that the collective wants there", of=("msccl", "mscclpp"))
def judge_delivery(
    found: Findings, contents: Contents, kind: Kind, loop: int, *, root: int, name: Name, where: Where
) -> None:
    """Judge ``delivered``: whether the output of each rank holds the chunks that the collective wants there.

    ``name`` tells places of the output, ``where`` operations.
    """
    found.judged("delivered")
    places = contents.places
    totals = [contents.all_of(mark, loop) for mark in contents.marks] if kind.adds else []
    for rank in range(places.ranks):
        # 1. What is to be where, and what is there.
        place, atom = wanted_at(kind, places, loop, root, rank)
        at = places.base[rank, 1] + place
        inside = (at < len(contents.value)) & ((place < places.size[rank, 1]) | places.inplace)
        there, writer = (np.where(inside, of[np.where(inside, at, 0)], -1) for of in (contents.value, contents.writer))
        # a chunk that no rank had at the beginning can be nowhere
        right = (there >= 0) & (atom % max(loop, 1) < places.most)
        # 2. Equal marks are equal contents; of residues, but for a chance of about 2^-122.
        for number, mark in enumerate(contents.marks):
            sure = np.flatnonzero(right)
            own, chunk = np.divmod(atom[sure], loop)
            want = totals[number][atom[sure]] if kind.adds else mark[own * places.most + chunk]
            right[sure] = mark[there[sure]] == want
        # 3. What is wrong is counted out, of the first places.
        wrong = np.flatnonzero(~right)
        by = dict(zip(place[wrong].tolist(), writer[wrong].tolist(), strict=True))
        told = {int(place[k]): (int(there[k]), int(atom[k]), bool(writer[k] < 0)) for k in wrong[:_MOST_TOLD].tolist()}
        found.these(
            "delivered",
            place[wrong],
            lambda p, told=told: _say(contents, *told[p], loop=loop, adds=kind.adds, where=where),
            lambda p, rank=rank, by=by: name(rank, p, by[p]),
        )


def bits_at(contents: Contents, kind: Kind, loop: int, root: int) -> Bits:
    """Return what the bits of sums depend on, of a program that brings all of them where the collective wants them."""
    places = contents.places
    value = np.full((places.ranks, loop), -1)
    for rank in range(places.ranks):
        place, atom = wanted_at(kind, places, loop, root, rank)
        value[rank, atom % loop] = contents.value[places.base[rank, 1] + place]
    return bits_of(np.arange(contents.atoms) // max(places.most, 1), (contents.left, contents.right), value)


def _say(contents: Contents, value: int, want: int, fresh: bool, *, loop: int, adds: bool, where: Where) -> str:
    """Return a sentence on a place that holds a value and should hold another, and on the operation that made it wrong.

    ``fresh``: whether nothing wrote there.
    """
    places = contents.places
    right = Counter([(rank, want) for rank in range(places.ranks)] if adds else [divmod(want, loop)])
    held = Counter({divmod(one, places.most): times for one, times in contents.parts(value).items()})
    both = ("it lacks", right - held), ("it has too much:", held - right)
    parts = " and ".join(f"{word} {_spell(some, places.units)}" for word, some in both if some)
    for side, (_, some) in enumerate(both[: 1 + adds]):
        rank, place = min(some, default=(-1, -1))
        if value < 0 or not 0 <= place < places.most:
            continue
        twice, atoms = bool(side and place == want), np.arange(places.ranks) * places.most
        others = (
            [rank * places.most + place] if twice else (atoms + want).tolist() if side and want < places.most else []
        )
        by = contents.steps_of(value, rank * places.most + place, others)[side]
        did = "adds" + " again" * twice if side else "loses"
        parts += f"; {where(by)[0]} {did} {_spell(Counter({(rank, place): 1}), places.units)}" if by >= 0 else ""
    what = (
        "it is wrong" if value >= 0 else "it was never written" if fresh else "it came from where nothing was written"
    )
    return f"{what}: {parts}"


def _spell(some: Counter[tuple[int, int]], units: int) -> str:
    named = [
        f"rank {rank} chunk {place // units}" + (f" {times:,} times" if times > 1 else "")
        for (rank, place), times in sorted(some.items())
    ]
    return ", ".join(named[:4]) + (f" and {len(named) - 4} more" if len(named) > 4 else "")
