"""Rules ``race``, ``undefined`` and ``delivered``: what is in which place, and is that sure?

A place holds a multiset of (GPU, chunk). It stands as two random residues modulo a prime and a size, drawn anew in each run, so
that nobody can write a file in which two different multisets look alike; what is missing or double is then counted out.
"""

import secrets
from collections import Counter
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from treecast.errors import FormatError
from treecast.formats.msccl.order import Order
from treecast.formats.msccl.program import ADDS, BUFFERS, READS, RECEIVES, SENDS, TYPES, WRITES, Program
from treecast.formats.msccl.shape import Finder
from treecast.formats.msccl.verdict import Breach
from treecast.ragged import Ints, starts

_MOST_PLACES = 2**25
_PRIME = 2**61 - 1
_MANY = 2**60  # a size that no right sum has
_MOST_CLOCKS = 2**26  # entries of clocks at a time
_EXTENDS = TYPES.index("re")


@dataclass(frozen=True, eq=False)
class Contents:
    """What the places of all GPUs hold at the end, and how it came there.

    Parameters
    ----------
    program : Program
        The program.
    inplace : bool
        Whether input and output are one buffer.
    base : int64 (gpus, 3)
        Where each buffer of each GPU begins among all places.
    most : int
        How many chunks a GPU has at the beginning, at most: chunk c of GPU g is value ``g * most + c``.
    value, writer : int64 (places,)
        The value of each place, and the step that wrote it; -1: none.
    sent : int64 (chunks sent,)
        The value of each chunk that is sent, by step.
    left, right : int64 (sums,)
        What each sum consists of; sum k is the value ``gpus * most + k``.
    bare : int64
        The steps that read what nobody wrote.
    pairs : int64 (2, pairs)
        Steps of different threadblocks of one GPU that must be ordered: both use a place, and one of them writes it.
    """

    program: Program
    inplace: bool
    base: Ints
    most: int
    value: Ints
    writer: Ints
    sent: Ints
    left: Ints
    right: Ints
    bare: Ints
    pairs: Ints

    @property
    def atoms(self) -> int:
        """How many values are there at the beginning."""
        return self.program.gpus * self.most

    @cached_property
    def marks(self) -> tuple[Ints, Ints, Ints]:
        """The two residues and the size of each value."""
        from treecast.kernels.programs import add_up

        random = np.random.default_rng(secrets.randbits(128))
        count = self.atoms + len(self.left)
        first, second = (random.integers(0, _PRIME, count, np.int64) for _ in range(2))
        size = np.ones(count, np.int64)
        add_up(self.left, self.right, first, second, size, self.atoms, _MANY, _PRIME)
        return first, second, size

    def parts(self, value: int) -> Counter[int]:
        """Return what a value consists of, by its number at the beginning; no count is above ``_MANY``."""
        found, todo = Counter[int](), Counter({value: 1} if value >= 0 else {})
        while todo:
            one = max(todo)
            times = todo.pop(one)
            if one < self.atoms:
                found[one] = min(found[one] + times, _MANY)
                continue
            for part in (int(self.left[one - self.atoms]), int(self.right[one - self.atoms])):
                todo[part] = min(todo[part] + times, _MANY)
        return found


def trace(order: Order, ended: Ints, inplace: bool) -> Contents:
    """Return what a program does to places, its steps taken in an order in which they end."""
    from treecast.kernels.programs import trace_values

    program, step, units = order.program, order.program.step, order.units
    base, places = _bases(program, inplace)
    gpu = program.block["gpu"][program.block_of]
    source = np.where(program.is_(READS), base[gpu, step["srcbuf"]] + step["srcoff"], -1)
    target = np.where(program.is_(WRITES), base[gpu, step["dstbuf"]] + step["dstoff"], -1)
    sends = program.is_(SENDS)
    at = starts(np.where(sends, units, 0))
    to_unit = np.where(sends, at[:-1], -1)
    from_unit = np.where(program.is_(RECEIVES), to_unit[order.pair], -1)
    value, most = _first_values(program, base, places, inplace)
    total = int(units.sum())
    writer, sent, found = np.full(places, -1, np.int64), np.full(at[-1], -1, np.int64), np.zeros(3, np.int64)
    extends = step["type"] == _EXTENDS
    adding = int(units[program.is_(ADDS)].sum())
    left, right, bare = np.empty(adding, np.int64), np.empty(adding, np.int64), np.empty(2 * total, np.int64)
    pairs = np.empty((2, 4 * total), np.int64)
    trace_values(
        ended,
        program.block_of,
        units,
        source,
        target,
        extends,
        from_unit,
        to_unit,
        value,
        writer,
        sent,
        left,
        right,
        bare,
        pairs[0],
        pairs[1],
        found,
        program.gpus * most,
    )
    sums, bares, count = found.tolist()
    return Contents(
        program,
        inplace,
        base,
        most,
        value,
        writer,
        sent,
        left[:sums].copy(),
        right[:sums].copy(),
        bare[:bares].copy(),
        np.unique(pairs[:, :count], axis=1) if count else pairs[:, :0],
    )


