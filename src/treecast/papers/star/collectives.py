"""Statements of Fragopoulou & Akl, section 4: why translates never collide, and the costs of the other collectives."""

from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise, product
from typing import Any

import numpy as np

from treecast.lower_bounds import best
from treecast.networks import Star
from treecast.networks.core import Ints, ints
from treecast.papers.star.statements import TREES
from treecast.papers.statement import Claims, Statements
from treecast.plans import plan
from treecast.plans.ways.trees import star as star_trees
from treecast.schedule import Schedule
from treecast.verification.verifier import verify

_SETS = 100  # random ones, for each n

stated = Statements()
"""The statements of section 4 on the other collectives, in the order of the paper."""


@lru_cache(1)
def _translates(star: Star) -> Ints:
    """Return where each translation carries each node: int64, shape (N, N)."""
    every = np.arange(star.nodes)
    return star.translate(every[:, None], every)


def _used_twice(star: Star, sources: Ints, ports: Ints) -> int:
    """Return how many arcs all translates of some arcs use more than once."""
    moved = _translates(star)[:, sources]
    used = np.bincount(star.arc(moved, ports[None, :]).reshape(-1), minlength=star.arcs)
    return int((used > 1).sum())


def _step_sets(star: Star) -> Iterator[tuple[Ints, Ints]]:
    """Yield sources and ports of the arcs that node 0's data uses at a step: planned ones, and random ones."""
    for kind, copies in product(("allgather", "alltoall"), (1, star.ports)):
        rows = plan(kind, star, copies=copies).rows
        cuts = np.searchsorted(rows.step, np.arange(int(rows.step.max()) + 2))  # M = 1: each row is one step long
        yield from ((ints(rows.src[a:b]), ints(rows.port[a:b])) for a, b in pairwise(cuts.tolist()))
    chance = np.random.default_rng(star.n)
    for _ in range(_SETS):
        ports = chance.permutation(star.ports)[: chance.integers(1, star.ports, endpoint=True)]
        yield chance.integers(star.nodes, size=len(ports)), ports


@stated("Lemma 7", "no arc is used twice over all translates if dimensions differ; else some are", 3, 5, 6)
def _lemma_7(n: int) -> Claims:
    star, sets = Star(n), 0
    for sources, ports in _step_sets(star):
        right = len(np.unique(ports)) >= len(ports) and not _used_twice(star, sources, ports)
        yield right, f"arcs from {star.labels(sources)} over {(ports + 2).tolist()}"
        sets += 1
    # the lemma's condition is needed: the translates of two arcs of one dimension are all arcs of it, each used twice
    for other, port in product((1, star.nodes - 1), range(star.ports)):
        right = _used_twice(star, np.array([0, other]), np.array([port, port])) == star.nodes
        yield right, f"two arcs of dimension {port + 2}, and their translates do not meet"
    yield True, f"{sets} sets; else {star.nodes} arcs are used twice"


def _measured(kind: str, n: int, messages: int, copies: int, **how: Any) -> tuple[Schedule, float, float]:
    """Return a schedule, and its steps and transmissions over their lower bounds; infinite when it is wrong."""
    schedule = plan(kind, Star(n), messages=messages, copies=copies, **how)
    report = verify(schedule)
    if not report:
        return schedule, np.inf, np.inf
    least = (best(list(report.bounds), of).value for of in ("steps", "transmissions"))
    return schedule, schedule.steps / next(least), schedule.transmissions / next(least)


def _cases(n: int) -> Iterator[tuple[int, int]]:
    """Yield copies and messages, those first that n - 1 may not divide."""
    yield from product(range(1, n), (1, 2, n, n - 1, 12 * (n - 1)))


