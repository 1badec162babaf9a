"""Statements of Chau & Fu: broadcast and gossip on the hypercube that d - 1 faults leave unharmed, and their costs.

Where the paper is in error, its own words are checked, and found false; an erratum is the right statement.
"""

from collections.abc import Iterable, Iterator
from itertools import chain, combinations, product
from math import comb
from typing import Any, Literal, TypeVar

import numpy as np

from treecast.lower_bounds import best
from treecast.networks import Hypercube
from treecast.papers.hypercube.times import MODELS, CubeProblem, Time, claimed, measured
from treecast.papers.protocols import agrees
from treecast.papers.statement import Claims, Statements
from treecast.plans import plan
from treecast.plans.ways.trees.hypercube import calling_trees
from treecast.progress import report
from treecast.schedule import Schedule
from treecast.schedule.trees import find_meeting_ways, find_shared_arc
from treecast.simulation.bit_replay import gossip
from treecast.simulation.faults import Faults
from treecast.simulation.replay import replay
from treecast.simulation.sweeps import Sweep, sweep
from treecast.steps import NEVER
from treecast.verification.rules.calling import calls
from treecast.verification.verifier import verify

_MOST_VERIFIED = 7  # dimensions of cubes whose plans are all verified
_MOST_FAILING = 4  # dimensions of cubes in which all sets of dead nodes are tried
_OURS = "dimension-order"
_Part = TypeVar("_Part")

stated = Statements()
"""The statements of the paper, those on costs last."""


def _planned(collective: str, d: int, k: int, model: str = "whispering", **how: Any) -> Schedule:
    asked: dict[str, Any] = {"survive": k, "model": model, "builder": _OURS}
    return plan(collective, Hypercube(d), **asked | how)


def _cost(scheme: str, job: CubeProblem) -> tuple[int, int]:
    """Return start-ups and chunks of a planned schedule."""
    time = measured(scheme, job)
    return (-1, -1) if time is None else time[:2]


def _claim(scheme: str, job: CubeProblem) -> Time:
    return claimed(scheme, job) or Time(-1, -1, "", "")


@stated("Theorem 1", "every node has d node-disjoint calling paths from the originator", 1, 10, 14)
def _theorem_1(d: int) -> Claims:
    trees = calling_trees(Hypercube(d))
    yield find_meeting_ways(trees) is None and find_shared_arc(trees) is None, "two calling paths meet"
    for k in range(d):
        called = calls(_planned("broadcast", d, k).rows, trees)[:, 1:]
        yield not ((called < NEVER).sum(axis=0) < k + 1).any(), f"k = {k}: a node has fewer than {k + 1} calling paths"
    yield True, f"{d} paths to each of {2**d - 1:,} nodes; k + 1 of them with k + 1 units"


@stated("any order", "… whatever the order of the dimensions and the originator (5 of each)", 1, 8, 12)
def _orders(d: int) -> Claims:
    rng, cube = np.random.default_rng(d), Hypercube(d)
    for _ in range(5):
        order, root = rng.permutation(d).tolist(), int(rng.integers(cube.nodes))
        trees = calling_trees(cube, order, root)
        rows = plan("broadcast", cube, root=root, survive=d - 1, builder=_OURS, order=order).rows
        right = find_meeting_ways(trees) is None and not (calls(rows, trees) == NEVER).any()
        yield right, f"order {order}, root {root}"
    yield True, ""


@stated("messages", "n - 1 in phase one, nd - n + 1 in all; of gossip n (nd - n + 1)", 1, 10, 14)
def _messages(d: int) -> Claims:
    n, one, every = 1 << d, _planned("broadcast", d, d - 1), _planned("allgather", d, d - 1)
    first = int((one.rows.step < d).sum())
    right = (n - 1, n * d - n + 1, n * (n * d - n + 1)) == (first, one.transmissions, every.transmissions)
    yield right, f"{one.transmissions:,} and {every.transmissions:,}"


