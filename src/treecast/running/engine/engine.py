"""The engine: carries out the transfers of one rank over its links, and goes on past neighbours that die.

A rank sends a chunk in each of its transfers as soon as it holds it, whichever way it came, each transfer in its own order. A
chunk that will not come, because the neighbour that was to bring it is dead or has nothing itself, is passed on as an empty
message, a *void*, in the same tree. So every receive from a living neighbour ends, with data or without, and a rank has finished
when all its transfers have; nobody has to know who failed, or to agree on anything. Transfers do not wait for one another: along
a way without failures chunks flow in order whatever happens elsewhere, so copies on disjoint paths arrive as the schedule
promises.
"""

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from treecast.running.engine.memory import Additions, Memory, Part
from treecast.running.engine.transfers import Expected, Peers, Transfer
from treecast.running.engine.turns import Turns
from treecast.running.execution.layout import Bytes
from treecast.running.transport.base import Ticket

# While one message is copied the next ones have been asked for.
WINDOW = 4
"""How many messages of a transfer are under way at once: more gain nothing in shared memory."""
_LOOK = 0.05  # seconds without anything after which it is asked who is to be given up
_RESTING = 0.05  # seconds without anything after which a buffer is taken beyond the number that is allowed
_LACKING = 4  # times as long a rank waits when it lacks something


@dataclass
class PartOutcome:
    """The outcome of a rank's part: the chunks it holds, over which tree it first got them (a count for each), which neighbours
    were found dead, and which cut off; the messages that went out and came in.
    """

    held: set[int]
    by_tree: dict[int, int]
    dead: set[int]
    cut: set[int]
    sent: int = 0
    received: int = 0
    seconds: float = 0.0


class MovingChunk(NamedTuple):
    """A message under way. ``lands``: whether its buffer is where the chunk belongs."""

    ticket: Ticket
    chunk: int
    buffer: Bytes
    lands: bool


@dataclass(eq=False)
class _Active:
    """The state of a transfer: the next chunk to post, and the messages under way, in order.

    ``looks``: whether the next message is looked for, since a buffer is taken only when it is there.
    """

    transfer: Transfer
    next: int
    under_way: deque[MovingChunk] = field(default_factory=deque[MovingChunk])
    looks: bool = False
    closed: bool = False

    @property
    def waits(self) -> bool:
        return bool(self.looks or self.under_way)

    @property
    def finished(self) -> bool:
        return self.closed or (self.next == self.transfer.stop and not self.under_way)

    def outstanding(self) -> list[int]:
        """Return the chunks that have not gone through yet."""
        return [*(message.chunk for message in self.under_way), *range(self.next, self.transfer.stop)]


_NOTHING = np.empty(0, np.uint8)


