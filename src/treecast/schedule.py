"""The schedule: who sends what to whom over which arc at which step, as columns.

A *row* says: ``src`` sends ``payload`` to ``dst`` by ``port`` during steps ``step … step+steps-1``. Either one chunk a
step, in the order of the payload (a pipelined stream; ``steps`` = length of the payload), or the whole payload combined
in one step (``steps`` = 1). So a pipelined broadcast of a million messages has one row per arc of its trees. A row without
chunks is a *control flit*: one step of telling a neighbour when to do what.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treecast.collectives import Collective
from treecast.errors import ScheduleError
from treecast.models import Model
from treecast.networks import Cayley, Network
from treecast.networks.core import Ints

COLUMNS = {
    "step": np.int32, "steps": np.int32, "src": np.int32, "dst": np.int32,
    "port": np.int16, "tree": np.int16, "payload": np.int32,
}  # fmt: skip
"""The columns of a row and their types."""
_MOST_PLAIN_ROWS = 2**23
_MOST_COPIES = np.iinfo(np.int16).max  # as many as there are trees


@dataclass(frozen=True, eq=False)
class Payloads:
    """A ragged table: payload p is the chunks of the ranges ``first[i] … stop[i]-1`` for i in ``start[p] … start[p+1]-1``.

    ``start``: int64 (payloads + 1,); ``first``, ``stop``: int64 (ranges,).
    """

    start: Ints
    first: Ints
    stop: Ints

    @staticmethod
    def of(payloads: "list[list[tuple[int, int]]]") -> "Payloads":
        """Return the table of payloads given as lists of ranges (first, stop)."""
        start = np.cumsum([0, *(len(ranges) for ranges in payloads)])
        flat = np.array([r for ranges in payloads for r in ranges], np.int64).reshape(-1, 2)
        return Payloads(start.astype(np.int64), flat[:, 0].copy(), flat[:, 1].copy())

    def __len__(self) -> int:
        return len(self.start) - 1

    @cached_property
    def lengths(self) -> Ints:
        """The number of chunks of each payload: int64 (payloads,)."""
        total = np.concatenate(([0], np.cumsum(self.stop - self.first)))
        return total[self.start[1:]] - total[self.start[:-1]]

    def ranges(self, payload: int) -> list[tuple[int, int]]:
        """Return the ranges (first, stop) of one payload, in order."""
        rows = slice(self.start[payload], self.start[payload + 1])
        return list(zip(self.first[rows].tolist(), self.stop[rows].tolist(), strict=True))

    def within_blocks(self, size: int) -> "Payloads":
        """Return the same payloads with every range cut at the multiples of ``size``."""
        pieces = (self.stop - 1) // size - self.first // size + 1
        source = np.repeat(np.arange(len(pieces)), pieces)
        block = (self.first // size)[source] + places(pieces)
        first, stop = np.maximum(self.first[source], block * size), np.minimum(self.stop[source], (block + 1) * size)
        return Payloads(np.concatenate(([0], np.cumsum(pieces)))[self.start], first, stop)

    def chunk(self, payload: ArrayLike, place: ArrayLike) -> Ints:
        """Return the chunk at ``place`` (0-based) of each payload; the arrays broadcast."""
        before = np.concatenate(([0], np.cumsum(self.stop - self.first)))
        at = before[self.start[np.asarray(payload)]] + np.asarray(place)
        part = np.searchsorted(before, at, side="right") - 1
        return self.first[part] + at - before[part]


@dataclass(frozen=True, eq=False)
class Rows:
    """The columns of a schedule, sorted by (step, src, dst, tree), and the table of payloads that they name.

    ``step, steps, payload``: int32; ``src, dst``: int32, or int64 in networks of 2^31 nodes and more; ``port, tree``: int16
    (tree -1: of no tree); all of one length.
    """

    step: NDArray[np.int32]
    steps: NDArray[np.int32]
    src: NDArray[np.int32] | NDArray[np.int64]
    dst: NDArray[np.int32] | NDArray[np.int64]
    port: NDArray[np.int16]
    tree: NDArray[np.int16]
    payload: NDArray[np.int32]
    payloads: Payloads

    @staticmethod
    def of(payloads: Payloads, **columns: ArrayLike) -> "Rows":
        """Return rows from columns in any order of rows.

        Payloads are numbered by their first use, equal ones once, so that equal rows have equal columns.
        Raises ScheduleError when the columns do not fit together.
        """
        given = {name: _column(name, columns[name], dtype) for name, dtype in COLUMNS.items()}
        wide = np.result_type(given["src"], given["dst"])
        given["src"], given["dst"] = (
            given["src"].astype(wide, copy=False),
            given["dst"].astype(wide, copy=False),
        )
        if len({column.shape for column in given.values()}) != 1 or given["step"].ndim != 1:
            raise ScheduleError("the columns of a schedule must be one-dimensional and of one length")
        if int((given["step"].astype(np.int64) + given["steps"]).max(initial=0)) >= np.iinfo(np.int32).max:
            raise ScheduleError(f"a row ends after step {np.iinfo(np.int32).max - 2}, the last there is")
        _check_payloads(payloads, given)
        order = _sorted_order(given, payloads)
        if order is not None:
            given = {name: column[order] for name, column in given.items()}
        given["payload"], table = _canonical(given["payload"], payloads)
        for column in (*given.values(), table.start, table.first, table.stop):
            column.setflags(write=False)
        return Rows(**given, payloads=table)

    def __len__(self) -> int:
        return len(self.step)

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the columns by name."""
        return {name: getattr(self, name) for name in COLUMNS}

    def take(self, where: Any) -> "Rows":
        """Return the rows that a mask, slice or index array picks."""
        return Rows.of(self.payloads, **{name: column[where] for name, column in self.columns().items()})

    @cached_property
    def chunks_sent(self) -> Ints:
        """The number of chunks that each row sends: int64 (rows,)."""
        return self.payloads.lengths[self.payload]

    @property
    def control(self) -> NDArray[np.bool_]:
        """Which rows are control flits: bool (rows,)."""
        return self.chunks_sent == 0

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Rows):
            return NotImplemented
        mine, its = self.payloads, other.payloads
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in COLUMNS) and all(
            np.array_equal(a, b) for a, b in ((mine.start, its.start), (mine.first, its.first), (mine.stop, its.stop))
        )

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True)
class Claims:
    """What the builder of a schedule says of it; the verifier measures and compares."""

    steps: int
    transmissions: int


