"""The harm of sets of faults to a schedule, counted in tasks that any worker can do."""

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from treecast.networks.core import Ints
from treecast.schedule import Schedule
from treecast.simulation.set_replay import SetReplay
from treecast.simulation.spreading import spread
from treecast.simulation.strata import Elements, Faulty, Floats, Stratum

Seen = Mapping[Faulty, tuple[int, int, float]]
"""How many sets of a stratum were tried, how many of them did harm, and the shares of nodes that lacked something, added up."""
_TASK = 1 << 32  # words that a replay reads in about a second
_MOST_PER_TASK = 1 << 16
_MOST_CELLS = 1 << 23  # of the table of sets of a task


class Job(NamedTuple):
    """All sets of a stratum, or so many random ones of several that are ``among`` others."""

    stratum: Stratum
    sets: int
    among: tuple[Stratum, ...] = ()


class Task(NamedTuple):
    """The sets number ``start … stop-1`` of a job, or as many random ones."""

    job: Job
    start: int
    stop: int


class Tally(NamedTuple):
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

    def __call__(self, task: Task) -> Tally:
        """Replay the sets of a task."""
        job, count = task.job, task.stop - task.start
        weights, parts = np.ones(count), list[tuple[Faulty, int]]()
        if job.among:
            sets, parts = self._draw_among(np.random.default_rng([self.seed, task.start]), job.among, count)
        else:
            sets, weights = self.elements.sets(job.stratum.faults, task.start, task.stop)
        lacking, _ = self.replay.try_sets(sets)
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

    def judge(self, jobs: Sequence[Job], executor: Executor | None) -> list[Tally]:
        """Return the tally of each job."""
        tasks, ends = list[Task](), [0]
        for job in jobs:
            step = self._block(max(sum(stratum.faults) for stratum in (job.stratum, *job.among)))
            tasks += [Task(job, a, min(a + step, job.sets)) for a in range(0, job.sets, step)]
            ends.append(len(tasks))
        found = spread(self, tasks, executor, name="parts of the fault sets")
        return [_add(found[a:b]) for a, b in pairwise(ends)]

    def _block(self, size: int) -> int:
        """Return how many sets of a size are a task, of about a second and not too much memory; a multiple of 64."""
        fitting = min(_TASK // self.replay.work * 64, _MOST_CELLS // max(1, size), _MOST_PER_TASK)
        return max(64, fitting // 64 * 64)


def _count(lacking: Ints, lost: Floats, weights: Floats, parts: Sequence[tuple[Faulty, int]]) -> Tally:
    harmful, by, row = lacking > 0, dict[Faulty, tuple[int, int, float]](), 0
    for faults, many in parts:
        by[faults] = many, int(harmful[row : row + many].sum()), float(lost[row : row + many].sum())
        row += many
    return Tally(
        len(lacking),
        int(harmful.sum()),
        float(weights[harmful].sum()),
        float((weights * lost).sum()),
        float((weights * lost * lost).sum()),
        by,
    )


def _add(tallies: Sequence[Tally]) -> Tally:
    by = dict[Faulty, tuple[int, int, float]]()
    for tally in tallies:
        for faults, more in tally.by.items():
            before = by.get(faults, (0, 0, 0.0))
            by[faults] = before[0] + more[0], before[1] + more[1], before[2] + more[2]
    return Tally._make([*map(sum, zip(*(tally[:-1] for tally in tallies), strict=True)), by])
