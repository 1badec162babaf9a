"""The engine: carries out the lanes of one rank over MPI, and goes on past neighbours that die.

A rank sends a chunk over each of its lanes as soon as it holds it, whichever way it came, each lane in its own order. What will
not come, because the neighbour that was to bring it is dead or has nothing itself, is passed on as an empty message, a *void*, in
the same tree. So every receive from a living neighbour ends, with data or without, and a rank has finished when all its lanes
have; nobody has to know who failed, or to agree on anything. Lanes do not wait for one another: along a way without failures
chunks flow in order whatever happens elsewhere, so copies on disjoint ways arrive as the schedule promises.
"""

import os
import signal
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treecast.mpi.engine.lanes import Lane

Bytes = NDArray[np.uint8]

WINDOW = 4
"""How many messages of a lane are under way at once: more gain nothing in shared memory."""
_NAP_AFTER = 2  # looks in vain before a rank sleeps: looks cost others time
_NAP_SHARE, _SHORTEST_NAP, _LONGEST_NAP = 0.25, 100e-6, 1e-3  # of the time since something moved, in seconds
_LACKING = 4  # times as long a rank waits when it lacks something


@dataclass(frozen=True)
class Part:
    """What one rank brings, and where chunks lie.

    ``view(chunk)``: the bytes of a chunk, always the same ones. ``held``: the chunks that the rank holds from the beginning.
    ``missing``: of sums, how many contributions are still to be added before one goes on; ``add(into, contribution)`` adds.
    ``results``: the finished sum that a complete sum becomes, at its owner.
    """

    view: Callable[[int], Bytes]
    held: Iterable[int]
    missing: Mapping[int, int] = field(default_factory=dict[int, int])
    results: Mapping[int, int] = field(default_factory=dict[int, int])
    add: Callable[[Bytes, Bytes], None] | None = None


@dataclass
class Outcome:
    """What became of a rank's part: the chunks it holds, over which tree it first got them (a count for each), which neighbours
    were found dead, and which cut off; the messages that went out and came in, and the voids among the latter.
    """

    held: set[int]
    by_tree: dict[int, int]
    dead: set[int]
    cut: set[int]
    sent: int = 0
    received: int = 0
    voids: int = 0
    seconds: float = 0.0


@dataclass(eq=False)
class _Moving:
    """A lane as it goes: the next chunk to post, and what is under way in order: (request, chunk, buffer, whether that is where
    the chunk belongs).
    """

    lane: Lane
    next: int
    under_way: deque[tuple[Any, int, Bytes, bool]] = field(default_factory=deque[tuple[Any, int, Bytes, bool]])
    closed: bool = False

    @property
    def finished(self) -> bool:
        return self.closed or (self.next == self.lane.stop and not self.under_way)


_NOTHING = np.empty(0, np.uint8)


