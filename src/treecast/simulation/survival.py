"""How likely it is that every living node gets everything, where nodes, links and arcs fail by chance, each by itself.

The sets of faults are divided into strata (strata.py). Of strata with few sets all are replayed, of all others random ones.
Intervals hold a probability, or a mean, with at least the confidence that they claim, whatever the truth is.
"""

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from itertools import pairwise
from math import exp, inf, isfinite, lgamma, log, log1p, sqrt
from typing import NamedTuple

import numpy as np

from treecast.errors import FaultError, checks_keywords
from treecast.networks.core import Ints
from treecast.progress import Progress, reporting
from treecast.schedule import Schedule
from treecast.simulation.fault_sets import Kind, SetReplay
from treecast.simulation.faults import check_seed
from treecast.simulation.losses import Harm, Interval, Reliability
from treecast.simulation.spreading import spread
from treecast.simulation.strata import Chance, Elements, Faulty, Floats, Stratum, elements_of

_STEPS = 40  # of halving: the ends are found to 1e-9 of the first guess's width
_TINY = 1e-300  # in place of 0, by which nothing can be divided


def clopper_pearson(hits: int, draws: int, doubt: float) -> tuple[float, float]:
    """Return the ends between which a probability lies, given how often something came true (Clopper & Pearson 1934).

    It came true in ``hits`` of ``draws``, which are independent. The interval fails to hold the probability at most as often
    as ``doubt`` says.

    >>> low, high = clopper_pearson(0, 100, 0.05)
    >>> low, round(high, 6) == round(1 - 0.025 ** 0.01, 6)
    (0.0, True)
    """
    if draws == 0:
        return 0.0, 1.0
    low = 1 - _least_unlikely(draws - hits, draws, doubt / 2) if hits else 0.0
    high = _least_unlikely(hits, draws, doubt / 2) if hits < draws else 1.0
    return max(low, 0.0), high


def _least_unlikely(hits: int, draws: int, doubt: float) -> float:
    """Return the least probability, rounded up, under which at most ``hits`` of ``draws`` come as rarely as ``doubt``."""
    share = hits / draws
    # a first guess, which grows until it is enough
    wide = 8 * sqrt(share * (1 - share) / draws) - 8 * log(doubt) / draws
    low, high = share, min(1.0, share + wide)
    while high < 1 and chance_of_at_most(hits, draws, high) > doubt:
        low, high = high, min(1.0, 2 * high)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if chance_of_at_most(hits, draws, middle) > doubt:
            low = middle
        else:
            high = middle
    return high


def chance_of_at_most(hits: int, draws: int, probability: float) -> float:
    """Return how likely at most ``hits`` of ``draws`` come true: the regularised incomplete beta function.

    Its continued fraction is evaluated by the modified method of Lentz (Press et al., Numerical Recipes, 6.4).

    >>> round(chance_of_at_most(1, 3, 0.5), 12)
    0.5
    """
    if hits >= draws or probability <= 0:
        return 1.0
    if probability >= 1:
        return 0.0
    a, b, x = draws - hits, hits + 1, 1 - probability
    # by logarithms, as the factors lie far apart
    front = lgamma(a + b) - lgamma(a) - lgamma(b) + a * log1p(-probability) + b * log(probability)
    # the fraction converges fast on this side alone; the other goes by symmetry
    if x < (a + 1) / (a + b + 2):
        return min(1.0, exp(front) * _fraction(a, b, x) / a)
    return max(0.0, 1 - exp(front) * _fraction(b, a, 1 - x) / b)


def _fraction(a: float, b: float, x: float) -> float:
    c, d = 1.0, 1 / _apart(1 - (a + b) * x / (a + 1))
    value, change, m = d, inf, 0
    while abs(change - 1) > 1e-12 and m < 1_000_000:
        m += 1
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        change = 1.0
        for term in (even, odd):
            d, c = 1 / _apart(1 + term * d), _apart(1 + term / c)
            value *= d * c
            change *= d * c
    return value


def _apart(value: float) -> float:
    return value if abs(value) > _TINY else _TINY


