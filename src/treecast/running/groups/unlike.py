"""Calls that are not the same at all ranks, or wrong at some: how ranks learn so, leave them, and raise one error about them.

A frame of a call with another digest shows it to whoever gets it, and a rank whose arguments are wrong, or a message of another
length, knows it by itself. This rank then tells all others its own call; so does each that hears of it. When it knows the calls
of all that live, it raises. Who has returned from the call by then owes the error: the next call is carried out, and raises it. A
rank that has not begun the call yet is waited for, as in any call; not so where each rank judges by itself.
"""

import sys
from array import array
from collections import Counter, defaultdict, deque
from collections.abc import Mapping
from struct import Struct
from typing import TYPE_CHECKING

from treecast.errors import DeliveryError, TreecastError, UnlikeCallsError
from treecast.running.groups.agreement import Agreement, Broken, Say
from treecast.running.groups.members import name_ranks
from treecast.running.groups.record import KEPT, Made, Past, Record, site_hint
from treecast.running.groups.words import NO_WORDS, Words
from treecast.running.transport.base import FrameError, FrameKind, Key, Steps, T, Transport
from treecast.running.transport.marks import PARTS, differ

if TYPE_CHECKING:
    from treecast.running.groups.group import Group

COMPARED = 16
"""Calls whose digests ranks compare where the data of calls has none with it."""
_DIGESTS = 2 * COMPARED  # that ranks compare: some ranks may be so many calls ahead
_LAST = Struct("<I")
_WHY, _REFUSED = 1, 2  # the stages of a frame that says the whole error, and of one of a rank whose call is wrong
# A call in words is a line. A frame of control has 64 KiB at most, and blocks of many lengths are shortened before.
_LONGEST = 1 << 12  # bytes


