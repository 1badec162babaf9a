"""The engine: carries out the lanes of one rank over MPI, and goes on past neighbours that die.

A chunk goes over each lane of its rank as soon as the rank holds it, whichever way it came, each lane in its own order. So every
receive from a living neighbour is satisfied as long as every living rank gets everything, which the copies of the schedule
guarantee; and a rank has finished when all lanes to and from living neighbours have. Nobody agrees on anything on the way.

Lanes do not wait for one another. Along a way without failures the chunks of that lane flow in order whatever happens to others.
"""

import os
import signal
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treecast.execute.mpi.program import Lane

Bytes = NDArray[np.uint8]

WINDOW = 4
"""How many messages of a lane are under way at once: more gain nothing in shared memory."""
_LOOK = 0.02  # seconds without a move before MPI is asked who has failed
_NAP_AFTER, _NAP = 200, 50e-6  # looks in vain before the processor is left to others, and for how long


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


class Limits(NamedTuple):
    """When to stop waiting, in seconds, of a rank with which nothing moves at all.

    ``link``: when all it lacks is to be rid of copies, those neighbours count as cut off; four times as long, and it gives up
    what it lacks. ``grace``: it gives up when ``copies`` ranks have failed, more than the schedule promises to survive.
    """

    link: float = 30.0
    grace: float = 5.0
    copies: int = 1


@dataclass
class Outcome:
    """What became of a rank's part: the chunks it holds, over which tree it first got them (a count for each), who was found dead,
    which neighbours were cut off, and the messages that went out and came in. ``unfinished``: lanes that it gave up.
    """

    held: set[int]
    by_tree: dict[int, int]
    dead: set[int]
    cut: set[int]
    sent: int = 0
    received: int = 0
    unfinished: int = 0
    seconds: float = 0.0


@dataclass(eq=False)
class _Moving:
    """A lane as it goes: the next chunk to post, and what is under way in order: (request, chunk, buffer)."""

    lane: Lane
    next: int
    under_way: deque[tuple[Any, int, Bytes]] = field(default_factory=deque[tuple[Any, int, Bytes]])
    closed: bool = False

    @property
    def finished(self) -> bool:
        return self.closed or (self.next == self.lane.stop and not self.under_way)