def mean_within(total: float, squares: float, draws: int, doubt: float) -> tuple[float, float]:
    """Return the ends between which the mean of something between 0 and 1 lies, given sums over independent draws.

    The bound is the empirical one of Maurer & Pontil 2009 (arXiv 0907.3740, theorem 4), on either side. ``total`` and
    ``squares``: the sums of the values and of their squares. The interval fails at most as often as ``doubt`` says.

    >>> low, high = mean_within(50.0, 50.0, 100, 0.05)
    >>> 0.2 < low < 0.4 and 0.6 < high < 0.8
    True
    """
    if draws < 2:
        return 0.0, 1.0
    mean, spread = total / draws, max(0.0, squares - total * total / draws) / (draws - 1)
    weight = log(4 / doubt)
    wide = sqrt(2 * spread * weight / draws) + 7 * weight / (3 * (draws - 1))
    return max(0.0, mean - wide), min(1.0, mean + wide)


Seen = Mapping[Faulty, tuple[int, int, float]]
"""How many sets of a stratum were tried, how many of them did harm, and the shares of nodes that lacked something, added up."""
_TASK = 1 << 32  # words that a replay reads in about a second
_MOST_PER_TASK = 1 << 16
_MOST_CELLS = 1 << 23  # of the table of sets of a task


class StratumTask(NamedTuple):
    """The sets number ``start … stop-1`` of a stratum, or as many random ones of several that are ``among`` others."""

    stratum: Stratum
    start: int
    stop: int
    among: tuple[Stratum, ...] = ()


class StratumTally(NamedTuple):
    """The harm of some sets: how many were ``tried``, and how many of them left a living node without a chunk (``harmful``).

    ``share``: how likely those are, of all sets of their stratum. ``lost`` and ``squares``: the shares of living nodes that
    lack something, and their squares, added up: weighed where sets are, else one by one. ``by``: how many of each stratum
    were tried and did harm, and the shares added up, where several were drawn from.
    """

    tried: int
    harmful: int
    share: float
    lost: float
    squares: float
    by: Seen


