"""Where the chunks of a run lie in bytes, and the contributions that a node must still add to its sums.

Local runs, elections, relays and MPI all read it here, so that a chunk is the same bytes wherever a schedule is carried out.

MPI, sockets and PyTorch carry out plans of demands, whose classes lie in the memory of one rank entry by entry. Each class may
be as long as it likes; its chunks are as equal as whole entries allow. A rank has no place for what it neither has, wants, nor
passes on. Finished sums take the place of the sums, which are over by then.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treecast.collectives import Collective, Demand, Holdings, Lengths
from treecast.errors import PlanError
from treecast.networks.core import Ints
from treecast.ragged import cut_evenly, runs, starts

if TYPE_CHECKING:  # a rank that makes no schedule loads none
    from treecast.schedule import Rows, Schedule
    from treecast.schedule.sizes import Sizes

Bytes = NDArray[np.uint8]
"""Memory, byte by byte."""
Ranges = list[tuple[int, int]]
"""Ranges of chunks, (first, stop) each, the stop left out."""

_NUMBER = 8  # bytes of a number of a sum: int64
_MOST_BYTES = 8 * 2**30
_MOST_CHUNKS = 10_000_000


@dataclass(frozen=True, eq=False)
class Layout:
    """Where each chunk's bytes lie in the memory of a node: chunk c is the bytes ``bounds[c] … bounds[c+1]-1``.

    ``bounds``: int64 (chunks + 1,).
    """

    bounds: Ints

    def __post_init__(self) -> None:
        self.bounds.setflags(write=False)

    @property
    def size(self) -> int:
        """The number of bytes of all chunks together."""
        return int(self.bounds[-1])

    def slice_of(self, first: int, stop: int) -> slice:
        """Return where the chunks ``first … stop-1`` lie."""
        return slice(int(self.bounds[first]), int(self.bounds[stop]))

    def digest(self, memory: Bytes, chunks: Iterable[tuple[int, int]]) -> str:
        """Return the SHA-256, in hexadecimal, of ranges of chunks, one behind the other."""
        found = hashlib.sha256()
        for first, stop in chunks:
            found.update(memory[self.slice_of(first, stop)].data)
        return found.hexdigest()

    def digests_of(self, memory: Bytes) -> Callable[..., str]:
        """Return the function that gives the digest of ranges of chunks; of the same ranges it is taken once."""
        return cache(lambda *chunks: self.digest(memory, chunks))


def bytes_of(data: object) -> memoryview:
    """Return the bytes of anything that holds some: bytes, or an array of numbers, whose bytes lie one behind the other.

    Raises PlanError for text, for a list, for an array of objects, and for one whose bytes lie apart or in another order.

    >>> len(bytes_of(np.array([1000.5, 2.0])))
    16
    """
    try:
        view = memoryview(cast(bytes, data))
    except (TypeError, ValueError):  # no buffer, or one of a type that buffers cannot name
        right = "encode it, as in text.encode()" if isinstance(data, str) else "give bytes, or a numpy array of numbers"
        raise PlanError(f"data of type {type(data).__name__} has no bytes to move: {right}") from None
    if "O" in view.format:
        raise PlanError("an array of objects has no bytes to move: give an array of numbers")
    if not view.c_contiguous:
        raise PlanError(
            "the bytes of this array do not lie one behind the other, row by row: give numpy.ascontiguousarray(array)"
        )
    return np.frombuffer(view, np.uint8).data if view.nbytes else memoryview(b"")


def even_layout(size: int, chunks: int, item: int = 1) -> Layout:
    """Return the layout of a file of ``size`` bytes, cut into ``chunks`` whose lengths differ by one item at most, and may be 0.

    ``item``: the bytes of an item, which is never cut; bytes behind the last whole item belong to no chunk.

    >>> even_layout(10, 4).bounds.tolist()
    [0, 2, 5, 7, 10]
    >>> even_layout(10, 4, item=3).bounds.tolist()
    [0, 0, 3, 6, 9]
    """
    return Layout(cut_evenly(size // item, chunks) * item)


def file_layout(collective: Collective, size: int, sizes: "Sizes | None" = None) -> Layout:
    """Return the layout of a collective on one file.

    The file is the data of all nodes, in the order of the chunks. For sums it is cut into equal parts, one for each rank, the
    last filled up with zeros: rank h adds part h, its bytes as unsigned numbers. Finished sums lie behind the sums. Relays have
    no part, and no bytes belong to their chunks. Of a demand with sums all contributions and copies have as many bytes; the
    file has what each rank adds, rank by rank, and then the copies. ``sizes``: how a schedule that was planned for bytes cuts
    as many.
    """
    from treecast.schedule.sizes import chunk_bounds

    # 1. As it was planned for bytes.
    if sizes is not None and not collective.sums and size == sizes.total(collective):
        return Layout(sizes.bounds(collective))
    if not collective.sums:
        return Layout(chunk_bounds(collective, size))
    # 2. Sums of a demand: all contributions and copies alike.
    if collective.demand is not None:
        given, added = collective.given(), 2 * collective.sums
        brought = collective.chunks - added + int((given.stop - given.first)[given.first < added].sum())
        widths = np.where(np.arange(collective.chunks) < added, _NUMBER, 1)
        return Layout(starts(widths * -(-size // brought)))
    # 3. Sums: each byte becomes a number, in sums and finished sums.
    part = -(-size // len(collective.ranks))
    bounds = chunk_bounds(collective, part * _NUMBER, _NUMBER)
    if collective.results:
        bounds = np.concatenate([bounds, part * _NUMBER + bounds[1:]])
    return Layout(bounds)


def message_layout(lengths: Lengths, sizes: ArrayLike, flit: int) -> Layout:
    """Return the layout of messages of different lengths, one for each node, in the order of their chunks.

    ``sizes``: the bytes of each message, int (N,). ``flit``: the bytes of a flit; the last of a message has the rest.

    >>> message_layout(Lengths.of([0, 2, 1]), [0, 15, 4], 10).bounds.tolist()
    [0, 10, 15, 19]
    """
    size_of = np.full(lengths.total, flit, np.int64)
    some = np.flatnonzero(lengths.flits)
    # the last flit of a message has the rest
    size_of[lengths.stop[some] - 1] = np.asarray(sizes, np.int64)[some] - (lengths.flits[some] - 1) * flit
    return Layout(starts(size_of))


def check_memory(collective: Collective, buffers: int, size: int) -> None:
    """Raise PlanError when ``buffers`` buffers of ``size`` bytes, or the chunks, are too many to be moved one by one."""
    if buffers * (size + (8 if collective.sums else 4) * collective.chunks) > _MOST_BYTES:
        raise PlanError(
            f"{buffers:,} buffers of {size:,} bytes and {collective.chunks:,} chunks do not fit in {_MOST_BYTES >> 30} GiB: "
            "take a smaller file or network"
        )
    if collective.chunks > _MOST_CHUNKS:
        raise PlanError(
            f"{collective.chunks:,} chunks take too long to move one by one: plan for at most {_MOST_CHUNKS:,}"
        )


def digests_by_node(
    layout: Layout, memory: NDArray[np.uint8], true: Bytes, chunks: list[Ranges]
) -> tuple[list[str], list[str]]:
    """Return the SHA-256 of each node's chunks as they are, and as they should be; of equal bytes it is taken once."""
    right, found = layout.digests_of(true), list[str]()
    for node, mine in enumerate(chunks):
        places = [layout.slice_of(first, stop) for first, stop in mine]
        same = all(np.array_equal(memory[node, place], true[place]) for place in places)
        found.append(right(*mine) if same else layout.digest(memory[node], mine))
    return found, [right(*mine) for mine in chunks]


