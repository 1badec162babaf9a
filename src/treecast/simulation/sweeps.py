"""Sweeps: a schedule under every set of a few faults, or under many random ones."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from math import comb
from typing import Any, NamedTuple

from treecast.description import Described, Description, count_of, describe, list_few, values_of
from treecast.errors import FaultError
from treecast.networks.core import Ints
from treecast.progress import Progress, part_of, reporting
from treecast.schedule import Schedule
from treecast.simulation.fault_sets import Elements, FaultSets, Kind, SetReplay, sets_in_order
from treecast.simulation.faults import Faults, check_seed
from treecast.simulation.lies import verdicts
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
    figures = values_of(found, "kind", "most", "sets", "exhaustive", "failing") | {"seconds": round(found.seconds, 6)}
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
    choices = FaultSets(schedule, kind)
    if most is None:
        # a liar takes two copies: one that is wrong, and one to outvote it
        most = max(0, schedule.copies - 1 - 2 * liars)
    chosen = _with_liars(schedule, choices, (most, liars), sample, seed) if liars else None
    total, batches = chosen or _of_faults(schedule, choices, most, sample, seed)
    with reporting(progress):
        found = _try_all(batches, total, keep_going, executor)
    first = found.first or _Failing(None, None, -1, -1)
    return Sweep(
        schedule,
        kind,
        most,
        sets=found.tried,
        exhaustive=sample is None and found.tried == total,
        sample=sample is not None,
        failing=found.failing,
        counterexample=first.dead,
        node=first.node,
        chunk=first.chunk,
        seconds=time.perf_counter() - began,
        liars=liars,
        lying=first.lying,
    )


class _Failing(NamedTuple):
    """A failing set: its liars and its dead, and a node that lacks a chunk under it, or elects wrongly."""

    lying: Faults | None
    dead: Faults | None
    node: int
    chunk: int


class _SweepTally(NamedTuple):
    """A count of sets: how many there were, how many fail, and the first that does."""

    tried: int
    failing: int
    first: _Failing | None


class _SetBatch(NamedTuple):
    """Sets that are tried together: so many ``sets``, in tasks of ``each``, and the name of the work."""

    trial: Callable[[Any], _SweepTally]
    tasks: Sequence[Any]
    each: int
    sets: int
    name: str


def _try_all(batches: Iterable[_SetBatch], total: int, keep_going: bool, executor: Executor | None) -> _SweepTally:
    """Try all sets, or those up to the task in which the first one fails."""
    found = _SweepTally(0, 0, None)
    for trial, tasks, each, sets, name in batches:
        with part_of(before=found.tried, total=total), part_of(each=each, total=sets):
            done = [
                found,
                *spread(
                    trial, tasks, executor, name=name, until=lambda tally: tally.first is not None and not keep_going
                ),
            ]
        first = next((tally.first for tally in done if tally.first), None)
        found = _SweepTally(sum(tally.tried for tally in done), sum(tally.failing for tally in done), first)
        if first and not keep_going:  # smaller sets come first, so the counterexample is a small one
            break
    return found


def _check_total(total: int, most: int) -> None:
    if total > most:
        raise FaultError(f"{total:,} sets of faults are too many to try: take fewer faults, or a sample of the sets")


_BLOCK = 1 << 13  # sets that a worker takes at once
_MOST_SETS = 10**10
_Sets = Callable[[int, int], Ints]
"""Gives the sets number start … stop-1 as rows of elements."""


def _of_faults(
    schedule: Schedule, choices: FaultSets, most: int, sample: int | None, seed: int
) -> tuple[int, Iterator[_SetBatch]]:
    """Return how many sets of faults there are to try, and the sets, by size."""
    if not 0 <= most <= choices.elements:
        raise FaultError(f"a set cannot have {most} faults: there are {choices.elements} {choices.kind} that can fail")
    if sample is not None:
        if sample < 1 or most < 1:
            raise FaultError(f"a sample needs at least 1 set of at least 1 fault, not {sample} of {most}")
        check_seed(seed)
        parts: list[tuple[int, _Sets]] = [(sample, partial(choices.random_sets, size=most, seed=seed))]
    else:
        every = choices.elements
        parts = [(comb(every, size), partial(sets_in_order, every, size=size)) for size in range(most + 1)]
    _check_total(total := sum(count for count, _ in parts), _MOST_SETS)
    replay = SetReplay(schedule, choices.node, choices.arcs)

    def batches() -> Iterator[_SetBatch]:
        for count, sets in parts:
            # larger tasks where there are very many
            block = _BLOCK if count < 10**8 else 8 * _BLOCK
            tasks = [(start, min(start + block, count)) for start in range(0, count, block)]
            yield _SetBatch(_Trial(replay, choices, sets), tasks, block, count, "fault sets")

    return total, batches()


@dataclass(frozen=True)
class _Trial:
    """Tries the sets number start … stop-1: the work of a worker."""

    replay: SetReplay
    choices: FaultSets
    sets: _Sets

    def __call__(self, task: tuple[int, int]) -> _SweepTally:
        lacking, hit = self.replay.try_sets(self.sets(*task))
        # the loss is told by the first chunk of its atom
        first = hit and _Failing(None, self.choices.faults(hit.elements), hit.node, int(self.replay.bounds[hit.atom]))
        return _SweepTally(len(lacking), int((lacking > 0).sum()), first)


_LYING_BLOCK = 1 << 8  # sets that a worker takes at once: a bit of a number each
_BLOCKS = 64  # that are spread over workers at once
_MOST_LYING_SETS = 10**8


def _with_liars(
    schedule: Schedule, choices: FaultSets, sizes: tuple[int, int], sample: int | None, seed: int
) -> tuple[int, Iterator[_SetBatch]]:
    """Return how many sets there are of which some elements fail and others lie, and the sets. ``sizes``: the most of both."""
    most, liars = sizes
    if most < 0 or liars < 0 or most + liars > choices.elements:
        raise FaultError(
            f"a set cannot have {most} faults and {liars} liars: there are {choices.elements} {choices.kind} that can fail or lie"
        )
    every = [(c, n) for c in range(most + 1) for n in range(liars + 1)]
    # the dead first, then the liars among the others
    total = sample or sum(comb(choices.elements, c) * comb(choices.elements - c, n) for c, n in every)
    if sample is not None and sample < 1:
        raise FaultError(f"a sample needs at least 1 set, not {sample}")
    _check_total(total, _MOST_LYING_SETS)
    check_seed(seed)
    sets = choices.lying_sets(every) if sample is None else choices.random_lying_sets(sizes, sample, seed)

    def batches() -> Iterator[_SetBatch]:
        while more := list(islice(sets, _BLOCKS * _LYING_BLOCK)):
            blocks = [more[start : start + _LYING_BLOCK] for start in range(0, len(more), _LYING_BLOCK)]
            yield _SetBatch(_LyingTrial(schedule, choices), blocks, _LYING_BLOCK, len(more), "sets of faults and liars")

    return total, batches()


@dataclass(frozen=True)
class _LyingTrial:
    """Tries sets of which some elements fail and others lie: the work of a worker."""

    schedule: Schedule
    choices: FaultSets

    def __call__(self, block: list[tuple[Elements, Elements]]) -> _SweepTally:
        cases = [(self.choices.faults(lying), self.choices.faults(dead)) for dead, lying in block]
        wrong = [
            _Failing(*case, [*verdict.fooled, *verdict.undecided][0], -1)
            for case, verdict in zip(cases, verdicts(self.schedule, cases), strict=True)
            if verdict.fooled or verdict.undecided
        ]
        return _SweepTally(len(block), len(wrong), wrong[0] if wrong else None)
