"""A schedule as a program on buffers: each operation names the places that it reads and writes, of how many chunks.

Each node gets a chunk once, as it comes first; further copies are left out, or received into scratch. Where nobody owns a sum,
each addition writes a place of its own, so that the sum so far stays as it is while it is sent.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass, field

import numpy as np

from treecast.collectives import Collective
from treecast.errors import FormatError
from treecast.files.programs.messages import Messages
from treecast.files.programs.program import ADD, BUFFER, NOWHERE, READ, RECEIVE, SEND, WRITE, Program
from treecast.plans.after.past_relays import past_relays
from treecast.ragged import Ints, places
from treecast.schedule import Schedule
from treecast.verification.verifier import verify

MOST_AT_ONCE = 71
"""The most chunks of a message: as many as a step of MSCCL moves."""
INPUT, OUTPUT, SCRATCH = (buffer * BUFFER for buffer in range(3))
"""Where the buffers of a rank begin."""


@dataclass
class Buffers:
    """The places of the chunks of a collective in the input and output of each rank, and in its scratch by first use.

    ``used``: how many places of the scratch of each rank are taken.
    """

    collective: Collective
    used: defaultdict[int, int] = field(default_factory=lambda: defaultdict(int))
    _scratch: dict[tuple[int, int], int] = field(default_factory=dict[tuple[int, int], int])

    def __post_init__(self) -> None:
        kind, n = self.collective.traits, self.collective.nodes
        if kind.lengths or kind.targets:
            raise FormatError(
                f"MSCCL has no {self.collective.kind} with blocks of different lengths or chosen targets: plan a scatter, "
                "gather or allgather, or a broadcast"
            )
        self.each = self.collective.messages
        self.sums = self.collective.sums
        self._pairs = kind.blocks == "pair"
        self._shared = kind.adds and kind.ends == "own"  # each has a share of the sums, from place 0
        self._to_all = kind.ends == "all"
        self._to_root = kind.ends == "root"
        self._spread = kind.starts == "own" and self._to_all
        self.loop = self.each * (1 if kind.blocks == "one" else n)
        self.named = {
            ("one", "root", "all"): "broadcast",
            ("node", "own", "all"): "allgather",
            ("pair", "own", "own"): "alltoall",
            ("one", "every", "root"): "reduce",
            ("node", "every", "own"): "reduce_scatter",
            ("one", "every", "all"): "allreduce",
            ("node", "every", "all"): "allreduce",
        }.get((kind.blocks, kind.starts, kind.ends), "custom")

    def sizes(self, rank: int) -> tuple[int, int, int]:
        """Return how many chunks the input, output and scratch of a rank have."""
        collective, loop = self.collective, self.loop
        has_input = collective.traits.starts != "root" or rank == collective.root
        has_output = not self._to_root or rank == collective.root
        first = self.each if self._spread else loop
        last = self.each if self._shared else loop
        return first * has_input, last * has_output, self.used[rank]

    def given(self, rank: int, chunk: int) -> int:
        """Return where a rank has a chunk at the beginning, or its contribution to a sum; ``NOWHERE`` where it has none."""
        if self.sums:
            return INPUT + chunk if chunk < self.sums else NOWHERE
        if int(self.collective.source_of(chunk)) != rank:
            return NOWHERE
        return INPUT + chunk % (self.each if self._spread else self.loop)

    def kept(self, rank: int, chunk: int) -> int:
        """Return where a rank puts a chunk, or a sum and then the finished sum: in its output if it wants it, else in scratch."""
        sums, each = self.sums, self.each
        chunk = chunk - sums if sums and chunk >= sums else chunk
        if self._to_all or (self._to_root and rank == self.collective.root):
            return OUTPUT + chunk
        if not self._to_root and int(self.collective.destination_of(chunk)) == rank:
            if self._pairs:
                # by source, as the collective has them
                return OUTPUT + chunk // each // self.collective.nodes * each + chunk % each
            return OUTPUT + (chunk % each if self._shared else chunk)
        if (rank, chunk) not in self._scratch:
            self._scratch[rank, chunk] = self.spare(rank)
        return self._scratch[rank, chunk]

    def spare(self, rank: int, count: int = 1) -> int:
        """Return the first of some places in scratch that nobody used so far."""
        self.used[rank] += count
        return SCRATCH + self.used[rank] - count

    def copies(self, rank: int) -> list[tuple[int, int, int, int]]:
        """Return the copies of a rank from its input to its output: the rank, from where, to where, and how many chunks."""
        collective, each, n = self.collective, self.each, self.collective.nodes
        if self.sums:
            return [(rank, INPUT, OUTPUT, self.loop)] if n == 1 else []  # alone its contribution is the sum
        own = rank * n * each + rank * each if self._pairs else rank * each  # its block for itself
        first, count = (0, self.loop) if collective.traits.blocks == "one" else (own, each)
        source, wants = self.given(rank, first), self._to_all or not self._to_root or rank == collective.root
        return [(rank, source, self.kept(rank, first), count)] if source != NOWHERE and wants else []


def between_ranks(schedule: Schedule, named: str) -> Schedule:
    """Return a schedule as one of ranks with buffers, past its relays if it has some. ``named``: the format, in errors.

    Raises FormatError when there is none.
    """
    if schedule.model.routing:
        raise FormatError(f"{named} over links alone, and wormhole messages take routes: plan with --model all-port")
    straight = past_relays(schedule)
    if straight is not schedule and not verify(straight):
        raise FormatError(
            f"this {schedule.collective.kind} cannot do without its relays, which finish sums that ranks have a part in"
        )
    Buffers(straight.collective)  # refuses collectives that it has no places for
    return straight


def on_buffers(messages: Messages, keep_copies: bool = False) -> tuple[Program, Buffers]:
    """Return the program of ranks on buffers, and these: a lane for each end of each arc, and one for the copies of a rank.

    A message has up to 71 chunks, one behind the other. It is sent when whatever brings its chunks has come, and received after
    the earlier additions to the same sums. Both of its ends name the place that is written at the second; the sender reads its
    own, and a receiver that adds the sum so far. Further copies of chunks are received into scratch if ``keep_copies``.

    >>> import treecast
    >>> from treecast.files.programs.messages import messages_of
    >>> program, buffers = on_buffers(messages_of(treecast.plan("broadcast", "path:3", messages=2)))
    >>> program.kind.tolist(), program.size.tolist(), program.lane.tolist()
    ([5, 5, 12, 10, 10, 5, 5, 10, 10], [1, 1, 2, 1, 1, 1, 1, 1, 1], [0, 0, 1, 2, 2, 3, 3, 4, 4])
    """
    buffers = Buffers(messages.schedule.collective)  # 1. All chunks, one by one.
    table = _list_chunks(messages, buffers, keep_copies)
    entry, columns, (sent_after, got_after) = table[0], table[1:4], table[4:]
    goes_on = np.diff(entry, prepend=-1) == 0  # 2. Cut into messages that move as one.
    # places follow each other in all columns, or there are none in either
    for column in columns:
        follows = (np.diff(column, prepend=NOWHERE) == 1) & (column >= 0)
        goes_on &= follows | ((column == NOWHERE) & (np.roll(column, 1) == NOWHERE))
    begins = places(np.diff(np.append(np.flatnonzero(~goes_on), len(entry)))) % MOST_AT_ONCE == 0
    which, first = np.cumsum(begins) - 1, np.flatnonzero(begins)
    source, target, reads = columns[:, first]
    reading, adds = source.copy(), reads != NOWHERE
    reading[adds] = reads[adds]
    src, dst, port = (column[entry[first]] for column in (messages.src, messages.dst, messages.port))
    # 3. A rank's own copies.
    copies = [copy for rank in range(messages.schedule.network.nodes) for copy in buffers.copies(rank)]
    owner, copied, kept, length = np.array(copies, np.int64).reshape(-1, 4).T
    # 4. Operations: of each message both ends, then the copies. They are numbered by rank and lane.
    count, none = len(first), np.full(len(owner), -1)
    rank = np.concatenate([src, dst, owner])
    ends = np.stack([np.concatenate([end, end, none]) for end in (src, dst, port)])
    # by rank, its own copies last, by arc, and there in the order of messages
    order = np.lexsort([np.arange(len(rank)), *ends[::-1], np.repeat([0, 1], [2 * count, len(owner)]), rank])
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order))
    waits = [  # 5. What waits for what, by these numbers.
        # sends stand before receives; what is awaited is a receive
        np.stack([number[which + side * count], number[which[np.maximum(after, 0)] + count]])[:, after >= 0]
        for side, after in enumerate((sent_after, got_after))
    ]
    waiting, found = np.unique(np.concatenate(waits, axis=1), axis=1, return_index=True)
    waiting, wait = waiting[:, np.lexsort([found, waiting[0]])]
    # 6. The columns of the program.
    kind = np.repeat([READ | SEND, RECEIVE | WRITE, READ | WRITE], [count, count, len(owner)])
    kind[count : 2 * count][adds] |= READ | ADD
    each = np.bincount(which, minlength=count)
    size = np.concatenate([each, each, length])[order]
    arcs, arc = np.unique(ends, axis=1, return_inverse=True)
    # which of parallel arcs
    tag = places(np.unique(arcs[:2], axis=1, return_counts=True)[1])[arc.reshape(-1)]
    rank, kind, (src, dst, _) = rank[order], kind[order], ends[:, order]
    change = np.stack([rank, src, dst, tag[order]])
    program = Program(
        ranks=messages.schedule.network.nodes,
        rank=rank,
        lane=np.cumsum((np.diff(change, prepend=change[:, :1]) != 0).any(axis=0)),  # a lane for each end of an arc
        kind=kind,
        to=np.where(kind & SEND, dst, -1),
        source=np.where(kind & RECEIVE, src, -1),
        tag=tag[order],
        size=size,
        units=size,
        waiting=waiting,
        wait=wait,
        where=lambda one: (f"rank {rank[one]}, operation {one}", (int(rank[one]), one)),
        read=np.concatenate([source, reading, copied])[order],
        write=np.concatenate([target, target, kept])[order],
    )
    return program, buffers


def _list_chunks(messages: Messages, buffers: Buffers, keep_copies: bool) -> Ints:
    """Return the chunks of all messages, one by one: int64 (6, chunks).

    Columns: the message; where it is read and written, and where the sum so far is, or ``NOWHERE``; which of these entries
    must have come before it is sent, and before it is received, or -1.
    """
    found, sums = list[tuple[int, ...]](), buffers.sums
    first, left = _first_arrivals(messages, buffers, keep_copies), _additions(messages)
    # the last entry to bring a chunk, or add to it: of earlier steps, and of this one
    earlier, newest = dict[tuple[int, int], int](), dict[tuple[int, int], int]()
    step = -1
    for m, (at, src, dst) in enumerate(
        zip(messages.step.tolist(), messages.src.tolist(), messages.dst.tolist(), strict=True)
    ):
        if at > step:
            earlier.update(newest)
            step, newest = at, dict[tuple[int, int], int]()
        for chunk in (chunk for a, b in messages.ranges(m) for chunk in range(a, b)):
            adds, spare = chunk < sums, chunk >= sums and first.get((dst, chunk)) != m
            if spare and not keep_copies:
                continue
            own = chunk - sums if chunk >= sums > 0 and (src, chunk) not in earlier else chunk
            sent_after = earlier.get((src, own), -1)
            got_after = newest.get((dst, chunk), earlier.get((dst, chunk), -1)) if adds else -1
            if left[dst, chunk]:  # a sum that nobody owns: it may still be sent as it was
                left[dst, chunk] -= 1
                spare = left[dst, chunk] > 0 or (dst, chunk + sums) in first
            target = buffers.spare(dst) if spare else buffers.kept(dst, chunk)
            source = found[sent_after][2] if sent_after >= 0 else buffers.given(src, own)
            if source == NOWHERE:
                raise FormatError(f"node {src} sends chunk {chunk}, which it has not got: 'treecast verify' says more")
            so_far = found[got_after][2] if got_after >= 0 else buffers.given(dst, chunk)
            if adds or not spare:
                newest[dst, chunk] = len(found)
            found.append((m, source, target, so_far if adds else NOWHERE, sent_after, got_after))
    return np.array(found, np.int64).reshape(-1, 6).T


def _additions(messages: Messages) -> Counter[tuple[int, int]]:
    """Return how often each node adds to each sum, where nobody owns it; else nothing."""
    found, part = Counter[tuple[int, int]](), messages.schedule.collective
    for m, dst in enumerate(messages.dst.tolist() if part.shared else ()):
        found.update((dst, chunk) for a, b in messages.ranges(m) for chunk in range(a, min(b, part.sums)))
    return found


def _first_arrivals(messages: Messages, buffers: Buffers, all_of_them: bool) -> dict[tuple[int, int], int]:
    """Return the message that first brings each chunk to each node: only to nodes that want it, or pass it on to one that does,
    unless ``all_of_them`` are asked for.
    """
    first, sums, collective = dict[tuple[int, int], int](), buffers.sums, buffers.collective
    for m, dst in enumerate(messages.dst.tolist()):
        for a, b in messages.ranges(m):
            for chunk in range(max(a, sums), b):
                if (dst, chunk) not in first and int(collective.source_of(chunk)) != dst:
                    first[dst, chunk] = m
    if all_of_them:
        return first
    needed = dict[tuple[int, int], int]()
    for node, a, b in collective.wanted():
        for chunk in range(a, b):
            at = (node, chunk)
            while at in first and at not in needed:
                needed[at] = first[at]
                at = (int(messages.src[first[at]]), chunk)
    return needed