@stated("allgather", "MxN(N-1) transmissions; Mx(N-1)/(n-1) steps where n-1 divides Mx, all x", 3, 6, 7)
def _allgather(n: int) -> Claims:
    nodes, worst = Star(n).nodes, (1.0, "")
    for copies, messages in _cases(n):
        schedule, ratio, sends = _measured("allgather", n, messages, copies)
        least = messages * copies * (nodes - 1)
        right = sends == 1 and (messages * copies % (n - 1) != 0 or schedule.steps == least // (n - 1))
        yield right, f"x = {copies}, M = {messages}: {schedule.steps} steps"
        worst = max(worst, (ratio, f", x = {copies}, M = {messages}"))
    yield np.isfinite(worst[0]), f"else at most {worst[0]:.3f} x the bound{worst[1]}"


@stated("full use", "allgather, x = n-1: every arc is busy in every step", 3, 6, 8)
def _busy(n: int) -> Claims:
    star = Star(n)
    for messages in (1, 2, n):
        schedule = plan("allgather", star, messages=messages, copies=n - 1)
        # no arc carries two chunks in a step (rule link-once), so that many sends fill all of them
        yield verify(schedule) and schedule.transmissions == schedule.steps * star.arcs, f"M = {messages}"
    yield True, f"{star.arcs:,} arcs"


@stated("one chunk", "allgather: N-1 steps for n-1 chunks, max(diameter, ⌈(N-1)/(n-1)⌉) for one", 3, 6, 8)
def _few_chunks(n: int) -> Claims:
    star = Star(n)
    for messages, steps in ((n - 1, star.nodes - 1), (1, max(star.diameter, -(-(star.nodes - 1) // (n - 1))))):
        schedule, ratio, _ = _measured("allgather", n, messages, 1)
        yield schedule.steps == steps and ratio == 1, f"M = {messages}: {schedule.steps} steps, not {steps}"
    yield True, f"{schedule.steps}"


def _depths(n: int) -> int:
    """Return the sum of the depths of all nodes of one tree."""
    return int(star_trees.disjoint_trees(Star(n), paper=True).depths[0].sum())


@stated("scatter", "⌈Mx(N-1)/(n-1)⌉ steps, the least, all x; M(n-1) Σ depths sends, x = n-1", 3, 6, 7)
def _scatter(n: int) -> Claims:
    worst = (1.0, "")
    for copies, messages in _cases(n):
        schedule, ratio, sends = _measured("scatter", n, messages, copies, **TREES)
        all_trees = messages * (n - 1) * _depths(n) if copies == n - 1 else schedule.transmissions
        right = ratio == 1 and schedule.transmissions == all_trees
        yield right, f"x = {copies}, M = {messages}: {schedule.steps} steps"
        worst = max(worst, (sends, f", x = {copies}"))
    yield True, f"transmissions at most {worst[0]:.3f} x the bound{worst[1]}"


@stated("alltoall", "x = n-1: M Σ depths steps, MN(n-1) Σ depths transmissions", 3, 6, 7)
def _alltoall(n: int) -> Claims:
    worst, flat = (1.0, ""), True
    for copies, messages in _cases(n):
        schedule, ratio, _ = _measured("alltoall", n, messages, copies, **TREES)
        if copies == n - 1:
            sends = messages * Star(n).nodes * (n - 1) * _depths(n)
            flat = flat and (schedule.steps, schedule.transmissions) == (messages * _depths(n), sends)
        yield flat and np.isfinite(ratio), f"x = {copies}, M = {messages}: {schedule.steps} steps"
        worst = max(worst, (ratio, f", x = {copies}, M = {messages}"))
    yield True, f"at most {worst[0]:.3f} x the bound{worst[1]}"


@stated("one message", "alltoall: max(diameter, ⌈Σ distances/(n-1)⌉) steps", 3, 6, 7)
def _one_message(n: int) -> Claims:
    star = Star(n)
    distances = int(star.distance(0, np.arange(star.nodes)).sum())
    schedule, ratio, sends = _measured("alltoall", n, 1, 1)
    steps = max(star.diameter, -(-distances // (n - 1)))
    yield schedule.steps == steps and ratio == sends == 1, f"{schedule.steps}"