def _row(d: int) -> list[int]:
    n = 1 << d
    return [1 << i for i in range(d)] + [n - (2 << i) for i in range(d)]


@stated("payloads", "a node's messages in phases three and four: 1, 2, 4 …; n-2, n-4 … 0", 2, 10, 14)
def _payloads(d: int) -> Claims:
    sizes = _planned("allgather", d, d - 1).message_sizes.tolist()
    yield sizes == _row(d), ", ".join(map(str, sizes)) if d <= 4 else "as in the row"


@stated("erratum", "… of which the sum is nd - n + 1, not (n-1)(d-1) as the text says", 1, 10, 14)
def _sum(d: int) -> Claims:
    n, total = 1 << d, int(_planned("allgather", d, d - 1).message_sizes.sum())
    right = total == sum(_row(d)) == n * d - n + 1 != (n - 1) * (d - 1)
    yield right, f"{total:,}, not {(n - 1) * (d - 1):,}"


@stated(
    "time units",
    "the least: whispering d+k+1, k = 0 d; shouting d, k = d-1 d+1; fault-free 2d-1 and d, k = d-1",
    1,
    7,
    12,
)
def _time(d: int) -> Claims:
    """Time units of every plan, that they are the least by the bounds, and those of a cube that is known to be fault-free."""
    for collective in ("broadcast", "allgather"):
        for k, model in product(range(d), MODELS):
            planned = _planned(collective, d, k, model)
            units = (d + k + 1 if k else d) if model == "whispering" else d + (0 < k == d - 1)
            least = best(list(verify(planned).bounds), "steps").value if d <= _MOST_VERIFIED else units
            yield planned.steps == units == least, f"{collective}, {model}, k = {k}: {planned.steps} units of {least}"
        free = tuple(_planned(collective, d, d - 1, model, fault_free=True).steps for model in MODELS)
        yield free == (2 * d - 1, d), f"{collective}, fault-free: {free[0]} and {free[1]} units"
    yield True, f"{2 * d}, {2 * d - 1}; {d + 1}, {d}" if d > 1 else "1; 1"


@stated(
    "pseudo-code",
    "nodes that run it, and know no time, send the schedule, all k: broadcast, gossip, from any node",
    1,
    5,
    6,
)
def _pseudo_code(d: int) -> Claims:
    for k, far in product(range(d), (0, (1 << d) - 1)):
        yield agrees(_planned("broadcast", d, k, root=far)), f"broadcast, k = {k}, from {far}"
        yield agrees(_planned("allgather", d, k)), f"gossip, k = {k}"
        yield (
            agrees(_planned("allgather", d, k, builder="four-phases", initiator=far)),
            f"four phases, k = {k}, from {far}",
        )
    yield True, f"{1 << d} nodes"


@stated("fault-free", "without faults the last unit is not needed", 1, 10, 12)
def _fault_free(d: int) -> Claims:
    for model in MODELS:
        yield not replay(_planned("broadcast", d, d - 1, model, fault_free=True)).lost, f"broadcast, {model}"
        yield not gossip(_planned("allgather", d, d - 1, model, fault_free=True)).missing.any(), f"gossip, {model}"
    yield True, ""


_Kind = Literal["nodes", "links", "arcs", "nodes+links"]
_KINDS: tuple[_Kind, ...] = ("nodes", "links", "arcs", "nodes+links")
_ARCS: tuple[_Kind, ...] = ("arcs", "nodes+links")


