"""The sums that a rank adds to: contributions are added in the order of the schedule, in whichever they come.

Floating-point sums depend on the order. So equal calls give equal bits, however fast the ranks are.
"""

from collections import deque
from collections.abc import Iterable

from treecast.engine.memory import Part
from treecast.engine.transfers import Transfer
from treecast.execution.layout import Bytes


class Additions:
    """The sums of one rank's part in an operation.

    ``missing``: of each sum, how many contributions are still to be added.
    """

    def __init__(self, part: Part, transfers: Iterable[Transfer]) -> None:
        self.missing = dict(part.missing)
        self._part = part
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
        due = sum(each.first <= chunk < each.stop and each.step_of(chunk) < step for each in self._receives)
        added = self._part.missing[chunk] - self.missing[chunk]
        if added < due:
            return self._part.view(chunk)[:0] if chunk in self._lost else None
        return self._part.view(chunk).copy() if added == due else self._was[chunk, due]

    def take(self, transfer: Transfer, chunk: int, contribution: Bytes) -> list[Bytes]:
        """Take a contribution that a transfer has brought; return the buffers that are not needed any more."""
        if chunk in self._lost:
            return [contribution]
        turns = self._turns_of(chunk)
        early, done = self._early.setdefault(chunk, {}), list[Bytes]()
        early[transfer] = contribution
        while turns and turns[0] in early:
            done.append(early.pop(turns.popleft()))
            if self._part.shared:
                self._was[chunk, self._part.missing[chunk] - self.missing[chunk]] = self._part.view(chunk).copy()
            if self._part.add is not None and len(done[-1]):
                self._part.add(self._part.view(chunk), done[-1])
            self.missing[chunk] -= 1
        return done

    def lose(self, chunk: int) -> list[Bytes]:
        """Note that a sum will never be complete; return the buffers that waited for their turn."""
        self._lost.add(chunk)
        return [*self._early.pop(chunk, {}).values()]

    def _turns_of(self, chunk: int) -> deque[Transfer]:
        """Return the transfers that are still to bring contributions to a sum, in the order of their steps."""
        if chunk not in self._turns:
            bring = [transfer for transfer in self._receives if transfer.first <= chunk < transfer.stop]
            bring.sort(key=lambda transfer: (transfer.step_of(chunk), transfer.peer, transfer.tree))
            self._turns[chunk] = deque(bring)
        return self._turns[chunk]
