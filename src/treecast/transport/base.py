"""The transport: six verbs, on which collectives and the agreement about their outcome stand.

A message has a key, and goes into the place that the receiver names under that key. Frames of control are small, are
buffered, and overtake data that waits. A message without bytes is a *void*: its sender has nothing to send.
"""

from collections.abc import Callable, Generator
from enum import IntEnum
from typing import Any, NamedTuple, TypeVar

from treecast.transport.events import Events
from treecast.transport.marks import Marks

SMALL = 1 << 16
"""Bytes up to which a message is buffered when nobody has asked for it, and up to which a frame of control may be long."""

DIRECT = 255
"""The instance of messages between two ranks, which no call limits: even a small one waits until it is asked for."""

Piece = Any
"""Contiguous bytes: a memoryview of bytes, say. Its slices must be views."""

Until = Callable[[], bool]
T = TypeVar("T")
Steps = Generator[Until, None, T]
"""Work of a rank, which yields the events it waits for, and returns a result. So whatever moves messages can carry it out."""


class Kind(IntEnum):
    """The kind of a frame. DATA goes to the place that was asked for; from STATE on, frames go to the handler of their kind."""

    DATA = 0
    OFFER = 1  # a long message waits to be asked for; its length, and where it lies
    GRANT = 2  # it is asked for
    REFUSE = 3  # a message of this length is not wanted
    ALIVE = 4
    TAKEN = 5  # an offer was read where it lies
    NEAR = 6  # this process, and its mark, for who can read its memory
    STATE = 8
    DECIDED = 9
    FETCH = 10
    ENDED = 11
    FENCE = 12
    LEFT = 13
    BYE = 14
    WELCOME = 15
    ABORT = 16
    FLOOD = 17
    UNLIKE = 18  # the call of a rank, as calls of this number are unlike
    ASK = 19  # where are you? this rank waits
    HERE = 20


class Key(NamedTuple):
    """Which message: ``about`` says whose data it is, ``stage`` which part of the call."""

    kind: int
    call: int = 0
    stage: int = 0
    about: int = 0
    instance: int = 0
    group: int = 0


class Ticket:
    """A message under way. ``over``: nothing more touches its memory. ``lost``: it was not delivered. ``length``: of the message.

    ``lent``: takes the memory of one back that waits to be read; it is told whether all that live have read it.
    """

    __slots__ = ("length", "lent", "lost", "over")

    def __init__(self) -> None:
        self.over, self.lost, self.length = False, False, 0
        self.lent: Callable[[bool], None] | None = None

    def end(self, length: int = 0, lost: bool = False) -> None:
        """Say that it is over."""
        self.over, self.length, self.lost = True, length, lost


Handler = Callable[[int, Key, bytes], None]


class Transport:
    """The messages between this rank and all others, of ``size``. Subclasses carry them.

    ``lost``: the ranks from which nothing more comes, and whether their end is proved; else they are silent, or shut.
    ``deadline``: seconds without a word after which a rank is silent; None waits for ever. ``marks``: the digests of calls, which
    data carries; data of an unlike call is dropped. ``events``: of the job at this rank.
    """

    def __init__(self, rank: int, size: int, deadline: float | None = None) -> None:
        self.rank, self.size, self.deadline = rank, size, deadline
        self.lost: dict[int, bool] = {}
        self.marks, self.events = Marks(), Events()
        self._handlers: dict[int, Handler] = {}
        self._watchers: list[Callable[[int, bool], None]] = []

    def on(self, kind: Kind, handler: Handler) -> None:
        """Have frames of control of a kind handled."""
        self._handlers[kind] = handler

    def watch(self, handler: Callable[[int, bool], None]) -> None:
        """Have it told which rank is lost from now on, and whether that is proved."""
        self._watchers.append(handler)

    def _lose(self, rank: int, proof: bool) -> None:
        self.lost[rank] = proof
        for watcher in self._watchers:
            watcher(rank, proof)

    def send(self, to: int, key: Key, piece: Piece, lent: bool = False) -> Ticket:
        """Begin to send. The piece is the transport's until the ticket is over; frames of control are over at once.

        ``lent``: nobody need say that it was read; the sender learns so otherwise, and takes it back (``Ticket.lent``).
        """
        raise NotImplementedError

    def receive(self, source: int, key: Key, place: Piece | None) -> Ticket:
        """Begin to receive; None drops the message. A message of another length is dropped, and the ticket tells its length."""
        raise NotImplementedError

    def waits(self, source: int, key: Key) -> int | None:
        """Return the length of a message that nobody has asked for yet, None where there is none."""
        raise NotImplementedError

    def wait(self, until: Until, seconds: float | None = None) -> None:
        """Move bytes and call handlers until ``until()`` holds or the time is up. Nothing else waits."""
        raise NotImplementedError

    def shut(self, rank: int) -> None:
        """Take nothing more from a rank, and touch no memory for it: its tickets are over."""
        raise NotImplementedError


def carry_out(steps: Steps[T], wait: Callable[[Until], None]) -> T:
    """Carry work out, waiting for whatever it waits for; return its result."""
    try:
        while True:
            wait(next(steps))
    except StopIteration as end:
        return end.value
