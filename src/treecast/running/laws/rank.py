"""A rank that carries out its part of a law, and the laws by name."""

from collections.abc import Callable
from typing import Any, NamedTuple

from treecast.running.transport.base import FrameKind, Key, Steps, Ticket, Transport, Until
from treecast.verification.laws.expecting import expect

DEADLINE = 0.15
"""Seconds after which a rank is silent, where a law is about silence."""


class Rank:
    """A rank that carries out its part of a law.

    ``words``: the numbers and bytes of frames that it has heard, in their order. ``losses``: what its watcher was told.
    ``stops``: nothing moves it any more.
    """

    def __init__(self, transport: Transport) -> None:
        self.transport, self.rank, self.stops = transport, transport.rank, False
        self.words: list[tuple[int, bytes]] = []
        self.losses: list[tuple[int, bool, str]] = []
        transport.on(FrameKind.STATE, lambda source, key, body: self.words.append((key.call, body)))
        transport.watch(lambda rank, proof, why: self.losses.append((rank, proof, why)))

    @property
    def other(self) -> int:
        """The other rank of two."""
        return 1 - self.rank

    def say(self, number: int, body: bytes = b"") -> None:
        """Say a word to the other rank."""
        ticket = self.transport.send(self.other, Key(FrameKind.STATE, number), body)
        expect(ticket.over, True, "a frame of control is over at once")

    def hears(self, number: int) -> Until:
        """Return whether a word has come, as an event."""
        return lambda: any(word == number for word, _ in self.words)

    def sees(self, key: Key) -> Until:
        """Return whether a message waits to be asked for, as an event."""
        return lambda: self.transport.waits(self.other, key) is not None

    def send(self, key: Key, data: Any, lent: bool = False) -> Ticket:
        """Send a message to the other rank."""
        return self.transport.send(self.other, key, data, lent)

    def receive(self, key: Key, place: Any) -> Ticket:
        """Receive a message from the other rank."""
        return self.transport.receive(self.other, key, place)


class Law(NamedTuple):
    """The part of each rank, and the deadline of the transports."""

    part: "Part"
    deadline: float | None


LAWS: dict[str, Law] = {}
"""All laws by name."""

OPTIONAL = set[str]()
"""The names of laws that a carrier may leave out."""


Part = Callable[[Rank], Steps[None]]


def law(optional: bool = False, deadline: float | None = None) -> Callable[[Part], None]:
    """Enter the part of each rank in a law under its name."""

    def enter(part: Part) -> None:
        LAWS[part.__name__] = Law(part, deadline)
        if optional:
            OPTIONAL.add(part.__name__)

    return enter


def data_of(length: int, seed: int = 0) -> bytes:
    """Return bytes to send, others for each seed."""
    return (bytes(range(251)) * (length // 251 + 2))[seed % 251 :][:length]


def place_of(length: int) -> memoryview:
    """Return memory of zeros."""
    return memoryview(bytearray(length))


def key_of(call: int, **more: int) -> Key:
    """Return the key of a message."""
    return Key(FrameKind.DATA, call)._replace(**more)


def over(*tickets: Ticket) -> Until:
    """Return whether messages are over, as an event."""
    return lambda: all(ticket.over for ticket in tickets)


def still_talk(me: Rank) -> Steps[None]:
    """Say something to each other, so all that was under way before it has come."""
    me.say(1000)
    yield me.hears(1000)
