"""Where a rank receives chunks, sends them on from, and adds to sums: in their places, or in buffers.

A chunk that only passes has no place. It stays in the buffer in which it came until its last send is over. A chunk that comes
once more has no use for its place. Both take a buffer from a pool, for as long as they need it. Contributions to sums are
added in the order of the schedule, in whichever they come: floating-point sums depend on it, and so equal calls give equal
bits, however fast the ranks are.
"""

from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from treecast.running.engine.transfers import Expected, Transfer
from treecast.running.execution.layout import Bytes

# bytes from which a buffer is lent only when its message is there: MPI leaves such messages with the sender
_LARGE = 1 << 16
_MOST_LENT = 8  # large buffers that are lent at once, while anything moves


def copy_sum(there: Bytes, here: Bytes) -> None:
    """Make a sum the finished one as it is, where that has a place of its own."""
    if there.ctypes.data != here.ctypes.data:
        there[:] = here


@dataclass(frozen=True)
class Part:
    """The chunks that one rank brings, and where chunks lie.

    ``view(chunk)``: the bytes of a chunk, always the same ones. ``held``: the chunks that the rank holds from the beginning.
    ``missing``: of sums, how many contributions are still to be added before one goes on; ``add(into, contribution)`` adds.
    ``results``: the finished sum that a complete sum becomes, at its owner; ``finish(there, here)`` makes it.
    ``passing(chunk)``: how many bytes a chunk has that only passes, whose ``view`` is never asked for; None of all others.
    ``shared``: whether nobody owns the sums. ``bare``: the sums to which the rank gives nothing of its own.
    """

    view: Callable[[int], Bytes]
    held: Iterable[int]
    missing: Mapping[int, int] = field(default_factory=dict[int, int])
    results: Mapping[int, int] = field(default_factory=dict[int, int])
    add: Callable[[Bytes, Bytes], None] | None = None
    finish: Callable[[Bytes, Bytes], None] = copy_sum
    passing: Callable[[int], int | None] = lambda _: None
    shared: bool = False
    bare: Collection[int] = ()


class Memory:
    """The places of chunks, and the buffers of one operation. ``sends``: the transfers by which the rank sends."""

    def __init__(self, part: Part, sends: Iterable[Transfer]) -> None:
        self._part, self._sends = part, Expected(sends)
        self._landing: set[int] = set()  # chunks that are being received where they belong
        self._carried: dict[int, Bytes] = {}  # chunks that pass, in their buffers
        self._sent: Counter[int] = Counter()
        self._in_use: set[int] = set()  # chunks that pass, whose buffers MPI may still read when all sends are given up
        self._pool: dict[int, list[Bytes]] = {}
        self._lent = 0

    def view(self, chunk: int) -> Bytes:
        """Return the bytes of a chunk that the rank holds."""
        return self._carried[chunk] if chunk in self._carried else self._part.view(chunk)

    def _lends(self, chunk: int, apart: bool) -> int:
        """Return the bytes of the buffer that a chunk is received in; 0 when it is received in its place."""
        # 0 means its place. A chunk that comes a second time while the first copy is landing there needs a buffer,
        # too.
        if (passing := self._part.passing(chunk)) is not None:
            return passing
        return len(self._part.view(chunk)) if apart or chunk in self._landing else 0

    def waits(self, chunk: int, apart: bool) -> bool:
        """Return whether no buffer is given out for a chunk before its message is there.

        ``apart``: whether it is not to be received in its place, since it is there already, or a sum.
        """
        return self._lends(chunk, apart) >= _LARGE

    @property
    def has_room(self) -> bool:
        """Whether another large buffer may be lent."""
        return self._lent < _MOST_LENT

    def receive(self, chunk: int, apart: bool) -> tuple[Bytes, bool]:
        """Return where a chunk is received, and whether that is its place."""
        size = self._lends(chunk, apart)
        if not size and self._part.passing(chunk) is None:
            self._landing.add(chunk)
            return self._part.view(chunk), True
        self._lent += size >= _LARGE
        # A buffer of the same size is used again: new memory costs a fault for each page.
        pool = self._pool.get(size)
        return pool.pop() if pool else np.empty(size, np.uint8), False

    def keep(self, chunk: int, buffer: Bytes) -> None:
        """Keep a chunk that has come in a buffer: there if it only passes, for as long as it is to be sent, else in its place."""
        if self._part.passing(chunk) is None:
            self._part.view(chunk)[:] = buffer
            self.give_back(buffer)
        elif self._sent[chunk] < self._sends.planned(chunk):
            self._carried[chunk] = buffer
        else:
            self.give_back(buffer)

    def landed(self, chunk: int) -> None:
        """Note that a chunk is no longer being received in its place."""
        self._landing.discard(chunk)

    def give_back(self, *buffers: Bytes, in_use: bool = False) -> None:
        """Take back buffers that were lent; ``in_use``: MPI may still use their memory, so nobody else gets them."""
        for buffer in buffers:
            self._lent -= len(buffer) >= _LARGE
            if not in_use:
                self._pool.setdefault(len(buffer), []).append(buffer)

    def sent(self, chunk: int, in_use: bool = False) -> None:
        """Note that a send of a chunk is over; ``in_use``: it was given up, and MPI may still read the buffer."""
        self._sent[chunk] += 1
        if in_use:
            self._in_use.add(chunk)
        if chunk in self._carried and self._sent[chunk] >= self._sends.planned(chunk):
            self.give_back(self._carried.pop(chunk), in_use=chunk in self._in_use)