class Engine:
    """One rank's part of one collective under way on a communicator that returns errors."""

    def __init__(
        self,
        mpi: Any,
        comm: Any,
        lanes: tuple[Lane, ...],
        part: Part,
        limits: Limits,
        first_tag: int = 0,
        kill_at: int | None = None,
        known_dead: Iterable[int] = (),
    ) -> None:
        self._mpi, self._comm, self._part, self._limits = mpi, comm, part, limits
        self._first_tag, self._kill_at = first_tag, kill_at
        self._missing = dict(part.missing)
        self.outcome = Outcome(set(part.held), {}, set(), set())
        self._lanes = [_Moving(lane, lane.first) for lane in lanes]
        self._awaiting: dict[int, list[_Moving]] = {}
        self._landing: set[int] = set()  # chunks that are being received where they belong
        self._spare: dict[int, list[Bytes]] = {}
        self._left: list[tuple[Any, Bytes]] = []  # what was under way with whom nothing more is expected
        self._moved = time.monotonic()
        self._looked = 0.0
        self._known = frozenset(known_dead)

    def run(self) -> Outcome:
        """Carry the part out, to its end or until nothing more can come."""
        began = time.monotonic()
        for rank in self._known:
            self._drop_rank(rank)
        for chunk, count in self._missing.items():
            if not count:
                self._complete(chunk)
        for moving in self._lanes:
            self._post(moving)
        idle, self._moved = 0, time.monotonic()
        active = [moving for moving in self._lanes if not moving.finished]
        while active:
            moved = False
            for moving in active:
                if moving.under_way and self._poll(moving):
                    moved = True
            if moved:
                idle = 0
                active = [moving for moving in active if not moving.finished]
                continue
            idle += 1
            os.sched_yield()
            if idle > _NAP_AFTER:
                time.sleep(_NAP)
                if not self._look():
                    break
                active = [moving for moving in active if not moving.finished]
        self.outcome.unfinished = sum(not moving.finished for moving in self._lanes)
        for moving in self._lanes:
            if not moving.finished:
                self._close(moving)
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
                if chunk not in self.outcome.held:
                    self._awaiting.setdefault(chunk, []).append(moving)
                    return
                buffer = self._part.view(chunk)
            else:
                buffer = self._landing_place(chunk)
            try:
                begin = self._comm.Isend if lane.sends else self._comm.Irecv
                request = begin([buffer, self._mpi.BYTE], lane.peer, self._first_tag + lane.tag_of(chunk))
            except self._mpi.Exception as error:
                self._failed(lane.peer, error)
                return
            if lane.sends and self._kill_at is not None and lane.step_of(chunk) >= self._kill_at:
                os.kill(os.getpid(), signal.SIGKILL)  # the message has begun, and nobody will end it
            moving.under_way.append((request, chunk, buffer))
            moving.next += 1

    def _landing_place(self, chunk: int) -> Bytes:
        """Return where a chunk is received: where it belongs, unless it is there or on its way there already, or a sum."""
        if chunk in self._missing:
            return self._scratch(len(self._part.view(chunk)))
        own = self._part.view(chunk)
        if chunk in self.outcome.held or chunk in self._landing:
            return self._scratch(len(own))
        self._landing.add(chunk)
        return own

    def _scratch(self, size: int) -> Bytes:
        spare = self._spare.get(size)
        return spare.pop() if spare else np.empty(size, np.uint8)

    def _poll(self, moving: _Moving) -> bool:
        """Take from a lane what has gone through; return whether anything has."""
        lane, moved = moving.lane, False
        while moving.under_way:
            request, chunk, buffer = moving.under_way[0]
            try:
                if not request.Test():
                    break
            except self._mpi.Exception as error:
                moving.under_way.popleft()
                self._failed(lane.peer, error)
                return True
            moving.under_way.popleft()
            moved = True
            if lane.sends:
                self.outcome.sent += 1
            else:
                if self._kill_at is not None and lane.step_of(chunk) >= self._kill_at:
                    os.kill(os.getpid(), signal.SIGKILL)
                self._arrived(lane, chunk, buffer)
        if moved:
            self._moved = time.monotonic()
            self._post(moving)
        return moved

    def _arrived(self, lane: Lane, chunk: int, buffer: Bytes) -> None:
        outcome, own = self.outcome, self._part.view(chunk)
        outcome.received += 1
        elsewhere = not np.may_share_memory(buffer, own) if len(own) else False
        if chunk in self._missing:
            if self._part.add is not None and len(own):
                self._part.add(own, buffer)
            self._missing[chunk] -= 1
            if not self._missing[chunk]:
                outcome.by_tree[lane.tree] = outcome.by_tree.get(lane.tree, 0) + 1
                self._complete(chunk)
        elif chunk not in outcome.held:
            if elsewhere:
                own[:] = buffer
            outcome.by_tree[lane.tree] = outcome.by_tree.get(lane.tree, 0) + 1
            self._hold(chunk)
        if elsewhere:
            self._spare.setdefault(len(buffer), []).append(buffer)

    def _complete(self, chunk: int) -> None:
        """Go on with a sum that is complete; at its owner it is the finished sum."""
        self._hold(chunk)
        if chunk in self._part.results:
            result = self._part.results[chunk]
            self._part.view(result)[:] = self._part.view(chunk)
            self._hold(result)

    def _hold(self, chunk: int) -> None:
        self.outcome.held.add(chunk)
        for moving in self._awaiting.pop(chunk, ()):
            self._post(moving)

    # -- failures ----------------------------------------------------------------------------------------------------

    def _failed(self, peer: int, error: Any) -> None:
        """Note that a neighbour is dead. Raises the error again when it says something else."""
        if error.Get_error_class() not in self._deaths():
            raise error
        self._drop_rank(peer)

    def _deaths(self) -> tuple[int, ...]:
        names = ("ERR_PROC_FAILED", "ERR_PROC_FAILED_PENDING", "ERR_OTHER", "ERR_INTERN", "ERR_UNKNOWN")
        return tuple(getattr(self._mpi, name) for name in names if hasattr(self._mpi, name))

    def _drop_rank(self, rank: int) -> None:
        """Close the lanes to and from a dead rank, and those of what only it had, or only it was to get."""
        if rank in self.outcome.dead:
            return
        self.outcome.dead.add(rank)
        self._moved = time.monotonic()
        for moving in self._lanes:
            if rank in (moving.lane.peer, moving.lane.source, moving.lane.target):
                self._close(moving)

    def _close(self, moving: _Moving) -> None:
        if moving.finished:
            return
        moving.closed = True
        for request, chunk, buffer in moving.under_way:
            self._landing.discard(chunk)
            if not moving.lane.sends:
                self._cancel(request)
            self._left.append((request, buffer))
        moving.under_way.clear()

    def _cancel(self, request: Any) -> None:
        try:
            request.Cancel()
        except self._mpi.Exception:
            return

    def _look(self) -> bool:
        """Ask who has failed, and look at the clock; return whether it is worth going on."""
        now = time.monotonic()
        if now - max(self._moved, self._looked) < _LOOK:
            return True
        self._looked = now
        for rank in failed_ranks(self._mpi, self._comm):
            self._drop_rank(rank)
        idle = now - self._moved
        if len(self.outcome.dead | self.outcome.cut) >= self._limits.copies:
            return idle < self._limits.grace
        if idle > self._limits.link and not self._lacks():
            for peer in {moving.lane.peer for moving in self._lanes if not moving.finished}:
                self._cut_off(peer)
        return idle < 4 * self._limits.link

    def _lacks(self) -> bool:
        """Return whether something is still to come that the rank does not hold."""
        return any(
            not moving.finished and not moving.lane.sends
            and any(c not in self.outcome.held for c in self._outstanding(moving))
            for moving in self._lanes
        )  # fmt: skip

    def _outstanding(self, moving: _Moving) -> Iterable[int]:
        return (*(chunk for _, chunk, _ in moving.under_way), *range(moving.next, moving.lane.stop))

    def _cut_off(self, peer: int) -> None:
        self.outcome.cut.add(peer)
        self._moved = time.monotonic()
        for moving in self._lanes:
            if moving.lane.peer == peer:
                self._close(moving)

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


def failed_ranks(mpi: Any, comm: Any) -> list[int]:
    """Return the ranks of a communicator that are known to have failed; none where MPI cannot tell."""
    try:
        comm.Ack_failed()
        failed = comm.Get_failed()
        count = failed.Get_size()
        found = mpi.Group.Translate_ranks(failed, list(range(count)), comm.Get_group()) if count else []
        failed.Free()
    except (mpi.Exception, NotImplementedError, AttributeError):
        return []
    return [int(rank) for rank in found if rank >= 0]
