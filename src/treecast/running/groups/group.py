"""Ranks that make calls together over a transport: their messages, and the one outcome of each call."""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from threading import Lock
from typing import Any

from treecast.errors import PlanError
from treecast.running.groups.agreement import Agreement, Broken
from treecast.running.groups.members import bits_of, name_ranks, ranks_of
from treecast.running.groups.memory import Blocks, CallMemory, Kept, scratch
from treecast.running.groups.pace import keep_pace
from treecast.running.groups.record import Made, Past
from treecast.running.groups.shape import Shape, judge, judge_alone
from treecast.running.groups.states import Action, Decision, Need
from treecast.running.groups.terms import Carrier, Terms
from treecast.running.groups.unlike import COMPARED, Unlike
from treecast.running.groups.waiting import Waiting
from treecast.running.groups.ways import WIDE, LivingGraph, ways_of
from treecast.running.groups.words import NO_WORDS, Words
from treecast.running.transport.base import SMALL, FrameError, FrameKind, Key, Piece, Steps, Ticket, Transport
from treecast.running.transport.marks import PARTS
from treecast.running.transport.together import Together

_USUAL, _OWN = Terms(), Carrier()
_STAGES, _FETCHES = 4, 1 << 15  # of an instance, whose messages have keys of their own; from there on of fetched data


