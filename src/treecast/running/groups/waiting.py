"""Where the ranks are for which this one waits: it asks them, and each answers in which call it is, and for whom it waits there.

So whoever waits long knows who is behind, in another call, or in none. Ranks that wait for one another in calls of several
groups, each in one that the other has not begun, wait for ever: they find the circle, and raise.
"""

import json
import os
from collections.abc import Iterable, Mapping
from time import monotonic, perf_counter, time_ns
from typing import TYPE_CHECKING, Any, NamedTuple

from treecast.running.groups.members import name_ranks
from treecast.running.groups.record import Record
from treecast.running.groups.terms import seconds_of
from treecast.running.transport.base import FrameError, FrameKind, Key, Transport, Until
from treecast.running.transport.marks import PARTS

if TYPE_CHECKING:
    from treecast.running.groups.group import Group

_SLOW = "5"  # seconds after which a rank asks those for which it waits where they are
_AS_WELL = "too"
_CIRCLE = 1  # the stage of a frame that tells of a circle
_LONGEST = 1 << 15  # bytes of an answer
_ANSWERS, _SOON = 0.1, 0.1  # of that time, and seconds at least, which answers take


class Whereabouts(NamedTuple):
    """Where a rank is: the last call that it has begun in a group, whether it is inside, for how long, and the call in words.

    ``awaits``: the ranks of the transport for which it waits there. ``others``: the calls of other groups that it is in, and for
    whom it waits there, each as an ``Arc``. ``arcs``: those of others, as far as it knows.
    """

    call: int
    is_inside: bool
    seconds: float
    text: str
    awaits: list[int]
    others: list["Arc"]
    arcs: list["Arc"]


class Arc(NamedTuple):
    """A rank of the transport that is in a call of a group, and the ranks for which it waits that have not begun it."""

    seat: int
    group: int
    call: int
    text: str
    awaits: list[int]


