"""Sweeps: a schedule under every set of a few faults, or under many random ones."""

import time
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from math import comb
from typing import NamedTuple

from treecast.description import Described, Description, count_of, describe, list_few
from treecast.errors import FaultError
from treecast.networks.core import Ints
from treecast.progress import Progress, part_of, reporting
from treecast.schedule import Schedule
from treecast.simulation.fault_sets import Elements, FaultSets, Kind
from treecast.simulation.faults import Faults, check_seed
from treecast.simulation.lies import verdicts
from treecast.simulation.set_replay import Hit, SetReplay
from treecast.simulation.spreading import spread


@dataclass(frozen=True, repr=False)
class Sweep(Described):
    """The findings of a sweep over sets of faults.

    Parameters
    ----------
    schedule : Schedule
        The schedule.
    kind : str
        The parts that failed: ``nodes``, ``arcs``, ``links``, ``nodes+arcs`` or ``nodes+links``.
    most : int
        The most faults of a set.
    sets : int
        How many sets were tried.
    exhaustive : bool
        Whether they are all that there are. A sweep that stops at the first failing set has not tried all.
    sample : bool
        Whether the sets were drawn at random.
    failing : int
        How many of them left a living node without a chunk.
    counterexample : Faults, optional
        The first of them.
    node, chunk : int
        The loss under it; -1 when nothing was lost. Under liars the chunk is -1.
    seconds : float
        The time that it took.
    liars : int
        The most nodes, arcs or links of a set that lie, besides those that fail.
    lying : Faults, optional
        The liars of the counterexample.

    Examples
    --------
    >>> import treecast
    >>> schedule = treecast.plan("broadcast", "star:4", messages=6, survive=1)
    >>> treecast.sweep(schedule)
    <Sweep of 24 sets of at most 1 node: holds>
    >>> found = treecast.sweep(schedule, 2)
    >>> found.holds, len(found.counterexample)
    (False, 2)
    """

    schedule: Schedule = field(repr=False, compare=False)
    kind: Kind
    most: int
    sets: int
    exhaustive: bool
    sample: bool
    failing: int
    counterexample: Faults | None
    node: int
    chunk: int
    seconds: float
    liars: int = 0
    lying: Faults | None = None

    @property
    def holds(self) -> bool:
        """Whether every living node got everything under every set tried."""
        return self.failing == 0

    def __repr__(self) -> str:
        verdict = "holds" if self.holds else f"{self.failing:,} failing"
        return f"<Sweep of {count_of(self.sets, 'set')} of {_describe_size(self)}: {verdict}>"


def _describe_size(found: Sweep) -> str:
    names = found.kind.split("+")
    kind = " or ".join(name[:-1] for name in names) if found.most == 1 else " and ".join(names)
    size = f"{'' if found.sample else 'at most '}{found.most} {kind}"
    if not found.liars:
        return size
    fail, lie = ("fails" if found.most == 1 else "fail"), ("lies" if found.liars == 1 else "lie")
    return f"{size} that {fail} and {found.liars} that {lie}"


@describe.register
def _(found: Sweep) -> Description:
    figures: dict[str, object] = {
        "kind": found.kind,
        "most": found.most,
        "sets": found.sets,
        "exhaustive": found.exhaustive,
        "failing": found.failing,
        "seconds": round(found.seconds, 6),
    }
    if found.liars:
        figures |= {"liars": found.liars}
    tried = f"{'random sets' if found.sample else 'every set'} of {_describe_size(found)}"
    if found.counterexample is None and not (found.most or found.liars):
        said = f"one copy survives none: 'verify --sweep {found.kind} --most 1' tells which do harm"
        return Description({"sweep": figures}, {"faults": said})
    if found.counterexample is None:
        return Description({"sweep": figures}, {"faults": f"survives {tried}: {count_of(found.sets, 'set')}"})
    network = found.schedule.network
    dead, node = found.counterexample.describe(network), network.label(found.node)
    lying = [] if found.lying is None else found.lying.describe(network)
    parts = [_say_who(dead, "fails", "fail")] if dead else []
    parts += [_say_who(lying, "lies", "lie")] if lying else []
    outcome = "does not elect everything as it is" if found.liars else f"never gets chunk {found.chunk}"
    counted = f"{found.failing:,} of the {found.sets:,} sets tried fail"
    if not found.exhaustive and not found.sample:
        counted += "; the others were not tried"
    words = [f"does NOT survive {tried}: when {' and '.join(parts)}, {node} {outcome}", counted]
    counterexample: dict[str, object] = {"faults": dead, "node": node, "chunk": found.chunk}
    counterexample |= {"liars": lying} if found.liars else {}
    return Description({"sweep": figures, "counterexample": counterexample}, {"faults": words}, holds=False)


