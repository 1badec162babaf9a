"""The links of a rank in a call of a group, over which its part of a plan goes."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from treecast.errors import Evicted
from treecast.running.engine.engine import Engine, PartOutcome
from treecast.running.engine.memory import Part
from treecast.running.engine.transfers import Peers, Transfer
from treecast.running.engine.turns import Turns
from treecast.running.execution.layout import Bytes
from treecast.running.groups.agreement import Broken
from treecast.running.groups.group import Group
from treecast.running.transport.base import Key, Ticket, Until

# About 30 years: a rank that is only slow is waited for, and a dead one is told of by the transport.
_FOREVER = 1e9


class Lane(Peers):
    """The links of a rank during a part of a call of a group: ``direct`` carries messages over single ones of them.

    The group's transport moves the bytes of both. ``tags``: how many a plan may use.
    """

    tags = 1 << 31

    def __init__(self, direct: Any, group: Group) -> None:
        super().__init__(direct, [group.seats[rank] for rank in group.agreement.members])
        self._group, self._asked = group, list[tuple[int, int]]()

    @property
    def _patience(self) -> float:
        """Seconds for which a plan waits for a rank."""
        return self._group.terms.late or _FOREVER

    def key(self, tag: int) -> Key:
        """Return the key of the message of this call that has a tag."""
        group = self._group
        return super().key(tag)._replace(call=group.agreement.number, instance=group.instance, group=group.ident)

    def send(self, peer: int, tag: int, piece: Bytes, sure: bool) -> Ticket:
        """Begin to send over a link, where every long message waits until it is asked for."""
        return super().send(peer, tag, piece, False)

    def receive(self, peer: int, tag: int, place: Bytes) -> Ticket:
        """Begin to receive over a link."""
        self._asked.append((peer, tag))
        return super().receive(peer, tag, place)

    def give_up(self, peer: int) -> None:
        """Drop what was asked of a rank; all else goes on, as the group's own messages may go over the same transport."""
        for each, tag in self._asked:
            if each == peer:
                self._transport.cancel(self._seats[peer], self.key(tag))

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
        return {self._group.rank_at[seat] for seat in self._transport.lost if seat in self._group.rank_at}

    def exchange(self, to: Sequence[int], sources: Sequence[int], size: int) -> None:
        """Send so many bytes to some, and receive as many from others; give those up that are silent."""
        tickets = [(peer, self.receive(peer, 0, np.empty(size, np.uint8))) for peer in sources]
        tickets += [(peer, self.send(peer, 0, np.zeros(size, np.uint8), True)) for peer in to]
        self.wait(lambda: all(ticket.over for _, ticket in tickets), self._patience)
        for peer in {peer for peer, ticket in tickets if not ticket.over}:
            self.give_up(peer)

    def carry(
        self, transfers: tuple[Transfer, ...], part: Part, turns: Turns[Any], gone: Sequence[Transfer] = ()
    ) -> PartOutcome:
        """Carry out the part of this rank in a plan, as far as it comes. ``gone``: transfers with the dead."""
        # Copies of earlier calls that came after their call was over: nobody asks for them any more.
        self._transport.forget(self._group.agreement.number, self._group.ident)
        try:
            return Engine(self, transfers, part, self._patience, turns=turns, gone=gone).run()
        except (Evicted, Broken):
            # The engine's buffers go with the error. Nothing that comes later may be written to them.
            for peer in range(len(self._seats)):
                self.give_up(peer)
            raise