class Unlike:
    """The knowledge of a rank of the calls of its group. ``owed``: the calls whose error is still to be raised here.

    ``record``: of its calls. ``alone``: each rank judges by itself. ``now``: a call that goes past the group now: when
    it began, its number, its words with their digest.
    """

    def __init__(
        self, ident: int, agreement: Agreement, transport: Transport, say: Say, record: Record, *, alone: bool = False
    ) -> None:
        self._ident, self._agreement, self._transport = ident, agreement, transport
        self._say, self._record = say, record
        self._heard: dict[int, dict[int, str]] = {}  # by call that is unlike: what each other rank has said it makes
        self._why: dict[int, str] = {}  # by call: the error of ranks that wait in a circle
        self._refused, self._alone, self._explained = defaultdict[int, set[int]](set), alone, 0
        self.owed, self.is_inside, self.last = list[int](), False, 0
        self.now: tuple[float, int, tuple[Words, int]] | None = None
        self.quick: deque[Past] = deque(maxlen=KEPT)
        """The last calls that have gone past the group."""
        self.digests = array("I", bytes(4 * _DIGESTS))
        """Those of the last calls, each at its number modulo their count."""

    def begin(self, made: Made, is_wrong: bool = False) -> None:
        """Begin a call, or a part of it; ``is_wrong``: it is found to be so here, and all leave it."""
        call, self.is_inside = made.call, True
        # A further part of a call has the digest of its first one.
        if call != self.last:
            digest = made.words.digest
            self.note(call, digest)
            self._transport.marks.set(self._ident, call, digest)
        if is_wrong:
            self._refused[call].add(self._agreement.rank)
            self._heard.setdefault(call, {})
        # Others have said so before this rank began the call. It answers now, and is not to raise the error once more
        # afterwards.
        if call in self._heard:
            self.owed = [other for other in self.owed if other != call]
            self._tell(call)

    def compare(self, last: int, theirs: bytes) -> None:
        """Compare the digests of the last calls with those of another rank, whose last call is ``last``, or of several."""
        mine, (least, most) = self.digests.tobytes(), sorted((self.last, last))
        # several tables may stand one behind the other, of all ranks at once
        for first in range(0, len(theirs), len(mine)):
            other = theirs[first : first + len(mine)]
            # Only those calls that both tables still have, and both ranks have begun.
            for call in range(max(1, most - _DIGESTS + 1), least + 1) if other != mine or last != self.last else ():
                place = 4 * (call % _DIGESTS)
                if differ(self.digests[call % _DIGESTS], int.from_bytes(other[place : place + 4], sys.byteorder)):
                    self.find(call)

    @property
    def said(self) -> bytes:
        """The number and the digests of the last calls, as frames have them."""
        return _LAST.pack(self.last) + self.digests.tobytes()  # with it the other knows which calls the table is of

    def hear_last(self, source: int, said: bytes) -> None:
        """Compare the last calls with those that another rank has said. Raises FrameError for bytes that say none."""
        if len(said) != len(self.said):
            raise FrameError("a call without its digests")
        if not self._agreement.is_out and source in self._agreement.members:
            self.compare(_LAST.unpack_from(said)[0], said[_LAST.size :])

    def note(self, call: int, digest: int) -> None:
        """Note the digest of the last call."""
        self.last = call
        self.digests[call % _DIGESTS] = digest  # an older call in the same place is forgotten

    def note_past(self, passed: "deque[Past]", made: Made) -> None:
        """Note calls that have gone past the group, and take them out; ``made``: the last that it was told of, maybe one."""
        found, digests = [passed.popleft() for _ in range(len(passed))], self.digests
        for call, said, _, _ in found:
            digests[call % _DIGESTS] = said[1]  # the words with their digest stand second
        self.quick.extend(found)
        self.last, self.is_inside = found[-1][0], False  # a side thread may have described it
        for past in found if self.is_pressing else ():
            self._record.tell_past(made, self._ident, past)
            if past[0] in self._heard:  # others have found meanwhile that it is unlike: its error is owed
                self._tell(past[0])

    def refuse(self, call: int) -> None:
        """Tell all others that this call has failed here at once: its arguments are wrong."""
        self._refused[call].add(self._agreement.rank)
        self.find(call)

    @property
    def is_pressing(self) -> bool:
        """Whether a call that has gone past the group is to be noted at once."""
        return bool(self._heard) or self._record.note is not None

    @property
    def is_unexplained(self) -> bool:
        """Whether this rank owes the error of a call, and has not heard yet what all others made."""
        return bool(self.owed) and not self._heard[self.owed[0]].keys() >= {*self._agreement.others()}

    def is_found(self, call: int) -> bool:
        """Return whether the calls of this number are known to be unlike."""
        return call in self._heard

    def knows(self, call: int) -> bool:
        """Return whether this call, or the last ones, are known to be unlike."""
        return any(map(self.is_found, (call, *self.owed)))

    def find(self, call: int, why: str = "") -> None:
        """Learn that the calls of this number are unlike; ``why``: that no rank can tell alone, as they wait in a circle."""
        if call not in self._heard:
            self._heard[call] = {}
            if why:
                self._why[call] = why
            # Else this rank has not begun it: it tells the others when it does (`begin`), as only then it knows its
            # own call.
            if call <= self._agreement.number // PARTS:
                self._tell(call)  # begun here: its words are known

    def _tell(self, call: int) -> None:
        """Tell all others the call of this rank, and leave it, or owe its error."""
        agreement, refused = self._agreement, self._refused[call]
        # ``by_itself``: the error stays here, each rank judges alone
        why, by_itself = self._why.get(call, ""), self._alone and bool(refused)
        body = self.said + (why or self._spell(call)).encode()[:_LONGEST]
        stage = _WHY if why else _REFUSED * (agreement.rank in refused)
        # rank judging by itself tells nobody, unless its stage says more
        for rank in agreement.others() if stage or not by_itself else ():
            self._say(rank, Key(FrameKind.UNLIKE, call * PARTS, stage), body)
        # Inside: its waits end by Broken. Else it has returned from the call with success, and owes the error to the
        # next one.
        if call == self.last and self.is_inside:
            agreement.is_broken = True
        elif not by_itself:
            self.owed.append(call)

    def _spell(self, call: int) -> str:
        """Return this rank's call of a number in words."""
        # the call that goes past the group now, if it is this one
        made = [str(now[2][0]) for now in (self.now,) if now is not None and now[1] == call]
        made += [str(each) for each in list(self._record.calls) if (each.group, each.call) == (self._ident, call)]
        made += [str(said[0]) for number, said, *_ in self.quick if number == call]
        return made[0] if made else "a call of long ago"  # the record keeps so many calls

    def hear(self, source: int, key: Key, body: bytes) -> None:
        """Hear the call of another rank, and the digests of its last ones. Raises FrameError for a frame that makes no sense."""
        call, head = key.call // PARTS, len(self.said)
        if len(body) < head:
            raise FrameError("a call without its digests")
        if not self._agreement.is_out and source in self._agreement.members:
            text = body[head:].decode(errors="replace")
            if key.stage == _REFUSED:
                self._refused[call].add(source)
            self.find(call, text if key.stage == _WHY else "")
            self._heard[call][source] = text  # by whom, so that ``explain`` knows of whom to wait
            self.hear_last(source, body[:head])

    def awaited(self) -> set[int]:
        """Return the ranks whose calls this one waits to hear of."""
        # 0: nothing is to be explained
        return set(self._agreement.others()).difference(self._heard[self._explained]) if self._explained else set()

    def explain(self, call: int) -> Steps[TreecastError]:
        """Wait for the calls of all that live; return the error that names them, the same at all."""
        agreement, refused, self._explained = self._agreement, self._refused[call], call
        # until all that live have said theirs, or a reason needs no more
        yield lambda: agreement.is_out or call in self._why or (self._alone and bool(refused)) or not self.awaited()
        agreement.is_broken, self._explained = False, 0  # the wait is over: this rank may make calls again
        agreement.check_in()
        calls = {agreement.rank: self._spell(call), **self._heard[call]}
        # All say the same words here: the true difference lies in an earlier call, whose error is owed.
        if self.owed and len(set(calls.values())) == 1:  # they are out of step since another one
            return (yield from self.explain(self.owed.pop(0)))
        error = DeliveryError(self._error(call)) if refused else UnlikeCallsError(self._error(call))
        self._transport.events.tell("refused", str(error), self._ident, call, tuple(agreement.members))
        return error

    def _error(self, call: int) -> str:
        """Return the error of a call, as far as it is known."""
        calls = {self._agreement.rank: self._spell(call), **self._heard[call]}
        if refused := self._refused[call]:
            name = calls[self._agreement.rank].partition("(")[0]
            return f"{name}: the arguments of {name_ranks(refused)} were refused there"
        return f"call {call}: {self._why.get(call) or _compare(calls)}{site_hint()}"

    def why_over(self, call: int) -> str:
        """Return the error for which this call never ends, "" for none, and until all others have told theirs."""
        found = [each for each in (*self.owed, call) if each in self._heard]
        # all have told, or a refused call needs no more
        if found and (self._refused[found[0]] or self._heard[found[0]].keys() >= {*self._agreement.others()}):
            return self._error(found[0])
        # ranks that make no further calls, and had not begun this one
        early = sorted({rank for rank in self._agreement.leaving if self._agreement.end_of(rank) < PARTS * call})
        after = "; ".join(
            f"rank {rank} has ended after {self._agreement.end_of(rank) // PARTS} calls" for rank in early
        )
        mine = f"rank {self._agreement.rank} waits in call {call}, {self._spell(call)}"
        return after and f"{mine}; {after}: all ranks make the same calls"

    def last_word(self, early: Mapping[int, int]) -> str:
        """Return the error that this rank still owes at its end, as far as it knows it, "" for none.

        ``early``: who has left after fewer calls, and after how many.
        """
        if self.owed:
            return self._error(self.owed[0])
        each = ", ".join(f"{name_ranks([rank])} after {calls}" for rank, calls in sorted(early.items()))
        return (
            each and f"rank {self._agreement.rank} ends after {self.last} calls, {each}: all ranks make the same calls"
        )

    def revoke(self) -> None:
        """Make no calls after those that have ended here; others leave theirs, but none that some rank has ended."""
        agreement = self._agreement
        # A call that this rank is inside of, or was thrown out of, has not ended here.
        last = agreement.number - (self.is_inside or agreement.number > agreement.final)
        agreement.final = min(agreement.final, last)
        for rank in agreement.others():
            self._say(rank, Key(FrameKind.REVOKED, last), b"")

    def pay(self) -> Steps[None]:
        """Raise the error of a call from which this rank had returned before it learned that calls are unlike: of the first one.

        Ranks that are out of step since then have met other calls than their own in later ones.
        """
        errors = list[TreecastError]()
        while self.owed:
            errors.append((yield from self.explain(self.owed.pop(0))))  # one after the other: the first tells the cause
        if errors:
            raise errors[0]