@dataclass(frozen=True)
class Sends:
    """All sends of one step, one entry per chunk and arc: int64 arrays of one length; ``row`` is the row they come from."""

    step: int
    src: Ints
    dst: Ints
    port: Ints
    tree: Ints
    chunk: Ints
    row: Ints


@dataclass(frozen=True)
class Schedule:
    """A schedule of a collective on a network. Immutable; what judges it are functions elsewhere.

    ``copies``: by how many disjoint ways each chunk is claimed to reach each node.
    ``orbit``: the rows are the schedule of node 0's data alone, and the data of every node h takes the translates by h.
    ``builder``: the name of what made it, empty when unknown. ``local``: computes one node's rows from its label alone.
    ``sparing``: a node leaves out what has gone over a link before, either way: a row is silent when its source sent that
    payload over that link, or received it, at an earlier step. Then payloads share no chunks.
    """

    network: Network
    collective: Collective
    model: Model
    rows: Rows
    copies: int = 1
    orbit: bool = False
    claims: Claims | None = None
    builder: str = ""
    local: Callable[[int], Rows] | None = field(default=None, compare=False, repr=False)
    sparing: bool = False

    def __post_init__(self) -> None:
        rows, chunks = self.rows, self.part.chunks
        if self.collective.nodes != self.network.nodes:
            raise ScheduleError("the collective and the network differ in their number of nodes")
        if self.orbit and not (isinstance(self.network, Cayley) and self.collective.all_source):
            raise ScheduleError(
                "an orbit schedule needs a Cayley network and a collective in which every node has the same part"
            )
        if self.sparing:
            self._check_sparing()
        if not 1 <= self.copies <= _MOST_COPIES:
            raise ScheduleError(f"copies must be from 1 to {_MOST_COPIES}, not {self.copies}")
        if len(rows) and max(int(rows.src.max()), int(rows.dst.max())) >= self.network.nodes:
            raise ScheduleError(f"a row names a node that {self.network.spec} does not have")
        if len(rows.payloads.stop) and int(rows.payloads.stop.max()) > chunks:
            raise ScheduleError(
                f"a payload names chunk {int(rows.payloads.stop.max()) - 1}; chunks go from 0 to {chunks - 1}"
            )

    @property
    def part(self) -> Collective:
        """What the rows carry out: the collective, or node 0's part in it when the schedule is an orbit."""
        return self.collective.from_node_zero() if self.orbit else self.collective

    @property
    def steps(self) -> int:
        """The number of steps from the first send to the last, counted from step 0."""
        return int((self.rows.step + self.rows.steps).max()) if len(self.rows) else 0

    @property
    def transmissions(self) -> int:
        """The number of (chunk, arc) sends in all when nothing fails; a control flit is one."""
        sent = np.maximum(self.rows.chunks_sent[self.spoken], 1)
        return int(sent.sum()) * (self.network.nodes if self.orbit else 1)

    @cached_property
    def spoken(self) -> NDArray[np.bool_]:
        """Which rows are not silent when nothing fails: bool (rows,); all, unless the schedule is sparing."""
        rows = self.rows
        if not self.sparing or not len(rows):
            return np.ones(len(rows), bool)
        low, high = np.minimum(rows.src, rows.dst).astype(np.int64), np.maximum(rows.src, rows.dst)
        link = np.unique(low * self.network.nodes + high, return_inverse=True)[1].reshape(-1)
        key = link * len(rows.payloads) + rows.payload
        first = np.full(int(key.max()) + 1, np.iinfo(np.int32).max)
        np.minimum.at(first, key, rows.step)
        return rows.step == first[key]

    @cached_property
    def message_sizes(self) -> Ints:
        """The most chunks that one message has in each step when nothing fails: int64 (steps,). Rows that share an arc and
        a step are one message; the message that an orbit sends by a port has the chunks of all sources.
        """
        rows, spoken = self.rows, self.spoken
        step, steps = rows.step[spoken].astype(np.int64), rows.steps[spoken].astype(np.int64)
        carrier = (rows.port if self.orbit else self.network.arc(rows.src, rows.port))[spoken].astype(np.int64)
        return longest_messages(self.model, step, steps, rows.chunks_sent[spoken], carrier, self.steps)

    @cached_property
    def arcs_back(self) -> Ints:
        """Of a sparing schedule the number of the arc back of each row, as Network.arc numbers them; else an empty array."""
        rows, network = self.rows, self.network
        if not self.sparing:
            return np.empty(0, np.int64)
        return network.arc(rows.dst, network.port_between(rows.dst, rows.src))

    def _check_sparing(self) -> None:
        if self.collective.sums:
            raise ScheduleError("a schedule of sums is not sparing: each contribution goes once")
        table = self.rows.payloads
        order = np.argsort(table.first, kind="stable")
        if bool((table.stop[order][:-1] > table.first[order][1:]).any()):
            raise ScheduleError("in a sparing schedule payloads share no chunks")
        if bool((self.rows.steps > 1).any()):
            raise ScheduleError("in a sparing schedule a payload goes in one step")

    @property
    def trees(self) -> int:
        """The number of different trees that the rows name."""
        return int(np.count_nonzero(np.bincount(self.rows.tree[self.rows.tree >= 0])))

    def select(self, where: Any) -> "Schedule":
        """Return the schedule of the rows that a mask, slice or index array picks; it claims nothing."""
        return replace(self, rows=self.rows.take(where), claims=None, local=None)

    def between(self, start: int, stop: int) -> "Schedule":
        """Return the rows that are under way in some step of ``start … stop-1``."""
        return self.select((self.rows.step < stop) & (self.rows.step + self.rows.steps > start))

    def on_tree(self, tree: int) -> "Schedule":
        """Return the rows of one tree."""
        return self.select(self.rows.tree == tree)

    def program(self, node: int) -> "Schedule":
        """Return what one node does: the rows that it sends or receives.

        Derived from the node's own label alone where the schedule was planned here, in time independent of N.
        """
        self.network.check_node(node)
        if self.local is not None:
            return replace(self, rows=self.local(node), claims=None, local=None)
        if self.orbit:
            return self._orbit_program(node)
        return self.select((self.rows.src == node) | (self.rows.dst == node))

    def of_node_zero(self) -> "Schedule":
        """Return what the rows of an orbit say by themselves: the schedule of node 0's part. Any other schedule as it is."""
        return replace(self, collective=self.part, orbit=False, claims=None, local=None) if self.orbit else self

    def plain(self) -> "Schedule":
        """Return the same schedule without orbit: N times the rows, chunk h·M + c for chunk c of node h."""
        if not self.orbit:
            return self
        if self.network.nodes * len(self.rows) > _MOST_PLAIN_ROWS:
            raise ScheduleError(
                f"{self.network.nodes:,} x {len(self.rows):,} rows of an orbit are too many to write out"
            )
        sources = np.repeat(np.arange(self.network.nodes), len(self.rows))
        rows = np.tile(np.arange(len(self.rows)), self.network.nodes)
        return replace(self, rows=self._translated(sources, rows), orbit=False, local=None)

    def expand(self, start: int = 0, stop: int | None = None) -> Iterator[Sends]:
        """Yield the sends of each step ``start … stop-1``, one step at a time, every chunk and every source by itself."""
        rows = self.rows
        for step in range(start, self.steps if stop is None else min(stop, self.steps)):
            begun = int(np.searchsorted(rows.step, step, side="right"))
            active = np.flatnonzero(rows.step[:begun] + rows.steps[:begun] > step)
            length = rows.chunks_sent[active]
            streaming = rows.steps[active] == length
            count = np.where(streaming, 1, length)
            row = np.repeat(active, count)
            place = places(count) + np.repeat(np.where(streaming, step - rows.step[active], 0), count)
            chunk = rows.payloads.chunk(rows.payload[row], place)
            src, dst = rows.src[row].astype(np.int64), rows.dst[row].astype(np.int64)
            port, tree = rows.port[row].astype(np.int64), rows.tree[row].astype(np.int64)
            if not self.orbit:
                yield Sends(step, src, dst, port, tree, chunk, row)
                continue
            source = np.repeat(np.arange(self.network.nodes), len(row))
            again = np.tile(np.arange(len(row)), self.network.nodes)
            cayley = self._cayley
            yield Sends(
                step, cayley.translate(source, src[again]), cayley.translate(source, dst[again]),
                port[again], tree[again], self.collective.of_source(source, chunk[again], cayley.translate), row[again],
            )  # fmt: skip

    @property
    def _cayley(self) -> Cayley:
        if not isinstance(self.network, Cayley):
            raise ScheduleError(f"{self.network.spec} has no translations")
        return self.network

    def _translated(self, sources: Ints, rows: Ints) -> Rows:
        """Return rows ``rows`` of node 0's schedule, translated to the sources beside them."""
        base, cayley = self.rows, self._cayley
        numbers = sources * len(base.payloads) + base.payload[rows]
        used, payload = np.unique(numbers, return_inverse=True)
        source, old = np.divmod(used, max(len(base.payloads), 1))
        table = base.payloads.within_blocks(self.collective.messages)
        count = np.diff(table.start)[old]
        part = np.repeat(table.start[old], count) + places(count)
        first = self.collective.of_source(np.repeat(source, count), table.first[part], cayley.translate)
        moved = Payloads(np.concatenate(([0], np.cumsum(count))), first, first + (table.stop - table.first)[part])
        return Rows.of(
            moved, step=base.step[rows], steps=base.steps[rows],
            src=cayley.translate(sources, base.src[rows]), dst=cayley.translate(sources, base.dst[rows]),
            port=base.port[rows], tree=base.tree[rows], payload=payload.reshape(-1),
        )  # fmt: skip

    def _orbit_program(self, node: int) -> "Schedule":
        cayley, every = self._cayley, np.arange(len(self.rows))
        # node = translate(h, u) for exactly one h, the translate of u's inverse by node
        as_src = cayley.translate(node, cayley.untranslate(self.rows.src, 0))
        as_dst = cayley.translate(node, cayley.untranslate(self.rows.dst, 0))
        other = as_dst != as_src  # a row from a node to itself, wrong as it is, counts once
        rows = self._translated(np.concatenate([as_src, as_dst[other]]), np.concatenate([every, every[other]]))
        return replace(self, rows=rows, orbit=False, claims=None, local=None)

    def __len__(self) -> int:
        return len(self.rows)


