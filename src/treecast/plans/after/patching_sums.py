"""A schedule of sums patched after faults: the rows that still carry stay in their steps, as long as none has to begin later.

Communication model: that of the schedule. A reduction backwards is data that spreads, on the network with its arcs turned
round: so it is patched backwards (plans/after/patching.py), and turned again. New rows go last there, and first in the
reduction. If it needs steps of its own, all that is kept would begin later, and every node would have to be told: then there is
no patch. Relays have nothing to add, so one stays only if it passes something on. An allreduce of a reduction and a spreading
is patched in both halves, if one begins when the other is over.
"""

import numpy as np

from treecast.collectives import Collective, find_backwards
from treecast.networks import Network
from treecast.networks.core import Ints
from treecast.plans.after.patching import Patch, patched
from treecast.plans.built import Built
from treecast.plans.reversal import one_after_the_other, reverse_in_time
from treecast.plans.ways.trees.repaired import new_nodes
from treecast.schedule import Claims, Rows, Schedule


def patched_sums(schedule: Schedule, left: Network) -> Patch | None:
    """Return a schedule of sums patched for the rest of its network, where nodes have their labels from before.

    None where something kept would begin later, where halves overlap, without owners, and as of ``patched``.

    >>> from treecast.plans import plan
    >>> old = plan("reduce", "hypercube:4", messages=2, builder="disjoint-trees")
    >>> found = patched_sums(old, old.network.without(links=["0b0001-0b0011"]))
    >>> old.steps, found.schedule.steps, found.hearing.tolist()
    (5, 5, [0])
    """
    collective, network = schedule.collective, schedule.network
    if not collective.sums or collective.shared:
        return None
    kind = collective.traits
    node = new_nodes(network, left)
    root = 0 if collective.all_source else int(node[collective.root])
    made = Collective.over(left, collective.kind, collective.messages, root=root)
    if kind.backwards:
        both = _turned(schedule.plain(), kind.backwards, left)
        return both and _patch(schedule, left, made, reverse_in_time(left, made, both[0]), both[1:])
    plain, forward = schedule.plain(), kind.there_and_back
    back = find_backwards(forward)
    adding = plain.rows.pieces
    finished = np.zeros(len(plain.rows), np.bool_)
    finished[adding.row] = adding.first >= collective.sums
    ends = plain.rows.step.astype(np.int64) + plain.rows.steps
    begin = int(ends[~finished].max(initial=0))
    if int(plain.rows.step[finished].min(initial=begin)) < begin:
        return None
    start = 0 if collective.all_source else collective.root
    first = _part(plain, back, plain.rows.take(~finished), start)
    later = plain.rows.take(finished)
    columns = later.columns() | {"step": later.step.astype(np.int64) - begin}
    second = _part(plain, forward, Rows.of(later.payloads.shifted(-collective.sums), **columns), start)
    there, again = _turned(first, forward, left), patched(second, left)
    if there is None or again is None or again.schedule.steps > second.steps:
        return None
    reduction = reverse_in_time(left, Collective.over(left, back, collective.messages, root=root), there[0])
    spreading = Built(again.schedule.rows, Claims(again.schedule.steps, again.schedule.transmissions))
    ends = np.union1d(there[1], again.hearing), np.union1d(there[2], again.sending)
    return _patch(schedule, left, made, one_after_the_other(made, reduction, spreading), ends)


def _part(plain: Schedule, kind: str, rows: Rows, root: int) -> Schedule:
    """Return one half of a schedule that goes there and back."""
    collective = Collective.over(plain.network, kind, plain.collective.messages, root=root)
    return Schedule(plain.network, collective, plain.model, rows)


def _turned(reduction: Schedule, forward: str, left: Network) -> tuple[Built, Ints, Ints] | None:
    """Return the rest of a reduction, patched, as it runs backwards; and the nodes of the reduction as ``Patch`` has them."""
    turned, steps, messages = reduction.network.reversed(), reduction.steps, reduction.collective.messages
    collective = Collective.over(turned, forward, messages, root=reduction.collective.root)
    rows = reverse_in_time(turned, collective, Built(reduction.rows, Claims(steps, reduction.transmissions))).rows
    relays = turned.relays is not None  # which have nothing to add of their own
    found = patched(Schedule(turned, collective, reduction.model, rows), left.reversed(), tidy=relays)
    if found is None or found.schedule.steps > steps:
        return None
    return Built(found.schedule.rows, Claims(steps, found.schedule.transmissions)), found.sending, found.hearing


def _patch(schedule: Schedule, left: Network, collective: Collective, built: Built, ends: tuple[Ints, Ints]) -> Patch:
    return Patch(Schedule(left, collective, schedule.model, built.rows), *ends)