def called(group: "Group", steps: Steps[T], words: Words = NO_WORDS, part: int = 0) -> Steps[T]:
    """Begin a call, or another part of it, and do its steps. ``words``: of the call, in which all ranks agree.

    Raises Broken where it is revoked, and UnlikeCallsError at all that live when they do not. When one of them is wrong at some
    rank, DeliveryError there and at all others, and PlanError at a rank to which a message of another length has come.
    """
    try:
        yield from group.begin(words, part)
        found = yield from steps
        if group.agreement.is_broken:  # found since the last wait
            raise Broken
        return found
    except Broken as broken:
        group.leave()
        # Revoked by another rank: this one says how far it has come itself, and all keep the least.
        if group.agreement.number > group.agreement.final:
            group.unlike.revoke()
            raise
        error = yield from group.unlike.explain(group.agreement.number // PARTS)
        # A rank that knows its own error raises that one: it tells more than what all others say of it.
        raise (broken.args[0] if broken.args else error) from None
    finally:
        group.end()  # in any case: what was lent comes back


def _compare(calls: dict[int, str]) -> str:
    """Return in words who makes which call, the fewest ranks first.

    >>> _compare({0: "Barrier()", 1: "Bcast(8 bytes, root 0)", 2: "Bcast(8 bytes, root 0)"})
    'rank 0 makes Barrier(), ranks 1, 2 make Bcast(8 bytes, root 0): all ranks make the same calls, in the same order'
    """
    many = Counter(calls.values())
    groups = [(many[text], [rank for rank in sorted(calls) if calls[rank] == text], text) for text in many]
    # the rarest first: it is most likely the wrong one
    said = [f"{name_ranks(ranks)} make{'s' * (len(ranks) == 1)} {text}" for _, ranks, text in sorted(groups)]
    if len(said) == 1:
        return f"{said[0]}, and data of another call came: they are out of step since an earlier call"
    return f"{', '.join(said)}: all ranks make the same calls, in the same order"