def _survives(collective: str, d: int) -> Claims:
    """Sweep the plans of both models and the paper's own shouting; other roots, and two messages, up to d = 4."""
    sets, cube = 0, Hypercube(d)
    last = cube.nodes - 1
    more: tuple[dict[str, Any], ...] = ({}, {"root": last} if collective == "broadcast" else {}, {"messages": 2})
    for model, builder in ((MODELS[0], _OURS), (MODELS[1], _OURS), (MODELS[1], "answering")):
        for k, asked, kind in product(range(d), more if d < 5 else more[:1], _KINDS):
            if kind in _ARCS and d > (4 if collective == "broadcast" else 3):
                continue
            found = sweep(plan(collective, cube, survive=k, model=model, builder=builder, **asked), k, kind)
            sets += found.sets
            yield found.counterexample is None, f"{builder}, {model}, k = {k}: {_set(found.counterexample)}"
    yield True, f"{sets:,} sets"


stated("survives", "broadcast: sets of ≤ k nodes, links; d ≤ 4: arcs, other root, M = 2", 1, 4, 5)(
    lambda d: _survives("broadcast", d)
)
stated("gossip", "gossip: all sets of ≤ k nodes, links; d ≤ 3: arcs; M = 2", 1, 3, 4)(
    lambda d: _survives("allgather", d)
)


def _set(faults: Faults | None) -> str:
    """Return a set of dead nodes, or of cut links, by the numbers of nodes; "" of none."""
    if faults is None:
        return ""
    if faults.nodes:
        return f"nodes {{{', '.join(map(str, sorted(faults.nodes)))}}}"
    links = sorted({(min(u, u ^ 1 << port), max(u, u ^ 1 << port)) for u, port in faults.arcs})
    return "links {" + ", ".join(f"{u}-{v}" for u, v in links) + "}"


def _one_unit_less(d: int, k: int, kind: _Kind) -> Sweep:
    schedule = _planned("broadcast", d, k)
    return sweep(schedule.select(schedule.rows.step < d + k), k, kind)


def _tight(d: int, least: int, kind: _Kind) -> Claims:
    """With k units of the second phase, for each k from ``least`` on, some set of at most k faults does harm."""
    said = ""
    for k in range(least, d):
        found = _one_unit_less(d, k, kind)
        yield found.counterexample is not None, f"k = {k}: no {kind} do harm"
        said = said or f"k = {k}: {_set(found.counterexample)} cut off node {found.node}"
    yield True, said


stated("tight, links", "k units of phase two do not suffice for k links, k ≥ 1", 2, 4, 5)(
    lambda d: _tight(d, 1, "links")
)
stated("tight, nodes", "k units of phase two do not suffice for k nodes, k ≥ 2", 3, 4, 5)(
    lambda d: _tight(d, 2, "nodes")
)


def _fewer_sends(d: int) -> int:
    """Return how many transmissions gossip that survives d - 1 faults saves, beside Fraigniaud's scheme."""
    theirs = _planned("allgather", d, d - 1, builder="fraigniaud")
    return theirs.transmissions - _planned("allgather", d, d - 1).transmissions


@stated("Fraigniaud", "k = d-1: less by n-1-d Fτ and n (n-1-d) sends, not n-1 and n (n-1)", 2, 10, 14)
def _beside_fraigniaud(d: int) -> Claims:
    n, job = 1 << d, CubeProblem("allgather", "whispering", d, d - 1)
    ours, theirs, fewer = _cost(_OURS, job), _cost("fraigniaud", job), _fewer_sends(d)
    gain = theirs[1] - ours[1]
    right = ours[0] == theirs[0] == 2 * d and gain == n - 1 - d and fewer == n * (n - 1 - d)
    yield right, f"{gain:,} Fτ of {theirs[1]:,}, {fewer:,} transmissions"


@stated("0 < k < d-1", "whispering, Fraigniaud's gossip is faster, by (n + k + 2 - 2^(k+2)) Fτ", 3, 10, 12)
def _fewer_faults(d: int) -> Claims:
    n, said = 1 << d, ""
    for k in range(1, d - 1):
        job = CubeProblem("allgather", "whispering", d, k)
        ours, theirs = _cost(_OURS, job), _cost("fraigniaud", job)
        more = ours[1] - theirs[1]
        yield ours[0] == theirs[0] and more == n + k + 2 - (4 << k) and more > 0, f"k = {k}: {more} chunks"
        said = f"k = {k}: {more:,} Fτ more than {theirs[1]:,}"
    yield True, said


