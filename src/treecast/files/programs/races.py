"""Rules on the order of uses: whether of two operations one surely comes after the other, by lanes, messages, waits and counts.

Where every wait publishes data, what comes after the last use of a place comes after the others, too: the pairs of a place that
follow one another are judged, by clocks of lanes. Else a write must be published, and a read only be over, and that does not add
up: all pairs of a place are judged, by bits.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treecast.errors import FormatError
from treecast.files.programs.dataflow import Contents
from treecast.files.programs.order import ExecutionOrder
from treecast.files.programs.program import BUFFER, ORDERED, READ, RELAXED, TOLD, WRITE
from treecast.files.programs.verdict import Findings
from treecast.ragged import Ints
from treecast.verification.file_rules import rule

_MOST_CLOCKS = 2**26  # entries of clocks at a time
_MOST_PAIRS, _MOST_BITS, _WORD = 2**21, 2**33, 63


@rule("race", "of two uses of a place, one of which writes, one surely comes first", of=("msccl",))
def judge_races(found: Findings, order: ExecutionOrder, contents: Contents, buffers: Sequence[str]) -> None:
    """Judge ``race``: operations that use one place, one of them writing, in no order, or that read and write in places that
    overlap. ``buffers``: their names.
    """
    # 1. Operations whose own places overlap.
    program = order.program
    read, write = (contents.places.of(program.rank, column) for column in (program.read, program.write))
    apart, both = np.abs(read - write), program.does(READ) & program.does(WRITE)
    overlap = np.flatnonzero(both & (apart > 0) & (apart < program.units))
    found.these("race", overlap, lambda _: "places that it reads and writes overlap", program.where)
    # 2. Pairs that nothing orders: first by what costs little, the rest by what costs more.
    earlier, later = contents.pairs
    left = _unordered_here(order, earlier, later)
    left = left[_unordered(order, earlier[left], later[left])]
    other = dict(zip(later[left].tolist(), earlier[left].tolist(), strict=True))
    sides = [(program.does(WRITE), write, program.write, "writes"), (program.does(READ), read, program.read, "reads")]

    def say(one: int) -> str:
        """Name the first place that both use and one of them writes."""
        two = other[one]
        for mine, theirs in ((0, 0), (0, 1), (1, 0)):
            (does, at, column, did), (also, there, _, too) = sides[mine], sides[theirs]
            begin, units = max(at[one], there[two]), program.units
            if does[one] and also[two] and begin < min(at[one] + units[one], there[two] + units[two]):
                buffer, place = divmod(int(column[one] + begin - at[one]), BUFFER)
                break
        else:
            return (
                f"it and {program.spell(two)} use a place that one of them writes, and nothing says which comes first"
            )
        return (
            f"it {did} {buffers[buffer]} {place}, which {program.spell(two)} {too}, and nothing says which comes first"
        )

    found.these("race", np.unique(later[left]), say, program.where)


def _unordered_here(order: ExecutionOrder, earlier: Ints, later: Ints) -> Ints:
    """Return which pairs of operations are not ordered by the operations of their rank."""
    program, ended = order.program, order.ended
    if not len(later):
        return later
    by_rank = ended[np.argsort(program.rank[ended], kind="stable")]
    begin = np.searchsorted(program.rank, np.arange(program.ranks + 1))
    left = list[Ints]()
    turn = np.argsort(program.rank[later], kind="stable")
    bounds = np.searchsorted(program.rank[later][turn], np.arange(program.ranks + 1))
    for rank in np.unique(program.rank[later]).tolist():
        which, own = turn[bounds[rank] : bounds[rank + 1]], slice(begin[rank], begin[rank + 1])
        lanes = np.unique(program.lane[own])
        left.append(which[~_is_before(order, by_rank[own], lanes, (earlier[which], later[which]), int(begin[rank]))])
    return np.concatenate(left)


def _unordered(order: ExecutionOrder, earlier: Ints, later: Ints) -> Ints:
    """Return which pairs of operations nothing orders at all, neither on their rank nor through others."""
    lane = order.program.lane[earlier]
    lanes, left = np.unique(lane), [np.empty(0, np.int64)]
    # lanes whose clocks are kept together
    at_once = max(1, min(64, _MOST_CLOCKS // max(len(lane), len(order.program), 1)))
    for i in range(0, len(lanes), at_once):
        which = np.flatnonzero(np.isin(lane, lanes[i : i + at_once]))
        both = earlier[which], later[which]
        left.append(which[~_is_before(order, order.ended, lanes[i : i + at_once], both, 0)])
    return np.concatenate(left)


def _is_before(
    order: ExecutionOrder, ended: Ints, lanes: Ints, pairs: tuple[Ints, Ints], first: int
) -> NDArray[np.bool_]:
    """Return of which pairs the earlier has ended when the later has, by clocks of these lanes; rows are from ``first`` on."""
    program, (earlier, later) = order.program, pairs
    column = np.full(len(program.first) - 1, -1, np.int64)
    column[lanes] = np.arange(len(lanes))
    number = np.arange(1, len(program) + 1) - program.first[program.lane]  # clocks count from 1
    clock = _spread(order, ended, (column[program.lane], number, np.int32), first)
    return clock[later - first, column[program.lane[earlier]]] >= number[earlier]


def _spread(
    order: ExecutionOrder, ended: Ints, marks: tuple[Ints, Ints, Any], first: int = 0, level: int | None = None
) -> NDArray[Any]:
    """Return the marks of all that has ended when an operation has: a row for each of those that ``ended``, from ``first`` on.

    ``marks``: the column and the mark of each operation, and the type of marks. They are bits where a ``level`` says how weak the
    ways may be, else clocks.
    """
    from treecast.files.programs.kernels.queues import spread_marks

    column, value, of = marks
    columns = int(column.max(initial=0)) + 1
    found, is_told = np.zeros(len(ended) * columns, of), level is not None
    spread_marks(ended, order.ways, level or 0, column, value, columns, found, first, is_told)
    return found.reshape(len(ended), columns)


# -- uses of places that are published, or not ------------------------------------------------------------------------


class Use(NamedTuple):
    """A use of the places ``lo`` to ``hi`` of a buffer by an operation, or by as many as places from that on where ``each``.

    ``step``: what both operations are parts of; it may write where it has read. ``flagged``: it waits for flags that stand in the
    places, or sets them. ``between``: the operation after which all threads are at it, or -1 where a single one is.
    """

    operation: int
    step: tuple[int, int]
    writes: bool
    lo: int
    hi: int
    each: bool = False
    flagged: bool = False
    between: int = -1

    def at(self, place: int) -> int:
        """Return the operation that uses a place."""
        return self.operation + (place - self.lo) * self.each

    @property
    def operations(self) -> range:
        """The operations that use its places."""
        return range(self.operation, self.operation + (self.hi - self.lo if self.each else 1))

    @property
    def level(self) -> int:
        """How strong a way to what comes after it must be: a write must be published, a read only be over."""
        return TOLD if self.writes else ORDERED


class Reachability:
    """Which operations come after some ``sources``. Raises FormatError when these are too many."""

    def __init__(self, order: ExecutionOrder, sources: Iterable[int]) -> None:
        every, n = np.unique(list(sources)), len(order.program)
        if len(every) * n > _MOST_BITS:
            raise FormatError(f"this plan is too large to judge: {len(every):,} of {n:,} parts are of one buffer")
        self._order, self._column, self._bit = order, np.full(n, -1), np.zeros(n, np.int64)
        self._column[every], self._bit[every] = np.divmod(np.arange(len(every)), _WORD)
        self._found = dict[int, NDArray[np.int64]]()

    def follows(self, before: int, after: int, level: int) -> bool:
        """Return whether one operation comes after another, a source, by a way of which no part is weaker than ``level``."""
        if level not in self._found:
            marks = self._column, 1 << self._bit, np.int64
            self._found[level] = _spread(self._order, self._order.ended, marks, level=level)
        # a bit of the word says whether the source's mark has come here
        bits = int(self._found[level][after, self._column[before]])
        return before != after and bool(bits >> int(self._bit[before]) & 1)


@dataclass(frozen=True, kw_only=True)
class Uses:
    """The uses of buffers in a program, and how findings name them.

    ``of``: the uses of each buffer. ``launches``: by buffer the operations with which its rank begins and ends, beyond which no
    other rank may use it; none where all may. ``name`` tells operations, ``spell`` a place of a buffer.
    """

    found: Findings
    order: ExecutionOrder
    of: Mapping[int, Sequence[Use]]
    launches: Mapping[int, tuple[int, int]]
    name: Callable[[int], str]
    spell: Callable[[int, int], str]

    @rule("race", of=("mscclpp",))
    @rule("begun", "no buffer of another rank is used before that rank has begun", of=("mscclpp",))
    @rule("ended", "no buffer of another rank is used when that rank may have ended", of=("mscclpp",))
    @rule("relaxed", "signals that order two uses also publish data, which relaxed ones do not", of=("mscclpp",))
    def judge(self) -> None:
        """Judge ``race``, ``begun``, ``ended`` and ``relaxed``. Raises FormatError when there is too much to judge."""
        self.found.judged("race", "begun", "ended", "relaxed")
        rank = self.order.program.rank
        for buffer in sorted(self.of):
            own, launch = self.of[buffer], self.launches.get(buffer)
            reach = Reachability(self.order, [one for use in own for one in use.operations] + list(launch or ()))
            for one, other, places in _meet(own):
                self._judge_pair(reach, (one, other), buffer, places)
            if launch is not None:
                for use in own:
                    if not use.flagged and rank[use.operation] != rank[launch[0]]:
                        self._judge_times(reach, use, launch, self.spell(buffer, use.lo))

    def _judge_pair(self, reach: Reachability, pair: tuple[Use, Use], buffer: int, places: range) -> None:
        """Judge two uses of some places."""
        ways, some = (pair, pair[::-1]), places if pair[0].each or pair[1].each else places[:1]
        if any(all(reach.follows(a.at(place), b.at(place), a.level) for place in some) for a, b in ways):
            return
        (one, other), where = (use.at(places[0]) for use in pair), self.order.program.where
        uses = f"{self.name(one)} uses {self.spell(buffer, places[0])} as {where(other)[0]} does, and"
        if pair[0].between == pair[1].between >= 0:
            self.found.note("race", f"{uses} no nop stands between", *where(one))
        elif reach.follows(one, other, RELAXED) or reach.follows(other, one, RELAXED):
            self.found.note("relaxed", f"{uses} only relaxed signals order them", *where(one))
        else:
            self.found.note("race", f"{uses} nothing orders them", *where(one))

    def _judge_times(self, reach: Reachability, use: Use, launch: tuple[int, int], place: str) -> None:
        """Judge that the buffer of another rank is used after that has begun, and before it has ended."""
        program, name, (begin, end) = self.order.program, self.name(use.operation), launch
        where = program.where(use.operation)
        if not all(reach.follows(begin, one, ORDERED) for one in use.operations):
            self.found.note("begun", f"{name} uses {place}, which may not have begun", *where)
        if all(reach.follows(one, end, use.level) for one in use.operations):
            return
        if use.writes and reach.follows(use.operation, end, RELAXED):
            text = f"{name} writes to {place}, and only relaxed signals tell gpu {program.rank[begin]}"
            self.found.note("relaxed", text, *where)
        else:
            self.found.note("ended", f"{name} uses {place}, which may have ended", *where)


def _meet(uses: Sequence[Use]) -> Iterator[tuple[Use, Use, range]]:
    """Yield the pairs of uses that must be ordered, once for all places that the same operations use, and these places."""
    # 1. Where uses begin and end: between two cuts the same ones use a buffer.
    cuts = sorted({cut for use in uses for cut in (use.lo, use.hi)})
    opens = defaultdict[int, list[Use]](list)
    for use in uses:
        if use.hi > use.lo:
            opens[use.lo].append(use)
    active, judged, pairs = list[Use](), set[tuple[Use, Use]](), 0
    # 2. From cut to cut, the pairs among those that are active, once each.
    for lo, hi in pairwise(cuts):
        active = [use for use in active if use.hi > lo] + opens[lo]
        pairs += len(active) * (len(active) - 1) // 2
        if pairs > _MOST_PAIRS:
            raise FormatError(f"more than {_MOST_PAIRS:,} pairs of uses of one buffer are too many to judge")
        for k, one in enumerate(active):
            for other in active[:k]:
                if not (one.writes or other.writes) or (one.flagged and other.flagged):
                    continue
                if one.step == other.step and one.lo == other.lo and one.writes != other.writes:
                    continue  # each thread writes where it has read
                if (one, other) not in judged or one.each or other.each:
                    judged.add((one, other))
                    yield one, other, range(lo, hi)
