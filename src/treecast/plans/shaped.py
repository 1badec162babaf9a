"""The plan that takes the least time where arcs cost differently: shaped by the costs of each, or around the dear ones.

For each number of chunks the sends of every arc take their gaps and delays in steps, and builders that read the table of a
machine plan for that. Numbers of chunks go up, two in each octave, until three in a row are worse. The same is tried without
the dearest arcs: so nobody is worse off for having them. What is best takes the least time by the clock that knows no steps.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from treecast.errors import NetworkError, PlanError
from treecast.networks import Network
from treecast.networks.arcs import arcs_of
from treecast.plans.amounts import Amount
from treecast.plans.built import Job
from treecast.plans.choice import build
from treecast.plans.request import request
from treecast.schedule import Schedule
from treecast.schedule.clocks import seconds_by_events
from treecast.schedule.costs import Costs
from treecast.schedule.sizes import Sizes, block_of, cut, divided

_MOST_HOPS = 2**13  # of a plan: chunks of all sources, times nodes
_WORSE = 3  # numbers of chunks in a row, and it is content
_DEARER = 2.0  # times as long as by all cheaper arcs: such arcs are left out for a try
_MOST_LEFT_OUT = 3


def shaped(asked: Job[Any], amount: Amount, costs: Costs, sizes: Sizes | None = None) -> Schedule | None:
    """Return the plan of a job of bytes that takes the least time at unlike costs; None where no builder plans for such arcs.

    ``sizes``: where it is said how the bytes are cut.
    """
    found = list[tuple[float, int, Schedule]]()
    for place in _places(asked.network, costs, amount):
        worse = 0
        for each in [sizes] if sizes else _cuts(asked, amount):
            made = _planned(asked, place, costs, each)
            if made is None:
                break
            seconds = seconds_by_events(made, costs)
            worse = 0 if not found or seconds < min(found)[0] else worse + 1
            found.append((seconds, len(found), made))
            if worse == _WORSE:
                break
    return min(found)[2] if found else None


def _cuts(asked: Job[Any], amount: Amount) -> Iterator[Sizes]:
    """Yield the data in blocks of 1, 2, 3, 4, 6, 8, 12 … chunks."""
    collective = asked.of(1).collective
    block = block_of(collective, amount.total, amount.item)
    least = max(amount.item, -(-amount.least_chunk // amount.item) * amount.item)
    most = max(1, min(block // least, _MOST_HOPS // (max(1, collective.chunks) * asked.network.nodes)))
    done = set[int]()
    for messages in (m for power in range(32) for m in (1 << power, 3 << power >> 1)):
        if 1 <= messages <= most and (chunk := cut(block, messages, amount.item).chunk) not in done:
            done.add(chunk)
            yield divided(collective, amount.total, chunk, amount.item)


def _planned(asked: Job[Any], place: Network, costs: Costs, sizes: Sizes) -> Schedule | None:
    """Return a plan over the arcs of a part of the network, as one on the whole; None where there is no builder."""
    machine, _ = costs.on(asked.model, asked.network, sizes.chunk, place)
    said = asked.said | {"messages", "model"}
    job = replace(asked.of(sizes.messages), network=place, model=machine, said=said, amount=None, costs=None)
    try:
        made = build(*request(job))
    except PlanError:
        return None
    rows, whole = made.rows, asked.network
    if place is not whole:
        port = whole.port_of_cable(rows.src, rows.dst, place.cable(rows.src, rows.port))
        rows = replace(rows, port=port.astype(rows.port.dtype))
    return replace(made, network=whole, rows=rows, sizes=sizes)


def _places(network: Network, costs: Costs, amount: Amount) -> Iterator[Network]:
    """Yield the network, and the same without its dearest link, and without all links that are dearer by far than the others."""
    yield network
    arcs = arcs_of(network, single=True)
    tail, head = arcs.tail.astype(np.int64), arcs.head.astype(np.int64)
    taken = costs.seconds(tail, head, float(amount.total))[1]
    levels, worst = np.unique(taken), int(taken.argmax())
    steep = [dear for cheap, dear in pairwise(levels.tolist()) if dear > _DEARER * cheap][:_MOST_LEFT_OUT]
    link = np.sort(np.stack([tail, head]), axis=0)
    some = [taken >= dear for dear in steep] + [(link == link[:, [worst]]).all(axis=0)] * (len(levels) > 1)
    seen = set[bytes]()
    for out in some:
        if out.tobytes() in seen:
            continue
        seen.add(out.tobytes())
        names = [
            f"{network.label(u)}>{network.label(v)}"
            for u, v in zip(tail[out].tolist(), head[out].tolist(), strict=True)
        ]
        try:
            left = network.without(links=names)
        except NetworkError:
            continue
        if left.connected:
            yield left