# -- the input ---------------------------------------------------------------------------------------------------------


class Share(NamedTuple):
    """A piece of the input that a node brings: its bytes ``there``, and where they belong in the memory ``here``.

    ``adds``: they are unsigned numbers, a contribution to sums.
    """

    node: int
    adds: bool
    there: slice
    here: slice

    def put(self, data: bytes | memoryview, memory: Bytes) -> None:
        """Bring its bytes, fewer at the end of the input, into the memory of a node."""
        place, piece = memory[self.here], np.frombuffer(data, np.uint8)
        if self.adds:
            # each byte is a number of its own
            place[: _NUMBER * len(piece)].view(np.int64)[:] += piece
        else:
            place[: len(piece)] = piece


def shares_of(collective: Collective, layout: Layout) -> list[Share]:
    """Return the pieces of one file that nodes bring: what each adds, node by node, and then the copies."""
    given = collective.given()
    first, stop, adds = layout.bounds[given.first], layout.bounds[given.stop], given.first < collective.sums
    # contributions node by node, copies behind all
    order = np.argsort(np.where(adds, given.node, collective.nodes), kind="stable")
    ends = np.cumsum(np.where(adds, (stop - first) // _NUMBER, 0)[order])
    copies = ends[-1:].sum() - layout.bounds[2 * collective.sums if collective.results else collective.sums]
    found = list[Share]()
    for place, end in zip(order.tolist(), ends.tolist(), strict=True):
        a, b = int(first[place]), int(stop[place])
        there = slice(end - (b - a) // _NUMBER, end) if adds[place] else slice(int(a + copies), int(b + copies))
        found.append(Share(int(given.node[place]), bool(adds[place]), there, slice(a, b)))
    return found


def true_data(collective: Collective, layout: Layout, shares: Iterable[tuple[Share, bytes | memoryview]]) -> Bytes:
    """Return the true bytes of every chunk, in its place, from the shares of all nodes, each with its bytes."""
    memory = np.zeros(layout.size, np.uint8)
    for share, data in shares:
        share.put(data, memory)
    if collective.results:
        sums = collective.sums
        memory[layout.slice_of(sums, 2 * sums)] = memory[layout.slice_of(0, sums)]
    return memory


# -- ranges of chunks --------------------------------------------------------------------------------------------------


def ranges(mask: NDArray[np.bool_]) -> Ranges:
    """Return the ranges (first, stop) of the chunks that a mask marks.

    >>> ranges(np.array([True, True, False, True]))
    [(0, 2), (3, 4)]
    """
    first, stop = runs(mask)
    return list(zip(first.tolist(), stop.tolist(), strict=True))


def ranges_by_node(holdings: Holdings, nodes: int) -> list[Ranges]:
    """Return the ranges of each node, as they come."""
    found = [list[tuple[int, int]]() for _ in range(nodes)]
    for node, first, stop in holdings:
        found[node].append((first, stop))
    return found


def ranges_at(holdings: Holdings, node: int) -> Ranges:
    """Return the ranges of one node, as they come."""
    mine = holdings.node == node
    return list(zip(holdings.first[mine].tolist(), holdings.stop[mine].tolist(), strict=True))


def mask_of(holdings: Holdings, nodes: int, chunks: int) -> NDArray[np.bool_]:
    """Return which chunks each node holds: bool (nodes, chunks). The ranges of a node share no chunks."""
    marks = np.zeros((nodes, chunks + 1), np.int8)
    return _cover(marks, holdings.node, holdings.first, holdings.stop) > 0


def _cover(marks: NDArray[Any], row: Any, first: Ints, stop: Ints) -> NDArray[Any]:
    """Return how many ranges cover each place of each row; ``marks``: zeros, one more a row than places."""
    # up by one where a range begins, down behind its end: the sum so far is how many cover a place
    np.add.at(marks, (row, first), 1)
    np.add.at(marks, (row, stop), -1)
    return np.add.accumulate(marks, axis=1, dtype=marks.dtype, out=marks)[:, :-1]


# -- sums --------------------------------------------------------------------------------------------------------------


def missing_contributions(schedule: "Schedule") -> NDArray[np.int32]:
    """Return how many contributions each node is to add to each sum before it sends it on: int32 (N, sums)."""
    if schedule.collective.sums and not schedule.network.seen_alike:
        schedule = schedule.plain()  # what has no translations
    part, nodes = schedule.part, schedule.network.nodes
    count = _additions(schedule.rows, schedule.rows.dst, (nodes, part.sums))
    if not schedule.orbit or not part.sums:
        return count
    every, whole = np.arange(nodes), np.empty((nodes, nodes, part.sums), np.int32)
    for owner in range(nodes):  # its sums are added where the translation by it carries those of node 0
        whole[schedule.network.translate(owner, every), owner] = count
    return whole.reshape(nodes, -1)


def completed_by(program: "Schedule", node: int) -> Ints:
    """Return which sums a node completes, from its own program: int64.

    Of those that nobody owns, the ones of which it is never sent the finished sum; a relay completes those that it sends on.
    """
    sums = np.arange(program.part.sums)
    if not program.part.shared:
        return sums[program.part.source_of(sums) == node]

    piece = program.rows.pieces

    def finished(end: NDArray[Any]) -> NDArray[np.bool_]:
        """Which finished sums are in rows that begin, or end, at the node."""
        mine, marks = (end[piece.row] == node) & (piece.stop > len(sums)), np.zeros((1, 2 * len(sums) + 1), np.int64)
        return _cover(marks, 0, piece.first[mine], piece.stop[mine])[0, len(sums) :] > 0

    # who is told the finished sum does not complete it
    untold = ~finished(program.rows.dst)
    return sums[untold if node in program.part.ranks else untold & finished(program.rows.src)]


def completions(schedule: "Schedule") -> NDArray[np.bool_]:
    """Return which sums each node completes, so that it has the finished sum: bool (N, sums)."""
    found = np.zeros((schedule.network.nodes, schedule.collective.sums), np.bool_)
    if schedule.collective.results:
        plain = schedule.plain()
        for node in range(len(found)):
            found[node, completed_by(plain, node)] = True
    return found


def missing_contributions_at(program: "Schedule", node: int) -> NDArray[np.int32]:
    """Return how many contributions a node is to add to each sum, from its own program: int32 (sums,)."""
    here = np.where(program.rows.dst == node, 0, -1)
    return _additions(program.rows, here, (1, program.part.sums))[0]


def sums_at(program: "Schedule", node: int) -> tuple[dict[int, int], dict[int, int]]:
    """Return how many contributions a node is to add to each sum, and the finished sum that each becomes which it completes."""
    missing: list[int] = missing_contributions_at(program, node).tolist()
    completed: list[int] = completed_by(program, node).tolist() if program.collective.results else []
    sums = program.collective.sums
    return dict(enumerate(missing)), {chunk: sums + chunk for chunk in completed}


def _additions(rows: "Rows", place: NDArray[Any], shape: tuple[int, int]) -> NDArray[np.int32]:
    """Return how often rows bring each sum to each place: int32 of ``shape`` (places, sums).

    ``place``: int (rows,), that of each row; -1 for none.
    """
    if not shape[1]:
        return np.zeros(shape, np.int32)
    piece = rows.pieces
    at, first, stop = place[piece.row], piece.first, np.minimum(piece.stop, shape[1])
    sums = (at >= 0) & (first < stop)
    return _cover(np.zeros((shape[0], shape[1] + 1), np.int32), at[sums], first[sums], stop[sums])


def add_numbers(total: Bytes, contribution: Bytes) -> None:
    """Add a contribution, numbers of 8 bytes, to a sum."""
    numbers = total.view(np.int64)
    numbers += contribution.view(np.int64)


@lru_cache(16)
def digest_of(plan: "Schedule") -> str:
    """Return the SHA-256, in hexadecimal, of a plan's collective and rows: ranks that carry it out compare it."""
    rows, piece, what = plan.rows, plan.rows.pieces, plan.collective
    columns = (rows.step, rows.steps, rows.src, rows.dst, rows.tree, piece.row, piece.first, piece.stop)
    said = f"{what!r} {what.demand} {what.owners}".encode()
    return hashlib.sha256(b"".join(column.tobytes() for column in columns) + said).hexdigest()


@lru_cache(16)
def check_plan(plan: "Schedule", ranks: int) -> Demand:
    """Return the demand of a plan that so many ranks are to carry out. Raises PlanError when they cannot."""
    from treecast.verification.verifier import verify  # judges, which most jobs do without

    demand = plan.collective.demand
    if demand is None or plan.sparing:
        raise PlanError(f"this is a plan of {plan.collective.kind}: ranks give their own data to plans of demands")
    if plan.network.nodes != ranks:
        raise PlanError(f"the plan is for {plan.network.nodes} ranks, and here are {ranks}")
    if not (report := verify(plan)).holds:
        raise PlanError(f"the plan is wrong: {', '.join(dict.fromkeys(each.rule for each in report.violations))}")
    return demand


def chunks_of(collective: Collective, number: int) -> tuple[int, int]:
    """Return the first chunk of a class, and the one behind its last; of a sum, before it is finished."""
    demand, first = collective.classes
    return int(first[number]), int(first[number] + demand.size[number])


def layout_at(program: "Schedule", rank: int, entries: Sequence[int]) -> Layout:
    """Return where each chunk lies in a rank's memory, in entries; finished sums are left out.

    ``program``: the rows of the rank. ``entries``: of each class. Raises PlanError when they are not as many.
    """
    collective, sums = program.collective, program.collective.sums
    demand, piece = collective.demand, program.rows.pieces
    if demand is None or len(entries) != len(demand):
        raise PlanError(f"{len(entries)} lengths are none of the {len(demand or ())} classes of the plan")
    widths, used = np.zeros(collective.chunks, np.int64), np.zeros(collective.chunks, np.bool_)
    here = {*demand.given_by(rank), *demand.wanted_by(rank)}
    for number, size in enumerate(entries):
        first, stop = chunks_of(collective, number)
        widths[first:stop] = np.diff(cut_evenly(size, stop - first))
        used[first:stop] = number in here
    for first, stop in zip(piece.first.tolist(), piece.stop.tolist(), strict=True):
        used[first:stop] = True
    used[:sums] |= used[sums : 2 * sums]
    widths[sums : 2 * sums] = 0
    return Layout(starts(np.where(used, widths, 0)))
