"""Times without waiting: what a node does not keep goes on in the next step, so all hops up to who keeps it are placed at once.

Communication model: bufferless, one port or all. A *unit* is the hops of a payload from a node that keeps it to nodes that
do: over one port a path, and over all ports what branches in between goes together. Units are placed one after the other, each
at the earliest step in which all that it takes is free. On a tree, farthest first, that is the best scatter there is (Bhatt,
Pucci, Ranade & Rosenberg, Theorem 1).
"""

from dataclasses import dataclass, replace

import numpy as np

from treecast.collectives import Collective
from treecast.errors import PlanError
from treecast.models import Model
from treecast.networks.arcs import arcs_of
from treecast.networks.core import Ints
from treecast.plans.times.timetable import Timed
from treecast.plans.ways.ways import Ways, grouped
from treecast.ragged import starts
from treecast.takes import takes


@dataclass(frozen=True, eq=False)
class Units:
    """Units of hops, for ``place`` in plans/kernels/placing.py; ``ways``: all hops, unit by unit. int64 arrays.

    ``hop``: of which hop each is; one that several paths share is there for each of them.
    """

    ways: Ways
    model: Model
    hop: Ints
    first: Ints
    later: Ints
    above: Ints
    arrives: Ints

    @staticmethod
    def of(ways: Ways, collective: Collective, model: Model) -> "Units":
        """Return the units of ways, whose hops each wait for one hop at most.

        Raises PlanError where a message cannot pass through a node, which would have to send and receive it at once.
        """
        # 1. Which hops go on at once, and how long after the first hop of their unit.
        count, arcs = len(ways), arcs_of(ways.network)
        above, chunk = np.full(count, -1), ways.payloads.first[ways.payloads.start[ways.payload]]
        above[ways.after] = ways.before
        tail = arcs.tail[ways.arc].astype(np.int64)
        kept = collective.given().include(tail, chunk) | collective.wanted().include(tail, chunk)
        up, root, later = np.where(kept, -1, above), np.arange(count), np.zeros(count, np.int64)
        going = on = np.flatnonzero(up >= 0)
        while len(going):
            root[going] = up[root[going]]
            later[going] += 1
            going = going[up[root[going]] >= 0]
        # 2. The hops of each unit: over all ports those of one first hop, over one port those up from each last hop.
        if model.room:
            ends, hops, units = np.setdiff1d(np.arange(count), up[on]), list[Ints](), list[Ints]()
            unit, left, at = np.full(count, -1), np.arange(len(ends)), ends
            unit[ends] = left
            while len(at):
                hops.append(at)
                units.append(left)
                going = up[at] >= 0
                at, left = up[at[going]], left[going]
            hop, of = np.concatenate(hops or [ends]), np.concatenate(units or [ends])
        else:
            begins, unit = np.unique(root, return_inverse=True)
            hop, of, ends = np.arange(count), unit, begins
        order = np.lexsort((later[hop], of))
        hop, of = hop[order], of[order]
        # 3. For which unit each waits.
        first = starts(np.bincount(of, minlength=len(ends)))
        begin = hop[first[:-1]]
        bringer = above[begin]
        brought, arrives = np.where(bringer < 0, -1, unit[bringer]), later[bringer] + 1
        nothing = np.zeros(0, np.int64)
        entries = replace(
            ways,
            arc=ways.arc[hop],
            payload=ways.payload[hop],
            tree=ways.tree[hop],
            turn=ways.turn[hop],
            before=nothing,
            after=nothing,
        )
        found = Units(entries, model, hop, first, later[hop], brought, arrives)
        found._check()
        return found

    def _check(self) -> None:
        """Raise PlanError where hops of a unit take the same at once."""
        taken = takes(self.model, self.ways.network).resource[self.ways.arc]
        unit = np.repeat(np.arange(len(self.first) - 1), np.diff(self.first))
        resource, unit, later, lasts = (
            taken.reshape(-1),
            *(np.repeat(column, taken.shape[1]) for column in (unit, self.later, self.ways.lengths)),
        )
        order = np.lexsort((later, resource, unit))
        same = (np.diff(unit[order]) == 0) & (np.diff(resource[order]) == 0)
        if (same & (np.diff(later[order]) < lasts[order[1:]])).any():
            raise PlanError(
                f"under {self.model.name} a message of several flits cannot pass through a node that has no buffer: "
                "it would send the first and receive the second in one step"
            )

    def placed(self, key: list[Ints], soonest: bool = False) -> Timed:
        """Return the times where units are placed in an order, by keys of hops: int64 each, the least first.

        ``soonest``: of those whose data is there always the one that can begin first, and of equals the first in order.
        """
        from treecast.plans.kernels.placing import place

        begin, began = self.hop[self.first[:-1]], np.zeros(len(self.first) - 1, np.int64)
        order, lasts = np.lexsort([each[begin] for each in key[::-1]]), self.ways.lengths[self.first[:-1]]
        waits = np.flatnonzero(self.above >= 0)
        follow = grouped(self.above[waits], waits, len(began))
        columns = (self.first, self.ways.arc, self.later, lasts, self.above, self.arrives, *follow)
        steps = int(place(*columns, takes(self.model, self.ways.network).resource, order, soonest, began))
        return Timed(self.ways, self.model, np.repeat(began, np.diff(self.first)) + self.later, steps)
