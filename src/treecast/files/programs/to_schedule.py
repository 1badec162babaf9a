"""A right program as a schedule: which chunk each message carries, and when it goes.

Where nobody says which chunks messages carry, each chunk comes by the message that could bring it first.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from treecast.collectives import COLLECTIVES, Collective
from treecast.collectives.collective import NO_OWNERS
from treecast.errors import FormatError, TreecastError
from treecast.files.programs.dataflow import Contents
from treecast.files.programs.order import ExecutionOrder, receives_before
from treecast.lower_bounds import Bound, bounds
from treecast.models import model
from treecast.networks import Network
from treecast.networks.arcs import arcs_of
from treecast.ragged import Ints, starts, turns
from treecast.schedule import Payloads, Rows, Schedule
from treecast.verification.verifier import verify

_ONE_SUM = next(kind for kind, row in COLLECTIVES.items() if (row.blocks, row.adds, row.ends) == ("one", True, "all"))
_NONE = "is right, but no schedule of ours: "


class Sent(NamedTuple):
    """All that goes from rank to rank, chunk by chunk: whence, whither, in which step, and its value."""

    src: Ints
    dst: Ints
    step: Ints
    value: Ints


def collective_of(kind: str, ranks: int, loop: int, root: int) -> Collective | None:
    """Return the collective that a program carries out; None where it is none of treecast's. ``loop``: chunks of all blocks."""
    if loop % ranks and kind and COLLECTIVES[kind].results:
        kind = _ONE_SUM
    if not kind or loop < 1 or (loop % ranks and COLLECTIVES[kind].blocks != "one"):
        return None
    row = COLLECTIVES[kind]
    return Collective(kind, ranks, loop if row.blocks == "one" else loop // ranks, root=0 if row.all_source else root)


def bounds_of(collective: Collective | None, where: Network, machine: str = "all-port") -> tuple[Bound, ...]:
    """Return the lower bounds of the steps of a collective under a model; none where none are known."""
    try:
        found = [] if collective is None else bounds(collective, where, 1, model(machine))
        return tuple(bound for bound in found if bound.of == "steps")
    except TreecastError:
        return ()


def schedule_of_sent(
    file: str, collective: Collective | None, where: Network, contents: Contents, timed: tuple[Sent, Ints]
) -> Schedule:
    """Return the schedule of a right program. Raises FormatError when there is none.

    ``file``: how errors call its file. ``timed``: as ``one_at_a_time`` returns it.
    """
    if collective is None:
        raise FormatError(f"{file} is of a custom collective, which no schedule can say")
    sent, lane = timed
    chunk = _chunks(contents, collective, sent.value)
    if len(chunk) and int(chunk.min()) < 0:
        raise FormatError(f"{file} {_NONE}it sends sums of different chunks, or of parts")
    port = where.port_between(sent.src, sent.dst) + lane  # parallel arcs have them in a row

    def right(collective: Collective, chunk: Ints) -> Schedule:
        payloads = Payloads.of_ranges(chunk, chunk + 1)
        rows = Rows.of(payloads, src=sent.src, dst=sent.dst, port=port, step=sent.step)
        return right_one(f"{file} {_NONE}", lambda: Schedule(where, collective, model("all-port"), rows))

    if not collective.results:
        return right(collective, chunk)
    try:
        return right(_with_owners(file, collective, chunk, sent), chunk)
    except FormatError:
        with suppress(TreecastError):
            return right(replace(collective, owners=NO_OWNERS), chunk % collective.sums)
        raise


def one_at_a_time(where: Network, sent: Sent) -> tuple[Sent, Ints]:
    """Return the sends with no more at once on arcs than there are, and on which of its parallel arcs each chunk goes.

    A step in which arcs would carry several chunks becomes as many steps as the most that one of them would carry.
    """
    steps = int(sent.step.max(initial=-1)) + 1
    key = (sent.src * where.nodes + sent.dst) * steps + sent.step
    turn, lane = np.divmod(turns(key), np.maximum(widths(where, sent.src, sent.dst), 1))
    longest = np.ones(steps, np.int64)
    np.maximum.at(longest, sent.step, turn + 1)
    return sent._replace(step=starts(longest)[sent.step] + turn), lane


def widths(network: Network, src: Ints, dst: Ints) -> Ints:
    """Return how many arcs lead from each node to the other: int64 (pairs,), more than one where they are parallel."""
    if network.every_pair_joined:
        return np.ones_like(src)
    arcs, key = arcs_of(network), src * network.nodes + dst
    known, width = np.unique(arcs.tail.astype(np.int64) * network.nodes + arcs.head, return_counts=True)
    place = np.minimum(np.searchsorted(known, key), len(known) - 1)
    return np.where(known[place] == key, width[place], 0)


def right_one(otherwise: str, make: Callable[[], Schedule]) -> Schedule:
    """Return the schedule that is made when it is right. Raises FormatError with these words before its fault."""
    try:
        schedule = make()
        report = verify(schedule)
    except TreecastError as error:
        raise FormatError(f"{otherwise}{error}") from None
    if not report:
        raise FormatError(f"{otherwise}{report.violations[0]}")
    return schedule


def _chunks(contents: Contents, collective: Collective, value: Ints) -> Ints:
    """Return the chunk of the schedule that each value is; -1 where it is none."""
    most, n = max(contents.places.most, 1), contents.places.ranks
    if collective.sums:
        chunk = _added_up(contents)[value]
        finished = collective.results & (contents.count[value] == n)
        return np.where(chunk >= 0, chunk + collective.sums * finished, -1)
    rank, chunk = np.divmod(value, most)
    kind, m = collective.traits, collective.messages
    if kind.blocks == "pair":
        return (rank * n + chunk // m) * m + chunk % m
    return rank * m + chunk if kind.starts == "own" and kind.ends == "all" else chunk


def _added_up(contents: Contents) -> Ints:
    """Return of which chunk each value is a sum; -1 where it is of several."""
    atoms, most = contents.atoms, max(contents.places.most, 1)
    found = np.concatenate([np.arange(atoms) % most, np.full(len(contents.left), -1)])
    for k, (a, b) in enumerate(zip(contents.left.tolist(), contents.right.tolist(), strict=True)):
        found[atoms + k] = found[a] if found[a] == found[b] else -1
    return found


def _with_owners(file: str, collective: Collective, chunk: Ints, sent: Sent) -> Collective:
    """Return the collective with the owner of each sum where the program finishes it."""
    sums = collective.sums
    owner = np.full(sums, -1)
    finished = np.flatnonzero(chunk >= sums)
    late_first = finished[np.argsort(-sent.step[finished], kind="stable")]  # what is written last stays: the earliest
    owner[chunk[late_first] - sums] = sent.src[late_first]
    if owner.min(initial=0) < 0 or (owner == collective.source_of(np.arange(sums))).all():
        return collective
    if len(set(owner.tolist())) == 1:
        return Collective(_ONE_SUM, collective.nodes, sums, root=int(owner[0]))
    if collective.traits.blocks == "one":
        raise FormatError(f"{file} {_NONE}there every node has as many sums, or one node finishes all")
    first = np.flatnonzero(np.diff(owner, prepend=-1))
    return replace(collective, owners=tuple(zip(first.tolist(), owner[first].tolist(), strict=True)))


_MOST_VISITS = 10_000_000


def find_contents(order: ExecutionOrder, collective: Collective, where: Network, begins: Ints | None) -> Schedule:
    """Return the schedule of a program that never waits in a circle, as if it were written for a collective on a network.

    Only chunks that somebody wants go on. Messages that would carry nothing are left out. Of a reduction each carries the sum.
    ``begins``, int64 (chunks + 1,): where each chunk begins, in bytes, if messages carry no more than they have bytes. Raises
    FormatError when there is no such way, or it does not fit.
    """

    def make() -> Schedule:
        carried = _carried(order, collective)
        _check_sizes(order, carried, begins)
        several = any(bits & (bits - 1) for bits in carried.values())  # more than one bit
        return Schedule(where, collective, model("shouting" if several else "all-port"), _rows(order, where, carried))

    return right_one("no contents were found that these messages could carry: ", make)


def _carried(order: ExecutionOrder, collective: Collective) -> dict[int, int]:
    """Return the chunks that each send carries, as bits; sends that carry nothing are left out."""
    # 1. A reduction carries its sum.
    program, kind, pairs = order.program, collective.traits, order.pairs
    if kind.adds:
        if collective.sums > 1 or collective.results:
            raise FormatError("sums are followed in a reduction of one message alone")
        return dict.fromkeys(pairs.send.tolist(), 1)
    wanted = list(collective.wanted())
    if sum(stop - first for _, first, stop in wanted) > _MOST_VISITS:
        raise FormatError(f"more than {_MOST_VISITS:,} chunks are too many to follow")
    # 2. What each send could carry: what its rank has, and what could come before. Sets of chunks are bits.
    receives, before = receives_before(order)
    own = [0] * program.ranks
    for node, first, stop in collective.given():
        own[node] |= (1 << stop) - (1 << first)  # bits first to stop - 1
    could, visits, ranks = dict[int, int](), 0, program.rank.tolist()
    sender: list[int] = pairs.sender.tolist()
    for one in map(int, order.ended):
        send = sender[one]
        if send < 0:
            continue
        could[one] = own[ranks[send]]
        for place in _bits(before[send]):
            could[one] |= could[receives[ranks[send]][place]]
            visits += 1
        if visits > _MOST_VISITS:
            raise FormatError(f"more than {_MOST_VISITS:,} paths are too many to follow")
    # 3. From who wants a chunk back to who has it, by sends that carry it already where there are such.
    carried, todo = dict[int, int](), list[tuple[int, int, int]]()
    for node, first, stop in wanted:
        every = (1 << len(receives[node])) - 1  # all that it receives
        todo += [(node, chunk, every) for chunk in range(first, stop) if not own[node] >> chunk & 1]
    while todo:
        rank, chunk, among = todo.pop()
        receiving = (receives[rank][place] for place in _bits(among))
        able = [sender[one] for one in receiving if could[one] >> chunk & 1]
        if not able:
            raise FormatError(f"nothing can bring chunk {chunk} to rank {rank}")
        send = next((one for one in able if carried.get(one, 0) >> chunk & 1), able[0])
        if not carried.get(send, 0) >> chunk & 1:
            carried[send] = carried.get(send, 0) | 1 << chunk
            if not own[ranks[send]] >> chunk & 1:
                todo.append((ranks[send], chunk, before[send]))
    return carried


def _bits(number: int) -> Iterator[int]:
    """Yield the places of the bits of a number, the lowest first."""
    while number:
        low = number & -number
        yield low.bit_length() - 1
        number ^= low


def _check_sizes(order: ExecutionOrder, carried: dict[int, int], begins: Ints | None) -> None:
    if begins is None:
        return
    for send, bits in carried.items():
        size = sum(int(begins[chunk + 1] - begins[chunk]) for chunk in _bits(bits))
        if size > order.program.size[send]:
            words = f"{order.program.spell(send)} has {order.program.size[send]:,} bytes"
            raise FormatError(f"{words}, and its contents {size:,}")


def _rows(order: ExecutionOrder, where: Network, carried: dict[int, int]) -> Rows:
    """Return a row for each message, in the step in which it begins, and no two at once on an arc."""
    program = order.program
    sends = sorted(carried, key=lambda send: (order.began(send), send))
    step, free, came = list[int](), dict[tuple[int, int], int](), dict[int, int]()
    receives, before = receives_before(order)
    for send in sends:
        src, dst = int(program.rank[send]), int(program.to[send])
        late = max((came.get(receives[src][place], 0) for place in _bits(before[send])), default=0)
        step.append(max(order.began(send), late, free.get((src, dst), 0)))
        free[src, dst] = came[order.receiver[send]] = step[-1] + 1
    src, dst = program.rank[sends], program.to[sends]
    known = {bits: number for number, bits in enumerate(dict.fromkeys(carried[send] for send in sends))}
    payloads = Payloads.of([[(c, c + 1) for c in _bits(bits)] for bits in known])
    payload, port = [known[carried[send]] for send in sends], where.port_between(src, dst)
    return Rows.of(payloads, step=step, steps=1, src=src, dst=dst, port=port, payload=payload)
