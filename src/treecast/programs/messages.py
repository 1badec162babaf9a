"""The messages of a schedule, one by one, with what each of them needs: what every format of other tools is written from.

A *message* is one chunk of a stream, or all of a combined row; a control flit is a message without chunks. It needs the messages
that brought its source what it carries: a chunk is needed once, from the message of its own tree if there is one and else from
the earliest; a sum needs all messages that add to it. What a node has from the beginning needs nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from treecast.collectives import Collective
from treecast.description import spell_range
from treecast.errors import FormatError, ScheduleError
from treecast.ragged import Ints, explode, places, starts
from treecast.schedule import Rows, Schedule
from treecast.schedule.atoms import cut_into_atoms
from treecast.schedule.sizes import blocks_of, chunk_bounds

_NUMBER = 8  # bytes of a number that is added
_MOST_MESSAGES = 2**24  # their table then takes 4 GiB


@dataclass(frozen=True, eq=False)
class Messages:
    """The messages of a schedule, sorted by step, source, destination and tree.

    Parameters
    ----------
    schedule : Schedule
        Whose messages they are; an orbit is written out.
    step, src, dst, port, tree : int64 (messages,)
        As of rows, but every message takes one step.
    place : int64 (messages,)
        Which message from its source to its destination it is, counted from 0.
    start : int64 (messages + 1,)
        Where the ranges of each message begin, and the end.
    first, stop : int64 (ranges,)
        The first chunk of each range, and the one behind the last.
    needs_start : int64 (messages + 1,)
        Where the needs of each message begin, and the end.
    needs : int64 (needs,)
        The messages that each message needs, in ascending order. All end where it begins, in earlier steps.
    """

    schedule: Schedule
    step: Ints
    src: Ints
    dst: Ints
    port: Ints
    tree: Ints
    place: Ints
    start: Ints
    first: Ints
    stop: Ints
    needs_start: Ints
    needs: Ints

    def __len__(self) -> int:
        return len(self.step)

    def ranges(self, message: int) -> list[tuple[int, int]]:
        """Return the ranges (first, stop) of chunks of one message, in order."""
        part = slice(self.start[message], self.start[message + 1])
        return list(zip(self.first[part].tolist(), self.stop[part].tolist(), strict=True))

    def spelled(self, between: str = ",", which: Ints | None = None) -> list[str]:
        """Return the chunks of each message, or of those ``which``, as people write them; nothing where it has none."""
        begin, first, stop = self.start, self.first, self.stop
        if which is not None:
            entry = explode(begin, which)[1]
            begin, first, stop = starts(np.diff(begin)[which]), first[entry], stop[entry]
        parts = [spell_range(a, b) for a, b in zip(first.tolist(), stop.tolist(), strict=True)]
        if len(parts) == len(begin) - 1 and bool((np.diff(begin) == 1).all()):
            return parts
        return [between.join(parts[a:b]) for a, b in pairwise(begin.tolist())]

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
        return self._by_message(begins[self.stop] - begins[self.first])

    def added(self, begins: Ints) -> Ints:
        """Return how many bytes of each message are added where it ends: int64 (messages,)."""
        sums = self.schedule.part.sums
        return self._by_message(begins[np.minimum(self.stop, sums)] - begins[np.minimum(self.first, sums)])

    def numbers(self, begins: Ints) -> Ints:
        """Return how many numbers of 8 bytes those are, the last of which may be shorter: int64 (messages,)."""
        return -(-self.added(begins) // _NUMBER)

    def _by_message(self, of_ranges: Ints) -> Ints:
        total = starts(of_ranges)
        return total[self.start[1:]] - total[self.start[:-1]]


def messages_of(schedule: Schedule) -> Messages:
    """Return the messages of a schedule, and what each of them needs.

    Parameters
    ----------
    schedule : Schedule
        A right schedule. An orbit is written out.

    Returns
    -------
    Messages
        In the order of steps.

    Raises
    ------
    FormatError
        When messages are too many to list, or the schedule is sparing: then what is sent depends on what was heard.
    ScheduleError
        When a message carries what its source has not got.

    Examples
    --------
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
            "in this schedule nodes leave out what they have sent or heard before, which other formats cannot say: plan "
            "with --model all-port or one-port"
        )
    if schedule.collective.shared:
        raise FormatError(
            "nobody owns the sums of this schedule, and what a node sends changes, which other formats cannot say: plan without "
            "--without-owners"
        )
    count = _count(schedule.rows)
    total = int(count.sum()) * (schedule.network.nodes if schedule.orbit else 1)
    if total > _MOST_MESSAGES:
        raise FormatError(f"{total:,} messages are too many to list one by one: the most are {_MOST_MESSAGES:,}")
    schedule = schedule.plain()
    rows = schedule.rows
    count = _count(rows)
    row, place = np.repeat(np.arange(len(rows)), count), places(count)
    columns = {name: column.astype(np.int64)[row] for name, column in rows.columns().items() if name != "payload"}
    columns["step"] += place
    order = np.lexsort([columns[name] for name in ("tree", "dst", "src", "step")])
    columns = {name: column[order] for name, column in columns.items() if name != "steps"}
    ranges = _ranges(rows, row[order], place[order])
    whole = starts(np.zeros(len(order), np.int64))
    bare = Messages(schedule, **columns, **ranges, place=_places(columns), needs_start=whole, needs=whole[:0])
    needs_start, needs = _needs(bare)
    return Messages(schedule, **columns, **ranges, place=bare.place, needs_start=needs_start, needs=needs)


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

    Parameters
    ----------
    schedule
        Whose chunks they are.
    size
        The bytes of all blocks together: the root's data, or that of all ranks, one behind the other, or the sum. Chunks have
        as equal lengths as they can. None: as the schedule says, or else 65,536 bytes for each chunk. Finished sums lie behind
        the sums, and are as long. Blocks of relays have no bytes.

    Raises
    ------
    FormatError
        When there are more chunks than bytes, so that some would be empty.
    """
    collective, sizes = schedule.collective, schedule.sizes
    if (collective.sums or collective.chunks) > _MOST_MESSAGES:
        raise FormatError(
            f"{collective.sums or collective.chunks:,} chunks are too many to write: the most are {_MOST_MESSAGES:,}"
        )
    if sizes is not None and size in (None, sizes.total(collective)):
        begins = sizes.bounds(collective)
    else:
        chunks = blocks_of(collective) * collective.messages
        if size is not None and size < chunks:
            raise FormatError(
                f"{size:,} bytes cannot be cut into {chunks:,} chunks: give more, or plan with fewer messages"
            )
        begins = chunk_bounds(collective, chunks * EACH if size is None else size)
    return with_results(collective, begins)


def with_results(collective: Collective, begins: Ints) -> Ints:
    """Return where chunks begin, and behind them the finished sums, which are as long; where there are none, ``begins``."""
    return np.concatenate([begins, begins[-1] + begins[1:]]) if collective.results else begins


EACH = 65_536
"""The bytes of a chunk where nobody says how many there are."""


def spell_ranges(ranges: list[tuple[int, int]], between: str = ",") -> str:
    """Return ranges of chunks as people write them.

    >>> spell_ranges([(4, 6), (0, 1)])
    '4-5,0'
    """
    return between.join(spell_range(first, stop) for first, stop in ranges)


def _count(rows: Rows) -> Ints:
    """Return how many messages each row is: int64 (rows,)."""
    return np.where(rows.streaming, np.maximum(rows.chunks_sent, 1), 1)


def _ranges(rows: Rows, row: Ints, place: Ints) -> dict[str, Ints]:
    """Return the ranges of messages, of which each is what stands at ``place`` of a ``row`` that streams, or all of a row."""
    table, payload = rows.payloads, rows.payload[row]
    single = rows.streaming[row] & (rows.chunks_sent[row] > 0)
    of, entry = explode(table.start, payload[~single])
    count = np.ones(len(row), np.int64)
    count[~single] = np.diff(table.start)[payload[~single]]
    start = starts(count)
    first, stop = np.empty(start[-1], np.int64), np.empty(start[-1], np.int64)
    alone = start[:-1][single]
    first[alone] = table.chunk(payload[single], place[single]) if len(alone) else 0
    stop[alone] = first[alone] + 1
    together = start[:-1][~single][of] + places(count[~single])
    first[together], stop[together] = table.first[entry], table.stop[entry]
    return {"start": start, "first": first, "stop": stop}


def _places(columns: dict[str, Ints]) -> Ints:
    """Return which message from its source to its destination each of some sorted messages is."""
    order = np.lexsort([columns["dst"], columns["src"]])
    src, dst = columns["src"][order], columns["dst"][order]
    begins = np.flatnonzero(np.concatenate([[True], (np.diff(src) != 0) | (np.diff(dst) != 0)])[: len(order)])
    place = np.empty(len(order), np.int64)
    place[order] = places(np.diff(np.append(begins, len(order))))
    return place


# -- what a message needs ----------------------------------------------------------------------------------------------


def _needs(messages: Messages) -> tuple[Ints, Ints]:
    """Return the table of the messages that each message needs: where each row begins, and the flat table."""
    part = messages.schedule.part
    message, key = _carried(messages)
    src = messages.src[message]
    finished = (key >= part.sums) & part.results
    owned = part.source_of(key) == src
    sums = key < part.sums  # a sum, or a finished sum where it is added up: all that add to it are needed
    wanted = np.where(finished & owned, key - part.sums, key)
    numbers, dense = np.unique(np.concatenate([wanted, key]), return_inverse=True)
    wanted, key = dense[: len(key)], dense[len(key) :]
    code, arrival = src * len(numbers) + wanted, messages.dst[message] * len(numbers) + key
    all_of_them = sums | (finished & owned)
    given = owned & ~all_of_them
    once = np.flatnonzero(~all_of_them & ~given)
    pairs = _all_that_add(messages, message, np.flatnonzero(all_of_them), code, arrival)
    brought = _what_brought(messages, message, once, code, arrival)
    of, need = np.concatenate([pairs[0], message[once]]), np.concatenate([pairs[1], brought])
    order = np.lexsort([need, of])
    of, need = of[order], need[order]
    new = np.ones(len(of), bool)
    new[1:] = (np.diff(of) != 0) | (np.diff(need) != 0)
    return starts(np.bincount(of[new], minlength=len(messages))), need[new]


def _carried(messages: Messages) -> tuple[Ints, Ints]:
    """Return (message, key), an entry for each chunk of each message; chunks that always move together have one key."""
    bounds = cut_into_atoms(messages.schedule).bounds
    first, last = np.searchsorted(bounds, messages.first, side="right") - 1, np.searchsorted(bounds, messages.stop)
    count = np.where(messages.stop - messages.first > 1, last - first, 1)
    of_range = np.repeat(np.arange(len(first)), count)
    key = np.where(count[of_range] > 1, bounds[np.repeat(first, count) + places(count)], messages.first[of_range])
    message = np.repeat(np.arange(len(messages)), np.diff(messages.start))
    return message[of_range], key


def _all_that_add(messages: Messages, message: Ints, which: Ints, code: Ints, arrival: Ints) -> tuple[Ints, Ints]:
    """Return (message, need): for the entries ``which`` all messages that bring their sum to where they begin."""
    order = np.argsort(arrival, kind="stable")
    low = np.searchsorted(arrival[order], code[which], side="left")
    high = np.searchsorted(arrival[order], code[which], side="right")
    entry = np.repeat(low, high - low) + places(high - low)
    of, need = np.repeat(message[which], high - low), message[order][entry]
    _refuse(messages, of[messages.step[need] >= messages.step[of]])
    return of, need


def _what_brought(messages: Messages, message: Ints, which: Ints, code: Ints, arrival: Ints) -> Ints:
    """Return for each of the entries ``which`` the message that brought its chunk: of its own tree, else the earliest."""
    step, tree = messages.step[message], messages.tree[message] + 1
    trees = int(tree.max(initial=0)) + 1
    found = np.full(len(which), -1, np.int64)
    for own in (False, True):
        at = arrival * trees + tree if own else arrival
        order = np.lexsort([message, step, at])
        sought = (code * trees + tree if own else code)[which]
        place = np.searchsorted(at[order], sought)
        inside = order[np.minimum(place, len(order) - 1)] if len(order) else place
        there = (place < len(order)) & (at[inside] == sought) & (step[inside] < step[which])
        there &= (tree[which] > 0) | (not own)
        found[there] = message[inside][there]
    _refuse(messages, message[which][found < 0])
    return found


def _refuse(messages: Messages, early: Ints) -> None:
    """Raise ScheduleError when some message carries what its source has not got."""
    if len(early):
        m = int(early.min())
        label = messages.schedule.network.label(int(messages.src[m]))
        raise ScheduleError(
            f"at step {messages.step[m]} {label} sends chunks {spell_ranges(messages.ranges(m))}, which it has not got in "
            "full: 'treecast verify' says more"
        )
