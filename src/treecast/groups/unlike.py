"""Calls that are not the same at all ranks: how ranks learn so, leave them, and raise one error that names both calls.

A frame of a call with another digest shows it to whoever gets it. This rank then tells all others its own call; so does each that
hears of it. When it knows the calls of all that live, it raises. Who has returned from the call by then owes the error: the
next call is carried out, and raises it. A rank that has not begun the call yet is waited for, as in any call.
"""

from collections import Counter

from treecast.errors import UnlikeCallsError
from treecast.groups.agreement import Agreement, Say
from treecast.groups.members import name_ranks
from treecast.groups.record import Made
from treecast.transport.base import Key, Kind, Steps, Transport
from treecast.transport.marks import PARTS

_KEPT = 128  # calls whose words are kept
_WHY = 1  # the stage of a frame that says the whole error
_LONGEST = 1 << 12  # bytes


class Unlike:
    """The knowledge of a rank of the calls of its group. ``owed``: the calls whose error is still to be raised here."""

    def __init__(self, ident: int, agreement: Agreement, transport: Transport, say: Say) -> None:
        self._ident, self._agreement, self._transport, self._say = ident, agreement, transport, say
        self._mine: dict[int, Made] = {}
        self._heard: dict[int, dict[int, str]] = {}
        self._why: dict[int, str] = {}
        self.owed, self.is_inside = list[int](), False

    def begin(self, made: Made) -> None:
        """Begin a call, or a part of it."""
        call, self.is_inside = made.call, True
        if call not in self._mine:
            self._mine[call] = made
            self._mine.pop(call - _KEPT, None)
            self._transport.marks.set(self._ident, call, made.digest)
        if call in self._heard:
            self.owed = [other for other in self.owed if other != call]
            self._tell(call)

    def find(self, call: int, why: str = "") -> None:
        """Learn that the calls of this number are unlike; ``why``: that no rank can tell alone, as they wait in a circle."""
        if call not in self._heard:
            self._heard[call] = {}
            if why:
                self._why[call] = why
            if call <= self._agreement.number // PARTS:
                self._tell(call)

    def _tell(self, call: int) -> None:
        """Tell all others the call of this rank, and leave it, or owe its error."""
        agreement = self._agreement
        why = self._why.get(call, "")
        body = (why or str(self._mine.get(call, "a call of long ago"))).encode()[:_LONGEST]
        for rank in agreement.others():
            self._say(rank, Key(Kind.UNLIKE, call * PARTS, _WHY if why else 0), body)
        if call == agreement.number // PARTS and self.is_inside:
            agreement.is_broken = True
        else:
            self.owed.append(call)

    def hear(self, source: int, key: Key, body: bytes) -> None:
        """Hear the call of another rank."""
        call, text = key.call // PARTS, body.decode(errors="replace")
        if not self._agreement.is_out and source in self._agreement.members:
            self.find(call, text if key.stage == _WHY else "")
            self._heard[call][source] = text

    def explain(self, call: int) -> Steps[UnlikeCallsError]:
        """Wait for the calls of all that live; return the error that names them, the same at all."""
        agreement, heard = self._agreement, self._heard[call]
        yield lambda: agreement.is_out or call in self._why or all(rank in heard for rank in agreement.others())
        agreement.is_broken = False
        agreement.check_in()
        why = self._why.get(call) or _compare({agreement.rank: str(self._mine.get(call, "")), **heard})
        self._transport.events.tell("refused", why, self._ident, call, tuple(agreement.members))
        return UnlikeCallsError(f"call {call}: {why}")

    def pay(self) -> Steps[None]:
        """Raise the error of a call from which this rank had returned before it learned that calls are unlike."""
        if self.owed:
            raise (yield from self.explain(self.owed.pop(0)))


def _compare(calls: dict[int, str]) -> str:
    """Return in words who makes which call, the fewest ranks first.

    >>> _compare({0: "Barrier()", 1: "Bcast(8 bytes, root 0)", 2: "Bcast(8 bytes, root 0)"})
    'rank 0 makes Barrier(), ranks 1, 2 make Bcast(8 bytes, root 0): all ranks make the same calls, in the same order'
    """
    many = Counter(calls.values())
    groups = [(many[text], [rank for rank in sorted(calls) if calls[rank] == text], text) for text in many]
    said = [f"{name_ranks(ranks)} make{'s' * (len(ranks) == 1)} {text}" for _, ranks, text in sorted(groups)]
    return f"{', '.join(said)}: all ranks make the same calls, in the same order"
