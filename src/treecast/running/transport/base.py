"""The transport: the few verbs on which collectives and the agreement about their outcome stand.

A message has a key, and goes into the place that the receiver names under that key. Frames of control are small, are
buffered, and overtake data that waits. A message without bytes is a *void*: its sender has nothing to send.
"""

import struct
import traceback
from collections.abc import Callable, Collection, Generator, Iterable
from enum import IntEnum
from threading import Event, Lock, Thread, current_thread
from time import monotonic
from typing import Any, NamedTuple, Self, TypeVar

from treecast.errors import PlanError
from treecast.running.transport.events import Events
from treecast.running.transport.marks import Marks

SMALL = 1 << 16
"""Bytes up to which a message is buffered when nobody has asked for it, and up to which a frame of control may be long."""

DIRECT = 255
"""The instance of messages between two ranks, which no call limits: even a small one waits until it is asked for."""

Piece = Any
"""Contiguous bytes: a memoryview of bytes, say. Its slices must be views."""

Until = Callable[[], bool]
T = TypeVar("T")
_LOOK = 0.02  # seconds between two looks of the side thread, of 64 ranks: those of more are likelier to share a core
Steps = Generator[Until, None, T]
"""Work of a rank, which yields the events it waits for, and returns a result. So whatever moves messages can carry it out."""


class FrameKind(IntEnum):
    """The kind of a frame. DATA goes to the place that was asked for; from STATE on, frames go to the handler of their kind."""

    # The first seven are the carrier's own, of one connection. A connection that is shut drops them.
    DATA = 0
    OFFER = 1  # a long message waits to be asked for; its length, and where it lies
    GRANT = 2  # it is asked for
    REFUSE = 3  # a message of this length is not wanted
    ALIVE = 4
    TAKEN = 5  # an offer was read where it lies
    NEAR = 6  # this process, and its mark, for who can read its memory
    STATE = 8  # what a rank lacks and has at the end of a call, and who is gone for it
    DECIDED = 9  # the one outcome of a call, to who has said its state
    FETCH = 10  # send me data that you have kept
    ENDED = 11  # up to which call the sender has come, with the digests of its last ones
    FENCE = 12  # the others go on without you
    LEFT = 13  # the sender has learned so, and takes no further part
    BYE = 14  # the sender makes no calls after this one
    WELCOME = 15
    ABORT = 16
    FLOOD = 17  # a piece of a stream over links
    UNLIKE = 18  # the call of a rank, as calls of this number are unlike
    ASK = 19  # where are you? this rank waits
    HERE = 20
    NEWS = 21  # who has ended or left, as others have heard
    REVOKED = 22  # who says so makes no call after this one
    MESSAGE = 23  # between two ranks: one that comes, or is announced


class Key(NamedTuple):
    """Which message: ``about`` says whose data it is, ``stage`` which part of the call.

    Those that differ in ``about`` alone are asked for in the order in which they are sent: a carrier need not tell them apart.
    """

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


class FrameError(ValueError):
    """A frame makes no sense: no rank sends it. Whoever sent it counts as silent from now on."""


def words_of(words: struct.Struct, body: bytes) -> Any:
    """Return the words of a body. Raises FrameError when they are none."""
    if len(body) != words.size:
        raise FrameError("words that are none")
    return words.unpack(body)


Handler = Callable[[int, Key, bytes], None]
Watcher = Callable[[int, bool, str], None]


