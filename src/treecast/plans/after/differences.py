"""The rows that two plans of one collective share, and the nodes that must learn of the other rows.

A row is as its two nodes see it: who sends which chunks to whom in which steps. Nodes have their labels, and chunks the node
whose they are, so that the plans may be on different networks: the second on the rest of the first after faults. Then its loss
is the cost of a network that is less than it was.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from treecast.description import Description, count_of, describe, list_few
from treecast.errors import PlanError
from treecast.lower_bounds import best, schedule_bounds
from treecast.networks import Network
from treecast.schedule import Schedule

_SHOWN = 12  # nodes that are named

Chunks = tuple[tuple[str, int, int], ...]
"""Ranges of chunks, and whose they are."""
Spelled = tuple[str, str, int, int, Chunks]
"""A row: the labels of its ends, its first step, how many it takes, and its chunks."""


@dataclass(frozen=True)
class Difference:
    """The rows that two schedules share, and those that they do not.

    Parameters
    ----------
    before, after : Schedule
        The two schedules.
    kept : int
        How many rows are in both.
    moved : int
        How many carry the same over the same arc, but in other steps.
    new, gone : int
        How many others are in the second only, and in the first only.
    told : tuple of str
        The labels of the nodes of the second network with a row that is new, gone or moved: they must learn their part.
    """

    before: Schedule
    after: Schedule
    kept: int
    moved: int
    new: int
    gone: int
    told: tuple[str, ...]


def difference(before: Schedule, after: Schedule) -> Difference:
    """Return the common rows of two schedules of one collective, whose nodes are the same if they have the same labels.

    Raises PlanError when they are schedules of different collectives.

    >>> from treecast.plans import plan
    >>> old, new = plan("broadcast", "ring:5"), plan("broadcast", "path:5")
    >>> found = difference(old, new)
    >>> found.kept, found.moved, found.new, found.gone, found.told
    (2, 0, 2, 2, ('0', '2', '3', '4'))
    """
    if before.collective.kind != after.collective.kind:
        raise PlanError(
            f"{before.collective.kind} and {after.collective.kind} have nothing in common: compare plans of one collective"
        )
    # rows of orbits can be compared as they are on one network alone
    alike = before.orbit == after.orbit and before.network == after.network and after.torn is None
    old, new = (Counter(_spelled(each if alike else each.plain())) for each in (before, after))
    gone, fresh = old - new, new - old
    moved = (_carried(gone) & _carried(fresh)).total()
    changed, every = {node for row in (*gone, *fresh) for node in row[:2]}, all_labels(after.network)
    whole = changed and alike and after.orbit  # translated, each row is one of every node
    told = every if whole else tuple(label for label in every if label in changed)
    return Difference(before, after, (old & new).total(), moved, fresh.total() - moved, gone.total() - moved, told)


def all_labels(network: Network) -> tuple[str, ...]:
    """Return the labels of all nodes of a network, in the order of their numbers."""
    return tuple(network.labels(np.arange(network.nodes)))


def _carried(rows: Counter[Spelled]) -> Counter[tuple[str, str, Chunks]]:
    """Count the chunks of rows by their two ends, whatever their steps."""
    found = Counter[tuple[str, str, Chunks]]()
    for (src, dst, _, _, chunks), count in rows.items():
        found[src, dst, chunks] += count
    return found


def _spelled(schedule: Schedule) -> Iterator[Spelled]:
    """Yield rows as their two nodes see them: the numbers of trees and blocks do not count."""
    rows, labels = schedule.rows, all_labels(schedule.network)
    chunks = _named_chunks(schedule, labels)
    columns = (rows.src, rows.dst, rows.step, rows.steps, rows.payload)
    for src, dst, step, steps, payload in zip(*(column.tolist() for column in columns), strict=True):
        yield labels[src], labels[dst], step, steps, chunks[payload]


def _named_chunks(schedule: Schedule, labels: tuple[str, ...]) -> list[Chunks]:
    """Return the chunks of each payload: ranges within blocks, by the nodes or pairs of nodes whose they are."""
    collective, payloads = schedule.collective, schedule.rows.payloads
    if collective.traits.blocks == "one":
        return [tuple(("", *each) for each in payloads.ranges(payload)) for payload in range(len(payloads))]
    pairs, table = collective.traits.blocks == "pair", payloads.within_blocks_of(collective)
    block, place = collective.place_of(table.first)
    named = list[tuple[str, int, int]]()
    for of, first, size in zip(block.tolist(), place.tolist(), (table.stop - table.first).tolist(), strict=True):
        group, node = divmod(of, len(labels))  # of sums: whether they are finished; of pairs: where they come from
        name = f"{labels[group] if pairs else group} {labels[node]}"
        named.append((name, first, first + size))
    return [tuple(named[a:b]) for a, b in pairwise(table.start.tolist())]


@describe.register
def _(found: Difference) -> Description:
    steps = found.before.steps, found.after.steps
    figures = {
        "collective": found.after.collective.kind,
        "networks": [found.before.network.spec, found.after.network.spec],
        "steps": list(steps),
        "kept": found.kept,
        "moved": found.moved,
        "new": found.new,
        "gone": found.gone,
        "must_be_told": list(found.told),
    }
    told, nodes = found.told, count_of(found.after.network.nodes, "node")
    lines = {
        "steps": f"{steps[1]:,}, {steps[0]:,} before",
        "kept": f"{found.kept:,} of {count_of(found.kept + found.moved + found.gone, 'row')}",
        "moved": f"{count_of(found.moved, 'row')} to other steps",
        "new": count_of(found.new, "row"),
        "gone": count_of(found.gone, "row"),
        "to notify": f"{len(told):,} of {nodes}" + (f": {list_few(list(told), _SHOWN)}" if told else ""),
    }
    return Description(figures, lines)


@dataclass(frozen=True)
class Loss:
    """A plan, and one of the same job on the whole network to compare it with.

    >>> from treecast.plans import plan
    >>> print(describe(Loss(plan("allgather", "mesh:3x3"), plan("allgather", "torus:3x3"))).lines["loss"])
    4 steps instead of 2 on torus:3x3, 100.0 % more; bounds 4 and 2
    >>> print(describe(Loss(plan("broadcast", "ring:4"), plan("broadcast", "torus:2x2"))).lines["loss"])
    none: 2 steps, as many as on torus:2x2; bounds 2 and 2
    """

    schedule: Schedule
    whole: Schedule


@describe.register
def _(found: Loss) -> Description:
    steps, before = found.schedule.steps, found.whole.steps
    least, most = (best(schedule_bounds(each), "steps").value for each in (found.schedule, found.whole))
    more = f", {abs(100 * (steps / before - 1)):.1f} % {'less' if steps < before else 'more'}" if before else ""
    change = f"{steps:,} steps instead of {before:,}" if steps != before else f"none: {steps:,} steps, as many as"
    said = f"{change} on {found.whole.network.spec}{more if steps != before else ''}; bounds {least:,} and {most:,}"
    figures = {"network": found.whole.network.spec, "steps": before, "lower_bound": most}
    return Description({"compared_with": figures}, {"loss": said})
