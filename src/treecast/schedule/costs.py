"""The cost of a send, where arcs may differ."""

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treecast.errors import FormatError, TreecastError
from treecast.files import read_whole, spell_path
from treecast.models import Cost, Model, Ticks
from treecast.networks import Network
from treecast.networks.arcs import arcs_of, arcs_over
from treecast.networks.past_relays import PastRelays, straight_of
from treecast.ragged import Ints
from treecast.units import parse_rate, parse_seconds

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
        arcs = arcs_of(network, single=True)
        unlike, which = self.classes(network)
        least, bytes_ = Fraction(self.default.startup), Fraction(chunk)
        gap = [min(least, Fraction(float(o))) + bytes_ * Fraction(float(b)) for o, b in unlike.T]
        delay = [
            Fraction(float(o)) + bytes_ * Fraction(float(b)) + (machine.latency - 1) * each
            for (o, b), each in zip(unlike.T, gap, strict=True)
        ]
        if place is not None and place is not network:
            used = self.classes(place)[0].T.tolist()
            told = [g for g, pair in zip(gap, unlike.T.tolist(), strict=True) if pair in used]
        else:
            told = gap
        tick = next(
            (t for parts in range(1, _PARTS) if _rounded(told, t := min(told) / parts) <= _ROUNDING), min(told) / _PARTS
        )
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
        keys, sought = ends[:, 0] << 31 | ends[:, 1], np.asarray(src, np.int64) << 31 | np.asarray(dst, np.int64)
        order = np.argsort(keys)
        at = order[np.minimum(np.searchsorted(keys, sought, sorter=order), len(keys) - 1)]
        which = np.where(keys[at] == sought, at, 0)
        return np.array([cost.startup for cost in every])[which], np.array([cost.per_byte for cost in every])[which]


def read_costs(network: Network, path: str, default: Cost) -> Costs:
    """Return the costs that a table gives: lines ``source,target,latency,rate`` below a line with these words.

    ``default``: of all arcs that it does not name. ``path`` ``-`` is standard input. Raises FormatError when the table names
    no arc, or a cost that is none; the error names the line.
    """
    if (straight := straight_of(network)) is not None:
        return over_routes(read_costs(straight.whole, path, default), straight)
    try:
        lines = list(csv.reader(read_whole(path).decode().splitlines()))
    except (UnicodeDecodeError, csv.Error):
        raise FormatError(f"{spell_path(path)} is no table of costs: it is no CSV in UTF-8") from None
    if not lines or lines[0] != _COLUMNS:
        raise FormatError(f"{spell_path(path)} is no table of costs: its first line is not {','.join(_COLUMNS)}")
    arcs: dict[tuple[int, int], Cost] = {}
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
    return Costs(default, arcs)


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
    channel = network.past_routes.channel if network.past_routes is not None else np.zeros((0, 1), np.int64)
    first = np.minimum(startup, usual.startup)[channel].max(axis=1, initial=0)
    far = np.maximum(startup - usual.startup, 0)[channel].sum(axis=1)
    arcs, found = arcs_of(network), dict[tuple[int, int], Cost]()
    columns = (arcs.tail, arcs.head, first + far, per_byte[channel].max(axis=1, initial=0))
    for u, v, begins, each in zip(*(column.tolist() for column in columns), strict=True):
        before = found.get((u, v), Cost())
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