class Transport:
    """The messages between this rank and all others, of ``size``. Subclasses carry them.

    This is all that is asked of a carrier, and ``treecast.running.laws.transports`` checks that it is kept. A carrier writes
    ``send``, ``receive``, ``cancel``, ``waits``, ``wait``, ``shut`` and ``close``; the rest has a default.

    ``lost``: the ranks from which nothing more comes, and whether their end is proved; else they are silent, or shut.
    ``whys``: a word for each of them: "eof" (its connection ended), "silent" (no word within the deadline), "frame" (it sent one
    that makes no sense), "told" (others say so), the word that ``shut`` was told, or one of the carrier's own.
    ``deadline``: seconds without a word after which a rank is silent; None waits for ever. ``awaited``: whom it judges so, all
    by default. ``spares``: a silent rank is not shut; its messages are cancelled. ``lock``: is held around every verb; a wait
    may let it go while it sleeps. ``on_error``: is told of errors of handlers that are not the sender's. ``beside``: is done by
    the side thread, too, every ``look`` seconds.
    ``marks``: the digests of calls, which data carries; data of an unlike call is dropped. ``events``: of
    the job at this rank. ``name``: of what carries the messages.
    """

    name = "a carrier"

    def __init__(self, rank: int, size: int, deadline: float | None = None) -> None:
        self.rank, self.size, self.deadline = rank, size, deadline
        self.lost, self.whys = dict[int, bool](), dict[int, str]()
        self.marks, self.events = Marks(), Events()
        self.lock, self.spares = Lock(), False
        self.awaited: Callable[[], Iterable[int]] = self._living
        self.on_error: Callable[[Exception], None] = traceback.print_exception
        self.beside: Callable[[], None] = lambda: None
        self._handlers, self._watchers = dict[int, Handler](), list[Watcher]()
        self._errors = list[Exception]()  # that were told, and no wait has raised
        self._closed = Event()
        self._helper: Thread | None = None
        # A look takes the lock and a core. So where more ranks share the cores of a host, each looks less often.
        self.look = _LOOK * max(1.0, size / 64)
        self.heard = dict.fromkeys(range(size), 0.0)
        self._looked = self._said = monotonic()  # when it looked last, and when it said so
        self._judged = set[int]()

    def send(self, to: int, key: Key, piece: Piece, lent: bool = False) -> Ticket:
        """Begin to send. The piece is the transport's until the ticket is over; frames of control are over at once.

        ``lent``: nobody need say that it was read; the sender learns so otherwise, and takes it back (``Ticket.lent``).
        """
        raise NotImplementedError

    def receive(self, source: int, key: Key, place: Piece) -> Ticket:
        """Begin to receive. A message of another length is dropped, and the ticket tells its length."""
        raise NotImplementedError

    def cancel(self, source: int, key: Key | None = None) -> None:
        """Await a message no more: its ticket is over, as lost, and its place is free; the message is dropped when it comes.

        Without a key: so with all messages from a rank, and to it.
        """
        raise NotImplementedError

    def forget(self, call: int, group: int) -> None:
        """Drop messages that calls of a group before this one have left. Without it they take memory, and nothing else."""

    def waits(self, source: int, key: Key) -> int | None:
        """Return the length of a message that nobody has asked for yet, None where there is none."""
        raise NotImplementedError

    def wait(self, until: Until, seconds: float | None = None) -> None:
        """Move bytes and call handlers until ``until()`` holds or the time is up. Nothing else waits.

        A wait of no seconds keeps the lock. Raises PlanError when it is closed meanwhile, and errors that ``on_error`` was told.
        """
        raise NotImplementedError

    def shut(self, rank: int, why: str = "shut") -> None:
        """Take nothing more from a rank, and touch no memory for it: its tickets are over, as lost."""
        raise NotImplementedError

    def has_said(self, ranks: Collection[int]) -> bool:
        """Return whether nothing that was said to the living of some ranks waits to go out."""
        return True

    def on(self, kind: FrameKind, handler: Handler) -> None:
        """Have frames of control of a kind handled; a handler raises FrameError for one that makes no sense."""
        self._handlers[kind] = handler

    def watch(self, handler: Watcher) -> None:
        """Have it told which rank is lost from now on, whether that is proved, and the word for it of ``whys``."""
        self._watchers.append(handler)

    def _lose(self, rank: int, proof: bool, why: str) -> None:
        # Noted before anybody is told: a watcher may send, or shut the rank once more, and both ask `lost` first.
        self.lost[rank], self.whys[rank] = proof, why
        for watcher in self._watchers:
            self._call(watcher, rank, proof, why)

    def _hear(self, source: int, key: Key, body: bytes) -> None:
        """Have a frame handled. Raises FrameError for one that makes no sense."""
        handler = self._handlers.get(key.kind)
        if handler is None:
            raise FrameError(f"a frame of kind {key.kind}")  # a frame that nobody handles is nonsense, not a silence
        self._call(handler, source, key, body)

    def _call(self, handler: Callable[..., None], *given: Any) -> None:
        """Call a handler. An error of its own says nothing of the sender: it is told, and raised in the next wait."""
        try:
            handler(*given)
        # This one does say something of the sender: the carrier ends what it hears of that rank.
        except FrameError:
            raise
        except Exception as error:
            self.on_error(error)
            self._errors.append(error)

    def raise_error(self) -> None:
        """Raise the error of a handler that was told, once."""
        if self._errors:
            # Only the first is raised. `on_error` has told of the others already.
            errors, self._errors = self._errors, []
            raise errors[0]

    def _living(self) -> Iterable[int]:
        return [rank for rank in self.peers if rank not in self.lost]

    def watch_time(self, judges: bool = True) -> None:
        """Say that this rank is alive, and find out who is silent, by ``heard``: when the last word of each rank came."""
        if self.deadline is None:
            return
        now = monotonic()
        if now - self._looked > self.deadline / 2:  # it is this rank that was stopped: hear the others first
            self.heard.update(dict.fromkeys(self.heard, now))
        self._looked = now
        # Four words fit into a deadline. So one that is late, or lost time in a queue, is no silence yet.
        if now - self._said > self.deadline / 4 and not self.is_closed:
            self._said = now
            for rank in self._living():
                self.send(rank, Key(FrameKind.ALIVE), b"")
        # The side thread does not judge: nobody waits then, so no rank keeps anybody waiting.
        if judges:
            awaited = set(self.awaited())
            self.heard.update(dict.fromkeys(awaited - self._judged, now))  # it may have had nothing to say before
            self._judged = awaited  # who is judged now, so that a new one is not judged at once
            for rank in awaited:
                if now - self.heard[rank] > self.deadline:
                    self.cancel(rank) if self.spares else self.shut(rank, "silent")

    def start(self) -> Self:
        """Begin to answer beside the program; return this."""
        if self._helper is None:
            self._helper = Thread(target=self._help, name="treecast.transport", daemon=True)
            self._helper.start()
        return self

    def _help(self) -> None:
        """Answer when nobody waits, whatever happens; errors are told here, as no call waits for them."""
        while not self._closed.wait(self.look if self.deadline is None else min(self.look, self.deadline / 4)):
            # Whoever holds the lock moves bytes by itself, or lets go soon. To stand in line here would delay the
            # program's own calls.
            if self.lock.acquire(blocking=False):
                # What `on_error` has told of is not told twice.
                told = self._errors
                try:
                    self._answer()
                    self.beside()
                except Exception as error:
                    if error not in told and not self.is_closed:
                        self.on_error(error)
                finally:
                    self._errors = []
                    self.lock.release()

    def _answer(self) -> None:
        """Take what has come, without a wait; for the side thread."""
        self.wait(lambda: False, 0)

    @property
    def peers(self) -> list[int]:
        """The ranks to which there are, or were, connections."""
        return [rank for rank in range(self.size) if rank != self.rank]

    def add(self, peer: int, connection: Any) -> None:
        """Take a connection to a rank, in the place of an older one. Raises PlanError where ranks cannot come later."""
        raise PlanError(f"{type(self).__name__} takes no ranks in: start all at once")

    @property
    def is_closed(self) -> bool:
        """Whether it answers nobody any more."""
        return self._closed.is_set()

    def close(self) -> None:
        """Answer nobody any more; waits end. A carrier ends its connections, too. The caller need not hold the lock."""
        self._closed.set()
        # A handler may close the transport from the side thread itself, which cannot wait for its own end.
        if self._helper is not None and self._helper is not current_thread():
            self._helper.join()


def carry_out(steps: Steps[T], wait: Callable[[Until], None]) -> T:
    """Carry work out, waiting for whatever it waits for; return its result."""
    try:
        while True:
            wait(next(steps))
    except StopIteration as end:
        return end.value
