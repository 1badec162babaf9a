"""The links of a rank in a call of a group, over which its part of a plan goes."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from treecast.engine.engine import Engine, Outcome, Part
from treecast.engine.transfers import Links, Transfer
from treecast.engine.turns import Turns
from treecast.errors import Evicted
from treecast.execution.layout import Bytes
from treecast.groups.group import Group
from treecast.transport.base import Key, Kind, Ticket, Until

_FOREVER = 1e9


class Lane(Links):
    """The links of a rank during a part of a call of a group: ``direct`` carries messages over single ones of them.

    The group's transport moves the bytes of both. ``tags``: how many a plan may use.
    """

    tags = 1 << 31

    def __init__(self, direct: Any, group: Group) -> None:
        self._direct, self._group = direct, group
        self._asked = list[tuple[int, Key]]()
        super().__init__(direct, [group.seats[rank] for rank in group.agreement.members], self._key, self._drop)

    @property
    def _patience(self) -> float:
        """Seconds for which a plan waits for a rank."""
        return self._group.terms.late or _FOREVER

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

    def _begin(self) -> None:
        """Drop what earlier calls have left."""
        self._direct.forget(self._group.agreement.number, self._group.ident)

    def wait(self, until: Until, seconds: float) -> None:
        """Move bytes. Raises Evicted when the others have gone on without this rank."""

        def looked() -> bool:
            self._group.agreement.check_in()
            return until()

        self._move(looked, seconds)

    def _move(self, until: Until, seconds: float) -> None:
        self._group.transport.wait(until, seconds)

    def lost(self) -> set[int]:
        """Return the ranks of the group to which there is no link any more."""
        return {self._group.rank_at[seat] for seat in self._direct.lost if seat in self._group.rank_at}

    def exchange(self, to: Sequence[int], sources: Sequence[int], size: int) -> None:
        """Send so many bytes to some, and receive as many from others; give those up that are silent."""
        tickets = [(peer, self.receive(peer, 0, np.empty(size, np.uint8))) for peer in sources]
        tickets += [(peer, self.send(peer, 0, np.zeros(size, np.uint8), True)) for peer in to]
        self.wait(lambda: all(ticket.over for _, ticket in tickets), self._patience)
        for peer in {peer for peer, ticket in tickets if not ticket.over}:
            self.give_up(peer)

    def carry(self, transfers: tuple[Transfer, ...], part: Part, turns: Turns[Any] | None) -> Outcome:
        """Carry out the part of this rank in a plan, as far as it comes."""
        self._begin()
        try:
            return Engine(self, transfers, part, self._patience, turns=turns).run()
        except Evicted:
            for seat in self._seats:
                self._drop(seat)
            raise
