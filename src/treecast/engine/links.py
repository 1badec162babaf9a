"""The messages of a plan, over a transport."""

from collections.abc import Callable, Sequence

from treecast.execution.layout import Bytes
from treecast.transport.base import DIRECT, Key, Ticket, Transport, Until


class Links:
    """How a rank reaches the others of a plan: rank r of it is rank ``seats[r]`` of the transport.

    ``key_of``: the key of the message that has a tag. ``give_up``: ends the messages to and from a rank of the transport.
    """

    def __init__(
        self, transport: Transport, seats: Sequence[int], key_of: Callable[[int], Key], give_up: Callable[[int], None]
    ) -> None:
        self._transport, self._seats, self._key_of, self._give_up = transport, seats, key_of, give_up

    def send(self, peer: int, tag: int, piece: Bytes, sure: bool) -> Ticket:
        """Begin to send; ``sure``: it is over only when the other side has asked for it."""
        key = self._key_of(tag)
        return self._transport.send(self._seats[peer], key._replace(instance=DIRECT) if sure else key, piece.data)

    def receive(self, peer: int, tag: int, place: Bytes) -> Ticket:
        """Begin to receive into a place."""
        return self._transport.receive(self._seats[peer], self._key_of(tag), place.data)

    def has_come(self, peer: int, tag: int) -> bool:
        """Return whether a message is there that nobody has asked for."""
        return self._transport.waits(self._seats[peer], self._key_of(tag)) is not None

    def is_lost(self, peer: int) -> bool:
        """Return whether nothing more comes from a rank."""
        return self._seats[peer] in self._transport.lost

    def give_up(self, peer: int) -> None:
        """Expect nothing more from a rank, and tell it nothing more."""
        self._give_up(self._seats[peer])

    def wait(self, until: Until, seconds: float) -> None:
        """Move messages until ``until()`` holds or the time is up."""
        self._transport.wait(until, seconds)
