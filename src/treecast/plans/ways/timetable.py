"""Timetables: any ways, on any machine, by a list schedule; and from the end and from the start again, to shorten it.

In each step the arcs ask one after the other, in the order of the first hops that wait for them. A hop begins if all that it
takes is free. Where messages combine, all hops that wait for an arc go over it at once.
"""

from typing import NamedTuple

import numpy as np

from treecast.errors import PlanError
from treecast.models import Model, takes
from treecast.networks.core import Ints
from treecast.networks.flows import arcs_of
from treecast.plans.built import Built
from treecast.plans.ways.ways import Ways, grouped
from treecast.ragged import starts
from treecast.schedule import Claims, Payloads, Rows

_MOST_WORK = 2**20  # hops that are timed there and back


class Timed(NamedTuple):
    """Ways on a machine, the step in which each hop begins, int64 (hops,), and the number of steps."""

    ways: Ways
    model: Model
    step: Ints
    steps: int

    @property
    def transmissions(self) -> int:
        """How often a chunk goes over an arc."""
        return int(self.ways.lengths.sum())

    def built(self) -> Built:
        """Return the rows; runs of chunks that follow each other over an arc are a stream, and what goes at once is a message."""
        ways, combining = self.ways, self.model.combining
        first, lasts = ways.payloads.first[ways.payload], ways.lengths
        order = np.lexsort((first, self.step, ways.tree, ways.arc))
        arc, tree, step, first = (column[order] for column in (ways.arc, ways.tree, self.step, first))
        stop = first + lasts[order]
        fresh = np.ones(len(order), np.bool_)
        follows = (np.diff(arc) == 0) & (np.diff(tree) == 0)
        if combining:
            fresh[1:] = ~(follows & (np.diff(step) == 0))
        else:
            fresh[1:] = ~(follows & (first[1:] == stop[:-1]) & (np.diff(step) == (stop - first)[:-1]))
        begins, arcs = np.flatnonzero(fresh), arcs_of(ways.network)
        payloads = Payloads(np.append(begins, len(order)), first, stop)
        rows = Rows.of(
            payloads,
            step=step[begins],
            steps=np.ones_like(begins) if combining else payloads.lengths,
            src=arcs.tail[arc[begins]],
            dst=arcs.head[arc[begins]],
            port=arcs.port[arc[begins]],
            tree=tree[begins],
            payload=np.arange(len(begins)),
        )
        return Built(rows, Claims(self.steps, self.transmissions))


def listed(ways: Ways, machine: Model, keys: list[Ints], *, back: bool = False) -> Timed:
    """Return the list schedule of some ways on a machine.

    Parameters
    ----------
    ways
        Which way chunks go.
    machine
        The machine: one whose nodes keep what they relay, without routes.
    keys
        In which order hops go if they are in each other's way, int64 (hops,) each: compared from first to last, the least goes
        first. Of equal ones the hop of lower number does.
    back
        Whether the steps are filled from the last to the first.

    Examples
    --------
    >>> from treecast.models import model
    >>> from treecast.plans import plan
    >>> found = Ways.of_schedule(plan("broadcast", "star:4"))
    >>> [listed(found, model(name), [-found.heights]).steps for name in ("all-port", "one-port")]
    [4, 6]
    """
    from treecast.kernels.timetable import time_sends

    wanted, count = takes(machine, ways.network), len(ways)
    lasts = np.ones(count, np.int64) if machine.combining else ways.lengths
    first, follow = grouped(ways.after, ways.before, count) if back else ways.followers
    narrow = (follow, np.bincount(follow, minlength=count), ways.arc, lasts, wanted.resource, wanted.key)
    busy, step = np.zeros((wanted.resources, 2), np.int64), np.empty(count, np.int64)
    room = starts(np.bincount(ways.arc, minlength=len(wanted.resource)))
    ranked = np.lexsort(keys[::-1]).astype(np.int32)
    columns = [first, *(column.astype(np.int32) for column in narrow), busy, ranked, room]
    steps = int(time_sends(*columns, machine.combining, step))
    if steps < 0:
        raise PlanError("hops wait for each other in a circle")
    return Timed(ways, machine, steps - lasts - step if back else step, steps)


def there_and_back(timed: Timed, *, least: int = 0, passes: int = 5) -> Timed:
    """Return a timetable of the same ways with as many steps or fewer: timed from its end, then from its start, and so on.

    Parameters
    ----------
    timed
        A timetable.
    least
        With how many steps to be content.
    passes
        How often to go there and back; less often where there are many hops.
    """
    found = now = timed
    for back in [True, False] * min(passes, _MOST_WORK // max(1, len(timed.ways))):
        if found.steps <= least:
            break
        end = now.step + (1 if timed.model.combining else timed.ways.lengths)
        now = listed(timed.ways, timed.model, [-end if back else now.step], back=back)
        found = min(found, now, key=lambda each: each.steps)
    return found