class Judge:
    """The common parts of all tasks: a schedule and its elements, as arrays."""

    def __init__(self, schedule: Schedule, elements: Elements, seed: int) -> None:
        schedule = schedule.plain()
        wants = np.zeros(schedule.network.nodes + 1, np.bool_)  # the last is for no node: -1
        wants[schedule.part.wanted().node] = True
        self.elements, self.seed = elements, seed
        # one more element than there is, which is nothing: it fills up sets that are smaller than others
        node, arcs = np.append(elements.node, -1), np.append(elements.arcs, [[-1, -1]], axis=0)
        self.replay = SetReplay(schedule, node, arcs)
        self.wants, self.all_wanting = wants[node], int(wants.sum())

    def __call__(self, task: StratumTask) -> StratumTally:
        """Replay the sets of a task."""
        count = task.stop - task.start
        weights, parts = np.ones(count), list[tuple[Faulty, int]]()
        if task.among:
            sets, parts = self._draw_among(np.random.default_rng([self.seed, task.start]), task.among, count)
        else:
            sets, weights = self.elements.sets(task.stratum.faults, task.start, task.stop)
        lacking, _ = self.replay.try_sets(sets)
        # those that want something and do not fail
        living = self.all_wanting - self.wants[sets].sum(axis=1)
        return _count(lacking, lacking / np.maximum(living, 1), weights, parts)

    def _draw_among(
        self, random: np.random.Generator, strata: Sequence[Stratum], count: int
    ) -> tuple[Ints, list[tuple[Faulty, int]]]:
        """Return random sets of several strata, and how many are of each, one behind the other."""
        weights = np.array([stratum.weight for stratum in strata])
        drawn = random.multinomial(count, weights / weights.sum())
        parts = [(strata[i].faults, int(drawn[i])) for i in np.flatnonzero(drawn).tolist()]
        sets = np.full((count, max(sum(faults) for faults, _ in parts)), len(self.elements.node), np.int64)
        row = 0
        for faults, many in parts:
            sets[row : row + many, : sum(faults)] = self.elements.draw(random, faults, many)
            row += many
        return sets, parts

    def judge(self, jobs: Sequence[StratumTask], executor: Executor | None) -> list[StratumTally]:
        """Return the tally of each job, a task that may be too large for one worker."""
        tasks, ends = list[StratumTask](), [0]
        for job in jobs:
            step = self._block(max(sum(stratum.faults) for stratum in (job.stratum, *job.among)))
            tasks += [job._replace(start=a, stop=min(a + step, job.stop)) for a in range(0, job.stop, step)]
            ends.append(len(tasks))
        found = spread(self, tasks, executor, name="parts of the fault sets")
        return [_add(found[a:b]) for a, b in pairwise(ends)]

    def _block(self, size: int) -> int:
        """Return how many sets of a size are a task, of about a second and not too much memory; a multiple of 64."""
        fitting = min(_TASK // self.replay.work * 64, _MOST_CELLS // max(1, size), _MOST_PER_TASK)
        return max(64, fitting // 64 * 64)


def _count(lacking: Ints, lost: Floats, weights: Floats, parts: Sequence[tuple[Faulty, int]]) -> StratumTally:
    harmful, by, row = lacking > 0, dict[Faulty, tuple[int, int, float]](), 0
    for faults, many in parts:
        by[faults] = many, int(harmful[row : row + many].sum()), float(lost[row : row + many].sum())
        row += many
    return StratumTally(
        len(lacking),
        int(harmful.sum()),
        float(weights[harmful].sum()),
        float((weights * lost).sum()),
        float((weights * lost * lost).sum()),
        by,
    )


def _add(tallies: Sequence[StratumTally]) -> StratumTally:
    by = dict[Faulty, tuple[int, int, float]]()
    for tally in tallies:
        for faults, more in tally.by.items():
            before = by.get(faults, (0, 0, 0.0))
            by[faults] = before[0] + more[0], before[1] + more[1], before[2] + more[2]
    return StratumTally._make([*map(sum, zip(*(tally[:-1] for tally in tallies), strict=True)), by])


_CLOSE = 1e-3  # of the loss: a tail below that needs no sample
_FEWEST = 256  # sets that are replayed


@checks_keywords
def reliability(
    schedule: Schedule,
    node_failure: Chance = 0.0,
    link_failure: float = 0.0,
    arc_failure: float = 0.0,
    *,
    sets: int = 2_000_000,
    confidence: float = 0.95,
    seed: int = 0,
    survives: int = -1,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Reliability:
    """Return how likely it is that every living node gets everything, where parts fail by chance, each by itself, from the start.

    The root does not fail. Sets of few faults are all replayed. If the others are likely enough to matter, random ones of them
    are replayed; the interval for these is that of Clopper & Pearson (1934).

    Parameters
    ----------
    schedule : Schedule
        The schedule.
    node_failure : float or mapping from str or int to float
        How likely each node is to fail, or each node that is named, by label or number; others do not fail.
    link_failure, arc_failure : float
        How likely each link, and each arc by itself, is to fail.
    sets : int
        The most sets that are replayed.
    confidence : float
        How often all intervals are to hold the truth at once, at least.
    seed : int
        The seed of the sets that are drawn at random.
    survives : int
        So many faults are known to do no harm: ``schedule.copies - 1`` where the schedule is verified and its copies are good
        against these faults. Such sets are not replayed. By default all are.
    executor : concurrent.futures.Executor, optional
        Who replays: processes or threads, or ranks as ``mpi4py.futures.MPIPoolExecutor``. Processes should be spawned. The result
        is the same for all and for any number of workers. By default threads of this process.
    progress : callable, optional
        Called with how much is done, of how much, and the name of the work.

    Returns
    -------
    Reliability
        The probability of a loss, the average share of nodes that are not served, and the table of strata.

    Raises
    ------
    FaultError
        For sums, which survive no fault; for a number that is no probability; when nothing can fail.

    Examples
    --------
    >>> import treecast
    >>> found = treecast.reliability(treecast.plan("broadcast", "star:4", copies=3), node_failure=0.01)
    >>> found, found.exact
    (<Reliability: a loss with probability 0.000122343, 880,970 sets replayed>, True)
    """
    # 1. What is asked makes sense.
    began = time.perf_counter()
    if schedule.collective.sums:
        raise FaultError("a sum has one copy and survives no fault: any node or link that it needs is one too many")
    if sets < _FEWEST or not (isfinite(confidence) and 0 < confidence < 1):
        raise FaultError(
            f"{sets} sets and confidence {confidence} will not do: name {_FEWEST} sets or more, and a number between 0 and 1"
        )
    # 2. Fault sets, by the number of parts that fail: strata.
    check_seed(seed)
    chances: Mapping[Kind, Chance] = {"nodes": node_failure, "links": link_failure, "arcs": arc_failure}
    elements = elements_of(schedule, chances)
    judge = Judge(schedule, elements, seed)
    strata, tail = elements.strata()
    # 3. Replay whole strata, the likeliest first; draw from the rest where it still matters.
    pool: Harm | None = None
    with reporting(progress):
        # half of the sets are kept for the rest
        known, rest = _replay_all(judge, strata, sets // 2, survives, executor)
        spent = sum(harm.tried for harm in known)  # how many sets were replayed
        left = tail + sum(stratum.weight for stratum in rest)
        if left > _CLOSE * sum(harm.stratum.weight * harm.shares.estimate for harm in known):
            drawn, pool = _draw(judge, rest, sets - spent, 1 - confidence, executor)
            known, left = known + drawn, tail
    # 4. The estimate, and what was left out of it.
    known.sort(key=lambda harm: harm.stratum.log_likely, reverse=True)
    sure = 1.0 if pool is None else confidence
    return Reliability(schedule, elements, tuple(known), pool, left, sure, time.perf_counter() - began)


def _replay_all(
    judge: Judge, strata: Sequence[Stratum], sets: int, survives: int, executor: Executor | None
) -> tuple[list[Harm], list[Stratum]]:
    """Replay the strata whose sets are likeliest, with so many sets at most; return the other strata, too."""
    proven = [stratum for stratum in strata if sum(stratum.faults) <= survives]
    open_ = sorted((s for s in strata if sum(s.faults) > survives), key=lambda s: s.log_likely, reverse=True)
    chosen, left = list[Stratum](), sets
    for stratum in open_:
        if stratum.sets > left:
            break
        chosen.append(stratum)
        left -= stratum.sets
    tallies = judge.judge([StratumTask(stratum, 0, stratum.sets) for stratum in chosen], executor)
    known = [Harm(stratum, "proven", 0, 0, *[Interval(0.0, 0.0, 0.0)] * 2) for stratum in proven]
    for stratum, tally in zip(chosen, tallies, strict=True):
        harm, lost = (Interval(*[min(1.0, share)] * 3) for share in (tally.share, tally.lost))
        known.append(Harm(stratum, "all", tally.tried, tally.harmful, harm, lost))
    return known, open_[len(chosen) :]


def _draw(
    judge: Judge, strata: Sequence[Stratum], sets: int, doubt: float, executor: Executor | None
) -> tuple[list[Harm], Harm]:
    """Draw sets of all strata, in which each comes as often as it is likely; return the harm of each, and of all together.

    A third of the doubt is for the loss, one for the share not served, and one for the strata: so all intervals hold at once.
    Samples of their own, most where most can be learned, would each need a part, too; their intervals, added up, are wider.
    """
    together = Stratum((), sum(stratum.weight for stratum in strata), sum(stratum.sets for stratum in strata))
    (tally,) = judge.judge([StratumTask(together, 0, sets // 64 * 64, tuple(strata))], executor)
    pool = _drawn(together, (tally.tried, tally.harmful, tally.lost), doubt / 3, tally.squares)
    seen = [stratum for stratum in strata if stratum.faults in tally.by]
    # the doubts of all, added up, bound that one of them fails
    return [_drawn(stratum, tally.by[stratum.faults], doubt / 3 / len(seen)) for stratum in seen], pool


def _drawn(stratum: Stratum, seen: tuple[int, int, float], doubt: float, squares: float | None = None) -> Harm:
    tried, hits, lost = seen
    low, high = clopper_pearson(hits, tried, doubt)
    lost_low, lost_high = (0.0, high) if squares is None else mean_within(lost, squares, tried, doubt)
    unserved = Interval(lost_low, lost / tried, min(lost_high, high))
    return Harm(stratum, "drawn", tried, hits, Interval(low, hits / tried, high), unserved)
