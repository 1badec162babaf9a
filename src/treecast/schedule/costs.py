"""The cost of a send, where arcs may differ, and how long a schedule takes, by two clocks.

Step by step, every step lasts as long as its slowest send. By events, a send begins when its chunks have arrived and earlier
sends of both its ports are over. The second is never later than the first. Where chunks arrive in L steps, a send is under way
for L times as long as it keeps its ports; over a far arc, for what the arc takes beyond its start-up time longer.
"""

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treecast.errors import FormatError, ScheduleError, TreecastError
from treecast.models import Cost, Model, Ticks
from treecast.networks import Network
from treecast.networks.arcs import arcs_of, arcs_over
from treecast.networks.past_relays import PastRelays
from treecast.ragged import Ints, places, starts, turns
from treecast.schedule.sizes import Sizes
from treecast.takes import takes
from treecast.units import parse_rate, parse_seconds
from treecast.writing import read_whole, spell_path

if TYPE_CHECKING:
    from treecast.schedule.schedule import Schedule

Floats = NDArray[np.float64]
_COLUMNS = ["source", "target", "latency", "rate"]
_PARTS, _ROUNDING = 64, Fraction(1, 20)  # of the shortest gap; by how much of itself a gap is rounded up


@dataclass(frozen=True)
class Costs:
    """The cost of a send, by the arc that it goes over.

    ``arcs``: the cost of the arcs from one node to another, all parallel ones; ``default``: of all others. The start-up time of
    the default is what a send keeps its ports busy for, and so is that of an arc where it is less. What an arc takes beyond that
    is distance: others may be sent meanwhile.

    >>> Costs.of(latency="1us", rate="12.5GB/s").default
    Cost(startup=1e-06, per_byte=8e-11)
    """

    default: Cost
    arcs: Mapping[tuple[int, int], Cost] = field(default_factory=dict[tuple[int, int], Cost])

    @classmethod
    def of(cls, latency: str | float, rate: str | float) -> "Costs":
        """Return one cost for all arcs; latency and rate are texts with units, or seconds and bytes a second.

        Raises TreecastError when either is none.
        """
        return cls(_cost(latency, rate))

    @property
    def least(self) -> Cost:
        """The cost that no arc is below: the least start-up time of any, and the least time a byte."""
        every = [self.default, *self.arcs.values()]
        return Cost(min(cost.startup for cost in every), min(cost.per_byte for cost in every))

    @property
    def unlike(self) -> bool:
        """Whether some arc costs anything but what others cost."""
        return any(cost != self.default for cost in self.arcs.values())

    def seconds(self, src: Ints, dst: Ints, size: float | Floats) -> tuple[Floats, Floats]:
        """Return how long a send of ``size`` bytes over each arc keeps its ports, and after how long it has arrived: float64."""
        startup, per_byte = self.of_arcs(src, dst)
        # what is beyond the usual start-up time is distance: the ports are free then
        return np.minimum(startup, self.default.startup) + size * per_byte, startup + size * per_byte

    def on(self, machine: Model, network: Network, chunk: int, place: Network | None = None) -> tuple[Model, float]:
        """Return a machine on which sends of so many bytes take their gaps and delays in steps, and the seconds of a step.

        A step is the longest by which no gap is rounded up by more than 5 %, or a 64th of the shortest gap. All is rounded up: so
        a schedule ends no later than its steps say, if each send begins as soon as it can in the same order. ``place``: the part
        of the network whose arcs are to be told apart so well; all others are rounded up to its steps.

        >>> from treecast.models import model
        >>> from treecast.networks import network
        >>> costs = Costs(Cost(1e-6, 1e-9), {(0, 1): Cost(1e-6, 3e-9), (1, 0): Cost(9e-6, 1e-9)})
        >>> costs.on(model("all-port"), network("path:3"), 1000)
        (<Model all-port: all ports, full duplex, 2 arcs that take longer>, 2e-06)
        """
        # 1. Gaps and delays of each class of arcs, as fractions: floats could be rounded down.
        arcs = arcs_of(network, single=True)
        unlike, which = self.classes(network)
        least, bytes_ = Fraction(self.default.startup), Fraction(chunk)
        gap = [min(least, Fraction(float(o))) + bytes_ * Fraction(float(b)) for o, b in unlike.T]
        delay = [
            # chunks that arrive later are longer under way
            Fraction(float(o)) + bytes_ * Fraction(float(b)) + (machine.latency - 1) * each
            for (o, b), each in zip(unlike.T, gap, strict=True)
        ]
        # 2. The gaps that are to be told apart.
        if place is not None and place is not network:
            used = self.classes(place)[0].T.tolist()
            told = [g for g, pair in zip(gap, unlike.T.tolist(), strict=True) if pair in used]
        else:
            told = gap
        # 3. The longest step that rounds none of them up by too much.
        tick = next(
            (t for parts in range(1, _PARTS) if _rounded(told, t := min(told) / parts) <= _ROUNDING), min(told) / _PARTS
        )
        # all rounded up: in steps nothing is sooner than in seconds
        steps = np.array([[-(-each // tick) for each in row] for row in (gap, delay)], np.int64)[:, which]
        made = replace(machine, arcs=tuple(map(Ticks, arcs.tail.tolist(), arcs.head.tolist(), *steps.tolist())))
        return made, float(tick)

    def over(self, before: Network, after: Network) -> "Costs":
        """Return the costs of the arcs of a network on another one, whose nodes are the same if they have the same labels."""
        return Costs(self.default, {ends: self.arcs[arc] for arc, ends in arcs_over(self.arcs, before, after).items()})

    def classes(self, network: Network) -> tuple[Floats, Ints]:
        """Return the unlike costs of a network's arcs, float64 (2, classes), and the class of each arc, int64.

        Parallel arcs count once. The rows are the start-up time and the seconds a byte.
        """
        arcs = arcs_of(network, single=True)
        unlike, which = np.unique(np.stack(self.of_arcs(arcs.tail, arcs.head)), axis=1, return_inverse=True)
        return unlike, which.reshape(-1)

    def of_arcs(self, src: ArrayLike, dst: ArrayLike) -> tuple[Floats, Floats]:
        """Return the start-up times and the seconds a byte of arcs by their ends: float64, as long as ``src``."""
        every = [self.default, *self.arcs.values()]
        ends = np.array([(-1, -1), *self.arcs], np.int64)
        # both ends in one number: node numbers here are below 2^31
        keys, sought = ends[:, 0] << 31 | ends[:, 1], np.asarray(src, np.int64) << 31 | np.asarray(dst, np.int64)
        order = np.argsort(keys)
        # the first is (-1, -1), of no arc: what is not named costs as the default
        at = order[np.minimum(np.searchsorted(keys, sought, sorter=order), len(keys) - 1)]
        which = np.where(keys[at] == sought, at, 0)
        return np.array([cost.startup for cost in every])[which], np.array([cost.per_byte for cost in every])[which]


def read_costs(network: Network, path: str, usual: Costs) -> Costs:
    """Return the costs that a table gives: lines ``source,target,latency,rate`` below a line with these words.

    ``usual``: of all arcs that it does not name. ``path`` ``-`` is standard input. Raises FormatError when the table names
    no arc, or a cost that is none; the error names the line.
    """
    try:
        lines = list(csv.reader(read_whole(path).decode().splitlines()))
    except (UnicodeDecodeError, csv.Error):
        raise FormatError(f"{spell_path(path)} is no table of costs: it is no CSV in UTF-8") from None
    if not lines or lines[0] != _COLUMNS:
        raise FormatError(f"{spell_path(path)} is no table of costs: its first line is not {','.join(_COLUMNS)}")
    arcs = dict(usual.arcs)
    for number, line in enumerate(lines[1:], 2):
        try:
            source, target, latency, rate = line
            arc = network.node(source), network.node(target)
            arcs[arc] = _cost(latency, rate)
        except TreecastError as error:
            raise FormatError(f"{spell_path(path)}, line {number}: {error}") from None
        except ValueError:
            raise FormatError(f"{spell_path(path)}, line {number}: write {','.join(_COLUMNS)}") from None
        if int(network.port_between(*arc)) < 0:
            raise FormatError(f"{spell_path(path)}, line {number}: no arc leads from {source} to {target}")
    return Costs(usual.default, arcs)


def over_routes(costs: Costs, network: PastRelays) -> Costs:
    """Return the costs of the arcs of a whole network as those of the routes past its relays.

    A route starts up once, and what its arcs take beyond the start-up time of the default adds up. Its rate is that of its
    slowest arc. Of the routes between two nodes all cost as much as the worst.

    >>> from treecast.networks import network
    >>> where = network("fat-tree:2").past_relays()
    >>> over_routes(Costs(Cost(1.0, 2.0), {(0, 2): Cost(4.0, 2.0), (2, 4): Cost(1.0, 5.0)}), where).arcs[0, 1]
    Cost(startup=4.0, per_byte=5.0)
    """
    if not costs.arcs:
        return costs
    within, usual = arcs_of(network.whole), costs.default
    startup, per_byte = (np.append(each, 0.0) for each in costs.of_arcs(within.tail, within.head))
    # channels of each route; the last number, behind all, stands for none and costs 0
    channel = network.past_routes.channel if network.past_routes is not None else np.zeros((0, 1), np.int64)
    first = np.minimum(startup, usual.startup)[channel].max(axis=1, initial=0)
    far = np.maximum(startup - usual.startup, 0)[channel].sum(axis=1)
    arcs, found = arcs_of(network), dict[tuple[int, int], Cost]()
    columns = (arcs.tail, arcs.head, first + far, per_byte[channel].max(axis=1, initial=0))
    for u, v, begins, each in zip(*(column.tolist() for column in columns), strict=True):
        before = found.get((u, v), Cost())
        # several routes between two nodes: each of them may be taken
        found[u, v] = Cost(max(begins, before.startup), max(each, before.per_byte))
    return Costs(usual, {ends: cost for ends, cost in found.items() if cost != usual})


def _rounded(gaps: Sequence[Fraction], tick: Fraction) -> Fraction:
    """Return by how much of itself the worst gap is rounded up in whole ticks."""
    return max(-(-gap // tick) * tick / gap - 1 for gap in gaps)


def rate_of(cost: Cost) -> float:
    """Return the bytes a second of a send: of the numbers near its reciprocal that which makes the same cost again.

    >>> rate_of(Costs.of("1us", "100Gbit/s").default)
    12500000000.0
    """
    if not cost.per_byte:
        return math.inf
    # a reciprocal of a reciprocal may be off by one float
    near = 1 / cost.per_byte
    return min(
        (near, math.nextafter(near, 0), math.nextafter(near, math.inf)), key=lambda rate: abs(1 / rate - cost.per_byte)
    )


def spell_cost(cost: Cost) -> tuple[str, str]:
    """Return the latency and the rate of a cost as they are read again.

    >>> spell_cost(Costs.of("1us", "100Gbit/s").default)
    ('1e-06s', '12500000000.0B/s')
    """
    rate = rate_of(cost)
    return f"{cost.startup!r}s", f"{rate!r}B/s" if rate < math.inf else "inf"


def _cost(latency: str | float, rate: str | float) -> Cost:
    return Cost(parse_seconds(latency), 1 / parse_rate(rate))


_MOST_SENDS = 2**25


@dataclass(frozen=True)
class _MessageColumns:
    """Every message of a schedule, in the order of steps, and the chunks in it: columns of one entry each."""

    step: Ints
    src: Ints
    dst: Ints
    port: Ints
    start: Ints  # (messages + 1,): which entries of ``chunk`` are in it
    chunk: Ints


class SendEvents(NamedTuple):
    """Messages by their step, source, port and first chunk, int64 (messages,), and when they begin and have arrived, float64."""

    step: Ints
    src: Ints
    port: Ints
    chunk: Ints
    begin: NDArray[np.float64]
    end: NDArray[np.float64]


def seconds_by_steps(schedule: "Schedule", costs: Costs) -> float:
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


def seconds_by_events(schedule: "Schedule", costs: Costs) -> float:
    """Return the seconds after which the last send ends, when each begins as soon as it can.

    A send waits for its chunks (a sum: for all contributions) and for the earlier sends of both its ports: of its arc under
    all-port, of its source and its target under one-port. Raises ScheduleError when the schedule does not say how long its
    chunks are, or has too many sends to look at one by one.
    """
    return float(events_of(schedule, costs, _sizes_of(schedule).bounds(schedule.collective)).end.max(initial=0.0))


def events_of(schedule: "Schedule", costs: Costs, bounds: Ints) -> SendEvents:
    """Return when each message begins and has arrived, when each begins as soon as it can, in seconds.

    ``bounds``: where each chunk begins, and the end of the last, in bytes. Raises ScheduleError when there are too many sends.
    """
    from treecast.schedule.kernels.clock import time_messages

    lengths, messages = np.diff(bounds), _messages(schedule)
    length = lengths[messages.chunk % max(len(lengths), 1)]  # a finished sum is as long as its sum
    size = np.add.reduceat(length, messages.start[:-1]) if len(messages.step) else np.zeros(0)
    lasts, delay = costs.seconds(messages.src, messages.dst, size)
    sums, late = schedule.collective.sums, schedule.model.latency
    # beyond the first step, as long as the send keeps its ports
    delay += (late - 1) * lasts
    taken = _taken(schedule, messages)
    owners = np.repeat(np.arange(len(messages.step)), np.diff(messages.start))
    held_by = messages.src[owners] * schedule.collective.chunks + messages.chunk
    brought_to = messages.dst[owners] * schedule.collective.chunks + messages.chunk
    # who completes a sum has the finished one when all contributions are there
    finished = (messages.chunk >= sums) & ~np.isin(held_by, brought_to)
    held_by = np.where(finished, held_by - sums, held_by)
    keys, places = np.unique(np.concatenate([held_by, brought_to]), return_inverse=True)
    # when each resource is free, and when a chunk has arrived at a node; -1: it was there from the start
    free, there = np.zeros(int(taken.max(initial=-1)) + 1), np.full(len(keys), -1.0)
    begin, end = np.zeros((2, len(messages.step)))
    columns = (messages.start, places[: len(owners)], places[len(owners) :], messages.chunk < sums)
    time_messages(messages.step, *columns, taken, lasts, delay, there, free, begin, end)
    return SendEvents(messages.step, messages.src, messages.port, messages.chunk[messages.start[:-1]], begin, end)


def _sizes_of(schedule: "Schedule") -> Sizes:
    if schedule.sizes is None:
        raise ScheduleError("the schedule does not say how many bytes its chunks have: plan it with bytes='16MiB'")
    return schedule.sizes


def _messages(schedule: "Schedule") -> _MessageColumns:
    """Return the messages of a schedule: chunks that go over an arc in one step are one where the model lets them combine."""
    if schedule.transmissions > _MOST_SENDS:
        raise ScheduleError(f"{schedule.transmissions:,} sends are too many to look at one by one")
    rows = schedule.plain().rows
    row, place = np.repeat(np.arange(len(rows)), rows.chunks_sent), places(rows.chunks_sent)
    step = rows.step[row].astype(np.int64) + rows.pace[row] * place
    order = np.argsort(step, kind="stable")
    step, row, place = step[order], row[order], place[order]
    src, dst, port = (column[row].astype(np.int64) for column in (rows.src, rows.dst, rows.port))
    chunk = rows.payloads.chunk(rows.payload[row], place)
    if not schedule.model.combining:
        return _MessageColumns(step, src, dst, port, np.arange(len(step) + 1), chunk)
    order = np.lexsort([port, dst, src, step])
    columns = np.stack([step, src, dst, port])[:, order]
    fresh = np.ones(len(order), np.bool_)
    fresh[1:] = (columns[:, 1:] != columns[:, :-1]).any(axis=0)
    count = np.diff(np.append(np.flatnonzero(fresh), len(order)))
    step, src, dst, port = columns[:, fresh]
    return _MessageColumns(step, src, dst, port, starts(count), chunk[order])


def _taken(schedule: "Schedule", messages: _MessageColumns) -> Ints:
    """Return the resources of each message, as numbers: int64 (messages, width). Of several servers all take turns."""
    if schedule.model.routing:  # senders and receivers are one
        return np.stack([messages.src, messages.dst], axis=1)
    network, arcs = schedule.network, arcs_of(schedule.network)
    numbers = arcs.tail.astype(np.int64) * network.ports + arcs.port
    at = np.searchsorted(numbers, network.arc(messages.src, messages.port))  # arcs in the order of tails and ports
    table = takes(schedule.model, network)
    taken = table.resource[at]
    return starts(table.room)[taken] + turns(taken.ravel()).reshape(taken.shape) % table.room[taken]
