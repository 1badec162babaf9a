"""The messages of a schedule, one by one, with the needs of each, and the program of ranks that they make.

All formats of other tools are written from them.

A *message* is one chunk of a stream, or all of a combined row; a control flit is a message without chunks. It needs the messages
that brought its chunks to its source: a chunk is needed once, from the message of its own tree if there is one and else from
the earliest; a sum needs all messages that add to it. A chunk that a node has from the beginning needs nothing. Where nobody
owns a sum, a send carries the sum so far: it needs the messages of earlier steps that add to it, and these say which
contributions it carries.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from treecast.collectives import Collective
from treecast.description import spell_range
from treecast.errors import FormatError, ScheduleError
from treecast.files.programs.program import ADD, RECEIVE, SEND, Program
from treecast.ragged import Ints, places, starts, turns
from treecast.schedule import Payloads, Rows, Schedule
from treecast.schedule.atoms import cut_into_atoms
from treecast.schedule.sizes import blocks_of, chunk_bounds

_NUMBER = 8  # bytes of a number that is added
_MOST_MESSAGES = 2**24  # their table then takes 4 GiB


@dataclass(frozen=True, eq=False)
class Messages:
    """The messages of a schedule, of which an orbit is written out, sorted by step, source, destination and tree.

    ``step``, ``src``, ``dst``, ``port`` and ``tree``, int64 (messages,), are those of rows, but every message takes one step.
    ``place`` counts the messages from one source to one destination from 0. Message m has the chunks of payload m, and needs the
    messages ``needs[needs_start[m]:needs_start[m + 1]]``, in ascending order: all of them end where it begins, and have arrived
    by then.
    """

    schedule: Schedule
    step: Ints
    src: Ints
    dst: Ints
    port: Ints
    tree: Ints
    place: Ints
    payloads: Payloads
    needs_start: Ints
    needs: Ints

    def __len__(self) -> int:
        return len(self.step)

    @cached_property
    def late(self) -> Ints:
        """How many steps after it began each message has arrived: int64 (messages,)."""
        return self.schedule.model.ticks(self.src, self.dst)[1]

    def ranges(self, message: int) -> list[tuple[int, int]]:
        """Return the ranges (first, stop) of chunks of one message, in order."""
        return self.payloads.ranges(message)

    def spelled(self, between: str, which: Ints | None = None) -> list[str]:
        """Return the chunks of each message, or of those ``which``, as people write them; nothing where it has none."""
        table = self.payloads if which is None else self.payloads.take(which)
        parts = [spell_range(a, b) for a, b in zip(table.first.tolist(), table.stop.tolist(), strict=True)]
        return [between.join(parts[a:b]) for a, b in pairwise(table.start.tolist())]

    def at_each_node(self) -> Iterator[tuple[int, Ints]]:
        """Yield each node and the messages that it sends or receives, in order."""
        ends, message = np.concatenate([self.src, self.dst]), np.tile(np.arange(len(self)), 2)
        nodes = self.schedule.network.nodes
        turn = np.lexsort([message, ends])
        begin = starts(np.bincount(ends, minlength=nodes)).tolist()
        for node in range(nodes):
            yield node, message[turn[begin[node] : begin[node + 1]]]

    def needs_of(self, message: int) -> list[int]:
        """Return the messages that one message needs."""
        return self.needs[self.needs_start[message] : self.needs_start[message + 1]].tolist()

    def sizes(self, begins: Ints) -> Ints:
        """Return how many bytes each message has: int64 (messages,). ``begins``: as ``chunk_places`` returns them."""
        return sizes_of(self.payloads, begins)

    def added(self, begins: Ints) -> Ints:
        """Return how many bytes of each message are added where it ends: int64 (messages,)."""
        # chunks behind the sums count nothing
        return sizes_of(self.payloads, np.minimum(begins, begins[self.schedule.part.sums]))

    def numbers(self, begins: Ints) -> Ints:
        """Return how many numbers of 8 bytes those are, the last of which may be shorter: int64 (messages,)."""
        return -(-self.added(begins) // _NUMBER)


def sizes_of(payloads: Payloads, begins: Ints) -> Ints:
    """Return how many bytes each payload has: int64 (payloads,). ``begins``: as ``chunk_places`` returns them."""
    total = starts(begins[payloads.stop] - begins[payloads.first])
    return total[payloads.start[1:]] - total[payloads.start[:-1]]


def messages_of(schedule: Schedule) -> Messages:
    """Return the messages of a right schedule, and the needs of each of them.

    Raises FormatError when messages are too many to list, or when nodes leave out chunks that were heard, and
    ScheduleError when one carries a chunk that its source has not got.

    >>> import treecast
    >>> messages = messages_of(treecast.plan("broadcast", "path:3", messages=2))
    >>> for m in range(len(messages)):
    ...     print(messages.step[m], messages.src[m], messages.dst[m], messages.ranges(m), messages.needs_of(m))
    0 0 1 [(0, 1)] []
    1 0 1 [(1, 2)] []
    1 1 2 [(0, 1)] [0]
    2 1 2 [(1, 2)] [1]
    """
    if schedule.sparing:
        raise FormatError(
            "in this schedule nodes leave out chunks that they have sent or heard before, which other formats cannot say: plan "
            "with --model all-port or one-port"
        )
    total = int(schedule.rows.messages.sum()) * (schedule.network.nodes if schedule.orbit else 1)
    if total > _MOST_MESSAGES:
        raise FormatError(f"{total:,} messages are too many to list one by one: the most are {_MOST_MESSAGES:,}")
    schedule = schedule.plain()
    rows = schedule.rows
    row, place = np.repeat(np.arange(len(rows)), rows.messages), places(rows.messages)
    columns = {name: column.astype(np.int64)[row] for name, column in rows.columns().items() if name != "payload"}
    columns["step"] += place * rows.pace[row]
    order = np.lexsort([columns[name] for name in ("tree", "dst", "src", "step")])
    columns = {name: column[order] for name, column in columns.items() if name != "steps"}
    payloads, none = _payloads(rows, row[order], place[order]), np.zeros(len(order) + 1, np.int64)
    place = turns(columns["src"] * schedule.network.nodes + columns["dst"])
    bare = Messages(schedule, **columns, place=place, payloads=payloads, needs_start=none, needs=none[:0])
    needs_start, needs = _needs(bare)
    return replace(bare, needs_start=needs_start, needs=needs)


def parcels(messages: Messages) -> Ints:
    """Return which messages go together, as numbers from 0 in the order of messages: int64 (messages,).

    Where the model lets messages combine, those that go over an arc in a step; else each goes by itself.
    """
    if not messages.schedule.model.combining:
        return np.arange(len(messages))
    columns = np.stack([messages.step, messages.src, messages.dst, messages.port])
    return np.unique(columns, axis=1, return_inverse=True)[1].reshape(-1)


def chunk_places(schedule: Schedule, size: int | None = None) -> Ints:
    """Return where each chunk begins in the user's data, and where the last ends: int64 (chunks + 1,), in bytes.

    ``size``: the bytes of all blocks together, by default as the schedule says, or else 65,536 for each chunk. Chunks have as
    equal lengths as they can. Finished sums lie behind the sums, and are as long. Blocks of relays have no bytes. Raises
    FormatError when there are more chunks than bytes, so that some would be empty.
    """
    collective, sizes = schedule.collective, schedule.sizes
    if (collective.sums or collective.chunks) > _MOST_MESSAGES:
        raise FormatError(
            f"{collective.sums or collective.chunks:,} chunks are too many to write: the most are {_MOST_MESSAGES:,}"
        )
    if sizes is not None and size in (None, sizes.total(collective)):
        return _with_results(collective, sizes.bounds(collective))
    return cut_data(collective, size, EACH)


def cut_data(collective: Collective, size: int | None, each: int) -> Ints:
    """Return where chunks begin in ``size`` bytes, by default ``each`` of a chunk; else as ``chunk_places``."""
    chunks = blocks_of(collective) * collective.messages
    if size is not None and size < chunks:
        raise FormatError(f"{size:,} bytes cannot be cut into {chunks:,} chunks: give more, or fewer messages")
    return _with_results(collective, chunk_bounds(collective, chunks * each if size is None else size))


def _with_results(collective: Collective, begins: Ints) -> Ints:
    """Return where chunks begin, and behind them the finished sums, which are as long; where there are none, ``begins``."""
    return np.concatenate([begins, begins[-1] + begins[1:]]) if collective.results else begins


EACH = 65_536
"""The bytes of a chunk where nobody says how many there are."""


def _payloads(rows: Rows, row: Ints, place: Ints) -> Payloads:
    """Return the chunks of messages: the one at ``place`` of a ``row`` that streams, or all of a row."""
    single = (rows.pace[row] > 0) & (rows.chunks_sent[row] > 0)
    payload = rows.payload[row].astype(np.int64)
    chunk = rows.payloads.chunk(payload[single], place[single]) if single.any() else place[:0]
    payload[single] = len(rows.payloads) + np.arange(len(chunk))  # behind those of rows
    return Payloads.concatenated([rows.payloads, Payloads.of_ranges(chunk, chunk + 1)]).take(payload)


def of_schedule(messages: Messages, begins: Ints) -> tuple[Program, Ints]:
    """Return the program of ranks, rank by rank, in the order of messages, and the message of each operation.

    ``begins``: as ``chunk_places`` returns them. A send waits for the receives that brought its chunks, for the additions to its
    sums, and for the send before it on its arc; an addition for its receive. Nothing else is ordered: each operation is a lane.

    >>> import treecast
    >>> schedule = treecast.plan("broadcast", "path:3")
    >>> program, message = of_schedule(messages_of(schedule), chunk_places(schedule, 10))
    >>> program.rank.tolist(), message.tolist(), program.size.tolist()
    ([0, 1, 1, 2], [0, 0, 1, 1], [10, 10, 10, 10])
    >>> program.waiting.tolist(), program.wait.tolist()
    ([2], [1])
    """
    # 1. Operations: a send and a receive for each message, and an addition where it adds. Numbers go by rank.
    count, every = len(messages), np.arange(len(messages))
    added = np.flatnonzero(messages.added(np.arange(messages.schedule.part.chunks + 1)) > 0)
    rank = np.concatenate([messages.src, messages.dst, messages.dst[added]])
    message = np.concatenate([every, every, added])
    # by rank and message: a receive stands before its addition
    turn = np.lexsort([np.arange(len(message)), message, rank])
    number = np.empty(len(turn), np.int64)
    number[turn] = np.arange(len(turn))
    # 2. ``brought``: the operation after which what a message brought can be used.
    send, receive, brought = number[:count], number[count : 2 * count], number[count : 2 * count].copy()
    brought[added] = number[2 * count :]
    # 3. Waits: for chunks, for the send before on the arc, of an addition for its receive.
    by_arc = np.lexsort([every, messages.dst, messages.src])
    follows = np.flatnonzero(messages.place[by_arc] > 0)  # all but the first of each arc
    late = [np.repeat(send, np.diff(messages.needs_start)), send[by_arc[follows]], number[2 * count :]]
    early = [brought[messages.needs], send[by_arc[follows - 1]], receive[added]]
    waiting, wait = np.concatenate(late), np.concatenate(early)
    order = np.argsort(waiting, kind="stable")
    # 4. The columns of the program.
    kind = np.repeat([SEND, RECEIVE, ADD], [count, count, len(added)])[turn]
    rank, message = rank[turn], message[turn]
    to, source = (
        np.where(kind == bit, end[message], -1) for bit, end in ((SEND, messages.dst), (RECEIVE, messages.src))
    )
    program = Program(
        ranks=messages.schedule.network.nodes,
        rank=rank,
        lane=np.arange(len(rank)),
        kind=kind,
        to=to,
        source=source,
        tag=messages.place[message],
        size=messages.sizes(begins)[message],
        units=np.ones_like(rank),
        waiting=waiting[order],
        wait=wait[order],
        where=lambda one: (f"rank {rank[one]}, message {message[one]}", (int(rank[one]), int(message[one]))),
    )
    return program, message


# -- the needs of a message ----------------------------------------------------------------------------------------------


def _needs(messages: Messages) -> tuple[Ints, Ints]:
    """Return the table of the messages that each message needs: where each row begins, and the flat table."""
    part = messages.schedule.part
    message, key = _carried(messages)
    src = messages.src[message]
    finished = (key >= part.sums) & part.results
    owned = part.source_of(key) == src
    if part.demand is not None:  # of a copy several may have it
        owned |= (key >= 2 * part.sums) & part.given().include(src, key)
    if part.shared:  # who is told no finished sum has completed it
        owned = ~_comes(messages, message, key)
    sums = key < part.sums  # a sum, or a finished sum where it is added up: all that add to it are needed
    wanted = np.where(finished & owned, key - part.sums, key)
    # small numbers for keys, so that node and key fit one number
    numbers, dense = np.unique(np.concatenate([wanted, key]), return_inverse=True)
    wanted, key = dense[: len(key)], dense[len(key) :]
    code, arrival = src * len(numbers) + wanted, messages.dst[message] * len(numbers) + key
    all_of_them = sums | (finished & owned)
    given = owned & ~all_of_them
    once = np.flatnonzero(~all_of_them & ~given)
    pairs = _all_that_add(messages, message, np.flatnonzero(all_of_them), code, arrival)
    brought = _what_brought(messages, message, once, code, arrival)
    of, need = np.concatenate([pairs[0], message[once]]), np.concatenate([pairs[1], brought])
    # each pair once, in order
    both = np.sort(of * len(messages) + need, kind="stable")
    of, need = np.divmod(both[np.diff(both, prepend=-1) > 0], max(len(messages), 1))
    return starts(np.bincount(of, minlength=len(messages))), need


def _comes(messages: Messages, message: Ints, key: Ints) -> NDArray[np.bool_]:
    """Return of each chunk of each message whether some message of an earlier step has brought it: bool (entries,)."""
    most, step = int(key.max(initial=0)) + 1, messages.step[message]
    arrival, code = messages.dst[message] * most + key, messages.src[message] * most + key
    there = step + messages.late[message]
    order = np.lexsort([there, arrival])
    known, first = np.unique(arrival[order], return_index=True)
    place = np.minimum(np.searchsorted(known, code), max(len(known) - 1, 0))
    return (known[place] == code) & (there[order][first[place]] <= step) if len(known) else np.zeros(0, np.bool_)


def _carried(messages: Messages) -> tuple[Ints, Ints]:
    """Return (message, key), an entry for each chunk of each message; chunks that always move together have one key."""
    bounds = cut_into_atoms(messages.schedule).bounds
    table = messages.payloads
    first, last = np.searchsorted(bounds, table.first, side="right") - 1, np.searchsorted(bounds, table.stop)
    count = np.where(table.stop - table.first > 1, last - first, 1)
    of_range = np.repeat(np.arange(len(first)), count)
    # a chunk alone goes by its own number
    key = np.where(count[of_range] > 1, bounds[np.repeat(first, count) + places(count)], table.first[of_range])
    message = np.repeat(np.arange(len(messages)), np.diff(table.start))
    return message[of_range], key


def _all_that_add(messages: Messages, message: Ints, which: Ints, code: Ints, arrival: Ints) -> tuple[Ints, Ints]:
    """Return (message, need): for the entries ``which`` all messages that bring their sum to where they begin."""
    order = np.argsort(arrival, kind="stable")
    low = np.searchsorted(arrival[order], code[which], side="left")
    high = np.searchsorted(arrival[order], code[which], side="right")
    entry = np.repeat(low, high - low) + places(high - low)
    of, need = np.repeat(message[which], high - low), message[order][entry]
    late = messages.step[need] + messages.late[need] > messages.step[of]
    if messages.schedule.part.shared:  # a later message is no part of the sum so far
        return of[~late], need[~late]
    _refuse(messages, of[late])
    return of, need


def _what_brought(messages: Messages, message: Ints, which: Ints, code: Ints, arrival: Ints) -> Ints:
    """Return for each of the entries ``which`` the message that brought its chunk: of its own tree, else the earliest."""
    step, tree = messages.step[message], messages.tree[message] + 1  # 0: of no tree
    trees = int(tree.max(initial=0)) + 1
    found = np.full(len(which), -1, np.int64)
    for own in (False, True):  # what comes by its own tree overwrites the earliest
        at = arrival * trees + tree if own else arrival
        order = np.lexsort([message, step + messages.late[message], at])
        sought = (code * trees + tree if own else code)[which]
        place = np.searchsorted(at[order], sought)
        inside = order[np.minimum(place, len(order) - 1)] if len(order) else place
        there = (place < len(order)) & (at[inside] == sought)
        there &= step[inside] + messages.late[message[inside]] <= step[which]
        there &= (tree[which] > 0) | (not own)
        found[there] = message[inside][there]
    _refuse(messages, message[which][found < 0])
    return found


def _refuse(messages: Messages, early: Ints) -> None:
    """Raise ScheduleError when some message carries a chunk that its source has not got."""
    if len(early):
        m = int(early.min())
        label = messages.schedule.network.label(int(messages.src[m]))
        (chunks,) = messages.spelled(",", np.array([m]))
        raise ScheduleError(
            f"at step {messages.step[m]} {label} sends chunks {chunks}, which it has not got in full: 'treecast verify' says more"
        )