def longest_messages(model: Model, step: Ints, steps: Ints, chunks: Ints, carrier: Ints, total: int) -> Ints:
    """Return the most chunks that one message has in each of ``total`` steps, of sends that begin at ``step``, take ``steps``
    and have that many ``chunks``; those of one ``carrier`` and step are one message, if messages combine in the model.
    """
    if not model.combining:
        begun, over = (np.bincount(at, minlength=total + 1) for at in (step, step + steps))
        return (np.cumsum(begun - over)[:total] > 0).astype(np.int64)
    at = np.repeat(step, steps) + places(steps)
    key, which = np.unique(np.repeat(carrier, steps) * (total + 1) + at, return_inverse=True)
    together, sizes = np.zeros(len(key), np.int64), np.zeros(total, np.int64)
    np.add.at(together, which, np.repeat(np.where(steps > 1, 1, chunks), steps))
    np.maximum.at(sizes, key % (total + 1), together)
    return sizes


def places(count: Ints) -> Ints:
    """Return 0 … count[0]-1, then 0 … count[1]-1, and so on: the place of each entry of a ragged table in its row."""
    return np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)


def _column(name: str, values: ArrayLike, dtype: Any) -> NDArray[Any]:
    wide = np.asarray(values)
    if wide.size == 0:
        return np.empty(0, dtype)
    if wide.dtype.kind not in "iu":
        raise ScheduleError(f"column {name} must hold whole numbers")
    lowest = {"steps": 1, "port": -1, "tree": -1}.get(name, 0)
    if name in ("src", "dst") and int(wide.max()) > np.iinfo(np.int32).max:
        dtype = np.int64
    if int(wide.min()) < lowest or int(wide.max()) > np.iinfo(dtype).max:
        raise ScheduleError(f"column {name} holds a number outside {lowest} … {np.iinfo(dtype).max}")
    return wide.astype(dtype)