def _bases(program: Program, inplace: bool) -> tuple[Ints, int]:
    """Return where each buffer begins among all places, and how many places there are."""
    n, chunks = program.gpus, program.chunks
    shared = max(program.loop, int(chunks[:, :2].max(initial=0)))
    size = shared + chunks[:, 2] if inplace else chunks.sum(axis=1)
    begin = starts(size)
    if begin[-1] > _MOST_PLACES:
        raise FormatError(f"{begin[-1]:,} places of buffers are too many to judge: the most are {_MOST_PLACES:,}")
    base = np.repeat(begin[:-1, None], 3, axis=1)
    if inplace:
        own = np.arange(n) * program.share
        base[:, 0] += own if program.coll == "allgather" else 0
        base[:, 1] += own if program.coll == "reduce_scatter" else 0
        base[:, 2] += shared
    else:
        base[:, 1] += chunks[:, 0]
        base[:, 2] += chunks[:, 0] + chunks[:, 1]
    return base, int(begin[-1])


def _first_values(program: Program, base: Ints, places: int, inplace: bool) -> tuple[Ints, int]:
    """Return the value of each place at the beginning, and how many chunks a GPU has then at most."""
    n = program.gpus
    count = program.chunks[:, 0]
    if inplace:
        most = program.share if program.coll == "allgather" else max(program.loop, int(program.chunks[:, :2].max()))
        count = np.full(n, most)
    most = int(count.max(initial=0))
    value = np.full(places, -1, np.int64)
    for g in range(n):
        value[base[g, 0] : base[g, 0] + count[g]] = g * most + np.arange(count[g])
    return value, most


# -- race and undefined ------------------------------------------------------------------------------------------------


def check_undefined(contents: Contents) -> Finder:
    """Return the breaches of ``undefined``: steps that read what nobody wrote."""
    found, step = Finder(contents.program, "undefined"), contents.program.step

    def say(s: int) -> str:
        return f"it reads {BUFFERS[step['srcbuf'][s]]} {step['srcoff'][s]} (cnt {step['cnt'][s]}), where nothing was written"

    found.these(np.unique(contents.bare), say)
    return found


def check_races(order: Order, ended: Ints, contents: Contents) -> Finder:
    """Return the breaches of ``race``: steps that use one place, one of them writing, in no order."""
    program, step = order.program, order.program.step
    found = Finder(program, "race")
    same = step["srcbuf"] == step["dstbuf"]
    if contents.inplace:
        same |= np.maximum(step["srcbuf"], step["dstbuf"]) < 2
    gpu = program.block["gpu"][program.block_of]
    apart = np.abs(
        contents.base[gpu, step["srcbuf"]] + step["srcoff"] - contents.base[gpu, step["dstbuf"]] - step["dstoff"]
    )
    both = program.is_(READS) & program.is_(WRITES) & same
    found.steps(both & (apart > 0) & (apart < order.units), lambda _: "what it reads and what it writes overlap")
    earlier, later = contents.pairs
    open_pairs = _unordered_here(order, ended, earlier, later)
    open_pairs = open_pairs[_unordered(order, ended, earlier[open_pairs], later[open_pairs])]
    other = dict(zip(later[open_pairs].tolist(), earlier[open_pairs].tolist(), strict=True))

    def say(s: int) -> str:
        at, tb, number = program.where(other[s])
        return f"it and gpu {at} tb {tb} step {number} use a place that one of them writes, and nothing says which comes first"

    found.these(np.unique(later[open_pairs]), say)
    return found


