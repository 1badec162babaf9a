"""Statements of Chau & Fu on the costs of broadcast and gossip: T = a β + b Fτ, as the planned schedules have it.

Where the paper is in error, its own words are checked, and found false; an erratum is the right statement.
"""

from collections.abc import Iterator
from itertools import combinations
from math import comb

from treecast.networks import Hypercube
from treecast.papers.hypercube.times import Job, Time, claimed, measured
from treecast.papers.statement import Claims, Statements
from treecast.plans import plan
from treecast.schedule import Schedule
from treecast.simulation.faults import Faults
from treecast.simulation.replay import replay

stated = Statements()
"""The statements of sections 2 to 4 on costs."""


stated("section 4", "gossip, whispering: 2d β + (n-1)(d-1) Fτ", 2, 2, 2, false_from=2)(
    lambda d: _said("dimension-order", "whispering", d)
)


def _said(scheme: str, model: str, d: int) -> Claims:
    """Gossip that survives d-1 faults in the time that the paper says."""
    job = Job("allgather", model, d, d - 1)
    said, planned = _claim(scheme, job), cost(scheme, job)
    yield said[:2] == planned, f"{planned[1]:,} Fτ, not {said.chunks:,}"


@stated("… sends", "n (n-1) fewer than Fraigniaud's scheme", 2, 2, 2, false_from=2)
def _said_fewer(d: int) -> Claims:
    n, cube = 1 << d, Hypercube(d)
    ours, theirs = (
        plan("allgather", cube, survive=d - 1, model="whispering", builder=name).transmissions
        for name in ("dimension-order", "fraigniaud")
    )
    yield theirs - ours == n * (n - 1), f"{theirs - ours:,}, not {n * (n - 1):,}"


stated("… shouting", "gossip: (d+1) β + 2(n-1) Fτ", 2, 2, 2, false_from=2)(lambda d: _said("answering", "shouting", d))


def cost(scheme: str, job: Job) -> tuple[int, int]:
    """Return start-ups and chunks of a planned schedule."""
    time = measured(scheme, job)
    return (-1, -1) if time is None else time[:2]


def _claim(scheme: str, job: Job) -> Time:
    return claimed(scheme, job) or Time(-1, -1, "", "")


@stated("cost", "broadcast, k ≥ 1: (d+k+1)(β + Fτ); of k = d-1 the last Fτ under some faults alone", 2, 7, 12)
def _broadcast(d: int) -> Claims:
    for k in range(1, d):
        job = Job("broadcast", "whispering", d, k)
        units = d + k + 1
        yield _claim("dimension-order", job)[:2] == (units, units), f"k = {k}: the paper says {units}"
        right = cost("dimension-order", job) == (units, units - (k == d - 1))
        yield right, f"k = {k}: {cost('dimension-order', job)}"
    said = f"{2 * d} β + {2 * d - 1} Fτ without faults"
    if 1 < d <= _MOST_FAILING:
        one = plan("broadcast", Hypercube(d), survive=d - 1, model="whispering", builder="dimension-order")
        right = max(replay(one, faults).steps for faults in _dead_nodes(d)) == 2 * d
        yield right, "the last unit stays silent, whatever fails"
    yield True, said


_MOST_FAILING = 4  # dimensions of cubes in which all sets of dead nodes are tried


def _dead_nodes(d: int) -> Iterator[Faults]:
    for size in range(d):
        for nodes in combinations(range(1, 1 << d), size):
            yield Faults(dict.fromkeys(nodes, 0))


@stated("erratum: phases", "four phases: 4d β + (2d-1) Fτ + (nd-n+1) Fτ; fault-free (4d-2) β", 2, 6, 7)
def _four_phases(d: int) -> Claims:
    n, job = 1 << d, Job("allgather", "whispering", d, d - 1)
    said, free = _claim("four-phases", job), _claim("four-phases", job._replace(fault_free=True))
    right = said[:2] == (4 * d, 2 * d + (n - 1) * (d - 1)) and free.startups == 4 * d - 1
    yield right, f"the paper says {said.formula}"
    right = cost("four-phases", job) == (4 * d, 2 * d - 1 + n * d - n + 1)
    right = right and cost("four-phases", job._replace(fault_free=True))[0] == 2 * (2 * d - 1)
    yield right, f"{4 * d} β + {2 * d - 1 + n * d - n + 1:,} Fτ, not {said.chunks:,} Fτ"


@stated("erratum: shouting", "as in the paper it costs (n-1) Fτ, not 2(n-1) Fτ", 2, 10, 12)
def _answering(d: int) -> Claims:
    """The paper's shouting: (d+1) β + (n-1) Fτ; a message of step s has the C(d, s) sources at that distance."""
    n, job = 1 << d, Job("allgather", "shouting", d, d - 1)
    schedule: Schedule = plan("allgather", Hypercube(d), survive=d - 1, model="shouting", builder="answering")
    sizes = [1, d - 1, *(comb(d, step) for step in range(2, d + 1))]
    right = schedule.message_sizes.tolist() == sizes and cost("answering", job) == (d + 1, n - 1)
    right = right and schedule.transmissions == n * (n * d - n + 1)
    right = right and _claim("answering", job)[:2] == (d + 1, 2 * (n - 1))
    free = cost("answering", job._replace(fault_free=True))
    yield right and free == (d, n - 2), f"{n - 1:,} Fτ, not {2 * (n - 1):,}; fault-free {n - 2:,}"


@stated("… four phases", "(2d+2) β + (d+1) Fτ + (n-1) Fτ; fault-free 2d β + d Fτ + (n-2) Fτ", 2, 6, 7)
def _answering_started(d: int) -> Claims:
    n, job = 1 << d, Job("allgather", "shouting", d, d - 1)
    free = job._replace(fault_free=True)
    right = _claim("answering-four-phases", job)[:2] == (2 * d + 2, d + 1 + 2 * (n - 1))
    right = right and cost("answering-four-phases", job) == (2 * d + 2, d + 1 + n - 1)
    right = right and cost("answering-four-phases", free) == (2 * d, d + n - 2)
    yield right, f"{2 * d + 2} β + {d + n} Fτ, not {d + 1 + 2 * (n - 1)} Fτ"


@stated("initiator", "a dead initiator starts nobody: nothing is sent, both models", 1, 4, 6)
def _nobody_started(d: int) -> Claims:
    for model in ("whispering", "shouting"):
        for initiator in (0, (1 << d) - 1):
            started = plan("allgather", Hypercube(d), survive=d - 1, model=model, initiator=initiator)
            yield not replay(started, Faults({initiator: 0})).transmissions, f"{model}, initiator {initiator}"
    yield True, ""


@stated("k < d-1, shout", "gossip in d β + n/2 Fτ; Fraigniaud's takes (d+1) β, and no fewer Fτ", 2, 9, 12)
def _beside_shouting(d: int) -> Claims:
    n, said = 1 << d, ""
    for k in range(d - 1):
        job = Job("allgather", "shouting", d, k)
        ours, theirs = cost("dimension-order", job), cost("fraigniaud", job)
        right = ours == (d, n // 2) and theirs == (d + 1, n - max(1, (1 << d - 1 - k) - 1)) and theirs[1] >= ours[1]
        yield right, f"k = {k}: {ours} and {theirs}"
        said = f"k = {k}: {d} β + {n // 2:,} Fτ, {d + 1} β + {theirs[1]:,} Fτ"
    yield True, said
