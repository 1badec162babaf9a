"""One outcome of each call at all ranks that live: events in, frames out, and no clock.

A rank that has everything returns at once (``end_early``). Else it says so to the first member, which answers all when all
have everything. When somebody lacks something, or has ended, all tell their states to all, stage by stage, until nobody has
heard of an end, or of a silence, that another had not. The decision follows from these states alone. Whoever has
decided answers those who still ask. An end of a connection proves a death; silence breaks a pair, of which one has to go,
and needs a majority.

So if two ranks return from a call, and neither has put the other out, they return the same. No clock is used for that: a wrong
suspicion costs a member, not agreement. That a decision is known to its maker alone does not matter for that. But until
enough have entered a later call with it, a majority has to be one of the members before it as well, or two parts could go
on. Sources: lazy reliable broadcast; early-deciding flooding consensus; the early-returning agreement of ULFM (Herault et
al., SC 2015); majorities of the present members (Jajodia, Mutchler 1990).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from treecast.errors import Evicted
from treecast.groups import members as sets
from treecast.groups.members import Pair, bits_of, ranks_of
from treecast.groups.states import (
    Action,
    Decision,
    Need,
    State,
    pack_decision,
    pack_state,
    read_decision,
    read_state,
)
from treecast.transport.base import Key, Kind, Steps, Until
from treecast.transport.marks import PARTS


class Broken(Exception):  # noqa: N818
    """Ends the steps of a call that all leave: in which ranks make unlike calls, or find that one of theirs is wrong."""


Say = Callable[[int, Key, bytes], None]
"""Sends a frame of control to a rank."""

Fetch = Callable[[Mapping[int, int]], Steps[None]]
"""Brings data of ranks, each from a rank that has it, as far as it comes."""


class Agreement:
    """The knowledge of a rank of the others, and how it comes to decisions.

    ``say`` sends a frame; ``shut`` has nothing more taken from a rank.
    ``members``: who takes part, the same list at all. ``dead``: proved ends. ``pairs``: who does not hear whom. ``lost``:
    from whom this rank awaits nothing; ``silent``: those of them who fell silent, or were put out, before they ended.
    ``number``: of the call. ``log``: the decisions that others may ask for. ``ended``: up to which call each rank has come;
    ``all_ended``: up to which all have, as a call of all at once has shown. ``is_out``: the others go on without this rank.
    ``leaving``: who makes no further calls. ``is_broken``: ranks make unlike calls, and leave this one.
    ``guarded``: deaths need a majority too.
    """

    def __init__(self, rank: int, size: int, say: Say, shut: Callable[[int], None]) -> None:
        self.rank, self.size, self._say, self._shut = rank, size, say, shut
        self.members = list(range(size))
        self.dead, self.pairs, self.lost, self.silent = set[int](), set[Pair](), set[int](), set[int]()
        self.number, self.is_out, self.is_broken, self.guarded = 0, False, False, False
        self._bases: list[tuple[int, list[int]]] = []  # by call: members of whom some may have decided otherwise
        self.log: dict[tuple[int, int], Decision] = {}
        self._all_have = Decision(Action.DONE, has=(0,) * size)
        self.ended, self.byes, self.all_ended = dict[int, int](), dict[int, int](), 0
        self._asked: tuple[list[int], int, int] = [], 0, 0
        self._asks_all, self.leaving = False, set[int]()
        self.states: dict[tuple[int, int, int, int], State] = {}
        self._decisions: dict[tuple[int, int, int], Decision] = {}

    def others(self) -> list[int]:
        """Return the other members of which something may come, from the next rank on."""
        here = self.members.index(self.rank)
        return [rank for rank in self.members[here + 1 :] + self.members[:here] if rank not in self.lost]

    def begin(self, part: int = 0) -> None:
        """Begin the next call of the program, or another part of it."""
        self.number, self.is_broken = self.number + 1 if part else self.next(), False
        self._asked = [], 0, 0
        self.miss()
        if self.states or self._decisions:
            self.states = {key: state for key, state in self.states.items() if key[1] >= self.number}
            self._decisions = {key: made for key, made in self._decisions.items() if key[1] >= self.number}

    def miss(self) -> None:
        """Learn that those who have left before this call are missing in it."""
        for rank, last in self.byes.items():
            if last < self.number:
                self.lose(rank, True)

    def next(self) -> int:
        """Return the number of the next call of the program."""
        return (self.number // PARTS + 1) * PARTS

    def lose(self, rank: int, proof: bool) -> None:
        """Learn that a rank has ended, which is a proof, or is silent."""
        if proof:
            self.dead.add(rank)
        elif rank in self.members and rank not in self.lost:
            self.pairs.add((min(rank, self.rank), max(rank, self.rank)))
        if rank not in self.lost:
            self.lost.add(rank)
            if not proof:
                self.silent.add(rank)
            self._shut(rank)

    def hear(self, source: int, key: Key, body: bytes) -> None:
        """Hear a frame of another rank. Raises FrameError for one that makes no sense."""
        kind, call = key.kind, key.call
        if self.is_out:
            return
        if kind == Kind.FENCE:
            self.leave()
        elif source not in self.members:
            self._say(source, Key(Kind.FENCE), b"")
        elif source in self.lost:
            return
        elif kind == Kind.STATE:
            self.note_end(source, call - 1)
            if (call, key.instance) in self.log:
                self._tell(source, call, key.instance)
            elif call >= self.number:
                self.states[source, call, key.instance, key.stage] = read_state(body, self.size)
        elif kind == Kind.DECIDED and call >= self.number:
            self._decisions[source, call, key.instance] = read_decision(body, self.size)
        elif kind == Kind.ENDED:
            self.note_end(source, call)
        elif kind == Kind.LEFT:
            self.silent.add(source)
            self.lose(source, True)
        elif kind == Kind.BYE:
            self.byes[source] = call
            self.note_end(source, call)

    def note_end(self, rank: int, call: int) -> None:
        """Learn that a rank has ended a call, and that this one was a member for it afterwards."""
        self.ended[rank] = max(self.ended.get(rank, 0), call)

    def end_of(self, rank: int) -> int:
        """Return up to which call a rank has come, as far as is known."""
        return max(self.ended.get(rank, 0), self.all_ended)

    def left_early(self) -> dict[int, int]:
        """Return the members that have left after fewer calls than this rank, and after how many; nobody has missed them."""
        said = {**{rank: self.end_of(rank) for rank in self.leaving}, **self.byes}
        return {rank: said[rank] // PARTS for rank in self.members if said.get(rank, self.number) < self.number}

    def admit(self, ranks: Iterable[int]) -> None:
        """Take ranks in from the next call on; all members do so in the same call."""
        for rank in ranks:
            self.dead.discard(rank)
            self.lost.discard(rank)
            self.silent.discard(rank)
            self.byes.pop(rank, None)
            self.ended[rank] = self.number
        self.members = sorted({*self.members, *ranks})
        self.guarded = True

    def join(self, members: Iterable[int], number: int) -> None:
        """Be taken in by these members, who have ended so many calls."""
        self.members, self.number, self.guarded = sorted(members), number, True
        self.ended = dict.fromkeys(self.members, number)
        self.lost |= set(range(self.size)) - set(self.members)

    def leave(self) -> None:
        """Take no further part: the others go on without this rank."""
        if not self.is_out:
            self.is_out = True
            for rank in self.members:  # also to those that this rank does not hear: they may wait for it
                if rank != self.rank:
                    self._say(rank, Key(Kind.LEFT), b"")

    def forget(self) -> int:
        """Drop the decisions that nobody can ask for any more; return the last call that all have ended."""
        last = min(map(self.end_of, self.others()), default=self.number)
        self.log = {key: made for key, made in self.log.items() if key[0] > last}
        return last

    def until(self, condition: Until) -> Steps[None]:
        """Wait for a condition. Raises as ``check_in``."""
        yield lambda: self.is_out or self.is_broken or condition()
        self.check_in()

    def check_in(self) -> None:
        """Raise Evicted when the others have gone on without this rank, Broken when ranks make unlike calls."""
        if self.is_out:
            raise Evicted(f"rank {self.rank} is cut off: the other ranks have gone on without it")
        if self.is_broken:
            raise Broken

    def is_whole(self) -> bool:
        """Return whether no member is known to have ended, or not to hear another."""
        return not self.pairs and self.dead.isdisjoint(self.members)

    def end_early(self, calls: Iterable[int]) -> None:
        """Decide that the last calls are done, and nothing is missing: this rank has everything, and keeps it for who asks."""
        for call in calls:
            self.log[call, 0] = self._all_have
        for rank in self._who_asked(0, 0) if self.states else ():
            self._tell(rank, self.number, 0)

    def settle(self, instance: int, need: Callable[[], Need], redo: bool, fetch: Fetch) -> Steps[Decision]:
        """Come to one decision with all that live.

        ``need``: the data that this rank lacks and has by now. ``redo``: the call begins anew when nobody has the data that
        somebody lacks. Raises Evicted when the others go on without this rank, or it is in the smaller part.
        """
        made = yield from self._ask_first(instance, need, fetch)
        if made is not None:
            return made
        stage = 0
        while True:
            stage += 1
            mine, asked = State(need(), *self._gone()), self.others()
            said = pack_state(mine, self.size)
            for rank in asked:
                self._say(rank, Key(Kind.STATE, self.number, stage, instance=instance), said)
            self._asked = asked, instance, stage
            yield from self.until(lambda: not self.awaited())
            taken = yield from self._adopt(asked, instance, need, fetch)
            if taken is not None:
                return taken
            keys = {rank: (rank, self.number, instance, stage) for rank in asked}
            heard = {rank: self.states[key] for rank, key in keys.items() if key in self.states}
            if not self._merge(heard.values(), mine):
                continue
            decision = self._decide({self.rank: mine, **heard}, redo)
            if decision is not None:
                self._keep(decision, instance, stage)
                return decision

    def _ask_first(self, instance: int, need: Callable[[], Need], fetch: Fetch) -> Steps[Decision | None]:
        """Have the first member hear that nobody lacks anything, and tell all: 2 (N - 1) frames; None when stages are needed.

        It has decided early then: whoever does not hear so asks it in the stages, or it has ended.
        """
        mine, first = State(need(), *self._gone()), self.members[0]
        if not _is_well(mine):
            return None
        asked = self.others() if self.rank == first else [first]
        if self.rank != first:
            self._say(first, Key(Kind.STATE, self.number, instance=instance), pack_state(mine, self.size))
        self._asked, self._asks_all = (asked, instance, 0), False
        yield from self.until(lambda: not self.awaited() or self._is_disturbed(instance))
        if self.rank != first:
            return (yield from self._adopt(asked, instance, need, fetch))
        states = [self.states.get((rank, self.number, instance, 0)) for rank in asked]
        if not self.is_whole() or not all(state is not None and _is_well(state) for state in states):
            return None
        self._keep(self._all_have, instance, 0)
        for rank in asked:
            self._tell(rank, self.number, instance)
        return self._all_have

    def _is_disturbed(self, instance: int) -> bool:
        """Return whether somebody has ended, or is late, or is in the stages, so that all have to be asked."""
        here = self.number, instance
        return self._asks_all or not self.is_whole() or any(key[1:3] == here and key[3] for key in self.states)

    def ask_all(self) -> bool:
        """Ask all, not the first member alone, as somebody is late; return whether that is new."""
        is_new = bool(self._asked[0]) and not self._asked[2] and not self._asks_all
        self._asks_all = self._asks_all or is_new
        return is_new

    def _gone(self) -> tuple[int, tuple[Pair, ...]]:
        return bits_of(self.dead.intersection(self.members)), tuple(sorted(self.pairs))

    def awaited(self) -> set[int]:
        """Return the ranks whose state, or decision, this one waits for."""
        asked, instance, stage = self._asked
        call = self.number
        return {
            rank
            for rank in asked
            if rank not in self.lost
            and (rank, call, instance, stage) not in self.states
            and (rank, call, instance) not in self._decisions
        }

    def _merge(self, heard: Iterable[State], mine: State) -> bool:
        """Learn from states who has ended and who is silent; return whether all, and this rank by now, say the same."""
        same = True
        for state in heard:
            same &= state[1:] == mine[1:]
            for rank in set(ranks_of(state.dead)).intersection(self.members) - self.dead - {self.rank}:
                self.lose(rank, True)
            self.pairs.update(pair for pair in state.pairs if set(pair) <= set(self.members))
        return same and self._gone() == mine[1:]

    def _decide(self, states: Mapping[int, State], redo: bool) -> Decision | None:
        """Return the decision from states that agree who is gone; None when another stage is needed."""
        mine = states[self.rank]
        rest = [rank for rank in self.members if not mine.dead >> rank & 1]
        shut = sets.cover([pair for pair in mine.pairs if set(pair) <= set(rest)])
        left = [rank for rank in rest if rank not in shut]
        needs_majority = bool(shut) or (self.guarded and len(rest) < len(self.members))
        if self.rank in shut:
            self.leave()
        elif any(rank not in states for rank in left):
            return None
        elif needs_majority and not self._may_go_on(left, rest):
            self.leave()
        self.check_in()
        needs = {rank: states[rank].need for rank in left}
        lacking = has = 0
        for need in needs.values():
            lacking |= need.lacks
            has |= need.has
        action = Action.AGAIN if lacking & has else Action.REDO if lacking and redo else Action.DONE
        given = tuple(needs[rank].has if rank in needs else 0 for rank in range(self.size))
        return Decision(action, bits_of(set(self.members) - set(left)), lacking, given)

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

    def _adopt(
        self, asked: Iterable[int], instance: int, need: Callable[[], Need], fetch: Fetch
    ) -> Steps[Decision | None]:
        """Take over the decision of one who has decided already, with the data that this rank lacks for it."""
        for rank in asked:
            made = self._decisions.get((rank, self.number, instance))
            if made is None or rank in self.lost:
                continue
            if made.out >> self.rank & 1:
                self.leave()
                self.check_in()
            lacks = need().lacks & ~made.missing
            if made.action == Action.DONE and lacks:
                yield from fetch(dict.fromkeys(ranks_of(lacks), rank))
                if need().lacks & ~made.missing:
                    return None  # it has ended since: the stages go on
            self._keep(made, instance, 0)
            return made
        return None

    def _keep(self, made: Decision, instance: int, stage: int) -> None:
        """Keep a decision for those who ask, or have asked already, and go on without those who are out."""
        self.log[self.number, instance] = made
        for rank in self._who_asked(instance, stage):
            self._tell(rank, self.number, instance)
        out = ranks_of(made.out)
        if out:
            if not self.dead.issuperset(out):  # a death is the same for all, and leaves no majority to others
                self._bases.append((self.number, self.members))
            self.members = [rank for rank in self.members if rank not in out]
            self.pairs = {pair for pair in self.pairs if set(pair) <= set(self.members)}
            for rank in out:
                self._say(rank, Key(Kind.FENCE), b"")
                self._shut(rank)

    def _who_asked(self, instance: int, stage: int) -> set[int]:
        """Return who is in a later stage of this instance than the one that has decided: they would wait for an answer."""
        here = self.number, instance
        return {key[0] for key in self.states if key[1:3] == here and key[3] > stage} - self.lost

    def _tell(self, rank: int, call: int, instance: int) -> None:
        made = pack_decision(self.log[call, instance], self.size)
        self._say(rank, Key(Kind.DECIDED, call, instance=instance), made)


def _is_well(state: State) -> bool:
    """Return whether a rank lacks nothing, and knows of nobody who has ended."""
    return not (state.need.lacks or state.dead or state.pairs)
