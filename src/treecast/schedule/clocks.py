"""How long a schedule takes, by two clocks: step by step, or each send as soon as it can begin.

By steps, every step lasts as long as its slowest send. By events, a send begins when its chunks have arrived and earlier sends
of both its ports are over. The second is never later than the first. Where chunks arrive in L steps, a send is under way for L
times as long as it keeps its ports; over a far arc, for what the arc takes beyond its start-up time longer.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treecast.errors import ScheduleError
from treecast.networks.arcs import arcs_of
from treecast.networks.core import Ints
from treecast.ragged import starts, turns
from treecast.schedule.costs import Costs
from treecast.schedule.schedule import Schedule
from treecast.schedule.sizes import Sizes
from treecast.takes import takes

_MOST_SENDS = 2**25


@dataclass(frozen=True)
class _Messages:
    """Every message of a schedule, in the order of steps, and the chunks in it: columns of one entry each."""

    step: Ints
    src: Ints
    dst: Ints
    port: Ints
    start: Ints  # (messages + 1,): which entries of ``chunk`` are in it
    chunk: Ints


class Events(NamedTuple):
    """Messages by their step, source, port and first chunk, int64 (messages,), and when they begin and have arrived, float64."""

    step: Ints
    src: Ints
    port: Ints
    chunk: Ints
    begin: NDArray[np.float64]
    end: NDArray[np.float64]


def seconds_by_steps(schedule: Schedule, costs: Costs) -> float:
    """Return the seconds that the steps of a schedule take, one after the other, each as long as its slowest send.

    Where arcs cost differently, no step has a length, and it is the time by events. All chunks count as long as the longest.
    Raises ScheduleError when the schedule does not say how long its chunks are, or has too many sends to look at one by one:
    arcs of different costs need that.

    >>> import treecast
    >>> schedule = treecast.plan("broadcast", "hypercube:3", bytes="6kB", messages=6)
    >>> round(seconds_by_steps(schedule, Costs.of(latency="1us", rate="1GB/s")), 9)
    8e-06
    """
    chunk = _sizes_of(schedule).chunk
    if costs.unlike or schedule.model.arcs:
        return seconds_by_events(schedule, costs)
    return sum(costs.default.step_time(size * chunk) for size in schedule.message_sizes.tolist())


def seconds_by_events(schedule: Schedule, costs: Costs) -> float:
    """Return the seconds after which the last send ends, when each begins as soon as it can.

    A send waits for its chunks (a sum: for all contributions) and for the earlier sends of both its ports: of its arc under
    all-port, of its source and its target under one-port. Raises ScheduleError when the schedule does not say how long its
    chunks are, or has too many sends to look at one by one.
    """
    return float(events_of(schedule, costs, _sizes_of(schedule).bounds(schedule.collective)).end.max(initial=0.0))


def events_of(schedule: Schedule, costs: Costs, bounds: Ints) -> Events:
    """Return when each message begins and has arrived, when each begins as soon as it can, in seconds.

    ``bounds``: where each chunk begins, and the end of the last, in bytes. Raises ScheduleError when there are too many sends.
    """
    lengths, messages = np.diff(bounds), _messages(schedule)
    length = lengths[messages.chunk % max(len(lengths), 1)]  # a finished sum is as long as its sum
    size = np.add.reduceat(length, messages.start[:-1]) if len(messages.step) else np.zeros(0)
    lasts, delay = costs.seconds(messages.src, messages.dst, size)
    sums, late = schedule.collective.sums, schedule.model.latency
    delay += (late - 1) * lasts
    taken = _taken(schedule, messages)
    free = np.zeros(int(taken.max(initial=-1)) + 1)
    owners = np.repeat(np.arange(len(messages.step)), np.diff(messages.start))
    held_by = messages.src[owners] * schedule.collective.chunks + messages.chunk
    brought_to = messages.dst[owners] * schedule.collective.chunks + messages.chunk
    # who completes a sum has the finished one when all contributions are there
    finished = (messages.chunk >= sums) & ~np.isin(held_by, brought_to)
    held_by = np.where(finished, held_by - sums, held_by)
    keys, places = np.unique(np.concatenate([held_by, brought_to]), return_inverse=True)
    source, target = places[: len(owners)], places[len(owners) :]
    there = np.full(len(keys), np.nan)  # when a chunk has arrived at a node; NaN: it was there from the start
    begin, end = np.zeros((2, len(messages.step)))
    first = [*np.flatnonzero(np.diff(messages.step, prepend=-1)).tolist(), len(messages.step)]
    for these in map(slice, first, first[1:]):
        inside = slice(int(messages.start[these.start]), int(messages.start[these.stop]))
        ready = np.nan_to_num(there[source[inside]])
        begins = np.maximum.reduceat(ready, messages.start[these.start : these.stop] - inside.start)
        begins = np.maximum(begins, free[taken[these]].max(axis=1))
        np.maximum.at(free, taken[these], (begins + lasts[these])[:, None])
        begin[these], end[these] = begins, (ends := begins + delay[these])
        arrived = ends[owners[inside] - these.start]
        adds = messages.chunk[inside] < sums
        np.fmax.at(there, target[inside][adds], arrived[adds])
        np.fmin.at(there, target[inside][~adds], arrived[~adds])
    return Events(messages.step, messages.src, messages.port, messages.chunk[messages.start[:-1]], begin, end)


def _sizes_of(schedule: Schedule) -> Sizes:
    if schedule.sizes is None:
        raise ScheduleError("the schedule does not say how many bytes its chunks have: plan it with bytes='16MiB'")
    return schedule.sizes


def _messages(schedule: Schedule) -> _Messages:
    """Return the messages of a schedule: chunks that go over an arc in one step are one where the model lets them combine."""
    if schedule.transmissions > _MOST_SENDS:
        raise ScheduleError(f"{schedule.transmissions:,} sends are too many to look at one by one")
    parts = [
        np.stack([np.full(len(sends.src), sends.step), sends.src, sends.dst, sends.port, sends.chunk])
        for sends in schedule.expand()
    ]
    step, src, dst, port, chunk = np.concatenate([np.empty((5, 0), np.int64), *parts], axis=1)
    if not schedule.model.combining:
        return _Messages(step, src, dst, port, np.arange(len(step) + 1), chunk)
    order = np.lexsort([port, dst, src, step])
    columns = np.stack([step, src, dst, port])[:, order]
    fresh = np.ones(len(order), np.bool_)
    fresh[1:] = (columns[:, 1:] != columns[:, :-1]).any(axis=0)
    count = np.diff(np.append(np.flatnonzero(fresh), len(order)))
    step, src, dst, port = columns[:, fresh]
    return _Messages(step, src, dst, port, starts(count), chunk[order])


def _taken(schedule: Schedule, messages: _Messages) -> Ints:
    """Return the resources of each message, as numbers: int64 (messages, width). Of several servers all take turns."""
    if schedule.model.routing:  # senders and receivers are one
        return np.stack([messages.src, messages.dst], axis=1)
    network, arcs = schedule.network, arcs_of(schedule.network)
    numbers = arcs.tail.astype(np.int64) * network.ports + arcs.port
    at = np.searchsorted(numbers, network.arc(messages.src, messages.port))
    table = takes(schedule.model, network)
    taken = table.resource[at]
    return starts(table.room)[taken] + turns(taken.ravel()).reshape(taken.shape) % table.room[taken]
