"""One outcome of each call at all ranks that live: events in, frames out, and no clock.

A rank that has everything returns at once (``end_early``). Else it says so to the first member, which answers all; where there
are many, up a tree, and down again. A rank's *view* is who has ended, and which pairs do not hear each other, as far as it knows;
it only grows. States have the view of their sender. The first decides when all that are left by a view have said theirs in it,
from these states alone; who learns more begins anew. Whoever has decided answers those who still ask, and is in no later view.
An end of a connection proves a death; silence breaks a pair, of which one has to go, and needs a majority.

So if two ranks return from a call, and neither has put the other out, they return the same. No clock is used for that: a wrong
suspicion costs a member, not agreement. That a decision is known to its maker alone does not matter for that. But until
enough have entered a later call with it, a majority has to be one of the members before it as well, or two parts could go
on. Sources: lazy reliable broadcast; early-deciding flooding consensus; the early-returning agreement of ULFM (Herault et
al., SC 2015); majorities of the present members (Jajodia, Mutchler 1990).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf

from treecast.errors import Evicted
from treecast.running.groups import members as sets
from treecast.running.groups.members import Pair, bits_of, ranks_of
from treecast.running.groups.states import (
    Action,
    Decision,
    Need,
    State,
    View,
    join,
    pack_decision,
    pack_state,
    read_decision,
    read_state,
)
from treecast.running.groups.ways import LivingGraph
from treecast.running.transport.base import FrameKind, Key, Steps, Until
from treecast.running.transport.marks import PARTS

_HERE, _ALL = range(2)  # the stages of a state: that its sender awaits others, and of all under it
_WHOLE: View = 0, ()


class Broken(Exception):  # noqa: N818
    """Ends the steps of a call that all leave: ranks make unlike ones, or find that theirs is wrong, or have revoked it."""


Say = Callable[[int, Key, bytes], None]
"""Sends a frame of control to a rank."""

Among = Callable[[Sequence[int]], LivingGraph]
"""The ways among ranks that live."""

Fetch = Callable[[Mapping[int, int]], Steps[None]]
"""Brings data of ranks, each from a rank that has it, as far as it comes."""


class Agreement:
    """The knowledge of a rank of the others, and how it comes to decisions.

    ``say`` sends a frame; ``shut`` has nothing more taken from a rank; ``ways`` gives the tree among some ranks.
    ``members``: who takes part, the same list at all. ``dead``: proved ends. ``pairs``: who does not hear whom. ``lost``:
    from whom this rank awaits nothing; ``silent``: those of them who fell silent, or were put out, before they ended.
    ``number``: of the call. ``log``: the decisions that others may ask for. ``ended``: up to which call each rank has come;
    ``all_ended``: up to which all have, as a call of all at once has shown. ``is_out``: the others go on without this rank.
    ``leaving``: who makes no further calls. ``is_broken``: ranks make unlike calls, and leave this one.
    ``guarded``: deaths need a majority too. ``final``: the last call that all make, where some rank has revoked those after it.
    """

    def __init__(self, rank: int, size: int, say: Say, shut: Callable[[int], None], ways: Among) -> None:
        self.rank, self.size, self._say, self._shut, self._ways = rank, size, say, shut, ways
        self.members = list(range(size))
        self.dead, self.pairs, self.lost, self.silent = set[int](), set[Pair](), set[int](), set[int]()
        self.number, self.is_out, self.is_broken, self.guarded = 0, False, False, False
        self.final = inf
        self._bases: list[tuple[int, list[int]]] = []  # by call: members of whom some may have decided otherwise
        self.log: dict[tuple[int, int], Decision] = {}
        self._all_have = Decision(Action.DONE)  # one object: most calls end so
        self.ended, self.byes, self.all_ended = dict[int, int](), dict[int, int](), 0
        self._awaited, self._instance, self.leaving = set[int](), 0, set[int]()
        # to whom this rank has not said yet that it is at the end of the call
        self._here: tuple[State, list[int]] | None = None
        # By source, call, instance and stage; a decision has no stage. Those of later calls wait here for this rank.
        self.states: dict[tuple[int, int, int, int], State] = {}
        self._decisions: dict[tuple[int, int, int], Decision] = {}

    def others(self) -> list[int]:
        """Return the other members of which something may come, from the next rank on."""
        here = self.members.index(self.rank)  # from the next rank on, so that not all speak to the same one first
        return [rank for rank in self.members[here + 1 :] + self.members[:here] if rank not in self.lost]

    def begin(self, part: int = 0) -> None:
        """Begin the next call of the program, or another part of it. Raises as ``check_in``."""
        self.number, self.is_broken = self.number + 1 if part else self.next(), False  # a part follows its call at once
        self.check_in()
        self._awaited, self._here = set[int](), None
        self.miss()
        if self.states or self._decisions:
            self.states = {key: state for key, state in self.states.items() if key[1] >= self.number}
            self._decisions = {key: made for key, made in self._decisions.items() if key[1] >= self.number}

    def miss(self) -> None:
        """Learn that those who have left before this call are missing in it."""
        for rank, last in self.byes.items():
            if last < self.number:  # it left before this call, so it will never enter it
                self.lose(rank, True)

    def next(self) -> int:
        """Return the number of the next call of the program."""
        return (self.number // PARTS + 1) * PARTS

    def lose(self, rank: int, proof: bool) -> None:
        """Learn that a rank has ended, which is a proof, or is silent."""
        if proof:
            self.dead.add(rank)
        elif rank in self.members and rank not in self.lost:
            self.pairs.add((min(rank, self.rank), max(rank, self.rank)))  # the lower rank first: one name for a pair
        if rank not in self.lost:
            # First: the transport tells of the shut rank once more, and that is no silence.
            self.lost.add(rank)
            if not proof:
                self.silent.add(rank)
            self._shut(rank)

    def hear(self, source: int, key: Key, body: bytes) -> None:
        """Hear a frame of another rank. Raises FrameError for one that makes no sense."""
        kind, call = key.kind, key.call
        if self.is_out:
            return
        # From anybody: who has put this rank out may be out here.
        if kind == FrameKind.FENCE:
            self.leave()
        elif source not in self.members:
            # It does not know that it is out, and would wait for ever.
            self._say(source, Key(FrameKind.FENCE), b"")
        elif source in self.lost:
            return
        elif kind == FrameKind.STATE:
            # Who is at the end of this call has ended the one before.
            self.note_end(source, call - 1)
            if (call, key.instance) in self.log:  # it asks about a call that has ended here: answer at once
                self._tell(source, call, key.instance)
            elif call >= self.number:  # of this call, or of one that this rank has not begun
                self.states[source, call, key.instance, key.stage] = read_state(body, self.size)
        elif kind == FrameKind.DECIDED and call >= self.number:
            self._decisions[source, call, key.instance] = read_decision(body, self.size)
        elif kind in (FrameKind.ENDED, FrameKind.REVOKED):
            self.note_end(source, call)
            # of several, the earliest call counts for all
            self.final = min(self.final, call) if kind == FrameKind.REVOKED else self.final
        elif kind == FrameKind.LEFT:
            self.silent.add(source)  # it says so itself: no pair is broken
            self.lose(source, True)
        elif kind == FrameKind.BYE:
            self.byes[source] = call
            self.note_end(source, call)

    def note_end(self, rank: int, call: int) -> None:
        """Learn that a rank has ended a call, and that this one was a member for it afterwards."""
        self.ended[rank] = max(self.ended.get(rank, 0), call)

    def end_of(self, rank: int) -> int:
        """Return up to which call a rank has come, as far as is known."""
        return max(self.ended.get(rank, 0), self.all_ended)

    def left_early(self) -> dict[int, int]:
        """Return the members that have left after fewer calls than this rank, and after how many; nobody has missed them.

        Who was put out made fewer calls by right, and who is out itself does not know who else is.
        """
        said, number = {**{rank: self.end_of(rank) for rank in self.leaving}, **self.byes}, min(self.number, self.final)
        stayed = [] if self.is_out else [rank for rank in self.members if rank not in self.silent]
        return {rank: said[rank] // PARTS for rank in stayed if said.get(rank, number) < number}

    def admit(self, ranks: Iterable[int]) -> None:
        """Take ranks in from the next call on; all members do so in the same call."""
        for rank in ranks:
            self.dead.discard(rank)
            self.lost.discard(rank)
            self.silent.discard(rank)
            self.byes.pop(rank, None)  # a newcomer has said no farewell
            self.ended[rank] = self.number
        self.members = sorted({*self.members, *ranks})
        self.guarded = True

    def join(self, members: Iterable[int], number: int) -> None:
        """Be taken in by these members, who have ended so many calls."""
        self.members, self.number, self.guarded = sorted(members), number, True
        self.ended = dict.fromkeys(self.members, number)
        self.lost |= set(range(self.size)) - set(self.members)  # who is no member was lost before this rank came

    def leave(self) -> None:
        """Take no further part: the others go on without this rank."""
        if not self.is_out:
            self.is_out = True
            for rank in self.members:  # also to those that this rank does not hear: they may wait for it
                if rank != self.rank:
                    self._say(rank, Key(FrameKind.LEFT), b"")

    def forget(self) -> int:
        """Drop the decisions that nobody can ask for any more; return the last call that all have ended."""
        # Nobody asks about a call that all others have ended.
        last = min(map(self.end_of, self.others()), default=self.number)
        self.log = {key: made for key, made in self.log.items() if key[0] > last}
        return last

    def until(self, condition: Until) -> Steps[None]:
        """Wait for a condition. Raises as ``check_in``."""
        yield lambda: self.is_out or self.is_broken or self.number > self.final or condition()
        self.check_in()

    def check_in(self) -> None:
        """Raise Evicted when the others have gone on without this rank, Broken when ranks make unlike calls, or it is revoked."""
        if self.is_out:
            raise Evicted(f"rank {self.rank} is cut off: the other ranks have gone on without it")
        if self.is_broken or self.number > self.final:
            raise Broken

    def is_whole(self) -> bool:
        """Return whether no member is known to have ended, or not to hear another."""
        return not self.pairs and self.dead.isdisjoint(self.members)

    def end_early(self, calls: Iterable[int]) -> None:
        """Decide that the last calls are done, and nothing is missing: this rank has everything, and keeps it for who asks."""
        for call in calls:
            self.log[call, 0] = self._all_have  # 0: only the first instance ends early
            for rank in self._who_asked(call, 0) if self.states else ():
                self._tell(rank, call, 0)

    def settle(self, instance: int, need: Callable[[], Need], redo: bool, fetch: Fetch) -> Steps[Decision]:
        """Come to one decision with all that live: 2 (N - 1) frames while nothing fails.

        ``need``: the data that this rank lacks and has by now. ``redo``: the call begins anew when nobody has the data that
        somebody lacks. Raises Evicted when the others go on without this rank, or it is in the smaller part.
        """
        self._instance, made = instance, None
        # Each turn has a greater view, or a decision was told. Views are finite, so it ends.
        while made is None:
            self._awaited = set[int]()
            made = (yield from self._gather(need(), redo)) or (yield from self._adopt(need, fetch))
        self._awaited = set[int]()
        self._keep(made)
        return made

    def _gather(self, need: Need, redo: bool) -> Steps[Decision | None]:
        """Bring the states of all that are left, in one view of who is gone, down a tree to the first of them, which decides.

        Returns None elsewhere, and as soon as the view has grown, or somebody has told a decision.
        """
        mine = State(need.lacks, {need.has: 1 << self.rank}, *self._gone())
        rest = [rank for rank in self.members if not mine.dead >> rank & 1]
        # All compute it from one view, so all have the same ranks go.
        shut = sets.cover([pair for pair in mine.pairs if set(pair) <= set(rest)])
        left = [rank for rank in rest if rank not in shut]
        if self.rank in shut:
            # Its state tells the others which pair is broken.
            self._here = mine, [rank for rank in self.near() if rank not in shut] or self.others()
            self._say_here()
            yield from self.until(lambda: self._is_moved(mine) or shut.issuperset(self.others()))
            if not self._is_moved(mine):  # it hears nobody who may go on
                self.leave()
                self.check_in()  # raises Evicted
            return None
        ways, first = self._ways(left), left[0]
        below = ways.below(self.rank, first)
        self._here = mine, below
        if need.lacks or need.asks or mine.view != _WHOLE:  # some may have decided, or not know
            self._say_here()
        self._awaited = set(below)
        yield from self.until(lambda: self._is_moved(mine) or not self.awaited())
        if self._is_moved(mine):
            return None
        # its own state, and one for each subtree
        state = join([mine, *(self.states[rank, self.number, self._instance, _ALL] for rank in below)])
        if self.rank == first:
            return self._decide(state, left, rest, redo)
        self._awaited = {ways.above(self.rank, first)}
        self._say_state(self._awaited, _ALL, state)
        yield from self.until(lambda: self._is_moved(mine))
        return None

    def near(self) -> list[int]:
        """Return the other members of which something may come, and to which this rank has a connection in any case."""
        # in a wide group only neighbours surely have a connection
        return [rank for rank in self._ways(self.members).neighbours(self.rank) if rank not in self.lost]

    def ask_all(self) -> bool:
        """Say to those whose states this rank awaits that it is in the call, as somebody is late; return whether that is new."""
        is_new = bool(self._awaited) and self._here is not None
        self._say_here()
        return is_new

    def _say_here(self) -> None:
        if self._here is not None:
            state, ranks = self._here
            self._say_state(ranks, _HERE, state)
            self._here = None

    def _say_state(self, ranks: Iterable[int], stage: int, state: State) -> None:
        said = pack_state(state, self.size)
        for rank in ranks:
            self._say(rank, Key(FrameKind.STATE, self.number, stage, instance=self._instance), said)

    def has_come(self, rank: int) -> bool:
        """Return whether a rank is known to be at the end of this call."""
        return any(key[:2] == (rank, self.number) for key in self.states)

    def awaited(self) -> set[int]:
        """Return the ranks whose state, or decision, this one waits for."""
        # states in an older view do not count
        here, view = (self.number, self._instance), self._gone() if self._awaited else _WHOLE
        told = {rank for rank in self._awaited if (rank, *here) in self._decisions}
        states = {rank: self.states.get((rank, *here, _ALL)) for rank in self._awaited - self.lost - told}
        return {rank for rank, state in states.items() if state is None or state.view != view}

    def _gone(self) -> View:
        return bits_of(self.dead.intersection(self.members)), tuple(sorted(self.pairs))

    def _is_moved(self, mine: State) -> bool:
        """Learn from states who has ended and who is silent; return whether that is new, or somebody has decided."""
        here = self.number, self._instance
        for state in [state for key, state in self.states.items() if key[1:3] == here]:
            # nobody believes in its own death
            for rank in set(ranks_of(state.dead)).intersection(self.members) - self.dead - {self.rank}:
                self.lose(rank, True)
            self.pairs.update(pair for pair in state.pairs if set(pair) <= set(self.members))
        # a word of somebody who is lost here decides nothing
        return self._gone() != mine.view or any(key[1:] == here and key[0] not in self.lost for key in self._decisions)

    def _decide(self, state: State, left: Sequence[int], rest: Sequence[int], redo: bool) -> Decision:
        """Return the decision from the states of all that are left of the rest, who have not died."""
        needs_majority = len(left) < len(rest) or (self.guarded and len(rest) < len(self.members))
        if needs_majority and not self._may_go_on(left, rest):
            self.leave()
        self.check_in()
        has = 0
        for bits in state.has:
            has |= bits
        # What somebody has is fetched; what nobody has is done anew, or stays missing.
        action = Action.AGAIN if state.lacks & has else Action.REDO if state.lacks and redo else Action.DONE
        return Decision(action, bits_of(set(self.members) - set(left)), state.lacks, state.has)

    def _may_go_on(self, left: Sequence[int], rest: Sequence[int]) -> bool:
        """Return whether a part is the greater one: of all members, also of those that are not in the rest, being dead.

        And of the members before an earlier decision, as long as so many of these may have decided otherwise that they could
        go on.
        """
        self._bases = [(call, members) for call, members in self._bases if self._may_differ(call, members)]
        return all(sets.may_go_on(left, members) for members in (self.members, *(base for _, base in self._bases)))

    def _may_differ(self, call: int, members: Sequence[int]) -> bool:
        """Return whether those of whom nothing later has come could have gone on by themselves after a call."""
        other = [rank for rank in members if rank != self.rank and self.end_of(rank) < call]
        return sets.may_go_on(other, members)

    def _adopt(self, need: Callable[[], Need], fetch: Fetch) -> Steps[Decision | None]:
        """Take over the decision of one who has decided already, with the data that this rank lacks for it."""
        for (rank, *here), made in list(self._decisions.items()):
            if here != [self.number, self._instance] or rank in self.lost:
                continue  # of another call or instance, or from one whose words no longer count
            if made.out >> self.rank & 1:
                self.leave()
                self.check_in()
            lacks = need().lacks & ~made.missing
            if made.action == Action.DONE and lacks:
                # The decider returned with data that this rank lacks: DONE holds here only with the same data.
                yield from fetch(dict.fromkeys(ranks_of(lacks), rank))
                if need().lacks & ~made.missing:
                    return None  # it has ended since
            return made
        return None

    def _keep(self, made: Decision) -> None:
        """Keep a decision for those who ask, or have asked already, and go on without those who are out."""
        self.log[self.number, self._instance] = made
        for rank in self._who_asked(self.number, self._instance):
            self._tell(rank, self.number, self._instance)
        out = ranks_of(made.out)
        if out:
            near = self._ways(self.members).neighbours(self.rank)
            if not self.dead.issuperset(out):  # a death is the same for all, and leaves no majority to others
                self._bases.append((self.number, self.members))
            self.members = [rank for rank in self.members if rank not in out]
            self.pairs = {pair for pair in self.pairs if set(pair) <= set(self.members)}
            for rank in out:
                if rank in near:
                    self._say(rank, Key(FrameKind.FENCE), b"")
                self._shut(rank)

    def _who_asked(self, call: int, instance: int) -> set[int]:
        """Return who has said its state in an instance of a call, and waits for an answer."""
        return {key[0] for key in self.states if key[1:3] == (call, instance)} - self.lost

    def _tell(self, rank: int, call: int, instance: int) -> None:
        made = pack_decision(self.log[call, instance], self.size)
        self._say(rank, Key(FrameKind.DECIDED, call, instance=instance), made)