def _say_who(names: list[str], one: str, many: str) -> str:
    return f"{list_few(names)} {one if len(names) == 1 else many}"


def sweep(
    schedule: Schedule,
    most: int | None = None,
    kind: Kind | None = None,
    *,
    liars: int = 0,
    sample: int | None = None,
    seed: int = 0,
    keep_going: bool = False,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Sweep:
    """Replay a schedule under every set of at most ``most`` faults, or a sample of the sets, as ``treecast.sweep`` says."""
    kind = kind or schedule.against
    began = time.perf_counter()
    if schedule.collective.sums:
        raise FaultError("a sum has one copy and survives no fault: there are no sets of faults to try")
    if liars:
        choice = _Choice(sample, seed, keep_going, executor)
        return _sweep_lies(schedule, most, kind, liars, choice=choice, progress=progress)
    most = schedule.copies - 1 if most is None else most
    choices = FaultSets(schedule, kind)
    if not 0 <= most <= choices.elements:
        raise FaultError(f"a set cannot have {most} faults: there are {choices.elements} {kind} that can fail")
    if sample is not None:
        if sample < 1 or most < 1:
            raise FaultError(f"a sample needs at least 1 set of at least 1 fault, not {sample} of {most}")
        check_seed(seed)
        parts: list[tuple[int, _Sets]] = [(sample, partial(choices.random_sets, size=most, seed=seed))]
    else:
        parts = [(comb(choices.elements, size), partial(choices.sets, size=size)) for size in range(most + 1)]
    total = sum(count for count, _ in parts)
    if total > _MOST_SETS:
        raise FaultError(f"{total:,} sets of faults are too many to try: take fewer faults, or a sample of the sets")
    replay = SetReplay(schedule, choices.node, choices.arcs)
    tried = failing = 0
    first: Hit | None = None
    for count, sets in parts:
        with reporting(progress), part_of(before=tried, total=total):
            done, fails, hit = _try_all(_Trial(replay, sets), count, keep_going, executor)
        tried, failing, first = tried + done, failing + fails, first or hit
        if first and not keep_going:
            break
    node, chunk = (-1, -1) if first is None else (first.node, int(replay.bounds[first.atom]))
    return Sweep(
        schedule,
        kind,
        most,
        sets=tried,
        exhaustive=sample is None and tried == total,
        sample=sample is not None,
        failing=failing,
        counterexample=None if first is None else choices.faults(first.elements),
        node=node,
        chunk=chunk,
        seconds=time.perf_counter() - began,
    )


class _Choice(NamedTuple):
    """Which sets are tried: all, or a sample from a seed; whether the first that fails ends it; and who does the work."""

    sample: int | None
    seed: int
    keep_going: bool
    executor: Executor | None


_LYING_BLOCK = 1 << 8
_BLOCKS = 64  # that are spread over workers at once
_MOST_LYING_SETS = 10**8


def _sweep_lies(
    schedule: Schedule, most: int | None, kind: Kind, liars: int, *, choice: _Choice, progress: Progress | None
) -> Sweep:
    """Sweep over sets of which some elements fail and others lie."""
    began = time.perf_counter()
    most = max(0, schedule.copies - 1 - 2 * liars) if most is None else most
    choices = FaultSets(schedule, kind)
    if most < 0 or liars < 0 or most + liars > choices.elements:
        raise FaultError(
            f"a set cannot have {most} faults and {liars} liars: there are {choices.elements} {kind} that can fail or lie"
        )
    sizes = [(c, n) for c in range(most + 1) for n in range(liars + 1)]
    total = choice.sample or sum(comb(choices.elements, c) * comb(choices.elements - c, n) for c, n in sizes)
    if choice.sample is not None and choice.sample < 1:
        raise FaultError(f"a sample needs at least 1 set, not {choice.sample}")
    if total > _MOST_LYING_SETS:
        raise FaultError(f"{total:,} sets of faults are too many to try: take fewer faults, or a sample of the sets")
    check_seed(choice.seed)
    sets = (
        choices.lying_sets(sizes)
        if choice.sample is None
        else choices.random_lying_sets((most, liars), choice.sample, choice.seed)
    )
    tried = failing = 0
    first: tuple[Faults, Faults, int] | None = None
    trial = _LyingTrial(schedule, choices)
    with reporting(progress):
        while more := list(islice(sets, _BLOCKS * _LYING_BLOCK)):
            blocks = [more[start : start + _LYING_BLOCK] for start in range(0, len(more), _LYING_BLOCK)]
            until = None if choice.keep_going else _fails
            with part_of(before=tried, total=total), part_of(each=_LYING_BLOCK, total=len(more)):
                found = spread(trial, blocks, choice.executor, what="sets of faults and liars", until=until)
            tried, failing = tried + sum(each.tried for each in found), failing + sum(each.failing for each in found)
            first = first or next((each.first for each in found if each.first), None)
            if first and not choice.keep_going:
                break
    lying, dead, node = first or (None, None, -1)
    return Sweep(
        schedule,
        kind,
        most,
        sets=tried,
        exhaustive=choice.sample is None and tried == total,
        sample=choice.sample is not None,
        failing=failing,
        counterexample=dead,
        node=node,
        chunk=-1,
        seconds=time.perf_counter() - began,
        liars=liars,
        lying=lying,
    )


class _LyingTally(NamedTuple):
    """A count of sets: how many there were, how many fail, and the first: liars, dead, and a node that is wrong."""

    tried: int
    failing: int
    first: tuple[Faults, Faults, int] | None


@dataclass(frozen=True)
class _LyingTrial:
    """Tries sets of which some elements fail and others lie: the work of a worker."""

    schedule: Schedule
    choices: FaultSets

    def __call__(self, block: list[tuple[Elements, Elements]]) -> _LyingTally:
        cases = [(self.choices.faults(lying), self.choices.faults(dead)) for dead, lying in block]
        wrong = [
            (*case, [*verdict.fooled, *verdict.undecided][0])
            for case, verdict in zip(cases, verdicts(self.schedule, cases), strict=True)
            if verdict.fooled or verdict.undecided
        ]
        return _LyingTally(len(block), len(wrong), wrong[0] if wrong else None)


_BLOCK = 1 << 13


_MOST_SETS = 10**10


_Sets = Callable[[int, int], Ints]
"""Gives the sets number start … stop-1 as rows of elements."""


class _Tally(NamedTuple):
    """A count of sets: how many there were, how many fail, and the first that does."""

    tried: int
    failing: int
    first: Hit | None


@dataclass(frozen=True)
class _Trial:
    """Tries the sets number start … stop-1: the work of a worker."""

    replay: SetReplay
    sets: _Sets

    def __call__(self, task: tuple[int, int]) -> _Tally:
        lacking, hit = self.replay.try_sets(self.sets(*task))
        return _Tally(len(lacking), int((lacking > 0).sum()), hit)


def _fails(found: _Tally | _LyingTally) -> bool:
    return found.first is not None


def _try_all(trial: _Trial, count: int, keep_going: bool, executor: Executor | None) -> _Tally:
    """Try ``count`` sets: all, or those of the blocks up to the first in which one fails."""
    block = _BLOCK if count < 10**8 else 8 * _BLOCK
    tasks = [(start, min(start + block, count)) for start in range(0, count, block)]
    with part_of(each=block, total=count):
        found = spread(trial, tasks, executor, what="fault sets", until=None if keep_going else _fails)
    first = next((each.first for each in found if each.first), None)
    return _Tally(sum(each.tried for each in found), sum(each.failing for each in found), first)