def _check_payloads(table: Payloads, given: dict[str, NDArray[Any]]) -> None:
    starts = table.start
    if bool(((starts < 0) | (starts > len(table.first))).any()):
        raise ScheduleError("a payload begins outside the table of ranges")
    if len(starts) < 1 or starts[0] != 0 or starts[-1] != len(table.first) or bool((np.diff(starts) < 0).any()):
        raise ScheduleError("the ranges of a payload begin where those of the one before end")
    if len(table.first) != len(table.stop) or bool((table.first < 0).any() or (table.first >= table.stop).any()):
        raise ScheduleError("a range of chunks goes from a first chunk ≥ 0 to a later one")
    payload = given["payload"]
    if payload.size and int(payload.max()) >= len(table):
        raise ScheduleError(f"a row names payload {int(payload.max())} of {len(table)}")
    wrong = (given["steps"] != 1) & (given["steps"] != table.lengths[payload])
    if bool(wrong.any()):
        row = int(np.argmax(wrong))
        raise ScheduleError(
            f"a row sends {int(table.lengths[payload[row]])} chunks in {int(given['steps'][row])} steps: "
            "a stream takes one step per chunk, a combined message takes one step"
        )


def _sorted_order(given: dict[str, NDArray[Any]], table: Payloads) -> Ints | None:
    """Return the order that sorts the rows, or None when they are sorted."""
    keys = [given[name].astype(np.int64) for name in ("step", "src", "dst", "tree")]
    keys[3] += 1
    bits = [int(key.max(initial=0)).bit_length() for key in keys]
    if sum(bits) <= 62:
        key = keys[0]
        for other, width in zip(keys[1:], bits[1:], strict=True):
            key = (key << width) | other
        if bool((np.diff(key) > 0).all()):
            return None
        order = np.argsort(key, kind="stable")
        if bool((np.diff(key[order]) > 0).all()):
            return order
    else:  # too wide for one integer
        order = np.lexsort(keys[::-1])
        if bool(np.any([np.diff(key[order]) != 0 for key in keys], axis=0).all()):
            return order
    # rows of one tree, arc and step: ordered by all they say, and payloads by their contents, not by their numbers
    contents = [_merged(table.ranges(p)) for p in range(len(table))]
    ranks = {content: rank for rank, content in enumerate(sorted(set(contents)))}
    said = np.array([ranks[content] for content in contents], np.int64)[given["payload"]]
    return np.lexsort([said, given["steps"], given["port"], *reversed(keys)])


