"""How likely it is that every living node gets everything, where nodes, links and arcs fail by chance, each by itself.

The sets of faults are divided into strata (strata.py). Of strata with few sets all are replayed, of all others random ones.
"""

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from math import isfinite

from treecast.errors import FaultError
from treecast.keywords import checks_keywords
from treecast.progress import Progress, reporting
from treecast.schedule import Schedule
from treecast.simulation.fault_sets import Kind
from treecast.simulation.faults import check_seed
from treecast.simulation.intervals import clopper_pearson, mean_within
from treecast.simulation.judging import Job, Judge, Tally
from treecast.simulation.losses import Harm, Interval, Reliability
from treecast.simulation.strata import Chance, Stratum, elements_of

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
    pool: Harm | None = None
    with reporting(progress):
        known, rest = _replay_all(judge, strata, sets // 2, survives, executor)
        spent = sum(harm.tried for harm in known)
        left = tail + sum(stratum.weight for stratum in rest)
        if left > _CLOSE * sum(harm.stratum.weight * harm.shares.estimate for harm in known):
            drawn, pool = _draw(judge, rest, sets - spent, 1 - confidence, executor)
            known, left = known + drawn, tail
    known.sort(key=lambda harm: harm.stratum.log_likely, reverse=True)
    sure = 1.0 if pool is None else confidence
    return Reliability(schedule, elements, tuple(known), pool, left, sure, time.perf_counter() - began)


def _all_known(stratum: Stratum, tally: Tally) -> Harm:
    harm, lost = (Interval(*[min(1.0, share)] * 3) for share in (tally.share, tally.lost))
    return Harm(stratum, "all", tally.tried, tally.harmful, harm, lost)


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
    tallies = judge.judge([Job(stratum, stratum.sets) for stratum in chosen], executor)
    known = [Harm(stratum, "proven", 0, 0, *[Interval(0.0, 0.0, 0.0)] * 2) for stratum in proven]
    known += [_all_known(stratum, tally) for stratum, tally in zip(chosen, tallies, strict=True)]
    return known, open_[len(chosen) :]


def _draw(
    judge: Judge, strata: Sequence[Stratum], sets: int, doubt: float, executor: Executor | None
) -> tuple[list[Harm], Harm]:
    """Draw sets of all strata, in which each comes as often as it is likely; return the harm of each, and of all together.

    A third of the doubt is for the loss, one for the share not served, and one for the strata: so all intervals hold at once.
    Samples of their own, most where most can be learned, would each need a part, too; their intervals, added up, are wider.
    """
    together = Stratum((), sum(stratum.weight for stratum in strata), sum(stratum.sets for stratum in strata))
    (tally,) = judge.judge([Job(together, sets // 64 * 64, tuple(strata))], executor)
    pool = _drawn(together, (tally.tried, tally.harmful, tally.lost), doubt / 3, tally.squares)
    seen = [stratum for stratum in strata if stratum.faults in tally.by]
    return [_drawn(stratum, tally.by[stratum.faults], doubt / 3 / len(seen)) for stratum in seen], pool


def _drawn(stratum: Stratum, seen: tuple[int, int, float], doubt: float, squares: float | None = None) -> Harm:
    tried, hits, lost = seen
    low, high = clopper_pearson(hits, tried, doubt)
    lost_low, lost_high = (0.0, high) if squares is None else mean_within(lost, squares, tried, doubt)
    unserved = Interval(lost_low, lost / tried, min(lost_high, high))
    return Harm(stratum, "drawn", tried, hits, Interval(low, hits / tried, high), unserved)
