"""Calls of ranks on several groups of ranks: whether they can hang, and an order in which they cannot.

The k-th calls of all members of a group are one *meeting*. A rank begins a call when those before it on its stream and the last
call before it for which its host waits are over, and one of its slots is free: as many kernels as fit side by side. It keeps the
slot until all members are in the meeting. Which of several calls gets a slot is chance.

1. Members that call their group unequally often hang always.
2. So do meetings of which each must be over at some rank before the next, in a circle. Without a circle no run hangs where a rank
   has a slot for each stream. Else take of the meetings that are not over one that comes first: it can begin at all its members.
3. Where slots are fewer, a run can hang exactly if some ranks hold calls, one as many as it has slots, so that nothing which
   must be over before is held, and each held call lacks a member that holds as many others as it has slots, or one that comes
   before. For of what stands still each call that a rank holds lacks a member, which is full or lacks what comes before.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from typing import Literal, NamedTuple

import numpy as np

from treecast.description import Described, Description, count_of, describe, list_few
from treecast.errors import FormatError
from treecast.ragged import starts, turns

_MOST_MEETINGS, _MOST_LOOKS, _NEAR = 5_000, 200_000, 2
_MOST_RANKS, _SHOWN = 1 << 20, 8
Kind = Literal["cannot", "may", "always", "unknown"]


class GroupCall(NamedTuple):
    """A call of a rank on a group: its stream, and whether the host waits for its end."""

    rank: int
    group: str
    stream: str = ""
    waits: bool = False


@dataclass(frozen=True, repr=False)
class Deadlock(Described):
    """Whether calls on several groups can hang. It is true when they cannot.

    ``kind``: ``cannot``, ``may``, ``always`` or ``unknown``. ``text``: why. ``lines``: what is held, or comes before what in a
    circle. ``order``: the meetings, (group, number from 1), in an order in which all ranks may make them, on one stream, too;
    empty where there is none.

    >>> from treecast.files.programs.meetings import GroupCall, find_deadlock
    >>> calls = [GroupCall(rank, group, group) for rank in (0, 1) for group in ("tp", "dp")]
    >>> find_deadlock(calls).kind, find_deadlock(calls, slots=2).kind
    ('may', 'cannot')
    """

    kind: Kind
    text: str
    calls: int
    ranks: int
    groups: int
    slots: int
    lines: tuple[str, ...] = ()
    order: tuple[tuple[str, int], ...] = ()

    @property
    def holds(self) -> bool:
        """Whether no run hangs."""
        return self.kind == "cannot"

    def __bool__(self) -> bool:
        return self.holds

    def __repr__(self) -> str:
        return f"<Deadlock: {self.kind}, {self.calls} calls of {self.ranks} ranks on {self.groups} groups>"


@describe.register
def _(found: Deadlock) -> Description:
    told = {"cannot": "cannot hang", "may": "may hang", "always": "hangs always", "unknown": "not known"}
    order = [f"{group}:{number}" for group, number in found.order]
    side = count_of(found.slots, "call") + " side by side"
    calls = f"{count_of(found.calls, 'call')} of {count_of(found.ranks, 'rank')} on {count_of(found.groups, 'group')}, {side}"
    lines: dict[str, object] = {"calls": calls, "verdict": f"{told[found.kind]}: {found.text}"}
    more = len(found.lines) - _SHOWN
    lines |= {"chain": [*found.lines[:_SHOWN], *[f"and {more} more"] * (more > 0)]} if found.lines else {}
    lines |= {"order": f"{list_few(order, _SHOWN)}: safe at all ranks on one stream"} if order else {}
    figures = {name: getattr(found, name) for name in ("holds", "kind", "text", "calls", "ranks", "groups", "slots")}
    return Description(
        {**figures, "chain": found.lines, "order": order}, lines, holds=found.holds, is_open=found.kind == "unknown"
    )


class _CallTable:
    """Calls rank by rank, as columns. ``before``: of each at most two of its rank that must be over before, else -1."""

    def __init__(self, calls: Sequence[GroupCall], members: Mapping[str, Iterable[int]]) -> None:
        calls = sorted(calls, key=lambda call: call.rank)  # stable: the host's order stays
        self.names = list(dict.fromkeys([*members, *(call.group for call in calls)]))
        place = {name: number for number, name in enumerate(self.names)}
        self.rank = np.array([call.rank for call in calls], np.int64)
        group = np.array([place[call.group] for call in calls], np.int64)
        self.ranks = int(self.rank.max(initial=-1)) + 1
        number = turns(self.rank * len(self.names) + group)
        # group and number in one: a meeting
        self.meetings, self.meeting = np.unique(group << 32 | number, return_inverse=True)
        self.stream = np.unique([call.stream for call in calls], return_inverse=True)[1] if calls else group
        self.count = [Counter[int]() for _ in self.names]
        for call in calls:
            self.count[place[call.group]][call.rank] += 1
        self.members = [sorted(members.get(name, count)) for name, count in zip(self.names, self.count, strict=True)]
        at, waits = np.arange(len(calls)), np.array([call.waits for call in calls], np.bool_)
        self.before = np.full((2, len(calls)), -1, np.int64)
        by_stream = np.lexsort((at, self.stream, self.rank))
        same = (np.diff(self.rank[by_stream]) == 0) & (np.diff(self.stream[by_stream]) == 0)
        self.before[0, by_stream[1:][same]] = by_stream[:-1][same]  # the call before on its stream
        last = np.concatenate([[-1], np.maximum.accumulate(np.where(waits, at, -1))])[:-1] if calls else at
        # the last call for which the host waits, if it is one of this rank
        self.before[1] = np.where((last >= 0) & (self.rank[last] == self.rank), last, -1)

    def name(self, meeting: int) -> tuple[str, int]:
        """Return the group of a meeting and its number there, from 1."""
        key = int(self.meetings[meeting])
        return self.names[key >> 32], 1 + (key & (1 << 32) - 1)  # from 1, as people count

    def spell(self, meeting: int) -> str:
        """Return a meeting in words."""
        return "call {1} of {0}".format(*self.name(meeting))

    def of(self, meeting: int) -> list[int]:
        """Return the members of a meeting."""
        return self.members[int(self.meetings[meeting]) >> 32]


_LINE = re.compile(r"(\d{1,7})\s*:\s*(\S+)(?:\s+(?!blocking$)(\S+))?(\s+blocking)?")
_MEMBERS = re.compile(r"(\S+)\s*=\s*((?:\d{1,7}(?:-\d{1,7})?[\s,]*)+)")


def read_calls(text: str) -> tuple[list[GroupCall], dict[str, set[int]]]:
    """Return the calls of all ranks, and members of groups, from lines ``rank: group stream blocking`` and ``group = 0-3, 8``.

    A call without a stream is on one of its group alone. For a ``blocking`` one the host waits. Raises FormatError.

    >>> read_calls("tp = 0-1\\n0: tp main blocking  # the first")
    ([GroupCall(rank=0, group='tp', stream='main', waits=True)], {'tp': {0, 1}})
    """
    calls, members, named = list[GroupCall](), dict[str, set[int]](), 0
    for number, line in enumerate(text.splitlines(), 1):
        said = line.partition("#")[0].strip()
        if match := _LINE.fullmatch(said):
            calls.append(GroupCall(int(match[1]), match[2], match[3] or match[2], bool(match[4])))
        elif match := _MEMBERS.fullmatch(said):
            for first, last in re.findall(r"(\d+)(?:-(\d+))?", match[2]):
                ranks = range(int(first), int(last or first) + 1)
                named += len(ranks)
                if named > _MOST_RANKS:
                    raise FormatError(f"line {number}: all groups together have at most {_MOST_RANKS:,} ranks")
                members.setdefault(match[1], set()).update(ranks)
        elif said:
            raise FormatError(f"line {number} is no call: write 'rank: group stream blocking', or 'group = 0-3, 8'")
    if not calls:
        raise FormatError("there are no calls: write lines such as '0: tp main'")
    return calls, members


def find_deadlock(
    calls: Sequence[GroupCall], members: Mapping[str, Iterable[int]] | None = None, slots: int = 1
) -> Deadlock:
    """Return whether calls can hang; each rank's stand in the order of its host.

    ``members``: of groups of which not every member calls. ``slots``: how many calls of a rank fit side by side; what cannot
    hang with one slot never does. Raises FormatError.
    """
    if slots < 1 or any(call.rank < 0 for call in calls):  # checked before tables are made
        raise FormatError("ranks count from 0, and each has at least one slot")
    program = _CallTable(calls, members or {})
    figures = len(calls), program.ranks, len(program.names), slots

    # 1. How often each calls its groups.
    for name, ranks, count in zip(program.names, program.members, program.count, strict=True):
        often = {rank: count[rank] for rank in ranks}
        if len(set(often.values())) > 1:
            few, many = min(often, key=often.__getitem__), max(often, key=often.__getitem__)
            text = f"rank {few} calls {name} {often[few]} times, and rank {many} {often[many]} times"
            return Deadlock("always", text, *figures)

    # 2. What must be over before what.
    order = _sort(program)
    if len(order) < len(program.meetings):
        lines = _find_circle(program, set(range(len(program.meetings))) - set(order))
        return Deadlock("always", f"{len(lines)} calls come before one another, in a circle", *figures, lines)
    safe = tuple(map(program.name, order))
    # neighbours in the host's order of one rank, of which neither waits for the other
    same = np.diff(program.rank) == 0
    # the one before must be over
    follows = np.maximum.reduce([program.before[k, 1:] - np.arange(len(calls) - 1) for k in (0, 1)]) == 0
    several = set(program.rank[1:][same & ~follows].tolist())  # ranks with calls that may be ready together
    # slots for fewer calls than it has streams
    tight = [rank for rank in sorted(several) if len(np.unique(program.stream[program.rank == rank])) > slots]
    if not tight:
        text = "no call must be over before itself, and " + (
            "every rank has a slot for each stream" if several else "every rank makes one call after another"
        )
        return Deadlock("cannot", text, *figures, order=safe)

    # 3. Who may hold what.
    found = _Knots(program, order, slots).find(tight) if len(safe) <= _MOST_MEETINGS else None
    never = "; never where a rank has a slot for each stream"
    if found is None:
        text = f"too many calls to try which may be held with {slots} at once{never}"
        return Deadlock("unknown", text, *figures, order=safe)
    if not found:
        return Deadlock("cannot", "whatever ranks hold, some call gets through", *figures, order=safe)
    lines = tuple(_spell_held(program, found, rank, call) for rank, held in found.items() for call in sorted(held))
    text = f"{len(found)} ranks may hold calls that wait for one another{never}"
    return Deadlock("may", text, *figures, lines, safe)


def _sort(program: _CallTable) -> list[int]:
    """Return the meetings in an order in which they can be over; those on a circle, and behind one, are left out."""
    from treecast.files.programs.kernels.queues import find_longest

    # from the meeting of the earlier call to that of the later
    late = np.concatenate([program.meeting, program.meeting])
    early = np.where(program.before >= 0, program.meeting[program.before], -1).reshape(-1)
    several = len(program.meetings)
    arcs = np.unique((early * several + late)[early >= 0])
    tail, head = np.divmod(arcs, max(several, 1))
    first, missing = starts(np.bincount(tail, minlength=several)), np.bincount(head, minlength=several)
    order, time = np.empty(several, np.int64), np.zeros(several, np.int64)
    none = np.empty(0, np.int64)
    done = find_longest(first, head, np.ones(len(head), np.int64), missing, time, order, none, none, none)
    return sorted(order[:done].tolist(), key=lambda meeting: time[meeting])  # earliest first, as they can be over


def _find_circle(program: _CallTable, left: set[int]) -> tuple[str, ...]:
    """Return lines on a circle of meetings that come before one another."""
    before = dict[int, tuple[int, int]]()
    for column in program.before:
        for call in np.flatnonzero(column >= 0).tolist():
            late, early = int(program.meeting[call]), int(program.meeting[column[call]])
            if late in left and early in left:
                before[late] = early, int(program.rank[call])
    # any that lies on a circle, or behind one
    way, one = list[int](), next(meeting for meeting in sorted(left) if meeting in before)
    while one not in way:
        way.append(one)
        one = before[one][0]
    circle = way[way.index(one) :]
    return tuple(
        f"rank {before[one][1]} ends {program.spell(before[one][0])} before it begins {program.spell(one)}"
        for one in reversed(circle)
    )


Held = dict[int, frozenset[int]]


def _spell_held(program: _CallTable, found: Held, rank: int, call: int) -> str:
    one = int(program.meeting[call])
    lacks = [other for other in program.of(one) if all(program.meeting[each] != one for each in found.get(other, ()))]
    other = next((other for other in lacks if other in found), lacks[0])
    return f"rank {rank} holds {program.spell(one)} and waits there for rank {other}"


class _Knots:
    """A search for ranks that hold calls so that none of these ever ends."""

    def __init__(self, program: _CallTable, order: Sequence[int], slots: int) -> None:
        self.program, self.slots, self.looks = program, slots, 0
        earlier, self.needs = dict[int, int](), [0] * len(program.rank)  # bits of meetings that are over before
        meeting, of = program.meeting.tolist(), dict[int, list[int]]()
        self.calls, self.below = dict[int, list[int]](), [0] * len(meeting)
        # the calls of a rank stand in its host's order
        for call, (rank, one) in enumerate(zip(program.rank.tolist(), meeting, strict=True)):
            of.setdefault(one, []).append(call)
            self.calls.setdefault(rank, []).append(call)
        for one in order:
            earlier[one] = 0
            for call in of[one]:
                for other in program.before[:, call].tolist():
                    if other >= 0:
                        # bits: all meetings that must be over before
                        self.needs[call] |= earlier[meeting[other]] | 1 << meeting[other]
                        self.below[call] |= self.below[other] | 1 << meeting[other]
                earlier[one] |= self.needs[call]
        self.meeting, self.at = meeting, {(rank, meeting[c]): c for rank, mine in self.calls.items() for c in mine}

    def find(self, tight: Sequence[int]) -> Held | None:
        """Return what ranks hold, few if few will do; nothing where there is no such thing; None after too many looks."""
        # calls near the begin first: what is held lies close together
        first = sorted((place, rank, call) for rank in tight for place, call in enumerate(self.calls[rank]))
        # near calls with half of the looks, then all
        for near, most, each in ((_NEAR, _MOST_LOOKS // 2, _MOST_LOOKS // 20), (len(self.meeting), *[_MOST_LOOKS] * 2)):
            self.near, left, is_whole = near, most, True
            for _, rank, call in first:
                begun = self.looks = min(left, each)
                fills, depths = self._fill(rank, frozenset([call]), call, None), range(2, len(self.calls) + 1)
                for held, deepest in ((held, deepest) for held in fills for deepest in depths):
                    if (found := self._go({rank: held}, sorted(held), deepest)) is not None:
                        return found
                    if self.looks < 0:
                        break
                is_whole, left = is_whole and self.looks >= 0, left - (begun - self.looks)
                if left <= 0:
                    break
        return {} if is_whole else None

    def _go(self, held: Held, todo: Sequence[int], deepest: int) -> Held | None:
        """Have each call in ``todo`` lack a member for ever; return what is held then."""
        calls = [call for mine in held.values() for call in mine]
        self.looks -= 1 + len(calls) // 64
        bits = needs = 0
        for call in calls:
            bits, needs = bits | 1 << self.meeting[call], needs | self.needs[call]
        if bits & needs or self.looks < 0:  # something that must be over is held: no such state
            return None
        while todo:
            one, todo = self.meeting[todo[0]], todo[1:]
            others = [rank for rank in self.program.of(one) if self.at[rank, one] not in held.get(rank, ())]
            for rank in sorted(others, key=lambda rank: rank not in held):
                mine, call = held.get(rank, frozenset[int]()), self.at[rank, one]
                below = self.below[call]
                # full, or what comes before is held: it lacks for ever
                if len(mine) == self.slots or any(below >> self.meeting[each] & 1 for each in mine):
                    break
                if rank not in held and len(held) >= deepest:
                    continue
                # it may also hold a call that comes before, on another slot
                early = (mine | {c} for c in self.calls[rank] if self.slots > 1 and below >> self.meeting[c] & 1)
                for more in chain(self._fill(rank, mine, call, call), early):
                    found = self._go({**held, rank: more}, [*todo, *sorted(more - mine)], deepest)
                    if found is not None or self.looks < 0:
                        return found
            else:
                return None  # this call may go on after all: no knot
        return held

    def _fill(self, rank: int, mine: frozenset[int], near: int, but: int | None) -> Iterator[frozenset[int]]:
        """Yield the ways in which a rank fills its slots, with calls near to one first."""
        free = [c for c in self.calls[rank] if c != but and c not in mine and abs(c - near) <= self.near]
        free.sort(key=lambda call: abs(call - near))
        for some in combinations(free, self.slots - len(mine)):  # as many as it has slots
            yield mine | set(some)