def _canonical(payload: NDArray[np.int32], table: Payloads) -> tuple[NDArray[np.int32], Payloads]:
    """Return the payload column and table with payloads numbered by first use, equal ones once, unused ones gone."""
    if bool((np.diff(table.start) <= 1).all()):
        return _canonical_ranges(payload, table)
    first_use = np.full(len(table), -1, np.int64)
    first_use[payload[::-1]] = np.arange(len(payload) - 1, -1, -1)
    used = np.flatnonzero(first_use >= 0)
    numbers: dict[tuple[tuple[int, int], ...], int] = {}
    new = np.zeros(len(table), np.int32)
    for old in used[np.argsort(first_use[used])].tolist():
        new[old] = numbers.setdefault(_merged(table.ranges(old)), len(numbers))
    return new[payload], Payloads.of([list(key) for key in numbers])


def _canonical_ranges(payload: NDArray[np.int32], table: Payloads) -> tuple[NDArray[np.int32], Payloads]:
    """Do the same with payloads of one range each, or none: there may be millions."""
    some = np.diff(table.start) == 1
    ends = np.zeros((len(table), 2), np.int64)
    ends[some, 0], ends[some, 1] = table.first, table.stop
    used = ends[payload]
    order = np.lexsort((used[:, 1], used[:, 0]))
    new = np.concatenate(([True], (np.diff(used[order], axis=0) != 0).any(axis=1))) if len(order) else np.empty(0, bool)
    group = np.cumsum(new) - 1
    first_use = np.full(int(new.sum()), len(payload))
    np.minimum.at(first_use, group, order)
    rank = np.empty_like(first_use)
    rank[np.argsort(first_use)] = np.arange(len(rank))
    number = np.empty(len(payload), np.int32)
    number[order] = rank[group]
    kept = used[np.sort(first_use)]
    full = kept[:, 1] > kept[:, 0]
    return number, Payloads(np.concatenate(([0], np.cumsum(full))), kept[full, 0], kept[full, 1])


def _merged(ranges: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Return the ranges with those that continue one another joined. Raises ScheduleError when a chunk is there twice."""
    ascending = sorted(ranges)
    for (_, stop), (first, _) in pairwise(ascending):
        if first < stop:
            raise ScheduleError(f"a payload holds chunk {first} twice")
    joined = ranges[:1]
    for first, stop in ranges[1:]:
        if joined[-1][1] == first:
            joined[-1] = (joined[-1][0], stop)
        else:
            joined.append((first, stop))
    return tuple(joined)