class Waiting:
    """The waits of this process in calls of its ``groups``, by their numbers, and the places of those it has asked.

    ``slow``: seconds after which it asks, TREECAST_SLOW says how many; None never. ``record``: the last calls of this process.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport, self.slow = transport, seconds_of(os.environ.get("TREECAST_SLOW") or _SLOW)
        self.groups, self.record = dict[int, "Group"](), Record()
        self.places: dict[tuple[int, int], Whereabouts] = {}
        """The last answers, by group and rank of the transport."""
        self._asked = set[int]()  # in this round: each is asked once
        self._arcs: dict[int, Arc] = {}  # what others have said, by seat
        self._circle: list[Arc] = []
        for kind in (FrameKind.ASK, FrameKind.HERE):
            transport.on(kind, self._hear)

    def wait(self, group: "Group", until: Until) -> None:
        """Wait in a call of a group. Whoever is alive, but keeps this rank waiting for longer than ``late``, is silent."""
        if until():
            return
        began, slow, late = monotonic(), self.slow, group.terms.late
        asks: float | None = slow
        looks: float | None = None  # when this rank asks, and looks at the answers, in seconds since it waits
        # Three clocks: `asks` where the others are, `looks` at the answers a moment later, `late` judges them.
        while True:
            ends = [each for each in (late, asks, looks) if each is not None]
            # without any of them it waits for ever
            self._transport.wait(until, max(0.0, began + min(ends) - monotonic()) if ends else None)
            if until():
                return
            now = monotonic() - began
            if looks is not None and now >= looks:
                self.tell_slow(group, now)
                looks = None
            if asks is not None and slow is not None and now >= asks:
                self.ask(group)
                asks, looks = asks + slow, asks + self.answers  # answers get a moment, then they are looked at
            if late is not None and now >= late:
                # First it says that it is here, as all do that wait so long, and waits as long once more. Only then
                # it judges.
                if not group.agreement.ask_all():
                    group.overdue |= {rank for rank in group.awaited() if self._is_late(group, rank)}
                    self.ask(group)
                    for rank in group.overdue:
                        self._transport.shut(group.seats[rank], "late")
                late = now + (group.terms.late or 0)

    def _is_late(self, group: "Group", rank: int) -> bool:
        """Return whether a rank keeps this one waiting, and not because it waits itself; in a tree its answer tells so."""
        if not group.is_wide:  # without a tree each rank says itself that it is here
            return not group.agreement.has_come(rank)
        return (group.ident, group.seats[rank]) in self.places and not self.is_there(group, rank)

    def describe(self, group: "Group") -> None:
        """Note which call it is that goes past a group, if one does: it takes long here, or at others."""
        # nothing goes past, or it was described already
        if (now := group.unlike.now) is None or group.unlike.is_inside:
            return
        _, call, (words, digest) = now
        group.made = self.record.begin(group.ident, call, words)
        group.unlike.is_inside = True
        group.unlike.note(call, digest)
        self._transport.marks.set(group.ident, call, digest)

    def is_there(self, group: "Group", rank: int) -> bool:
        """Return whether a rank has answered that it is in the call of this one, or beyond."""
        place = self.places.get((group.ident, group.seats[rank]))
        return place is not None and (place.call, place.is_inside) >= (group.made.call, True)

    @property
    def answers(self) -> float:
        """The seconds that answers take at most: the side threads of both ranks may have to look for them."""
        return max((self.slow or 0.0) * _ANSWERS, _SOON, 3 * self._transport.look)

    def ask(self, group: "Group", everyone: bool = False) -> None:
        """Ask those for which this rank waits in a call where they are, or everyone; and tell of its last calls."""
        self._asked = set[int]()
        group.catch_up()
        self._ask(group, [group.seats[rank] for rank in (group.agreement.others() if everyone else group.awaited())])

    def _ask(self, group: "Group", seats: Iterable[int]) -> None:
        for seat in set(seats) & set(self._transport.peers) - self._asked:  # nobody opens a connection for that
            self._asked.add(seat)
            self.places.pop((group.ident, seat), None)  # an older answer is not taken for the new one
            key = Key(FrameKind.ASK, group.unlike.last * PARTS, group=group.ident)
            self._transport.send(seat, key, group.unlike.said)

    def _hear(self, source: int, key: Key, body: bytes) -> None:
        """Answer, or take an answer. Raises FrameError for one that makes no sense."""
        group = self.groups.get(key.group)
        if key.kind == FrameKind.ASK:
            if group is not None:
                group.catch_up()
                self.describe(group)
            # The question has the digests of the asker's last calls: unlike calls are found even where data has none.
            if group is not None and source in group.rank_at:
                group.unlike.hear_last(group.rank_at[source], body)
            said = json.dumps(self._place(group)).encode()
            # Where it is tells most. For whom it waits is left out before the frame gets too long.
            if len(said) > _LONGEST:
                said = json.dumps(self._place(group)._replace(awaits=[], others=[], arcs=[])).encode()
            number = group.agreement.number if group is not None else 0
            self._transport.send(source, Key(FrameKind.HERE, number, group=key.group), said)
            return
        if key.stage == _CIRCLE:
            self._leave(_arcs(_json(body), self._transport.size))
            return
        place = _read(body, self._transport.size)
        self.places[key.group, source] = place
        for arc in place.arcs:
            if arc.seat not in (self._transport.rank, source):
                self._arcs[arc.seat] = arc
        for arc in place.others:
            self._arcs[source] = arc
        if not place.others:  # it is in no other call: what it said before is over
            self._arcs.pop(source, None)
        # Between question and answer the call may have ended.
        if group is not None and group.unlike.is_inside:
            # so one hears of those far away, a question at a time
            if place.is_inside and place.call == group.made.call:  # it waits for somebody itself
                self._ask(group, set(place.awaits) & set(group.seats))
            self._find_circle(group)

    def _place(self, group: "Group | None") -> Whereabouts:
        """Return where this rank is, as one who waits in a group asks."""
        others = [self._arc(each) for each in self.groups.values() if each is not group and each.unlike.is_inside]
        arcs = list(self._arcs.values())
        if group is None:
            return Whereabouts(0, False, 0.0, "", [], others, arcs)
        made, unlike = group.made, group.unlike
        # The last call went past the group, and the record is not told of it yet.
        if unlike.last > made.call and not unlike.is_inside and unlike.quick:
            call, (words, _), _, ended = unlike.quick[-1]
            return Whereabouts(call, False, perf_counter() - ended, str(words), [], others, arcs)
        since = made.began if unlike.is_inside else made.ended or made.began
        awaits = [group.seats[rank] for rank in group.awaited()] if unlike.is_inside else []
        return Whereabouts(made.call, unlike.is_inside, (time_ns() - since) / 1e9, str(made), awaits, others, arcs)

    def _arc(self, group: "Group") -> Arc:
        """Return the ranks that this one waits for in a call of a group, as far as they have not begun it by their answers."""
        call = group.made.call
        seats = [group.seats[rank] for rank in group.awaited()]
        # Who is in this call, too, waits for others. Only who has not begun it keeps this rank there.
        absent = [seat for seat in seats if (at := self.places.get((group.ident, seat))) and at.call < call]
        return Arc(self._transport.rank, group.ident, call, str(group.made), absent)

    def _find_circle(self, group: "Group") -> None:
        """Find ranks that wait for one another in calls of several groups; when they are seen twice, they do for ever."""
        arcs = {**self._arcs, self._transport.rank: self._arc(group)}  # with this rank's own, which nobody has told
        circle = _circle(arcs, self._transport.rank)
        # Answers are of different moments: a circle that is seen once may never have been there.
        if circle and circle == self._circle:  # of two looks a moment apart: then they wait for one another for ever
            for arc in circle[1:]:
                self._transport.send(arc.seat, Key(FrameKind.HERE, stage=_CIRCLE), json.dumps(circle).encode())
            self._leave(circle)
        self._circle = circle  # to be compared with the next look

    def _leave(self, circle: list[Arc]) -> None:
        """Leave the call by which this rank is in a circle, as all in it do; one that has ended meanwhile is no part of it."""
        # All begin with the lowest rank, so that all raise the same words.
        first = min(range(len(circle)), key=lambda place: circle[place].seat)
        mine = next((arc for arc in circle if arc.seat == self._transport.rank), None)
        group = None if mine is None else self.groups.get(mine.group)
        if mine is not None and group is not None and group.unlike.is_inside and group.made.call == mine.call:
            group.unlike.find(mine.call, _tell(circle[first:] + circle[:first]))

    def tell_slow(self, group: "Group", seconds: float) -> None:
        """Tell of a long wait, once a call, and note it in the record."""
        made, awaited = group.made, tuple(sorted(group.awaited()))
        if awaited and not made.waited:  # once a call: later words would say no more
            made.waited = awaited
            text = f"rank {group.rank} has waited {seconds:.1f} s in call {made.call}, {made}: "
            text += self.tell(group)
            self._transport.events.tell("slow", text, group.ident, made.call, awaited)

    def tell(self, group: "Group") -> str:
        """Return in words where those are for which this rank waits, or those for whom they wait in the same call."""
        awaited = {rank: self.where(group, rank) for rank in group.awaited()}
        behind = {
            rank: where
            for rank, seat in enumerate(group.seats)
            if seat in self._asked and _AS_WELL not in (where := self.where(group, rank))
        }
        # who has not answered counts as behind
        return "; ".join(f"rank {rank} {where}" for rank, where in sorted((behind or awaited).items()))

    def where(self, group: "Group", rank: int) -> str:
        """Return in words where a rank is, as it has answered."""
        place, call = self.places.get((group.ident, group.seats[rank])), group.made.call
        if place is None:
            return "does not answer"
        if place.others:
            other = place.others[0]
            return f"is in call {other.call} of another communicator, {other.text}"
        if place.is_inside:
            return f"is in call {place.call}, {_AS_WELL if place.call == call else place.text}"
        after = f"after call {place.call}, {place.text}" if place.call else "and has made none"
        return f"is in no call for {place.seconds:.1f} s, {after}"


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        raise FrameError("words that are none") from None


def _arcs(said: Any, size: int) -> list[Arc]:
    """Return arcs that a rank tells of. Raises FrameError for words that tell of none."""
    try:
        # what comes is not trusted: every field is checked
        arcs = [Arc(int(a), int(b), int(c), str(d), list(e)) for a, b, c, d, e in said]
    except (ValueError, TypeError):
        raise FrameError("calls that are none") from None
    if not all(type(seat) is int and 0 <= seat < size for arc in arcs for seat in (arc.seat, *arc.awaits)):
        raise FrameError("a rank that is none waits")
    return arcs


def _read(body: bytes, size: int) -> Whereabouts:
    """Return the place that an answer tells of. Raises FrameError for bytes that tell of none."""
    try:
        call, is_inside, seconds, text, awaits, others, arcs = _json(body)
        asks, *lists = (_arcs(each, size) for each in ([[0, 0, 0, "", awaits]], others, arcs))
        return Whereabouts(int(call), bool(is_inside), float(seconds), str(text), asks[0].awaits, *lists)
    except (ValueError, TypeError):
        raise FrameError("a place where no rank is") from None


def _circle(arcs: Mapping[int, Arc], start: int) -> list[Arc]:
    """Return the ranks that wait for one another in turn, from one on; none where there are none.

    >>> one, two = Arc(0, 1, 7, "a", [2]), Arc(2, 0, 3, "b", [0])
    >>> _circle({0: one, 2: two}, 0) == [one, two], _circle({0: one, 2: two._replace(awaits=[])}, 0)
    (True, [])
    """
    ways: list[list[Arc]] = [[arcs[start]]]
    seen = set[int]()
    while ways:
        way = ways.pop()
        for seat in way[-1].awaits:
            if seat == start:
                return way
            if seat in arcs and seat not in seen:  # a seat is looked at once: circles are found, and it ends
                seen.add(seat)
                ways.append([*way, arcs[seat]])
    return []


def _tell(circle: list[Arc]) -> str:
    said = [f"rank {arc.seat} is in call {arc.call} of communicator {arc.group}, {arc.text}" for arc in circle]
    return f"{', '.join(said)}: {name_ranks([arc.seat for arc in circle])} wait for one another"
