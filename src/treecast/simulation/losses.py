"""How likely schedules leave a living node without something: tables of strata, and from them the curves of the losses."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, log10
from typing import NamedTuple, cast

import numpy as np

from treecast.description import Described, Description, Table, count_of, describe, values_of
from treecast.errors import FaultError
from treecast.schedule import Schedule
from treecast.simulation.strata import Elements, Stratum, weigh_strata


class Interval(NamedTuple):
    """An estimate, and the ends between which the truth lies."""

    low: float
    estimate: float
    high: float


class Harm(NamedTuple):
    """The harm of a stratum, as far as it is known: ``harmful`` of the ``tried`` sets leave a living node without a chunk.

    ``how``: ``all`` where every set was replayed, ``drawn`` where random ones were, ``proven`` where it is known that none does
    harm. ``shares``: how likely a set does harm. ``unserved``: the share of the living nodes that lack something, on average over
    the stratum.
    """

    stratum: Stratum
    how: str
    tried: int
    harmful: int
    shares: Interval
    unserved: Interval


@dataclass(frozen=True, repr=False)
class Reliability(Described):
    """How likely a schedule is to serve every living node.

    Parameters
    ----------
    schedule : Schedule
        The schedule.
    elements : Elements
        The elements that can fail, and how likely.
    harms : tuple of Harm
        The harm of each stratum, the likeliest sets first.
    pool : Harm, optional
        The harm of the random sets of all strata together, in which each stratum comes as often as it is likely.
    tail : float
        How likely all other numbers of faults are together, at most.
    confidence : float
        How often the intervals hold the truth, at least; 1 where no set was drawn at random.
    seconds : float
        The time that it took.

    Examples
    --------
    >>> import treecast
    >>> found = treecast.reliability(treecast.plan("broadcast", "star:4", copies=2), 0.01, sets=20_000)
    >>> [harm.harmful for harm in found.harms[:4]]
    [0, 0, 61, 893]
    """

    schedule: Schedule
    elements: Elements
    harms: tuple[Harm, ...]
    pool: Harm | None
    tail: float
    confidence: float
    seconds: float

    @property
    def exact(self) -> bool:
        """Whether no set was drawn at random, so that the intervals are certain."""
        return self.pool is None

    @property
    def tried(self) -> int:
        """How many sets were replayed."""
        return sum(harm.tried for harm in self._apart)

    @property
    def _apart(self) -> list[Harm]:
        """The harms, none twice: of strata that were drawn from together one for all."""
        return [harm for harm in self.harms if harm.how != "drawn"] + ([self.pool] if self.pool else [])

    @property
    def loss(self) -> Interval:
        """The probability that some living node does not get everything."""
        return _weigh([(h.stratum.weight, h.shares) for h in self._apart], self.tail)

    @property
    def unserved(self) -> Interval:
        """The share of living nodes that do not get everything, on average; none where no node lives that wants something."""
        return _weigh([(h.stratum.weight, h.unserved) for h in self._apart], self.tail)

    def loss_times(self, factor: float) -> Interval:
        """Return the probability of a loss where everything is ``factor`` times as likely to fail.

        Raises FaultError where elements of one kind are not equally likely to fail: their strata hold for one factor only.
        """
        weights, tail = self._times(factor)
        return _weigh([(w, h.shares) for w, h in zip(weights, self.harms, strict=True)], tail)

    def tail_times(self, factor: float) -> float:
        """Return how likely the numbers of faults of which nothing is known are then, at most."""
        return self._times(factor)[1]

    def _times(self, factor: float) -> tuple[list[float], float]:
        if not self.has_curve:
            raise FaultError("a curve needs one probability for all nodes: leave the picture out, or the file")
        groups = [group.times(factor) for group in self.elements.groups]
        return weigh_strata(groups, [harm.stratum.faults for harm in self.harms])

    @property
    def has_curve(self) -> bool:
        """Whether the strata hold for all probabilities."""
        return all(group.alike for group in self.elements.groups)

    @property
    def fewest(self) -> int | None:
        """The fewest faults of which a set was found to do harm, or None: the slope of the curve."""
        return min((sum(harm.stratum.faults) for harm in self.harms if harm.harmful), default=None)

    def __repr__(self) -> str:
        return (
            f"<Reliability: a loss with probability {self.loss.estimate:.6g}, {count_of(self.tried, 'set')} replayed>"
        )


def _weigh(parts: Sequence[tuple[float, Interval]], tail: float) -> Interval:
    low, estimate, high = (sum(weight * ends[i] for weight, ends in parts) for i in range(3))
    # with other numbers of faults everything may be lost
    return Interval(low, estimate, min(1.0, high + tail))


@describe.register
def _(found: Reliability) -> Description:
    # 1. Figures for programs.
    loss, unserved, groups = found.loss, found.unserved, found.elements.groups
    spared = found.schedule.initiator if found.schedule.collective.all_source else found.schedule.collective.root
    kinds = [group.kind for group in groups]
    figures: dict[str, object] = {
        "reliability": 1 - loss.estimate,
        "loss": loss._asdict(),
        "unserved": unserved._asdict(),
        "confidence": found.confidence,
        "exact": found.exact,
        "can_fail": [
            {
                "kind": group.kind,
                "elements": len(group),
                "probability": [float(group.probability.min()), float(group.probability.max())],
            }
            for group in groups
        ],
        "together": found.pool and values_of(found.pool, "tried", "harmful") | {"share": found.pool.shares},
        "tail": found.tail,
        "sets": found.tried,
        "strata": [
            {
                "faults": dict(zip(kinds, harm.stratum.faults, strict=True)),
                "probability": harm.stratum.weight,
                "sets": harm.stratum.sets,
                **values_of(harm, "how", "tried", "harmful"),
                "share": harm.shares,
                "unserved": harm.unserved,
            }
            for harm in found.harms
        ],
        "seconds": round(found.seconds, 6),
    }
    # 2. Words for people.
    never = [] if spared is None else [f"the root {found.schedule.network.label(spared)} does not fail"]
    how = "all with the fault counts below" if found.exact else "all, or random ones, with the fault counts below"
    lines: dict[str, object] = {
        "reliability": f"{_near_one(loss)}: so likely every living node gets everything",
        "loss": _say_interval(loss, found),
        "served": f"{_near_one(unserved)} of the living nodes on average",
        "unserved": _say_interval(unserved, found),
        "can fail": [*(group.describe() for group in groups), *never],
        "replayed": f"{count_of(found.tried, 'set')}: {how}; other counts have probability {found.tail:.2g}",
    }
    return Description(figures, lines, (_table(found, kinds),))


_ROWS = 12  # of the table that are shown


def _table(found: Reliability, kinds: Sequence[str]) -> Table:
    columns = (
        *(f"dead {kind}" for kind in kinds),
        "probability",
        "sets",
        "replayed",
        "do harm",
        "share that does harm",
    )
    rows = list[list[object]]()
    for harm in found.harms:
        (faults, likely, sets), drawn, (low, share, high) = harm.stratum, harm.how == "drawn", harm.shares
        tried = {"all": "all", "proven": "none: proven harmless"}.get(harm.how, f"{harm.tried:,} at random")
        ends = f" ({low:.4g} to {high:.4g})" if drawn else ""
        many = f"{sets:,}" if sets < 10**9 else f"about 10^{len(str(sets)) - 1}"
        rows.append([*faults, f"{likely:.3g}", many, tried, harm.harmful, f"{share:.4g}{ends}"])
    return Table(columns, rows, most=_ROWS, of="numbers of faults")


def _near_one(loss: Interval) -> str:
    """Return one less a loss, with as many nines as it has."""
    digits = 4 if loss.estimate <= 0 else max(4, min(15, 3 - floor(log10(loss.estimate))))
    return f"{1 - loss.estimate:.{digits}f}"


def _say_interval(found: Interval, of: Reliability) -> str:
    low, estimate, high = (f"{value:.6g}" for value in found)
    if low == high:
        return estimate
    sure = "" if of.exact else f", {100 * of.confidence:g} % sure"
    return f"{estimate} ({low} to {high}{sure})"


_BELOW, _ABOVE, _MOST = 1e-2, 10.0, 0.5  # of the probabilities given; and the largest probability
_POINTS = 61  # of a curve
_UNKNOWN = 0.1  # of a loss: a curve ends where more may lie in numbers of faults of which nothing is known


@dataclass(frozen=True, repr=False)
class Curves(Described):
    """The reliability of several schedules, each with its name, under the same probabilities."""

    found: tuple[Reliability, ...]
    names: tuple[str, ...]

    def factors(self) -> list[float]:
        """Return how many times as likely as given everything is to fail, at the points of the curves.

        Raises FaultError where the probabilities differ from schedule to schedule.
        """
        given = {tuple((g.kind, float(g.probability[0])) for g in one.elements.groups) for one in self.found}
        if len(given) != 1 or not all(one.has_curve for one in self.found):
            raise FaultError("a picture needs one probability for all nodes, the same for all plans: leave it out")
        largest = max(p for groups in given for _, p in groups)
        most = max(1.0, min(_ABOVE, _MOST / largest))
        return np.geomspace(_BELOW, most, _POINTS).tolist()

    def losses(self, place: int) -> dict[float, Interval]:
        """Return the probability of a loss of one of the schedules at each factor, as far as enough is known of it."""
        one, known = self.found[place], dict[float, Interval]()
        for factor in self.factors():
            loss = one.loss_times(factor)
            if factor > 1 and one.tail_times(factor) > _UNKNOWN * loss.estimate:
                break
            known[factor] = loss
        return known


@describe.register
def _(curves: Curves) -> Description:
    every = [describe(one) for one in curves.found]
    figures = [
        {"plan": name, **cast("dict[str, object]", one.figures)} for name, one in zip(curves.names, every, strict=True)
    ]
    columns = ("plan", "copies", "steps", "loss", "unserved", "replayed", "fewest faults found to do harm")
    rows = [
        [
            name,
            one.schedule.copies,
            one.schedule.steps,
            shown.lines["loss"],
            shown.lines["unserved"],
            f"{one.tried:,}",
            "none" if one.fewest is None else one.fewest,
        ]
        for name, one, shown in zip(curves.names, curves.found, every, strict=True)
    ]
    lines = {"can fail": every[0].lines["can fail"]}
    return Description(figures, lines, (Table(columns, rows),))