@stated("propagation", "at least (k+1)(n-1) Fτ, shouting a d-th: under some faults, not without", 2, 3, 3)
def _propagation(d: int) -> Claims:
    """Whether gossip for k = d-1 keeps the cited bounds of Fraigniaud: under the worst faults; without any it is below them."""
    n, said = 1 << d, list[str]()
    for model, bound in zip(MODELS, (d * (n - 1), n - 1), strict=True):
        schedule = _planned("allgather", d, d - 1, model)
        sets, worst = [*_fault_sets(d)], 0
        for done, faults in enumerate(sets):
            worst = max(worst, int(gossip(schedule, faults).sizes.sum()))
            report(done + 1, len(sets), "fault sets")
        least = int(schedule.message_sizes.sum())
        said.append(f"{model} {least} to {worst}, at least {bound}")
        yield least < bound <= worst, said[-1]
    yield True, "; ".join(said)


def _fewer_than(d: int, parts: Iterable[_Part]) -> Iterator[tuple[_Part, ...]]:
    """Return all sets of at most d - 1 parts."""
    return chain.from_iterable(combinations(parts, size) for size in range(d))


def _fault_sets(d: int) -> Iterator[Faults]:
    """Yield all sets of at most d - 1 nodes, and all of as many links."""
    links = [(u, u ^ 1 << port, port) for port in range(d) for u in range(1 << d) if not u >> port & 1]
    for nodes in _fewer_than(d, range(1 << d)):
        yield Faults(dict.fromkeys(nodes, 0))
    for cut in _fewer_than(d, links):
        yield Faults({}, {(end, port): 0 for u, v, port in cut for end in (u, v)})


@stated("shouting", "if nodes answer nothing they heard: n/2 Fτ, nd/2 sends a source, not 2(n-1) Fτ", 2, 10, 12)
def _shouting(d: int) -> Claims:
    n, schedule = 1 << d, _planned("allgather", d, d - 1, "shouting")
    sizes, job = schedule.message_sizes.tolist(), CubeProblem("allgather", "shouting", d, d - 1)
    right = sizes == [*(comb(d - 1, step) for step in range(d)), 0] and _cost("fraigniaud", job) == (d + 1, n - 1)
    yield right and schedule.transmissions == n * n * d // 2, f"{sum(sizes):,} Fτ, not {2 * (n - 1):,}"


# --- costs: T = a β + b Fτ, as the planned schedules have it ---


stated("section 4", "gossip, whispering: 2d β + (n-1)(d-1) Fτ", 2, 2, 2, false_from=2)(
    lambda d: _said(_OURS, "whispering", d)
)


def _said(scheme: str, model: str, d: int) -> Claims:
    """Gossip that survives d-1 faults in the time that the paper says."""
    job = CubeProblem("allgather", model, d, d - 1)
    said, planned = _claim(scheme, job), _cost(scheme, job)
    yield said[:2] == planned, f"{planned[1]:,} Fτ, not {said.chunks:,}"


@stated("… sends", "n (n-1) fewer than Fraigniaud's scheme", 2, 2, 2, false_from=2)
def _said_fewer(d: int) -> Claims:
    n, fewer = 1 << d, _fewer_sends(d)
    yield fewer == n * (n - 1), f"{fewer:,}, not {n * (n - 1):,}"


stated("… shouting", "gossip: (d+1) β + 2(n-1) Fτ", 2, 2, 2, false_from=2)(lambda d: _said("answering", "shouting", d))