def _unordered_here(order: Order, ended: Ints, earlier: Ints, later: Ints) -> Ints:
    """Return which pairs of steps are not ordered by what happens on their GPU."""
    program, first = order.program, order.program.first_block
    if not len(later):
        return later
    block_of = program.block_of
    begin = program.start[first]
    gpu_of = program.block["gpu"][block_of]
    by_gpu = ended[np.argsort(gpu_of[ended], kind="stable")]
    left = list[Ints]()
    turn = np.argsort(gpu_of[later], kind="stable")
    bounds = np.searchsorted(gpu_of[later][turn], np.arange(program.gpus + 1))
    nobody = np.full(program.steps, -1, np.int64)
    for g in np.unique(gpu_of[later]).tolist():
        which = turn[bounds[g] : bounds[g + 1]]
        column = np.full(program.blocks, -1, np.int64)
        column[first[g] : first[g + 1]] = np.arange(int(first[g + 1] - first[g]))
        part = by_gpu[begin[g] : begin[g + 1]]
        done = _clock(order, part, nobody, column, int(begin[g]))
        left.append(which[~_is_before(order, done, column, earlier[which], later[which] - begin[g])])
    return np.concatenate(left)


def _unordered(order: Order, ended: Ints, earlier: Ints, later: Ints) -> Ints:
    """Return which pairs of steps nothing orders at all, neither on their GPU nor through others."""
    program = order.program
    block = program.block_of[earlier]
    blocks = np.unique(block)
    at_once = max(1, min(64, _MOST_CLOCKS // max(program.steps, 1)))
    left = [np.empty(0, np.int64)]
    for i in range(0, len(blocks), at_once):
        chosen = blocks[i : i + at_once]
        column = np.full(program.blocks, -1, np.int64)
        column[chosen] = np.arange(len(chosen))
        done = _clock(order, ended, order.pair, column, 0)
        which = np.flatnonzero(column[block] >= 0)
        left.append(which[~_is_before(order, done, column, earlier[which], later[which])])
    return np.concatenate(left)


def _clock(order: Order, ended: Ints, pair: Ints, column: Ints, first: int) -> NDArray[np.int32]:
    """Return how many steps of each chosen block have ended when a step has: a row for each step, from ``first`` on."""
    from treecast.kernels.programs import spread_clocks

    program, columns = order.program, int(column.max()) + 1
    clock = np.zeros(len(ended) * columns, np.int32)
    block = program.block_of
    index = np.arange(program.steps) - program.start[block]
    spread_clocks(ended, order.before, pair, order.wait, block, index, column, columns, clock, first)
    return clock.reshape(len(ended), columns)


def _is_before(order: Order, clock: NDArray[np.int32], column: Ints, earlier: Ints, row: Ints) -> NDArray[np.bool_]:
    block = order.program.block_of[earlier]
    return clock[row, column[block]] > earlier - order.program.start[block]


# -- delivered ---------------------------------------------------------------------------------------------------------


def check_delivered(contents: Contents, kind: str, root: int) -> Finder:
    """Return the breaches of ``delivered``: places of the output that do not hold what the collective wants there."""
    program = contents.program
    found = Finder(program, "delivered")
    marks = contents.marks
    sums = [_all_of(contents, mark) for mark in marks] if kind in ("allreduce", "reduce", "reduce_scatter") else []
    for g in range(program.gpus):
        place, atom = wanted_at(program, kind, root, g)
        if not len(place):
            continue
        there = contents.value[_output(contents, g) + place] if _has(contents, g, place) else np.full(len(place), -1)
        right = (there >= 0) & (bool(sums) | (atom % program.loop < contents.most))
        for mark, of_sum in zip(marks, sums or marks, strict=True):
            known = np.flatnonzero(right)
            right[known] = mark[there[known]] == of_sum[(atom if sums else _atom(contents, atom))[known]]
        _note(contents, found, g, (place[~right], there[~right], atom[~right]), bool(sums))
    return found


def wanted_at(program: Program, kind: str, root: int, gpu: int) -> tuple[Ints, Ints]:
    """Return the places of a GPU's output that must be right, and what must be there.

    That is a chunk as (GPU · loop + chunk), and of sums the chunk that is added up.
    """
    n, loop, share = program.gpus, program.loop, program.share
    every, none = np.arange(loop), np.empty(0, np.int64)
    if kind in ("reduce", "gather") and gpu != root:
        return none, none
    if kind == "broadcast":
        return every, root * loop + every
    if kind in ("allgather", "gather"):
        inner = every % share if kind == "allgather" else every
        return every, every // share * loop + inner
    if kind == "alltoall":
        return every, every // share * loop + gpu * share + every % share
    if kind == "scatter":
        own = gpu * share + np.arange(share)
        return own, root * loop + own
    if kind == "reduce_scatter":
        return np.arange(share), gpu * share + np.arange(share)
    return (every, every) if kind in ("allreduce", "reduce") and n else (none, none)


def root_of(contents: Contents, kind: str) -> int:
    """Return the root of a collective that has one: who has the only input or output, else who seems to be it."""
    program = contents.program
    side = {"broadcast": 0, "scatter": 0, "reduce": 1, "gather": 1}.get(kind)
    if side is None:
        return 0
    having = np.flatnonzero(program.chunks[:, side])
    if len(having) == 1:
        return int(having[0])
    first = contents.base[:, 1]
    value = contents.value[np.minimum(first, len(contents.value) - 1)]
    if side == 0:
        given = value[(value >= 0) & (value < contents.atoms)] // max(contents.most, 1)
        return int(np.bincount(given).argmax()) if len(given) else 0
    return int(contents.marks[2][value].argmax()) if len(value) and len(contents.marks[2]) else 0


def _atom(contents: Contents, wanted: Ints) -> Ints:
    """Return values of the beginning by (GPU · loop + chunk)."""
    gpu, chunk = np.divmod(wanted, contents.program.loop)
    return np.minimum(gpu * contents.most + chunk, max(contents.atoms - 1, 0))


def _all_of(contents: Contents, mark: Ints) -> Ints:
    """Return the mark of the sum of each chunk over all GPUs."""
    total, loop = np.zeros(contents.program.loop, np.int64), contents.program.loop
    for g in range(contents.program.gpus):
        part = mark[g * contents.most : (g + 1) * contents.most][:loop]
        total[: len(part)] = (total[: len(part)] + part) % _PRIME
    return total


def _output(contents: Contents, gpu: int) -> int:
    return int(contents.base[gpu, 1])


def _has(contents: Contents, gpu: int, place: Ints) -> bool:
    return contents.inplace or int(contents.program.chunks[gpu, 1]) > int(place[-1])


def _note(contents: Contents, found: Finder, gpu: int, columns: tuple[Ints, Ints, Ints], adds: bool) -> None:
    """Note places that do not hold what they should: columns are the places, what is there, and what is wanted."""
    found.count += len(columns[0])
    n, loop = contents.program.gpus, contents.program.loop
    for p, value, want in zip(*(column.tolist() for column in columns), strict=True):
        if len(found.shown) >= 3:
            return
        right = Counter([(g, want) for g in range(n)] if adds else [divmod(want, loop)])
        held = Counter({divmod(one, contents.most): times for one, times in contents.parts(value).items()})
        missing, double = right - held, held - right
        parts = [
            f"{word} {_spell(some)}" for word, some in (("it lacks", missing), ("it has too much:", double)) if some
        ]
        at = contents.writer[_output(contents, gpu) + p] if _has(contents, gpu, np.array([p])) else -1
        _, tb, step = contents.program.where(int(at)) if at >= 0 else (gpu, -1, -1)
        which = f"o {p}{' in place' if contents.inplace else ''}"
        text = f"{which} {'was never written' if value < 0 else 'is wrong'}: {', and '.join(parts)}"
        found.shown.append(Breach("delivered", text, gpu, tb, step))


def _spell(some: Counter[tuple[int, int]]) -> str:
    named = [
        f"gpu {g} chunk {c}" + (f" {times:,} times" if times > 1 else "") for (g, c), times in sorted(some.items())
    ]
    return ", ".join(named[:4]) + (f" and {len(named) - 4} more" if len(named) > 4 else "")
