"""Rule ``race`` of programs whose lanes are lines: whether two uses of a place are ordered by lanes, messages and waits."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from treecast.programs.dataflow import Contents
from treecast.programs.order import Order
from treecast.programs.program import BUFFER, READ, WRITE
from treecast.programs.verdict import Findings
from treecast.ragged import Ints

_MOST_CLOCKS = 2**26  # entries of clocks at a time


def judge_races(found: Findings, order: Order, contents: Contents, buffers: Sequence[str]) -> None:
    """Judge ``race``: operations that use one place, one of them writing, in no order, or that read and write in places that
    overlap. ``buffers``: their names.
    """
    program = order.program
    read, write = (contents.places.of(program.rank, column) for column in (program.read, program.write))
    apart, both = np.abs(read - write), program.does(READ) & program.does(WRITE)
    overlap = np.flatnonzero(both & (apart > 0) & (apart < program.units))
    found.these("race", overlap, lambda _: "places that it reads and writes overlap", program.where)
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


def _unordered_here(order: Order, earlier: Ints, later: Ints) -> Ints:
    """Return which pairs of operations are not ordered by the operations of their rank."""
    program, ended = order.program, order.ended
    if not len(later):
        return later
    by_rank = ended[np.argsort(program.rank[ended], kind="stable")]
    begin = np.searchsorted(program.rank, np.arange(program.ranks + 1))
    left, nobody = list[Ints](), np.full(len(program), -1, np.int64)
    turn = np.argsort(program.rank[later], kind="stable")
    bounds = np.searchsorted(program.rank[later][turn], np.arange(program.ranks + 1))
    for rank in np.unique(program.rank[later]).tolist():
        which = turn[bounds[rank] : bounds[rank + 1]]
        column = np.full(len(program.first) - 1, -1, np.int64)
        lanes = np.unique(program.lane[begin[rank] : begin[rank + 1]])
        column[lanes] = np.arange(len(lanes))
        clock = _clock(order, by_rank[begin[rank] : begin[rank + 1]], nobody, column, int(begin[rank]))
        left.append(which[~_is_before(order, clock, column, earlier[which], later[which] - begin[rank])])
    return np.concatenate(left)


def _unordered(order: Order, earlier: Ints, later: Ints) -> Ints:
    """Return which pairs of operations nothing orders at all, neither on their rank nor through others."""
    program, lane = order.program, order.program.lane[earlier]
    lanes, left = np.unique(lane), [np.empty(0, np.int64)]
    at_once = max(1, min(64, _MOST_CLOCKS // max(len(program), 1)))
    for i in range(0, len(lanes), at_once):
        chosen = lanes[i : i + at_once]
        column = np.full(len(program.first) - 1, -1, np.int64)
        column[chosen] = np.arange(len(chosen))
        clock = _clock(order, order.ended, order.pairs.sender, column, 0)
        which = np.flatnonzero(column[lane] >= 0)
        left.append(which[~_is_before(order, clock, column, earlier[which], later[which])])
    return np.concatenate(left)


def _clock(order: Order, ended: Ints, sender: Ints, column: Ints, first: int) -> NDArray[np.int32]:
    """Return how many operations of each chosen lane have ended when one has: a row for each, from ``first`` on."""
    from treecast.kernels.programs.queues import spread_clocks

    program, columns = order.program, int(column.max()) + 1
    clock = np.zeros(len(ended) * columns, np.int32)
    index = np.arange(len(program)) - program.first[program.lane]
    waits = program.before, sender, program.last_wait
    spread_clocks(ended, *waits, program.lane, index, column, columns, clock, first)
    return clock.reshape(len(ended), columns)


def _is_before(order: Order, clock: NDArray[np.int32], column: Ints, earlier: Ints, row: Ints) -> NDArray[np.bool_]:
    lane = order.program.lane[earlier]
    return clock[row, column[lane]] > earlier - order.program.first[lane]