class Additions:
    """The sums of one rank's part in an operation.

    ``missing``: of each sum, how many contributions are still to be added.
    """

    def __init__(self, part: Part, transfers: Iterable[Transfer]) -> None:
        self.missing = dict(part.missing)
        self._part, self._bare = part, set(part.bare)
        self._receives = [transfer for transfer in transfers if not transfer.sends]
        self._turns: dict[int, deque[Transfer]] = {}
        self._early: dict[int, dict[Transfer, Bytes]] = {}  # contributions that came before their turn
        self._lost: set[int] = set()
        self._was: dict[tuple[int, int], Bytes] = {}  # shared sums, by how many contributions had been added

    def partial(self, transfer: Transfer, chunk: int) -> Bytes | None:
        """Return a copy of a sum that nobody owns, with all contributions that come before a transfer and no other.

        None while it is not there; nothing when it never will be.
        """
        step = transfer.step_of(chunk)
        # Between two receives of a node the schedule has it send what it had added by then, and not a contribution
        # more: a later one may reach the same rank by another way, and would be added twice.
        due = sum(each.first <= chunk < each.stop and each.step_of(chunk) < step for each in self._receives)
        added = self._part.missing[chunk] - self.missing[chunk]
        if added < due:
            return self._part.view(chunk)[:0] if chunk in self._lost else None
        return self._part.view(chunk).copy() if added == due else self._was[chunk, due]

    def take(self, transfer: Transfer, chunk: int, contribution: Bytes) -> list[Bytes]:
        """Take a contribution that a transfer has brought; return the buffers that are not needed any more."""
        if chunk in self._lost:
            return [contribution]
        if chunk not in self._turns:  # who is still to bring contributions to it, in the order of their steps
            bring = [each for each in self._receives if each.first <= chunk < each.stop]
            self._turns[chunk] = deque(sorted(bring, key=lambda each: (each.step_of(chunk), each.peer, each.tree)))
        turns = self._turns[chunk]
        early, done = self._early.setdefault(chunk, {}), list[Bytes]()
        early[transfer] = contribution
        # As many as stand in line now: one that came late lets those behind it in, too.
        while turns and turns[0] in early:
            done.append(early.pop(turns.popleft()))
            if self._part.shared:
                self._was[chunk, self._part.missing[chunk] - self.missing[chunk]] = self._part.view(chunk).copy()
            # No contribution of its own: the first one that comes is the sum so far.
            if chunk in self._bare:
                self._part.view(chunk)[:] = done[-1]
                self._bare.discard(chunk)
            elif self._part.add is not None and len(done[-1]):
                self._part.add(self._part.view(chunk), done[-1])
            self.missing[chunk] -= 1
        return done

    def lose(self, chunk: int) -> list[Bytes]:
        """Note that a sum will never be complete; return the buffers that waited for their turn."""
        self._lost.add(chunk)
        return [*self._early.pop(chunk, {}).values()]
