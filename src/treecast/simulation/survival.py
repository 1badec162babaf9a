"""How likely it is that every living node gets everything, where nodes, links and arcs fail by chance, each by itself.

The sets of faults are divided into strata (strata.py). Of a small stratum every set is replayed, of a large one random sets. What
was drawn only to find out where to draw most is not counted.
"""

import itertools
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from math import isfinite, sqrt
from typing import NamedTuple

import numpy as np

from treecast.errors import FaultError
from treecast.progress import Progress, reporting
from treecast.schedule import Schedule
from treecast.simulation.fault_sets import Kind
from treecast.simulation.faults import check_seed
from treecast.simulation.intervals import clopper_pearson, mean_within
from treecast.simulation.losses import Harm, Reliability
from treecast.simulation.set_replay import SetReplay
from treecast.simulation.spreading import spread
from treecast.simulation.strata import Chance, Elements, Stratum, elements_of

_TASK = 1 << 32  # words that a replay reads in about a second
_MOST_PER_TASK = 1 << 16
_CLOSE = 1e-3  # of the loss: a tail below that needs no sample
_LEFT_OUT = 1e-5  # of what is not replayed set by set: so much may be left to the tail
_MOST_SAMPLED = 200  # strata
_FEWEST = 256  # sets that are replayed
_PILOT = 0.1  # of the sets that are drawn


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

    The root does not fail. Sets of few faults are all replayed. What is likelier than its share in the loss allows is drawn at
    random, stratum by stratum, most where most can be learned; the intervals are those of Clopper & Pearson (1934), each with its
    part of the doubt.

    Parameters
    ----------
    schedule : Schedule
        What is replayed.
    node_failure : float or mapping from str or int to float
        How likely each node is to fail, or each node that is named, by label or number; others do not fail.
    link_failure, arc_failure : float
        How likely each link, and each arc by itself, is to fail.
    sets : int
        The most sets that are replayed.
    confidence : float
        How often the intervals are to hold the truth, at least.
    seed : int
        The seed of the sets that are drawn at random.
    survives : int
        So many faults are known to do no harm: ``schedule.copies - 1`` where the schedule is verified and its copies are good
        against what fails. Such sets are not replayed. By default all are.
    executor : concurrent.futures.Executor, optional
        Who replays: processes or threads, or ranks as ``mpi4py.futures.MPIPoolExecutor``. Processes should be spawned. The result
        is the same for all and for any number of workers. By default threads of this process.
    progress : callable, optional
        Called with how much is done, of how much, and of what.

    Returns
    -------
    Reliability
        The probability of a loss, the average share of nodes that are not served, and the table of strata.

    Raises
    ------
    FaultError
        For sums, which survive no fault; for what is no probability; when nothing can fail.

    Examples
    --------
    >>> import treecast
    >>> found = treecast.reliability(treecast.plan("broadcast", "star:4", copies=3), node_failure=0.01)
    >>> found, found.exact
    (<Reliability: a loss with probability 0.000124813, 880,970 sets replayed>, True)
    """
    began = time.perf_counter()
    if schedule.collective.sums:
        raise FaultError("a sum has one copy and survives no fault: any node or link that it needs is one too many")
    if sets < _FEWEST or not (isfinite(confidence) and 0 < confidence < 1):
        raise FaultError(
            f"{sets} sets and confidence {confidence} will not do: name {_FEWEST} sets or more, and a number between 0 and 1"
        )
    check_seed(seed)
    chances: Mapping[Kind, Chance] = {"nodes": node_failure, "links": link_failure, "arcs": arc_failure}
    elements = elements_of(schedule, chances)
    judge = Judge(schedule, elements, seed)
    strata, tail = elements.strata()
    with reporting(progress):
        known, rest = _replay_all(judge, strata, tail, sets, survives, executor)
        spent = sum(harm.tried for harm in known)
        left = tail + sum(stratum.weight for stratum in rest)
        if left > _CLOSE * sum(harm.stratum.weight * harm.share for harm in known):
            drawn, rest = _draw(judge, rest, sets - spent, 1 - confidence, executor)
            known += drawn
    known.sort(key=lambda harm: harm.stratum.log_likely, reverse=True)
    left = tail + sum(stratum.weight for stratum in rest)
    sampled = any(harm.how == "drawn" for harm in known)
    return Reliability(
        schedule, elements, tuple(known), left, confidence if sampled else 1.0, time.perf_counter() - began
    )


class Task(NamedTuple):
    """Sets of a stratum that are replayed at a time: those number ``start … stop-1``, or as many random ones of a block."""

    faults: tuple[int, ...]
    draws: str
    start: int
    stop: int


class Tally(NamedTuple):
    """What sets did: how many, how many of them did harm, and how likely; the share of nodes not served, and its square."""

    tried: int
    harmful: int
    share: float
    lost: float
    squares: float


class Judge:
    """What every task needs: a schedule and what can fail, as arrays."""

    def __init__(self, schedule: Schedule, elements: Elements, seed: int) -> None:
        schedule = schedule.plain()
        wants = np.zeros(schedule.network.nodes + 1, np.bool_)  # element by element: -1 is no node
        wants[schedule.part.wanted().node] = True
        self.elements, self.seed = elements, seed
        self.replay = SetReplay(schedule, elements.node, elements.arcs)
        self.wants, self.all_wanting = wants[elements.node], int(wants.sum())

    def __call__(self, task: Task) -> Tally:
        """Replay the sets of a task."""
        if task.draws:
            kind = {"pilot": 1, "drawn": 2}[task.draws]
            random = np.random.default_rng([self.seed, kind, task.start, *task.faults])
            sets = self.elements.draw(random, task.faults, task.stop - task.start)
            weights = np.ones(len(sets))
        else:
            sets, weights = self.elements.sets(task.faults, task.start, task.stop)
        lacking, _ = self.replay.try_sets(sets)
        living = self.all_wanting - self.wants[sets].sum(axis=1)
        lost = lacking / np.maximum(living, 1)
        harmful = lacking > 0
        return Tally(
            len(sets),
            int(harmful.sum()),
            float(weights[harmful].sum()),
            float((weights * lost).sum()),
            float((weights * lost * lost).sum()),
        )

    def block(self, size: int) -> int:
        """Return how many sets of a size are a task, of about a second and not too much memory; a multiple of 64."""
        fitting = min(_TASK // self.replay.work * 64, (1 << 23) // max(1, size), _MOST_PER_TASK)
        return max(64, fitting // 64 * 64)

    def judge(self, jobs: Sequence[tuple[Stratum, str, int]], executor: Executor | None) -> list[Tally]:
        """Replay so many sets of each stratum, all or drawn; return what each did."""
        tasks, ends = list[Task](), [0]
        for stratum, draws, count in jobs:
            step = self.block(sum(stratum.faults))
            tasks += [Task(stratum.faults, draws, a, min(a + step, count)) for a in range(0, count, step)]
            ends.append(len(tasks))
        found = spread(self, tasks, executor, what="parts of the fault sets")
        return [_add(found[a:b]) for a, b in itertools.pairwise(ends)]


def _add(tallies: Sequence[Tally]) -> Tally:
    tried, harmful, share, lost, squares = (sum(column) for column in zip(*tallies, strict=True))
    return Tally(int(tried), int(harmful), share, lost, squares)


def _all_known(stratum: Stratum, tally: Tally) -> Harm:
    q, lost = min(1.0, tally.share), min(1.0, tally.lost)
    return Harm(stratum, "all", tally.tried, tally.harmful, q, q, q, lost, lost, lost)


def _replay_all(
    judge: Judge, strata: Sequence[Stratum], tail: float, sets: int, survives: int, executor: Executor | None
) -> tuple[list[Harm], list[Stratum]]:
    """Replay the strata whose sets are likeliest, with half of the sets that are allowed; return the other strata, too."""
    proven = [stratum for stratum in strata if sum(stratum.faults) <= survives]
    open_ = sorted((s for s in strata if sum(s.faults) > survives), key=lambda s: s.log_likely, reverse=True)
    chosen, left = list[Stratum](), sets // 2
    for stratum in open_:
        if stratum.sets > left:
            break
        chosen.append(stratum)
        left -= stratum.sets
    tallies = judge.judge([(stratum, "", stratum.sets) for stratum in chosen], executor)
    known = [Harm(stratum, "proven", 0, 0, *[0.0] * 6) for stratum in proven]
    known += [_all_known(stratum, tally) for stratum, tally in zip(chosen, tallies, strict=True)]
    return known, open_[len(chosen) :]


def _draw(
    judge: Judge, strata: Sequence[Stratum], sets: int, doubt: float, executor: Executor | None
) -> tuple[list[Harm], list[Stratum]]:
    """Draw sets of the likeliest strata, most where most can be learned; return the strata that stay unknown."""
    likeliest = sorted(strata, key=lambda stratum: stratum.weight, reverse=True)
    allowed = _LEFT_OUT * sum(stratum.weight for stratum in strata)
    most = max(1, min(_MOST_SAMPLED, sets // _FEWEST))
    chosen, left = likeliest[:most], likeliest[most:]
    while len(chosen) > 1 and chosen[-1].weight + sum(s.weight for s in left) <= allowed:
        left.append(chosen.pop())
    pilot = max(64, int(sets * _PILOT) // len(chosen) // 64 * 64)
    first = judge.judge([(stratum, "pilot", pilot) for stratum in chosen], executor)
    # half a hit is added on either side, so that what the pilot has not seen is drawn, too
    guess = [(tally.harmful + 0.5) / (tally.tried + 1) for tally in first]
    score = [stratum.weight * sqrt(q * (1 - q)) for stratum, q in zip(chosen, guess, strict=True)]
    most = max(0, sets - pilot * len(chosen))
    jobs = list[tuple[Stratum, str, int]]()
    for stratum, part in zip(chosen, score, strict=True):
        count = max(64, int(most * part / sum(score)) // 64 * 64)
        jobs.append((stratum, "", stratum.sets) if count >= stratum.sets else (stratum, "drawn", count))
    share_of_doubt = doubt / max(1, sum(bool(draws) for _, draws, _ in jobs))
    found = list[Harm]()
    for (stratum, draws, count), tally in zip(jobs, judge.judge(jobs, executor), strict=True):
        if not draws:
            found.append(_all_known(stratum, tally))
            continue
        low, high = clopper_pearson(tally.harmful, count, share_of_doubt)
        lost_low, lost_high = mean_within(tally.lost, tally.squares, count, share_of_doubt)
        share, lost = tally.harmful / count, tally.lost / count
        found.append(
            Harm(stratum, "drawn", count, tally.harmful, share, low, high, lost, lost_low, min(lost_high, high))
        )
    return found, left
