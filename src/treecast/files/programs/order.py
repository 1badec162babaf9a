"""Which send meets which receive, when each operation begins if nothing but its waits holds it up, and which wait in a circle."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from treecast.errors import FormatError
from treecast.files.programs.program import RECEIVE, RELAXED, SEND, Counts, Program
from treecast.files.programs.verdict import Findings
from treecast.ragged import Ints, starts, turns
from treecast.verification.file_rules import rule


@dataclass(frozen=True, eq=False)
class Pairs:
    """The messages of a program: the n-th send of a source, destination and tag meets the n-th receive.

    ``send`` and ``receive``, int64 (messages,), are the operations that meet, in the order of the sends; ``alone`` meet nothing.
    """

    operations: int
    send: Ints
    receive: Ints
    alone: Ints

    @cached_property
    def sender(self) -> Ints:
        """The operation that sends the message of each of all operations; -1: none."""
        found = np.full(self.operations, -1, np.int64)
        found[self.receive] = self.send
        return found


def find_pairs(program: Program) -> Pairs:
    """Return which send meets which receive."""
    sends, receives = np.flatnonzero(program.does(SEND)), np.flatnonzero(program.does(RECEIVE))
    # the n-th of a connection on either side: one number for both, so equal numbers meet
    nth = [turns(side) * 2 * len(program) + side for side in _connections(program)]
    _, here, there = np.intersect1d(*nth, assume_unique=True, return_indices=True)
    send, receive = sends[here], receives[there]
    by_send = np.argsort(send)
    alone = np.union1d(np.delete(sends, here), np.delete(receives, there))
    return Pairs(len(program), send[by_send], receive[by_send], alone)


def _connections(program: Program) -> tuple[Ints, Ints]:
    """Return a number below twice the operations for the source, destination and tag of each send, and of each receive."""
    sends, receives = program.does(SEND), program.does(RECEIVE)
    out, into = np.stack([program.rank, program.to, program.tag]), np.stack([program.source, program.rank, program.tag])
    every = np.concatenate([out[:, sends], into[:, receives]], axis=1)
    number = np.unique(every, axis=1, return_inverse=True)[1].reshape(-1)
    return number[: int(sends.sum())], number[int(sends.sum()) :]


@rule("pairs", "every send meets a receive of its size, and every signal is awaited", of=("goal", "msccl"))
def judge_pairs(found: Findings, program: Program, pairs: Pairs, unit: str) -> bool:
    """Judge ``pairs``; ``unit``: the unit of the sizes of messages. Return whether it is kept."""
    found.these("pairs", pairs.alone, lambda one: "it meets nothing at the other end", program.where)
    size, sender = program.size, pairs.sender
    differs = pairs.receive[size[pairs.send] != size[pairs.receive]]
    found.these(
        "pairs",
        np.sort(differs),
        lambda one: (
            f"it awaits {size[one]:,} {unit}, and {program.spell(int(sender[one]))} sends {size[sender[one]]:,}"
        ),
        program.where,
    )
    return found.judged("pairs")


_WAITS, _STARVED = 1, 2  # why a lane stops
_MOST_NAMED = 6  # operations of a circle that are named
_MOST_BITS, _MOST_LINKS = 2**33, 2**20


@dataclass(frozen=True, eq=False)
class ExecutionOrder:
    """When operations begin and end: ``begins`` and ``ends``, int64 (operations,), in steps; -1 where they never do.

    ``ended`` are the operations in an order in which they end. ``together``: whether a send ends only when its receive has begun.
    ``taken``: the order of one run, where counts say more than the waits of ``program``; else None.
    """

    program: Program
    pairs: Pairs
    together: bool
    begins: Ints
    ends: Ints
    ended: Ints
    taken: Ints | None = None

    @property
    def run(self) -> Ints:
        """The operations in the order of one run."""
        return self.ended if self.taken is None else self.taken

    def began(self, send: int) -> int:
        """Return in which step a message goes."""
        begin = int(self.begins[send])
        return max(begin, int(self.begins[self.receiver[send]])) if self.together else begin

    @cached_property
    def receiver(self) -> dict[int, int]:
        """The operation that receives the message that each sends."""
        return dict(zip(self.pairs.send.tolist(), self.pairs.receive.tolist(), strict=True))

    @property
    def steps(self) -> int:
        """The most steps that must go one after another."""
        return int(self.ends[self.pairs.receive].max(initial=0))

    @cached_property
    def ways(self) -> tuple[Ints, Ints, Ints]:
        """The operations that each surely comes after, by its lane, its message and its waits: where those of each begin, which,
        and how strong that is.
        """
        program, sure = self.program, ~self.program.begun
        follows = np.flatnonzero(program.before >= 0)
        head = np.concatenate([follows, self.pairs.receive, program.waiting[sure]])
        tail = np.concatenate([program.before[follows], self.pairs.send, program.wait[sure]])
        level = np.zeros(len(head), np.int64)
        if program.strength is not None:
            level[len(head) - int(sure.sum()) :] = program.strength[sure]
        turn = np.argsort(head, kind="stable")
        return starts(np.bincount(head, minlength=len(program))), tail[turn], level[turn]


def find_order(program: Program, pairs: Pairs, together: bool = False) -> ExecutionOrder:
    """Return when each operation begins and ends, if nothing but waits, its lane and its messages holds it up.

    Raises FormatError when too many raise and lower one of its counts.
    """
    time, ended = _run(program, pairs, together)
    if program.counts is None or len(ended) < len(program):
        return ExecutionOrder(program, pairs, together, time[::2], time[1::2], ended)
    return replace(find_order(_with_counts(program, program.counts), pairs, together), taken=ended)


def _run(program: Program, pairs: Pairs, together: bool) -> tuple[Ints, Ints]:
    """Return when operations begin and end, by turns, and an order in which they can end."""
    from treecast.files.programs.kernels.queues import find_longest

    # 1. Two points for each operation, where it begins and where it ends.
    n, none = len(program), np.empty(0, np.int64)
    begin, end = 2 * np.arange(n), 2 * np.arange(n) + 1
    sends, receives, units = program.does(SEND), program.does(RECEIVE), program.units
    follows, late, early = np.flatnonzero(program.before >= 0), program.waiting, program.wait
    fused = sends[pairs.receive]  # receives whose chunks are sent on as they come
    # 2. Ways between points: an operation lasts; lanes, waits and pairs keep their order.
    ties = [
        (begin, end, np.where(sends | (receives & together), units, 0)),
        (end[program.before[follows]], begin[follows], 0),
        (np.where(program.begun, begin[early], end[early]), begin[late], 0),
        (end[pairs.send], np.where(fused, begin[pairs.receive], end[pairs.receive]), 0),
    ]
    # both ends move at the same time: a send ends no sooner than its receive can
    if together:
        ties.append((begin[pairs.receive], end[pairs.send], units[pairs.send]))
    tail, head = (np.concatenate([tie[side] for tie in ties]) for side in (0, 1))
    length = np.concatenate([np.broadcast_to(tie[2], len(tie[0])) for tie in ties])
    # 3. The longest way to each point is when it comes.
    by_tail = np.argsort(tail, kind="stable")
    first, missing = starts(np.bincount(tail, minlength=2 * n)), np.bincount(head, minlength=2 * n)
    time, order = np.zeros(2 * n, np.int64), np.empty(2 * n, np.int64)
    takes, gives, counts = none, none, none
    if program.counts is not None:
        takes, gives = np.full((2, 2 * n), -1)
        takes[begin], gives[end], counts = program.counts.lowers, program.counts.raises, program.counts.begins.copy()
    done = find_longest(first, head[by_tail], length[by_tail], missing, time, order, takes, gives, counts)
    # 4. Points on a circle never come.
    order = order[:done]
    never = np.ones(2 * n, np.bool_)
    never[order] = False
    time[never] = -1
    return time, order[order % 2 == 1] // 2


def _with_counts(program: Program, counts: Counts) -> Program:
    """Return a program in which who lowers a count waits for those who raise it, wherever it cannot pass without these."""
    raises, lowers, relaxed, begins = counts
    waits = [np.stack([program.waiting, program.wait])]
    by_count = [np.argsort(of, kind="stable") for of in (raises, lowers)]
    bounds = [np.searchsorted(np.sort(of), np.arange(len(begins) + 1)) for of in (raises, lowers)]
    for count in np.unique(lowers[lowers >= 0]).tolist():
        raised, lowered = (order[at[count] : at[count + 1]] for order, at in zip(by_count, bounds, strict=True))
        if len(raised) * len(lowered) > _MOST_LINKS:
            raise FormatError(f"{len(raised):,} signals to {len(lowered):,} waits of one count are too many to judge")
        # 1. How many signals can come without this one, and those behind it in its lane.
        behind = (
            1 + turns(program.lane[raised][::-1])[::-1]
        )  # how many raise it behind each in its lane, itself included
        needed = len(raised) - behind < 1 + turns(program.lane[lowered])[:, None] - begins[count]
        # 2. Who needs more than these waits for it.
        late, early = np.nonzero(needed)
        waits.append(np.stack([lowered[late], raised[early]]))
    both = np.concatenate(waits, axis=1)
    turn, known = np.argsort(both[0], kind="stable"), len(program.wait)
    strength = np.where(relaxed[both].any(axis=0), RELAXED, 0)
    strength[:known] = 0 if program.strength is None else program.strength
    begun = np.concatenate([program.begun, np.zeros(len(strength) - known, np.bool_)])
    columns = {"waiting": both[0], "wait": both[1], "begun": begun, "strength": strength}
    return replace(program, counts=None, **{name: column[turn] for name, column in columns.items()})


@rule(
    "order", "nothing waits in a circle, and nothing goes before the step of a thing it waits for", of=("goal", "msccl")
)
def judge_order(found: Findings, order: ExecutionOrder) -> bool:
    """Judge ``order``: whether every operation comes to its end. Return whether it is kept."""
    found.judged("order")
    program, stuck = order.program, order.ends < 0
    if stuck.any():
        heads = [(program.waiting, program.wait), (order.pairs.receive, order.pairs.send)]
        heads += [(order.pairs.send, order.pairs.receive)] if order.together else []
        # each follows one thing that it waits for; circles of these are named
        following = np.full(len(program), -1, np.int64)
        there = program.before >= 0
        # what is written last stays: the operation before it in its lane comes first
        for late, early in [*reversed(heads), (np.flatnonzero(there), program.before[there])]:
            both = stuck[late] & stuck[early]
            following[late[both]] = early[both]
        _name_circles(found, "order", program, dict(enumerate(following.tolist())), np.flatnonzero(stuck))
        if not found.counts["order"]:
            found.these("order", np.flatnonzero(stuck), lambda _: "it never ends", program.where)
    return found.judged("order")


@rule("in-flight", "nothing waits in a circle where queues are as long as the protocol has them", of=("msccl",))
def judge_in_flight(found: Findings, order: ExecutionOrder, room: int) -> None:
    """Judge ``in-flight``: where lanes block one another because each connection holds no more than ``room`` units.

    Lanes get as far as they get in whatever order they take turns, so one run decides.
    """
    from treecast.files.programs.kernels.queues import run_program

    program = order.program
    sends, receives = program.does(SEND), program.does(RECEIVE)
    lanes = len(program.first) - 1
    out, into = (np.full(lanes, 2 * lanes, np.int64) for _ in range(2))
    out[program.lane[sends]], into[program.lane[receives]] = _connections(program)
    at, why = np.zeros(lanes, np.int64), np.zeros(lanes, np.int64)
    run_program(program.first, program.units, sends, receives, into, out, program.last_wait, room, at, why)
    found.judged("in-flight")
    stuck = np.flatnonzero(at < program.first[1:])
    sender, receiver = ({int(q): b for b, q in enumerate(side)} for side in (out, into))
    following = dict[int, int]()
    for b in stuck.tolist():
        other = (
            program.lane[program.last_wait[at[b]]]
            if why[b] == _WAITS
            else sender[int(into[b])]
            if why[b] == _STARVED
            else receiver[int(out[b])]
        )
        following[int(at[b])] = int(at[other])
    _name_circles(found, "in-flight", program, following, at[stuck], room=f" with {room} chunks in flight")


def _name_circles(
    found: Findings, rule: str, program: Program, following: Mapping[int, int], stuck: Ints, *, room: str = ""
) -> None:
    """Note each circle of operations that wait for one another. Others wait for these."""
    seen = set[int]()
    for one in stuck.tolist():
        way = list[int]()
        while one >= 0 and one not in seen:
            seen.add(one)
            way.append(one)
            one = following.get(one, -1)
        if one in way:
            circle = way[way.index(one) :]
            circle = [other for other in circle if program.kind[other]] or circle  # mere work is not named
            words, first = [program.spell(other) for other in circle[1:_MOST_NAMED]], program.spell(circle[0])
            more = len(circle) - 1 - len(words)
            last = (
                f", which waits, over {more:,} more, for {first}, in a circle of {len(circle):,}"
                if more
                else ", in a circle"
            )
            text = f"it waits for {', which waits for '.join(words if more else [*words, first])}{last}{room}"
            found.note(rule, text, *program.where(circle[0]))


# -- which surely comes first on a rank -------------------------------------------------------------------------------


def waits_of(program: Program) -> dict[int, list[int]]:
    """Return for each operation those whose ends it waits for, if there are any."""
    waits = dict[int, list[int]]()
    for late, early, begun in zip(program.waiting.tolist(), program.wait.tolist(), program.begun.tolist(), strict=True):
        if not begun:
            waits.setdefault(late, []).append(early)
    return waits


def receives_before(order: ExecutionOrder) -> tuple[dict[int, list[int]], dict[int, int]]:
    """Return the receives of each rank, and for each send which of those of its rank have surely ended when it begins, as bits.

    They have as its waits say, and theirs. Raises FormatError when that is too much to tell.
    """
    program, waits = order.program, waits_of(order.program)
    sends, receiving = program.does(SEND).tolist(), program.does(RECEIVE).tolist()
    ranks = program.rank[order.ended]
    # bits: of each rank its operations by its receives
    if int((np.bincount(ranks) * np.bincount(ranks, program.does(RECEIVE)[order.ended])).max(initial=0)) > _MOST_BITS:
        raise FormatError(
            "it cannot be told within bounds which messages came before each send: a rank has too many messages"
        )
    receives, found = dict[int, list[int]](), dict[int, int]()
    bounds = np.searchsorted(np.sort(ranks), np.arange(program.ranks + 1))
    by_rank = order.ended[np.argsort(ranks, kind="stable")]
    for rank in range(program.ranks):
        own, after, before = receives.setdefault(rank, []), dict[int, int](), 0
        for one in by_rank[bounds[rank] : bounds[rank + 1]].tolist():
            before = 0
            for other in waits.get(one, ()):
                before |= after[other]
            after[one] = before
            if receiving[one]:
                after[one] |= 1 << len(own)
                own.append(one)
            if sends[one]:
                found[one] = before
    return receives, found