class Engine:
    """One rank's part of one collective under way.

    ``patience``: when nothing has moved for so many seconds, all neighbours that are waited for count as cut off; four times as
    long while the rank still lacks something. A dead link is noticed by nothing else. ``turns``: how many sends may be under way
    at once.
    """

    def __init__(
        self,
        links: Peers,
        transfers: tuple[Transfer, ...],
        part: Part,
        patience: float,
        *,
        turns: Turns["_Active"] | None = None,
        gone: Sequence[Transfer] = (),
    ) -> None:
        self._links, self._part, self._patience = links, part, patience
        self._additions = Additions(part, transfers)
        self._missing = self._additions.missing
        self._sum_of = {result: chunk for chunk, result in part.results.items()}
        self.outcome = PartOutcome(set(part.held), {}, set(), set())
        self._transfers = [_Active(transfer, transfer.first) for transfer in transfers]
        # transfers whose next chunk is not there yet, each once: who stood there twice would be posted twice, and so on
        self._awaiting: dict[int, dict[_Active, None]] = {}
        # what the dead would have sent is void: else others of the tree would wait for each other in a circle
        void = [transfer for transfer in gone if not transfer.sends]
        self._expected = Expected([*(transfer for transfer in transfers if not transfer.sends), *void])
        for transfer in void:
            for chunk in range(transfer.first, transfer.stop):
                self._expected.note_void(chunk, transfer.tree)
        self._void: set[int] = set()  # sums that lack a contribution for good
        self._memory = Memory(part, (transfer for transfer in transfers if transfer.sends))
        self._turns = turns or Turns["_Active"]()
        self._last_moved = 0.0
        self._going = list[_Active]()
        self._earliest = 0  # the step of the next receive, where there is no room

    def run(self) -> PartOutcome:
        """Carry the part out, to its end or until nothing more can come."""
        began = self._last_moved = time.monotonic()
        # A sum to which nobody else contributes is complete from the beginning: a leaf of the tree sends it first.
        for chunk, count in self._missing.items():
            if not count:
                self._complete(chunk)
        for active in self._transfers:
            self._post(active)
        self._going = self._unfinished()
        while self._going:
            self._links.wait(self._look, _LOOK)
            self._give_up_in_time()
            self._going = self._unfinished()
        self.outcome.seconds = time.monotonic() - began
        return self.outcome

    def _unfinished(self) -> list[_Active]:
        return [active for active in self._transfers if not active.finished]

    def _look(self) -> bool:
        """Take messages that have gone through; return whether anything has."""
        # Only without room does it matter which receive is the earliest: it may begin all the same.
        if not self._memory.has_room:
            receives = (each for each in self._going if not each.transfer.sends and each.next < each.transfer.stop)
            self._earliest = min((each.transfer.step_of(each.next) for each in receives), default=0)
        polled = [self._poll(active) for active in self._turns.worth_a_look(self._going) if active.waits]
        if any(polled):
            self._last_moved = time.monotonic()
        return any(polled)

    def _post(self, active: _Active) -> None:
        """Begin the messages of a transfer that may begin."""
        transfer, active.looks = active.transfer, False
        while not active.closed and active.next < transfer.stop and len(active.under_way) < WINDOW:
            chunk = active.next
            apart = chunk in self._missing or chunk in self.outcome.held  # not received in its place: there, or a sum
            if transfer.sends:
                buffer, lands = self._outgoing(transfer, chunk), False
                # Not known yet whether it comes. Whoever brings it, or notes that it will not, wakes this transfer.
                if buffer is None:
                    self._awaiting.setdefault(chunk, {})[active] = None
                    return
                if not self._turns.take(active, transfer.step_of(chunk), transfer.peer):
                    return
            # A large buffer is taken only for a message that is there. Else ranks would hold buffers for messages
            # that come much later.
            elif self._memory.waits(chunk, apart) and not self._is_there(transfer, chunk):
                active.looks = not active.closed
                return
            else:
                buffer, lands = self._memory.receive(chunk, apart)
            active.under_way.append(MovingChunk(self._begin(transfer, chunk, buffer), chunk, buffer, lands))
            active.next += 1

    def _begin(self, transfer: Transfer, chunk: int, buffer: Bytes) -> Ticket:
        """Begin the message with a chunk."""
        tag = transfer.tag_of(chunk)
        if not transfer.sends:
            return self._links.receive(transfer.peer, tag, buffer)
        sure = self._turns.limits(transfer.peer)  # where sends take turns, one ends when it is there
        return self._links.send(transfer.peer, tag, buffer, sure)

    def _send_next(self) -> None:
        """Begin the messages that waited for their turn."""
        while (active := self._turns.next()) is not None:
            self._post(active)

    def _outgoing(self, transfer: Transfer, chunk: int) -> Bytes | None:
        """Return the message with a chunk: its bytes, nothing when it will not come, None when that is not known yet."""
        # In this order: a sum without an owner, a chunk that is held, a sum that is still added up, a chunk that may
        # come yet.
        if self._part.shared and chunk in self._missing:
            return self._additions.partial(transfer, chunk)
        if chunk in self.outcome.held:
            return self._memory.view(chunk)
        total = self._sum_of.get(chunk, chunk)
        if total in self._missing:
            return _NOTHING if total in self._void else None
        # Only a chunk of the same tree has to be awaited: waits then lead up that tree, and a tree has no circle.
        over_this_tree = self._expected.planned(chunk, transfer.tree) > 0  # else it comes over other trees alone
        return None if self._expected.left(chunk, transfer.tree if over_this_tree else None) else _NOTHING

    def _is_there(self, transfer: Transfer, chunk: int) -> bool:
        """Return whether the message with a chunk is there, and there is room for it.

        There always is for the earliest, or ranks without room could wait for each other in a circle. When all rests there is.
        """
        rests = time.monotonic() - self._last_moved > _RESTING
        if not self._memory.has_room and not rests and transfer.step_of(chunk) > self._earliest:
            return False
        if self._links.has_come(transfer.peer, transfer.tag_of(chunk)):
            return True
        if self._links.is_lost(transfer.peer):
            self._close_all(transfer.peer, self.outcome.dead)
        return False

    def _poll(self, active: _Active) -> bool:
        """Take from a transfer the messages that have gone through; return whether anything has."""
        transfer, moved = active.transfer, False
        while active.under_way:
            # In order: the two sides count messages alike, and a chunk counts as sent only after those before it.
            message = active.under_way[0]
            if not message.ticket.over:
                break
            if message.ticket.lost:
                self._close_all(transfer.peer, self.outcome.dead)
                return True
            active.under_way.popleft()
            moved = True
            if transfer.sends:
                self.outcome.sent += 1
                self._memory.sent(message.chunk)
                self._turns.end(transfer.peer)
            else:
                self.outcome.received += 1
                full = message.ticket.length == len(message.buffer)
                self._take_in(transfer, message, full)
        if moved or active.looks:
            begun = active.next
            self._post(active)
            moved = moved or active.next != begun or active.closed
            self._send_next()
        return moved

    def _take_in(self, transfer: Transfer, message: MovingChunk, full: bool) -> None:
        """Take in a chunk that has arrived: add it, keep it, or note that it was void."""
        chunk, buffer = message.chunk, message.buffer
        # Three cases: it is added to a sum, it is new here, or it came once more (a copy), and its buffer is free
        # again.
        adds = full and chunk in self._missing
        new = full and not adds and chunk not in self.outcome.held
        if message.lands:
            self._memory.landed(chunk)
        if adds:
            self._memory.give_back(*self._additions.take(transfer, chunk, buffer))
            new = not self._missing[chunk]
            (self._complete if new else self._wake)(chunk)
        elif new:
            if not message.lands:
                self._memory.keep(chunk, buffer)
            self._hold(chunk)
        elif not message.lands:
            self._memory.give_back(buffer)
        if new:
            self.outcome.by_tree[transfer.tree] = self.outcome.by_tree.get(transfer.tree, 0) + 1
        if not full:
            self._note_void(transfer, chunk)

    def _note_void(self, transfer: Transfer, chunk: int) -> None:
        """Note that a message did not bring its chunk, or never will; transfers that waited for it may then send a void."""
        if chunk in self._missing:
            self._void.add(chunk)
            self._memory.give_back(*self._additions.lose(chunk))
            self._wake(chunk)
            return
        self._expected.note_void(chunk, transfer.tree)
        if not self._expected.left(chunk, transfer.tree):
            self._wake(chunk)

    def _complete(self, chunk: int) -> None:
        """Go on with a sum that is complete; at its owner it is the finished sum."""
        self._hold(chunk)
        # At the owner. The finished sum is another chunk, which goes out again.
        if chunk in self._part.results:
            result = self._part.results[chunk]
            self._part.finish(self._part.view(result), self._part.view(chunk))
            self._hold(result)

    def _hold(self, chunk: int) -> None:
        self.outcome.held.add(chunk)
        self._wake(chunk)

    def _wake(self, chunk: int) -> None:
        for active in self._awaiting.pop(chunk, ()):
            self._post(active)
        result = self._part.results.get(chunk)
        if chunk in self._void and result is not None:  # nor will the finished sum come
            self._wake(result)

    def _give_up_in_time(self) -> None:
        idle = time.monotonic() - self._last_moved
        if idle < self._patience or (idle < _LACKING * self._patience and self._lacks()):
            return
        self._last_moved = time.monotonic()
        for peer in {active.transfer.peer for active in self._unfinished() if active.waits}:
            self._close_all(peer, self.outcome.cut)

    def _lacks(self) -> bool:
        """Return whether something is still to come that the rank does not hold."""
        receives = (active for active in self._unfinished() if not active.transfer.sends)
        return any(chunk not in self.outcome.held for active in receives for chunk in active.outstanding())

    def _close_all(self, peer: int, among: set[int]) -> None:
        """Expect nothing more from a neighbour, and tell it nothing more; note it among the dead, or those cut off."""
        among.add(peer)
        self._links.give_up(peer)
        # All are closed before any loss is noted: a loss wakes transfers, and these must begin nothing with this
        # neighbour.
        closing = [active for active in self._unfinished() if active.transfer.peer == peer]
        for active in closing:
            active.closed = True
        for active in closing:
            lost, sends = active.outstanding(), active.transfer.sends
            under_way = {message.chunk for message in active.under_way}
            for message in active.under_way:
                if sends:
                    self._turns.end(peer)
                elif message.lands:
                    self._memory.landed(message.chunk)
                else:
                    # Nobody else gets this buffer: the carrier may still write to it.
                    self._memory.give_back(message.buffer, in_use=True)
            active.under_way.clear()
            for chunk in lost:
                if sends:
                    self._memory.sent(chunk, chunk in under_way)
                else:
                    self._note_void(active.transfer, chunk)
        self._send_next()
