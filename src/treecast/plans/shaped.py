"""The plan that takes the least time where arcs cost differently: shaped by the costs of each, or around the dear ones.

For each number of chunks the sends of every arc take their gaps and delays in steps, and builders that read the table of a
machine plan for that. Numbers of chunks go up, two in each octave, until two in a row gain next to nothing. The same is tried
without the dearest arcs: so nobody is worse off for having them. What is best takes the least time by the clock that knows no
steps.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from math import inf
from typing import Any

import numpy as np

from treecast.errors import NetworkError, PlanError
from treecast.lower_bounds.seconds import bound_seconds
from treecast.models import Cost
from treecast.networks import Network
from treecast.networks.arcs import arcs_of
from treecast.plans.amounts import Amount
from treecast.plans.built import Job
from treecast.plans.choice import build
from treecast.plans.request import request
from treecast.plans.search import MET
from treecast.progress import report
from treecast.schedule import Schedule
from treecast.schedule.costs import Costs, seconds_by_events, seconds_by_steps
from treecast.schedule.sizes import Sizes, block_of, cut, divided

_MOST_HOPS = 2**13  # of a plan: chunks of all sources, times nodes
_WORSE = 2  # numbers of chunks in a row, and it is content
_DEARER = 2.0  # times as long as by all cheaper arcs: such arcs are left out for a try
_MOST_LEFT_OUT = 3

_Found = tuple[float, int, Schedule]


def shaped(
    asked: Job[Any],
    amount: Amount,
    costs: Costs,
    plain: Callable[[Job[Any], Amount], Schedule],
    sizes: Sizes | None = None,
) -> Schedule | None:
    """Return the plan of a job of bytes that takes the least time at unlike costs; None where no builder plans for such arcs.

    ``plain``: plans where all arcs cost the same. ``sizes``: where it is said how the bytes are cut.
    """
    found, one = list[_Found](), asked.of(1)
    block = block_of(one.collective, amount.total, amount.item)
    for place in _places(asked.network, costs, amount, found):
        floor = _least(one, place, costs, block)
        if found and floor >= min(found)[0] * (1 - MET):  # no plan over these arcs takes less
            continue
        if sizes is None and place is not asked.network and (alike := _alike(place, costs)) is not None:
            with suppress(PlanError):
                known = plain(replace(asked, network=place, costs=alike), amount)
                found.append((seconds_by_steps(known, alike), len(found), _on_whole(known, asked.network)))
                continue
        worse, least, tried = 0, inf, None
        if found and sizes is None:
            most, _, best = min(found)
            tried = best.sizes and _planned(asked, place, costs, best.sizes)
            # other numbers of chunks are tried where as many gain
            if tried is None or seconds_by_events(tried, costs) > (1 - MET) * most:
                continue
        cuts = [sizes] if sizes else _cuts(asked, amount, tried.sizes.messages // 2 if tried and tried.sizes else 1)
        for each in cuts:
            report(0, 0, f"plans of {each.messages:,} chunks")
            made = tried if tried is not None and tried.sizes == each else _planned(asked, place, costs, each)
            if made is None:
                break
            seconds = seconds_by_events(made, costs)
            worse, least = (0, seconds) if seconds < least * (1 - MET) else (worse + 1, least)
            found.append((seconds, len(found), made))
            if worse == _WORSE or seconds <= floor * (1 + MET):
                break
    return min(found)[2] if found else None


def _least(one: Job[Any], place: Network, costs: Costs, block: int) -> float:
    """Return the seconds that blocks of so many bytes take at least over the arcs of a part of the network."""
    bound = bound_seconds(
        one.collective, place, one.copies, one.model, block=block, cost=costs.default, against=one.against, costs=costs
    )
    return bound.seconds if bound else 0.0


def _alike(place: Network, costs: Costs) -> Costs | None:
    """Return the costs of the arcs of a network, where all are the same, and none is far."""
    both, _ = costs.classes(place)
    if both.shape[1] != 1 or both[0, 0] > costs.default.startup:
        return None
    return Costs(Cost(float(both[0, 0]), float(both[1, 0])))


def _on_whole(made: Schedule, whole: Network) -> Schedule:
    """Return a schedule over a part of the arcs of a network as one on it."""
    made = made.plain()
    rows = made.rows
    port = whole.port_of_cable(rows.src, rows.dst, made.network.cable(rows.src, rows.port))
    return replace(made, network=whole, rows=replace(rows, port=port.astype(rows.port.dtype)))


def _cuts(asked: Job[Any], amount: Amount, fewest: int) -> Iterator[Sizes]:
    """Yield the data in blocks of 1, 2, 3, 4, 6, 8, 12 … chunks, those of at least so many."""
    collective = asked.of(1).collective
    block = block_of(collective, amount.total, amount.item)
    least = max(amount.item, -(-amount.least_chunk // amount.item) * amount.item)
    most = max(1, min(block // least, _MOST_HOPS // (max(1, collective.chunks) * asked.network.nodes)))
    done = set[int]()
    for messages in (m for power in range(32) for m in (1 << power, 3 << power >> 1)):
        if fewest <= messages <= most and (chunk := cut(block, messages, amount.item).chunk) not in done:
            done.add(chunk)
            yield divided(collective, amount.total, chunk, amount.item)


def _planned(asked: Job[Any], place: Network, costs: Costs, sizes: Sizes) -> Schedule | None:
    """Return a plan over the arcs of a part of the network, as one on the whole; None where there is no builder."""
    said = asked.said | {"messages", "model"}
    try:  # costs that differ by more than steps can count are none of a machine
        machine, _ = costs.on(asked.model, asked.network, sizes.chunk, place)
        job = replace(asked.of(sizes.messages), network=place, model=machine, said=said, amount=None, costs=None)
        made = build(*request(job))
    except PlanError:
        return None
    made = replace(made, sizes=sizes)
    return made if place is asked.network else _on_whole(made, asked.network)


def _places(network: Network, costs: Costs, amount: Amount, found: Sequence[_Found]) -> Iterator[Network]:
    """Yield the network, then without all links that are dearer by far than the others, and without its dearest ones.

    Of these it leaves out one more as long as that gains. ``found``: what was planned so far.
    """
    yield network
    if network.past_routes is not None:  # without a link all routes are others
        return
    arcs = arcs_of(network, single=True)
    tail, head = arcs.tail.astype(np.int64), arcs.head.astype(np.int64)
    # by the time of all bytes, so that both latency and rate count
    taken = costs.seconds(tail, head, float(amount.total))[1]
    levels = np.unique(taken)
    steep = [dear for cheap, dear in pairwise(levels.tolist()) if dear > _DEARER * cheap][:_MOST_LEFT_OUT]
    # both arcs of a link have one number
    link = np.minimum(tail, head) * network.nodes + np.maximum(tail, head)
    dearest = list(dict.fromkeys(link[np.argsort(-taken, kind="stable")].tolist()))
    some = [(0, taken >= dear) for dear in steep]
    some += [(many, np.isin(link, dearest[:many])) for many in (1, 2, 3) if len(levels) > 1]
    seen = set[bytes]()
    for many, out in some:
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
            best = min(found, default=None)
            yield left
            if many and min(found, default=None) is best:
                return
