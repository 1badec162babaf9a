"""The links of a rank as the engine of plans sees them."""

from treecast.engine.choose import Program
from treecast.engine.engine import Engine, Part
from treecast.engine.transfers import Links
from treecast.errors import Evicted
from treecast.execution.layout import Bytes
from treecast.groups.group import Group
from treecast.transport.base import Key, Kind, Ticket, Until
from treecast.transport.sockets import Sockets

TAGS = 1 << 31  # others are of data that is fetched
_FOREVER = 1e9


class Lane(Links):
    """The links of a rank during a call of a group: ``direct`` carries messages over single ones of them."""

    def __init__(self, direct: Sockets, group: Group) -> None:
        self._direct, self._group = direct, group
        self._asked = list[tuple[int, Key]]()
        super().__init__(direct, group.agreement.members, self._key, self._drop)

    def _key(self, tag: int) -> Key:
        group = self._group
        return Key(Kind.DATA, group.agreement.number, tag >> 16, tag & 0xFFFF, group.instance, group.ident)

    def send(self, peer: int, tag: int, piece: Bytes, sure: bool) -> Ticket:
        """Begin to send over a link, where every long message waits until it is asked for."""
        return super().send(peer, tag, piece, False)

    def receive(self, peer: int, tag: int, place: Bytes) -> Ticket:
        """Begin to receive over a link."""
        self._asked.append((self._seats[peer], self._key(tag)))
        return super().receive(peer, tag, place)

    def _drop(self, seat: int) -> None:
        """Drop messages of a rank; their memory is free."""
        for source, key in self._asked:
            if source == seat:
                self._direct.cancel(source, key)

    def wait(self, until: Until, seconds: float) -> None:
        """Move bytes. Raises Evicted when the others have gone on without this rank."""

        def looked() -> bool:
            self._group.agreement.check_in()
            return until()

        self._group.transport.wait(looked, seconds)

    def hold(self, program: Program, part: Part) -> set[int]:
        """Carry out the part of this rank in a plan, as far as it comes; return the chunks that it holds then."""
        self._direct.forget(self._group.agreement.number, self._group.ident)
        try:
            return Engine(self, program.transfers, part, self._group.late or _FOREVER).run().held
        except Evicted:
            for seat in self._seats:
                self._drop(seat)
            raise