class Engine:
    """One rank's part of one collective under way on a communicator that returns errors.

    ``patience``: when nothing has moved for so many seconds, all neighbours that are waited for count as cut off; four times as
    long while the rank still lacks something. A dead link is noticed by nothing else. ``kill_at``: the process kills itself in
    the middle of its first message of this step or a later one.
    """

    def __init__(
        self, mpi: Any, comm: Any, lanes: tuple[Lane, ...], part: Part, patience: float, first_tag: int = 0,
        kill_at: int | None = None,
    ) -> None:  # fmt: skip
        self._mpi, self._comm, self._part, self._patience = mpi, comm, part, patience
        self._first_tag, self._kill_at = first_tag, kill_at
        self._status = mpi.Status()
        self._missing = dict(part.missing)
        self._sum_of = {result: chunk for chunk, result in part.results.items()}
        self.outcome = Outcome(set(part.held), {}, set(), set())
        self._lanes = [_Moving(lane, lane.first) for lane in lanes]
        self._awaiting: dict[int, list[_Moving]] = {}  # lanes whose next chunk is not there yet
        self._expected: dict[tuple[int, int], int] = {}  # by chunk and tree: how many messages may still bring it
        self._void: set[int] = set()  # sums that lack a contribution for good
        self._landing: set[int] = set()  # chunks that are being received where they belong
        self._spare: dict[int, list[Bytes]] = {}
        self._left: list[tuple[Any, Bytes]] = []  # what was under way with whom nothing more is expected
        self._moved = 0.0

    def run(self) -> Outcome:
        """Carry the part out, to its end or until nothing more can come."""
        began = self._moved = time.monotonic()
        for lane in (moving.lane for moving in self._lanes if not moving.lane.sends):
            for chunk in range(lane.first, lane.stop):
                self._expected[chunk, lane.tree] = self._expected.get((chunk, lane.tree), 0) + 1
        for chunk, count in self._missing.items():
            if not count:
                self._complete(chunk)
        for moving in self._lanes:
            self._post(moving)
        idle = 0
        active = [moving for moving in self._lanes if not moving.finished]
        while active:
            moved = False
            for moving in active:
                if moving.under_way and self._poll(moving):
                    moved = True
            if moved:
                idle, self._moved = 0, time.monotonic()
                active = [moving for moving in active if not moving.finished]
                continue
            idle += 1
            os.sched_yield()
            if idle > _NAP_AFTER:
                waited = time.monotonic() - self._moved
                time.sleep(min(max(_NAP_SHARE * waited, _SHORTEST_NAP), _LONGEST_NAP))
                self._give_up_in_time()
                active = [moving for moving in active if not moving.finished]
        self._leave()
        self.outcome.seconds = time.monotonic() - began
        return self.outcome

    # -- lanes -------------------------------------------------------------------------------------------------------

    def _post(self, moving: _Moving) -> None:
        """Begin what may begin on a lane."""
        lane = moving.lane
        while not moving.closed and moving.next < lane.stop and len(moving.under_way) < WINDOW:
            chunk = moving.next
            if lane.sends:
                buffer, lands = self._outgoing(lane, chunk), False
                if buffer is None:
                    self._awaiting.setdefault(chunk, []).append(moving)
                    return
            else:
                buffer, lands = self._landing_place(chunk)
            try:
                begin = self._comm.Isend if lane.sends else self._comm.Irecv
                request = begin([buffer, self._mpi.BYTE], lane.peer, self._first_tag + lane.tag_of(chunk))
            except self._mpi.Exception as error:
                self._failed(lane.peer, error)
                return
            if lane.sends:
                self._die_at(lane.step_of(chunk))
            moving.under_way.append((request, chunk, buffer, lands))
            moving.next += 1

    def _outgoing(self, lane: Lane, chunk: int) -> Bytes | None:
        """Return what a lane sends of a chunk: its bytes, nothing when it will not come, None when that is not known yet."""
        if chunk in self.outcome.held:
            return self._part.view(chunk)
        total = self._sum_of.get(chunk, chunk)
        if total in self._missing:
            return _NOTHING if total in self._void else None
        expected = self._expected.get((chunk, lane.tree))
        if expected is None:  # it comes over other trees alone
            expected = sum(count for (c, _), count in self._expected.items() if c == chunk)
        return None if expected else _NOTHING

    def _landing_place(self, chunk: int) -> tuple[Bytes, bool]:
        """Return where a chunk is received, and whether it belongs there: unless it is there, or on its way, or a sum."""
        own = self._part.view(chunk)
        if chunk in self._missing or chunk in self.outcome.held or chunk in self._landing:
            spare = self._spare.get(len(own))
            return spare.pop() if spare else np.empty(len(own), np.uint8), False
        self._landing.add(chunk)
        return own, True

    def _poll(self, moving: _Moving) -> bool:
        """Take from a lane what has gone through; return whether anything has."""
        lane, moved = moving.lane, False
        while moving.under_way:
            request, chunk, buffer, lands = moving.under_way[0]
            try:
                if not request.Test(self._status):
                    break
            except self._mpi.Exception as error:
                self._failed(lane.peer, error)
                return True
            moving.under_way.popleft()
            moved = True
            if lane.sends:
                self.outcome.sent += 1
            else:
                self._die_at(lane.step_of(chunk))
                self.outcome.received += 1
                self._arrived(lane, chunk, buffer, lands, self._status.Get_count(self._mpi.BYTE) == len(buffer))
        if moved:
            self._post(moving)
        return moved

    def _arrived(self, lane: Lane, chunk: int, buffer: Bytes, lands: bool, full: bool) -> None:
        """Take in what has arrived: add it, keep it, or note that it was void."""
        new = False
        if not full:
            self.outcome.voids += 1
        elif chunk in self._missing:
            if self._part.add is not None and len(buffer):
                self._part.add(self._part.view(chunk), buffer)
            self._missing[chunk] -= 1
            if not self._missing[chunk]:
                self._complete(chunk)
                new = True
        elif chunk not in self.outcome.held:
            if not lands:
                self._part.view(chunk)[:] = buffer
            self._hold(chunk)
            new = True
        if new:
            self.outcome.by_tree[lane.tree] = self.outcome.by_tree.get(lane.tree, 0) + 1
        if lands:
            self._landing.discard(chunk)
        else:
            self._spare.setdefault(len(buffer), []).append(buffer)
        self._settled(lane, chunk, full)

    def _settled(self, lane: Lane, chunk: int, full: bool) -> None:
        """Note that a message that might have brought a chunk is over; what waited for it may send it, or a void."""
        if chunk in self._missing:
            if not full:
                self._void.add(chunk)
                self._wake(chunk)
            return
        left = self._expected[chunk, lane.tree] = self._expected[chunk, lane.tree] - 1
        if not full and not left:
            self._wake(chunk)

    def _complete(self, chunk: int) -> None:
        """Go on with a sum that is complete; at its owner it is the finished sum."""
        self._hold(chunk)
        if chunk in self._part.results:
            result = self._part.results[chunk]
            there, here = self._part.view(result), self._part.view(chunk)
            if there.ctypes.data != here.ctypes.data:
                there[:] = here
            self._hold(result)

    def _hold(self, chunk: int) -> None:
        self.outcome.held.add(chunk)
        self._wake(chunk)

    def _wake(self, chunk: int) -> None:
        for moving in self._awaiting.pop(chunk, ()):
            self._post(moving)
        result = self._part.results.get(chunk)
        if chunk in self._void and result is not None:  # nor will the finished sum come
            self._wake(result)

    # -- failures ----------------------------------------------------------------------------------------------------

    def _die_at(self, step: int) -> None:
        if self._kill_at is not None and step >= self._kill_at:
            os.kill(os.getpid(), signal.SIGKILL)  # a message has begun, and nobody will end it

    def _failed(self, peer: int, error: Any) -> None:
        """Note that a neighbour is dead. Raises the error again when it says something else."""
        if error.Get_error_class() not in deaths(self._mpi):
            raise error
        self.outcome.dead.add(peer)
        self._close_all(peer)

    def _give_up_in_time(self) -> None:
        idle = time.monotonic() - self._moved
        if idle < self._patience or (idle < _LACKING * self._patience and self._lacks()):
            return
        self._moved = time.monotonic()
        for peer in {moving.lane.peer for moving in self._lanes if moving.under_way and not moving.finished}:
            self.outcome.cut.add(peer)
            self._close_all(peer)

    def _lacks(self) -> bool:
        """Return whether something is still to come that the rank does not hold."""
        return any(
            any(chunk not in self.outcome.held for chunk in _outstanding(moving))
            for moving in self._lanes if not moving.finished and not moving.lane.sends
        )  # fmt: skip

    def _close_all(self, peer: int) -> None:
        """Expect nothing more from a neighbour, and tell it nothing more."""
        closing = [moving for moving in self._lanes if moving.lane.peer == peer and not moving.finished]
        for moving in closing:
            moving.closed = True
        for moving in closing:
            lost = [] if moving.lane.sends else _outstanding(moving)
            for request, chunk, buffer, _ in moving.under_way:
                if not moving.lane.sends:
                    self._landing.discard(chunk)
                    self._cancel(request)
                self._left.append((request, buffer))
            moving.under_way.clear()
            for chunk in lost:
                self._settled(moving.lane, chunk, False)

    def _cancel(self, request: Any) -> None:
        try:
            request.Cancel()
        except self._mpi.Exception:
            return

    def _leave(self) -> None:
        """Test what is left under way a last few times, and keep the memory of what never ends from being freed."""
        for _ in range(50):
            self._left = [pair for pair in self._left if not self._ended(pair[0])]
            if not self._left:
                return
            time.sleep(0.001)
        _ABANDONED.extend(self._left)

    def _ended(self, request: Any) -> bool:
        try:
            return bool(request.Test())
        except self._mpi.Exception:
            return True


_ABANDONED: list[tuple[Any, Bytes]] = []  # MPI may still write there


def _outstanding(moving: _Moving) -> list[int]:
    return [*(chunk for _, chunk, *_ in moving.under_way), *range(moving.next, moving.lane.stop)]


def deaths(mpi: Any) -> tuple[int, ...]:
    """Return the error classes by which MPI says that a process has failed; under other names when it notices by its socket."""
    names = ("ERR_PROC_FAILED", "ERR_PROC_FAILED_PENDING", "ERR_OTHER", "ERR_INTERN", "ERR_UNKNOWN")
    return tuple(getattr(mpi, name) for name in names if hasattr(mpi, name))


def failed_ranks(mpi: Any, comm: Any) -> list[int]:
    """Return the ranks of a communicator that are known to have failed; none where MPI cannot tell."""
    try:
        comm.Ack_failed()
        failed = comm.Get_failed()
        count = failed.Get_size()
        found: list[int] = mpi.Group.Translate_ranks(failed, list(range(count)), comm.Get_group()) if count else []
        failed.Free()
    except (mpi.Exception, NotImplementedError, AttributeError):
        return []
    return [int(rank) for rank in found if rank >= 0]