@stated("cost", "broadcast, k ≥ 1: (d+k+1)(β + Fτ); of k = d-1 the last Fτ under some faults alone", 2, 7, 12)
def _broadcast(d: int) -> Claims:
    for k in range(1, d):
        job = CubeProblem("broadcast", "whispering", d, k)
        units = d + k + 1
        yield _claim(_OURS, job)[:2] == (units, units), f"k = {k}: the paper says {units}"
        right = _cost(_OURS, job) == (units, units - (k == d - 1))
        yield right, f"k = {k}: {_cost('dimension-order', job)}"
    said = f"{2 * d} β + {2 * d - 1} Fτ without faults"
    if 1 < d <= _MOST_FAILING:
        one, failing = _planned("broadcast", d, d - 1), _fewer_than(d, range(1, 1 << d))
        most = max(replay(one, Faults(dict.fromkeys(nodes, 0))).steps for nodes in failing)
        yield most == 2 * d, "the last unit stays silent, whatever fails"
    yield True, said


@stated("erratum: phases", "four phases: 4d β + (2d-1) Fτ + (nd-n+1) Fτ; fault-free (4d-2) β", 2, 6, 7)
def _four_phases(d: int) -> Claims:
    n, job = 1 << d, CubeProblem("allgather", "whispering", d, d - 1)
    said, free = _claim("four-phases", job), _claim("four-phases", job._replace(fault_free=True))
    right = said[:2] == (4 * d, 2 * d + (n - 1) * (d - 1)) and free.startups == 4 * d - 1
    yield right, f"the paper says {said.formula}"
    right = _cost("four-phases", job) == (4 * d, 2 * d - 1 + n * d - n + 1)
    right = right and _cost("four-phases", job._replace(fault_free=True))[0] == 2 * (2 * d - 1)
    yield right, f"{4 * d} β + {2 * d - 1 + n * d - n + 1:,} Fτ, not {said.chunks:,} Fτ"


@stated("erratum: shouting", "as in the paper it costs (n-1) Fτ, not 2(n-1) Fτ", 2, 10, 12)
def _answering(d: int) -> Claims:
    """A message of step s has the C(d, s) sources at that distance."""
    n, job = 1 << d, CubeProblem("allgather", "shouting", d, d - 1)
    schedule = _planned("allgather", d, d - 1, "shouting", builder="answering")
    sizes = [1, d - 1, *(comb(d, step) for step in range(2, d + 1))]
    right = schedule.message_sizes.tolist() == sizes and _cost("answering", job) == (d + 1, n - 1)
    right = right and schedule.transmissions == n * (n * d - n + 1)
    right = right and _claim("answering", job)[:2] == (d + 1, 2 * (n - 1))
    free = _cost("answering", job._replace(fault_free=True))
    yield right and free == (d, n - 2), f"{n - 1:,} Fτ, not {2 * (n - 1):,}; fault-free {n - 2:,}"


@stated("… four phases", "(2d+2) β + (d+1) Fτ + (n-1) Fτ; fault-free 2d β + d Fτ + (n-2) Fτ", 2, 6, 7)
def _answering_started(d: int) -> Claims:
    n, job = 1 << d, CubeProblem("allgather", "shouting", d, d - 1)
    free = job._replace(fault_free=True)
    right = _claim("answering-four-phases", job)[:2] == (2 * d + 2, d + 1 + 2 * (n - 1))
    right = right and _cost("answering-four-phases", job) == (2 * d + 2, d + 1 + n - 1)
    right = right and _cost("answering-four-phases", free) == (2 * d, d + n - 2)
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
        job = CubeProblem("allgather", "shouting", d, k)
        ours, theirs = _cost(_OURS, job), _cost("fraigniaud", job)
        right = ours == (d, n // 2) and theirs == (d + 1, n - max(1, (1 << d - 1 - k) - 1)) and theirs[1] >= ours[1]
        yield right, f"k = {k}: {ours} and {theirs}"
        said = f"k = {k}: {d} β + {n // 2:,} Fτ, {d + 1} β + {theirs[1]:,} Fτ"
    yield True, said
