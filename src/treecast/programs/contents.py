"""The chunks of messages where nobody says them: each comes by the message that could bring it first."""

from collections.abc import Iterator

import numpy as np

from treecast.collectives import Collective
from treecast.errors import FormatError
from treecast.models import model
from treecast.networks import Network
from treecast.programs.order import Order, receives_before
from treecast.programs.to_schedule import right_one
from treecast.ragged import Ints
from treecast.schedule import Payloads, Rows, Schedule

_MOST_VISITS = 10_000_000


def find_contents(order: Order, collective: Collective, where: Network, begins: Ints | None) -> Schedule:
    """Return the schedule of a program that never waits in a circle, as if it were written for a collective on a network.

    Only chunks that somebody wants go on. Messages that would carry nothing are left out. Of a reduction each carries the sum.
    ``begins``, int64 (chunks + 1,): where each chunk begins, in bytes, if messages carry no more than they have bytes. Raises
    FormatError when there is no such way, or it does not fit.
    """

    def make() -> Schedule:
        carried = _carried(order, collective)
        _check_sizes(order, carried, begins)
        several = any(bits & (bits - 1) for bits in carried.values())
        return Schedule(where, collective, model("shouting" if several else "all-port"), _rows(order, where, carried))

    return right_one("no contents were found that these messages could carry: ", make)


def _carried(order: Order, collective: Collective) -> dict[int, int]:
    """Return the chunks that each send carries, as bits; sends that carry nothing are left out."""
    program, kind, pairs = order.program, collective.traits, order.pairs
    if kind.adds:
        if collective.sums > 1 or collective.results:
            raise FormatError("sums are followed in a reduction of one message alone")
        return dict.fromkeys(pairs.send.tolist(), 1)
    wanted = list(collective.wanted())
    if sum(stop - first for _, first, stop in wanted) > _MOST_VISITS:
        raise FormatError(f"more than {_MOST_VISITS:,} chunks are too many to follow")
    receives, before = receives_before(order)
    own = [0] * program.ranks
    for node, first, stop in collective.given():
        own[node] |= (1 << stop) - (1 << first)
    could, visits, ranks = dict[int, int](), 0, program.rank.tolist()
    sender: dict[int, int] = dict(zip(pairs.receive.tolist(), pairs.send.tolist(), strict=True))
    for one in order.ended.tolist():
        if one not in sender:
            continue
        send = sender[one]
        could[one] = own[ranks[send]]
        for place in _bits(before[send]):
            could[one] |= could[receives[ranks[send]][place]]
            visits += 1
        if visits > _MOST_VISITS:
            raise FormatError(f"more than {_MOST_VISITS:,} paths are too many to follow")
    carried = dict[int, int]()
    todo = [
        (node, chunk, -1) for node, first, stop in wanted for chunk in range(first, stop) if not own[node] >> chunk & 1
    ]
    while todo:
        rank, chunk, among = todo.pop()  # -1: among all receives
        places = range(len(receives[rank])) if among < 0 else _bits(among)
        able = [sender[one] for one in (receives[rank][place] for place in places) if could[one] >> chunk & 1]
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


def _check_sizes(order: Order, carried: dict[int, int], begins: Ints | None) -> None:
    if begins is None:
        return
    for send, bits in carried.items():
        size = sum(int(begins[chunk + 1] - begins[chunk]) for chunk in _bits(bits))
        if size > order.program.size[send]:
            words = f"{order.program.spell(send)} has {order.program.size[send]:,} bytes"
            raise FormatError(f"{words}, and its contents {size:,}")


def _rows(order: Order, where: Network, carried: dict[int, int]) -> Rows:
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
    columns = {"step": np.array(step, np.int64), "steps": np.ones(len(sends), np.int64), "src": src, "dst": dst}
    columns |= {"port": np.asarray(where.port_between(src, dst), np.int64), "tree": np.full(len(sends), -1)}
    known = {bits: number for number, bits in enumerate(dict.fromkeys(carried[send] for send in sends))}
    payload = np.array([known[carried[send]] for send in sends], np.int64)
    return Rows.of(Payloads.of([[(c, c + 1) for c in _bits(bits)] for bits in known]), payload=payload, **columns)