class Group:
    """Ranks that make calls together, numbered from 0; ``seats[r]`` is rank r of the transport.

    All ranks make the same calls in the same order. ``agreement``: who lives, and the decisions. ``turn``: is held in a call.
    ``overdue``: who came so late that it counts as silent. ``together``: calls on little data that the transport has for all
    ranks at once; used until a call has not ended at once, of which all know alike. ``is_wide``: each has connections to few.
    ``lacks``: whose data is lacking here. ``told``: the last call of which the others know that this rank has begun it.
    ``passed``: calls that have gone past the group, and are not noted yet.
    ``copies``: of the data that this call has brought, for those that may lack it, where an algorithm has them.

    Examples
    --------
    >>> group = Group(transport, range(transport.size), terms=Terms(survive=1))  # doctest: +SKIP
    >>> failed = carry_out(broadcast(group, piece, root=0), transport.wait)  # doctest: +SKIP
    """

    def __init__(
        self,
        transport: Transport,
        seats: Iterable[int],
        ident: int = 0,
        terms: Terms = _USUAL,
        carrier: Carrier = _OWN,
        *,
        waiting: Waiting | None = None,
    ) -> None:
        self.transport, self.seats, self.ident, self.terms = transport, list(seats), ident, terms
        self.carrier, self.rank, self.size = carrier, self.seats.index(transport.rank), len(self.seats)
        self.is_wide = carrier.is_wide and self.size > WIDE  # up to so many ranks each has a connection to all
        self.rank_at = {seat: rank for rank, seat in enumerate(self.seats)}
        self.agreement = Agreement(
            self.rank, self.size, self._say, lambda rank: transport.shut(self.seats[rank]), self.ways
        )
        self.waiting, self.made = Waiting(transport) if waiting is None else waiting, Made(ident, 0)
        self.unlike = Unlike(ident, self.agreement, transport, self._say, self.waiting.record, alone=carrier.alone)
        self.waiting.groups[ident] = self
        self.instance, self.began = 0, list(range(self.size))
        self.turn, self.overdue = Lock(), set[int]()
        self.together: Together | None = None
        self._held, self._places = dict[int, Piece](), dict[int, Piece]()  # what is here, where it goes
        self._wants, self.lacks = list[tuple[Key, int, Piece, Ticket]](), set[int]()
        self._tickets = list[tuple[int, Ticket]]()  # sends that somebody still has to take
        self._kept: dict[int, Kept] = {}  # by call, for ranks that ask after it has ended
        self.copies: Kept | None = None
        self._fetched, self._done, self.told = 0, 0, 0
        self.passed, self._past_kept = deque[Past](), dict[int, tuple[Any, ...]]()
        self.memory = CallMemory()

    @property
    def peers(self) -> list[int]:
        """The other members."""
        return [rank for rank in self.agreement.members if rank != self.rank]

    def ways(self, living: Sequence[int]) -> LivingGraph:
        """Return the ways among ranks that live."""
        return ways_of(tuple(living), self.size, self.terms.survive, self.is_wide)

    def lose(self, seat: int, proof: bool, why: str = "") -> None:
        """Learn that a rank of the transport is lost."""
        if seat in self.rank_at:
            self.agreement.lose(self.rank_at[seat], proof)

    def hear(self, seat: int, key: Key, body: bytes) -> None:
        """Hear a frame of control. Raises FrameError for one that makes no sense."""
        if seat not in self.rank_at or key.about >= self.size:
            raise FrameError("a frame of, or about, who is not in the group")
        self.catch_up()
        source = self.rank_at[seat]
        if key.kind == FrameKind.FETCH:
            if source in self.agreement.others() and not self.unlike.is_found(key.call // PARTS):  # else all leave it
                self._give_kept(source, key)
        elif key.kind == FrameKind.UNLIKE:
            self.unlike.hear(source, key, body)
        else:
            if key.kind == FrameKind.STATE and key.call <= self.agreement.all_ended:
                self.unlike.find(key.call // PARTS)  # its calls of all ranks at once met others than those of this one
            self.agreement.hear(source, key, body)
            if key.kind == FrameKind.BYE and self._done != self.agreement.number:
                self.agreement.miss()  # between calls nobody is: its other groups may still have data under way
            if key.kind == FrameKind.ENDED:
                self.unlike.hear_last(source, body)
                if key.stage:
                    self.agreement.leaving.add(source)
                    self.say_ended(source, self._done)

    def behind(self) -> set[int]:
        """Return who may still ask this rank about its last call; who leaves itself does not."""
        self.catch_up()
        agreement = self.agreement
        late = {rank for rank in agreement.others() if agreement.end_of(rank) < min(agreement.number, agreement.final)}
        return set() if agreement.is_out else late - agreement.leaving

    def say_leaving(self, ranks: Iterable[int]) -> None:
        """Tell ranks that this one makes no further calls, and ask how far they are."""
        self.catch_up()
        for rank in ranks:
            self.say_ended(rank, self._done, 1)

    def say_ended(self, to: int, number: int, stage: int = 0) -> None:
        """Say up to which call this rank has come, and the digests of its last ones."""
        self._say(to, Key(FrameKind.ENDED, number, stage), self.unlike.said)

    def _say(self, to: int, key: Key, body: bytes) -> None:
        self.transport.send(self.seats[to], key._replace(group=self.ident), body)

    def _give_kept(self, to: int, key: Key) -> None:
        here = self._held if key.call == self.agreement.number else {}  # of an earlier one they are the program's
        piece = self._kept.get(key.call, here).get(key.about, b"")
        ticket = self.transport.send(self.seats[to], key._replace(kind=FrameKind.DATA), piece)  # nothing kept: a void
        if not ticket.over:
            self._tickets.append((to, ticket))

    def begin(self, words: Words = NO_WORDS, part: int = 0) -> Steps[None]:
        """Begin a call of the program, of these words, or another part of it. Raises as ``Agreement.until``."""
        self.catch_up()
        agreement = self.agreement
        agreement.is_broken = False
        agreement.check_in()
        self.memory.begin(not (self._tickets or self._wants) and self.began == agreement.members)
        agreement.begin(part)
        self.instance, self.began = -1, list(agreement.members)  # `restart` makes it 0
        self.restart()
        number = agreement.number
        if not part:
            self.made = self.waiting.record.begin(self.ident, number // PARTS, words)
            if self.made.call % COMPARED == 0 and self.goes_together(0) is not None:
                yield from self._compare()
        self.unlike.begin(self.made, words.is_wrong)
        if words.is_wrong and self.together is not None:
            self.together.end()  # the others may wait in one for this rank, which knows no lengths
        if self.carrier.alone:
            return
        yield from keep_pace(self, part)

    def _compare(self) -> Steps[None]:
        """Compare the last calls with those of all others: data that goes together has no digest with it."""
        together, mine = self.together, self.unlike.digests.tobytes()
        whole = scratch(len(mine) * self.size)
        ticket = Ticket() if together is None else together.allgather(mine, whole, [len(mine)] * self.size)
        yield from self.agreement.until(lambda: ticket.over)
        if not ticket.lost:
            self.hear_all(self.agreement.number - 1, bytes(whole))

    def hear_all(self, number: int, digests: bytes) -> None:
        """Hear the digests of the last calls of all others, who have come up to a number, too."""
        self.agreement.all_ended, self.told = number, number
        self.unlike.compare(self.unlike.last, digests)

    def restart(self) -> None:
        """Begin an instance of the call."""
        self.instance += 1
        self._kept.pop(self.agreement.number, None)  # a part of it has ended at all that live
        self.clear()  # keys have another stage now: messages of the last try are not taken for these

    def clear(self) -> None:
        """Begin a part of the call: nothing is held or lacked yet."""
        self._held, self._places, self.lacks, self.copies = {}, {}, set[int](), None

    def _key(self, stage: int, about: int) -> Key:
        return Key(FrameKind.DATA, self.agreement.number, self.instance * _STAGES + stage, about, 0, self.ident)

    def hold(self, about: int, piece: Piece) -> None:
        """Have the data of a rank, to give it to who lacks it."""
        self._places[about] = self._held[about] = piece

    def want(self, source: int, about: int, place: Piece, stage: int = 0) -> None:
        """Await the data of a rank from a rank."""
        self._places[about] = place
        self.lacks.add(about)
        self._ask_for(source, self._key(stage, about), place)

    def _ask_for(self, source: int, key: Key, place: Piece) -> None:
        self._wants.append((key, source, place, self.transport.receive(self.seats[source], key, place)))

    def lack(self, about: int, place: Piece | None = None) -> None:
        """Lack data that nobody sends by itself; ``place`` is where it goes when somebody gives it."""
        self.lacks.add(about)
        if place is not None:
            self._places[about] = place

    def give(self, to: int, about: int, piece: Piece, stage: int = 0) -> None:
        """Send the data of a rank to a rank; no bytes tell it that there is none."""
        if to in self.agreement.lost:  # who is shut takes nothing
            return
        is_long = len(piece) > SMALL  # then all tell at the end of the call that they have it
        ticket = self.transport.send(self.seats[to], self._key(stage, about), piece, is_long)
        if not ticket.over:
            self._tickets.append((to, ticket))

    def exchanged(self) -> Steps[set[int]]:
        """Wait until all that is awaited is there, or cannot come, and gone that is not lent; return whose data is missing.

        Has all leave the call when a message of another length than its place has come.
        """
        wants = self._wants
        yield from self.agreement.until(lambda: all(want[-1].over for want in wants) and not self._takers())
        for key, source, place, ticket in wants:
            if not ticket.lost:
                self.agreement.note_end(source, self.agreement.number - 1)
            if not ticket.lost and ticket.length == len(place):
                self._held[key.about] = place
                self.lacks.discard(key.about)
            elif ticket.length:
                self.unlike.begin(self.made, is_wrong=True)
                come = f"{ticket.length:,} bytes come from rank {source} where {len(place):,} are received"
                raise Broken(PlanError(f"rank {self.rank}: {come}"))
        wants.clear()
        self._tickets = [each for each in self._tickets if not each[1].over]
        return set(self.lacks)

    def _takers(self) -> set[int]:
        """Return the ranks that still have to take messages that were sent to them, beside those that are lent."""
        return {taker for taker, ticket in self._tickets if not ticket.over and ticket.lent is None}

    def end_at_once(self, past: Past, kept: tuple[Any, ...], all_took_part: bool) -> None:
        """End a call that has gone past this group, and left nothing lacking here.

        ``kept``: of ``Blocks``, for who lacks it; of each part of the call.
        ``all_took_part``: nobody could end the call before all had begun it, so nobody asks for an earlier one. It is noted when
        it matters to somebody: most such calls follow one another.
        """
        agreement, number = self.agreement, PARTS * past[0]
        if all_took_part:
            agreement.all_ended = agreement.number
            self._past_kept.clear()
        self._past_kept[number] = kept
        self.passed.append(past)
        agreement.number = number + len(kept) - 1
        if agreement.states or self.unlike.is_pressing:
            self.catch_up()

    def catch_up(self) -> None:
        """Note the calls that have gone past this group."""
        agreement, unlike = self.agreement, self.unlike
        if self.carrier.alone and (now := unlike.now) is not None:
            agreement.number = PARTS * now[1]
        if not self.passed:
            return
        unlike.note_past(self.passed, self.made)
        kept = {first + part: of for first, parts in self._past_kept.items() for part, of in enumerate(parts)}
        self._past_kept.clear()
        self._done = max(PARTS * unlike.last, *kept, 0)
        agreement.number = max(agreement.number, self._done)
        self.forget()
        for number, blocks in kept.items():
            self._kept[number] = Blocks(*blocks)
            self.transport.marks.set(self.ident, number // PARTS, unlike.digests[number // PARTS % len(unlike.digests)])
        if kept:
            agreement.end_early(kept)

    def forget(self) -> None:
        """Forget calls that nobody can ask for any more."""
        last = self.agreement.forget()
        self._kept = {call: kept for call, kept in self._kept.items() if call > last}

    def goes_together(self, count: int) -> Together | None:
        """Return the calls that bring so many bytes to all ranks at once, None for none; the same at all that know the count."""
        # a deadline could not end such a call
        return self.together if self.terms.deadline is None and count <= SMALL else None

    def came(self, ticket: Ticket, places: Mapping[int, Piece]) -> Steps[bool]:
        """Wait for data that comes to some places at once; if it does not, it is lacking. Return whether it came."""
        yield from self.agreement.until(lambda: ticket.over)
        self._places.update(places)
        if ticket.lost:
            self.lacks.update(places)
        else:
            self._held.update(places)
        return not ticket.lost

    def awaited(self) -> set[int]:
        """Return the ranks for which this one waits; in a call that goes past this group, who has not said that it is there."""
        sources = {source for _, source, _, ticket in self._wants if not ticket.over}
        others = self.agreement.others() if self.unlike.now is not None else ()
        sources |= {rank for rank in others if not self.waiting.is_there(self, rank)}
        return sources | self._takers() | self.agreement.awaited() | self.unlike.awaited()

    def fetch(self, givers: Mapping[int, int]) -> Steps[None]:
        """Ask ranks for data that they have, and wait until it is there, or they have ended."""
        for about, giver in givers.items():
            # a new key for each fetch: an answer that comes late to an earlier one is not taken for it
            self._fetched = (self._fetched + 1) % _FETCHES
            key = Key(FrameKind.DATA, self.agreement.number, _FETCHES + self._fetched, about, 0, self.ident)
            self._ask_for(giver, key, self._places[about])
            self.transport.send(self.seats[giver], key._replace(kind=FrameKind.FETCH), b"")
        if givers:
            self._note("fetched", f"the data of {name_ranks(givers)}", givers.values())
        yield from self.exchanged()

    def settle(self, shape: Shape, *, asks: bool = False) -> Steps[tuple[int, ...] | None]:
        """End a call, or an instance of it, by its one outcome: return the failed ranks whose data is missing somewhere.

        ``asks``: whether others may have ended it in another way.
        They are the same at all that live; None when the call begins anew. Raises DeliveryError when data of a living rank is
        missing, or the one source has failed, or more than ``survive``; else as ``Agreement.until``.
        """
        agreement = self.agreement
        if self.carrier.alone:  # 1. Nobody else decides.
            return judge_alone(shape, self)
        small = shape.spread and (not shape.redo or shape.target is None) and not self.terms.sure
        small = small and sum(map(len, self._places.values())) <= SMALL  # what is kept for others is a copy
        if small and not (self.lacks or self.instance) and agreement.is_whole():  # 2. Who has all ends at once.
            self._keep()
            agreement.end_early([agreement.number])
            return judge(shape, Decision(Action.DONE), self)
        has = self._held if shape.spread else ()  # 3. Else all decide together.

        def need() -> Need:
            return Need(bits_of(self.lacks), bits_of(has), asks)

        while True:  # one decision an instance
            made = yield from agreement.settle(self.instance, need, shape.redo, self.fetch)
            if self.together is not None and (made.action != Action.DONE or made.out):
                self.together.end()  # as all find, in this call
                self.together = None
            if made.out or made.missing:
                sets = {"out": made.out, "without data": made.missing}
                said = [f"{name_ranks(ranks_of(bits))} {how}" for how, bits in sets.items() if bits]
                self._note("decided", f"{shape.name}: {', '.join(said)}", ranks_of(made.out))
            if made.action == Action.REDO:
                self._note("redone", f"{shape.name} begins anew without the dead")
                return None
            if made.action == Action.DONE:
                break
            self.instance += 1  # fetched data may be lacking again, if its giver dies
            yield from self.fetch(self._givers(made))
        if small:  # 4. The outcome is known: free what was sent.
            self._keep()
        yield from agreement.until(lambda: not self._takers())
        self._take_back(True)  # all that live have read what was lent
        self._tickets.clear()
        return judge(shape, made, self)

    def _note(self, name: str, text: str, ranks: Iterable[int] = ()) -> None:
        self.transport.events.tell(name, text, self.ident, self.made.call, tuple(ranks))

    def _keep(self) -> None:
        if self.copies is None:
            self.copies = {about: bytes(piece) for about, piece in self._held.items()}
        self._kept[self.agreement.number] = self.copies

    def _givers(self, made: Decision) -> dict[int, int]:
        """Return from whom this rank fetches the data that it lacks; the givers take turns."""
        givers, near, others = dict[int, int](), self.agreement.near(), self.agreement.others()
        for about in sorted(self.lacks):
            holders = made.holders(about)
            some = next(filter(None, ([r for r in ranks if holders >> r & 1] for ranks in (near, others))), None)
            if some:
                givers[about] = some[(self.rank + about) % len(some)]  # near ranks first, and not all from the same one
        return givers

    def _take_back(self, is_read: bool) -> None:
        for _, ticket in self._tickets:
            if ticket.lent is not None and not ticket.over:
                ticket.lent(is_read)

    def end(self) -> None:
        """End a call, or a part of one."""
        self._done = self.agreement.number
        self._take_back(False)  # after an error others may not have read all
        self.unlike.is_inside = False
        self.waiting.record.end(self.made)

    def leave(self) -> None:
        """Leave a call in which ranks make unlike calls: nothing of it touches memory any more."""
        for key, source, _, ticket in self._wants:
            if not ticket.over:
                self.transport.cancel(self.seats[source], key)
        self._wants.clear()
        self._take_back(False)
        self.transport.forget(self.agreement.number + 1, self.ident)
        self._tickets.clear()
