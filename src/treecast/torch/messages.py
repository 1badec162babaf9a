"""Messages between two ranks: each has a number among those of its tag, so they need no wildcards, and queue behind no call."""
# pyright: basic

from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from time import monotonic
from typing import Any

from treecast.calls.worker import done
from treecast.tcp.comm import Comm
from treecast.torch.tensors import Reader, torch
from treecast.torch.work import Work, dist, seconds_of
from treecast.transport.base import DIRECT, Key, Kind, Ticket

_TAGS, _STAGES, _CHECK_IN = 1 << 32, 1 << 16, (1 << 32) - 1
Begun = tuple[int, Ticket, int] | None
"""With whom a message is, its ticket, and its length; None as long as nobody is there."""


class Message(Work):
    """A message under way. Whoever waits for it moves the bytes."""

    def __init__(self, comm: Comm, begin: Callable[[], Begun], tensor: Any, finish: Any, limit: float | None) -> None:
        super().__init__(Future(), [tensor])
        self._transport, self._begin, self._finish, self._limit = comm.process.transport, begin, finish, limit
        self._begun: Begun = None
        with self._transport.lock:
            self._is_over()

    def _is_over(self) -> bool:
        self._begun = self._begun or self._begin()
        if self._begun is None:
            return False
        self._source, ticket, length = self._begun
        if ticket.over and not self._future.done():
            why = "has ended, or is cut off: closed" if ticket.lost else ""
            if not why and ticket.length != length:
                why = f"and this one: {ticket.length:,} bytes where {length:,} are received"
            if why:
                self._future.set_exception(dist.DistBackendError(f"treecast: rank {self._source} {why}"))
            else:
                done(lambda: self._finish and self._finish(), self._future)
        return ticket.over

    def wait(self, timeout: Any = None) -> bool:
        """Wait until it is over. Raises DistBackendError when the other rank has ended, or the time is up."""
        with self._transport.lock:
            self._transport.wait(self._is_over, seconds_of(timeout) or self._limit)
        if not self._future.done():
            raise dist.DistBackendError("treecast: Timed out : the message is still under way")
        return super().wait()

    def is_completed(self) -> bool:
        """Return whether it is over."""
        with self._transport.lock:
            self._transport.wait(self._is_over, 0)
            return self._is_over()

    def get_future(self) -> Any:
        """Return torch's future of the tensor, which a thread of its own waits for."""
        told = super().get_future()
        if not self._future.done():
            Thread(target=done, args=(self.wait,), daemon=True).start()
        return told


class Messages:
    """The messages of a group to and from this rank."""

    def __init__(self, comm: Comm) -> None:
        self._comm, self._numbers = comm, Counter[tuple[bool, int, int]]()

    def _key(self, is_sent: bool, peer: int, tag: int, *, taken: bool = True) -> Key:
        """Return the key of the next message, which has its number from then on if it is ``taken``."""
        number = self._numbers[is_sent, peer, tag]
        self._numbers[is_sent, peer, tag] += taken
        return Key(Kind.DATA, tag % _TAGS, number % _STAGES, 0, DIRECT, self._comm.group.ident)

    def send(self, tensor: Any, to: int, tag: int, limit: float | None) -> Message:
        """Send a tensor to a rank."""
        group, piece = self._comm.group, Reader().send(tensor)

        def begin() -> Begun:
            ticket = self._comm.process.transport.send(group.seats[to], self._key(True, to, tag), piece)
            return to, ticket, len(piece)

        return Message(self._comm, begin, tensor, None, limit)

    def receive(self, tensor: Any, source: int | None, tag: int, limit: float | None) -> Message:
        """Receive a tensor from a rank, or from the first that has sent one."""
        group, place = self._comm.group, Reader().receive(tensor)
        (piece,), transport = place.pieces, self._comm.process.transport

        def sent(rank: int) -> bool:
            key = self._key(False, rank, tag, taken=False)
            return rank != group.rank and transport.waits(group.seats[rank], key) is not None

        def begin() -> Begun:
            found = next(filter(sent, range(group.size)), None) if source is None else source
            if found is None:
                return None
            return found, transport.receive(group.seats[found], self._key(False, found, tag), piece), len(piece)

        return Message(self._comm, begin, tensor, place.finish, limit)

    def check_in(self, seconds: float | None, all_ranks: bool) -> None:
        """Have rank 0 hear all others, and answer them. Raises RuntimeError with gloo's words."""
        group, word = self._comm.group, torch.zeros(1, dtype=torch.uint8)
        ms, until = int(1000 * (seconds or 0)), monotonic() + (seconds or 0)
        if group.rank:
            try:
                self.send(word, 0, _CHECK_IN, seconds).wait()
                self.receive(word, 0, _CHECK_IN, seconds).wait()
            except dist.DistBackendError:
                raise RuntimeError(
                    f"Rank {group.rank} successfully reached monitoredBarrier, but received errors while waiting for "
                    "send/recv from rank 0. Please check rank 0 logs for faulty rank."
                ) from None
            return
        if seconds is None:
            raise RuntimeError("Rank 0 timed out in monitoredBarrier after 0 ms.")
        missing: list[int] = []
        for rank in range(1, group.size):
            try:
                self.receive(word, rank, _CHECK_IN, None).wait(max(1e-3, until - monotonic()))
            except dist.DistBackendError:
                missing.append(rank)
                if not all_ranks:
                    break
        if missing:
            named = f"Rank{'s' if all_ranks else ''} {', '.join(map(str, missing))}"
            raise RuntimeError(f"[Rank 0]: {named} failed to pass monitoredBarrier in {ms} ms")
        for rank in range(1, group.size):
            self.send(word, rank, _CHECK_IN, seconds).wait()
