"""Statements of Bhatt, Pucci, Ranade & Rosenberg: scatter and gather on trees without buffers, messages of any length.

Communication model: bufferless; N counts the nodes of a tree, the root among them. Where the paper is in error, or
cannot be right in every reading, a right statement is checked, which is called an erratum.
"""

from collections.abc import Sequence
from itertools import product
from math import log2

import numpy as np

from treecast.networks import network
from treecast.networks.core import ints
from treecast.papers.protocols import agrees
from treecast.papers.statement import Claims, Statements
from treecast.papers.trees import covers, scatters
from treecast.papers.trees.cases import WeightedTree, random_cases, rooted_trees, tree_of
from treecast.papers.trees.gatherings import begins_earlier, gathers_earlier
from treecast.plans import plan
from treecast.plans.times.certificates import Certificates, certificates
from treecast.plans.ways.trees.spanning import breadth_first
from treecast.progress import report
from treecast.schedule import Schedule
from treecast.schedule.trees import Tree
from treecast.verification.verifier import verify

_MODELS = ("bufferless", "bufferless-multiport")
_TRIES = 60  # random trees of each size of which only numbers are computed
_PLANNED = 3  # of which schedules are planned and verified

stated = Statements(scatters.stated)
"""The statements of the paper, where it is in error the right ones, and known facts beside it."""


# --- gather on a path ---


def _on_path(lengths: Sequence[int], model: str = _MODELS[0]) -> Schedule:
    return plan("gatherv", network(f"path:{len(lengths)}"), lengths=list(lengths), model=model, builder="shoulder-tap")


def _data_steps(schedule: Schedule) -> int:
    data = ~schedule.rows.control
    return int((schedule.rows.step + schedule.rows.steps)[data].max(initial=0))


def _longest(n: int) -> int:
    return 3 if n <= 5 else 2


@stated("Theorem 2", "SHOULDER-TAP: no start times behind the wake-up, ineq. (5), are better", 2, 6, 7)
def _theorem_2(n: int) -> Claims:
    cases = list(product(range(_longest(n) + 1), repeat=n - 1))
    for done, lengths in enumerate(cases):
        schedule = _on_path((0, *lengths))
        yield not begins_earlier(lengths, _data_steps(schedule)) and verify(schedule), str(lengths)
        if not done % 64:
            report(done + 1, len(cases), "cases")
    yield True, f"{len(cases):,} cases, lengths 0 … {_longest(n)}"


@stated("… if it waits", "a wake-up sent on later gains 1 step at most, where the end has nothing", 3, 4, 5)
def _waiting(n: int) -> Claims:
    """A node sends first and wakes the next afterwards: that helps where those beyond have nothing, which nobody knows."""
    cases, better = list(product(range(3), repeat=n - 1)), 0
    for lengths in cases:
        steps = _data_steps(_on_path((0, *lengths)))
        saved = 0
        while begins_earlier(lengths, steps - saved, waiting=True):
            saved += 1
        alone = sum(length > 0 for length in lengths) > 0 and lengths[-1] == 0
        better += saved > 0
        yield saved <= 1 and (not saved or alone), f"{lengths}: {saved} steps"
    yield better > 0, f"{better} of {len(cases)} cases, by 1 step"


@stated("… or Theorem 3", "TRANSMISSION-CERTIFICATE on a path: 2H steps more, or 2H - 1", 2, 16, 40)
def _beside(n: int) -> Claims:
    rng, more = np.random.default_rng(n), list[int]()
    for _ in range(2 * _PLANNED):
        lengths = [0, *(rng.integers(0, 6, n - 1) * (rng.random(n - 1) < 0.5)).tolist()]
        lengths[int(rng.integers(1, n))] = 1  # if all were null, nobody would be told to begin
        found = certificates(breadth_first(network(f"path:{n}"), 0), ints(lengths)).steps
        more.append(found - _data_steps(_on_path(lengths)) - 2 * (n - 1))
    yield set(more) <= {0, -1}, f"{2 * (n - 1)} steps more, or 1 less than that"


# --- gather on any tree ---


def _both(case: WeightedTree) -> tuple[Certificates, Certificates]:
    return certificates(case.tree, case.flits), certificates(case.tree, case.flits, "one", "walk")


def _at_the_end(n: int) -> WeightedTree:
    """Return a path whose end, farthest from the root, has one flit."""
    return WeightedTree(breadth_first(network(f"path:{n}"), 0), ints([0] * (n - 1) + [1]))


@stated("Theorem 3", "TRANSMISSION-CERTIFICATE: 2B + C + M steps, C of collecting", 2, 24, 60, false_from=3)
def _theorem_3(n: int) -> Claims:
    """The paper's words, with C as measured; a path whose end has one flit, and random trees."""
    for case in (_at_the_end(n), *random_cases(n, _TRIES)):
        found = certificates(case.tree, case.flits)
        most = 2 * found.tokens + found.collection + case.total
        yield found.steps <= most, f"{case.tree.network.spec}: {found.steps} steps, not {most}"
    yield True, ""


@stated("erratum: Theorem 3", "2B + C + M + H - 1 steps; orders and data M + B + H - 1", 2, 24, 60)
def _right_theorem_3(n: int) -> Claims:
    over = list[int]()
    for case in random_cases(n, _TRIES):
        height = case.tree.height
        if not case.total:
            continue
        found = certificates(case.tree, case.flits)
        b, c = found.tokens, found.collection
        right = found.rest <= case.total + b + height - 1 and found.steps <= 2 * b + c + case.total + height - 1
        yield right, f"{found.steps} steps: B = {b}, C = {c}, M = {case.total}, H = {height}"
        over.append(found.steps - (2 * b + c + case.total))
    met = sum(value <= 0 for value in over)
    yield True, f"{met} of {len(over)} without H - 1, the worst is {max([0, *over])} over that"


def _sorting(case: WeightedTree) -> float:
    """Return the paper's C: the most, over ways down from the root, of d log2 d added up, d the children of a node."""
    children = np.bincount(case.tree.parent[case.tree.order[1:]], minlength=case.tree.network.nodes).tolist()
    weight = [0.0] * len(children)
    for v in case.tree.order.tolist():
        own = children[v] * log2(children[v]) if children[v] else 0.0
        above = int(case.tree.parent[v])
        weight[v] = own + (weight[above] if above >= 0 else 0.0)
    return max(weight)


@stated("erratum: C", "2B + C + M with C of sorting alone is too little: certificates travel", 2, 24, 60)
def _figure(n: int) -> Claims:
    """The paper's 2B + C + M, with C as it says: the time of sorting alone."""
    excess: list[float] = []
    for case in random_cases(n, _TRIES):
        found = certificates(case.tree, case.flits)
        if case.total:
            excess.append(found.steps - (2 * found.tokens + _sorting(case) + case.total))
    met = sum(value <= 0 for value in excess)
    path, _ = _both(_at_the_end(n))  # where nothing is sorted
    over = path.steps - (2 * path.tokens + 1)
    right = over == 2 * (n - 1) - 1 > 0
    yield right, f"{met} of {len(excess)} trees meet it, the worst is {max(excess):.1f} over; a path {over}"


@stated("lower bound", "max(B, M), B of the best order: no told gather takes less; all trees", 2, 5, 6)
def _optimum(n: int) -> Claims:
    """The bound that no gather beats, and how far the paper's is from that: every step in which each node is told and begins."""
    cases, met, ratio = 0, 0, 1.0
    for parents in rooted_trees(n):
        tree = tree_of(parents)
        for lengths in product(range(3 if n < 6 else 2), repeat=n - 1):
            flits = ints([0, *lengths])
            bound = optimum = max(_least_broadcast(tree), int(flits.sum()))
            yield not gathers_earlier(parents, (0, *lengths), bound), f"{parents}, {lengths}: less than {bound} steps"
            while not gathers_earlier(parents, (0, *lengths), optimum + 1):
                optimum += 1
            steps = min(found.steps for found in _both(WeightedTree(tree, flits)))
            yield steps >= optimum, f"{parents}, {lengths}: {steps} steps, the optimum is {optimum}"
            cases, met, ratio = cases + 1, met + (optimum == bound), max(ratio, steps / optimum)
    yield True, f"{cases:,} cases, reached in {met}; certificates at most {ratio:.2f} times the optimum"


def _least_broadcast(tree: Tree) -> int:
    """Return the steps of a broadcast down a tree if each node serves first the child that needs longest."""
    below: dict[int, list[int]] = {}
    for v in tree.order[::-1].tolist():
        # The child that needs longest first: an exchange of two shows that no order is better.
        times = sorted(below.get(v, []), reverse=True)
        steps = max((place + time for place, time in enumerate(times, 1)), default=0)
        if v == tree.root:
            return steps
        below.setdefault(int(tree.parent[v]), []).append(steps)
    return 0


@stated("… larger trees", "nor do certificates in slots; random trees", 2, 24, 60)
def _lower(n: int) -> Claims:
    ratios, above = list[float](), 0
    for case in random_cases(n, _TRIES):
        least, found = _least_broadcast(case.tree), certificates(case.tree, case.flits)
        bound = max(least, case.total)
        above += found.tokens > least
        yield least <= found.tokens and found.steps >= bound, f"{found.steps} steps, at least {bound}"
        ratios.append(found.steps / bound)
    yield True, f"{min(ratios):.2f} to {max(ratios):.2f} times; B of the fixed order is more for {above} of {_TRIES}"


@stated("… worst case", "B + M, when the end of a path has all: 2H + M - 1", 2, 24, 60)
def _farthest_alone(n: int) -> Claims:
    """One message at the end of a path: told in step H - 1 at the earliest, its last flit is there M + H - 1 steps later."""
    for flits in (1, 2, n, 3 * n):
        lengths = [0] * (n - 1) + [flits]
        schedule, height = _on_path(lengths), n - 1
        earlier = n <= 6 and flits < 3 and begins_earlier(lengths[1:], schedule.steps, waiting=True)
        right = schedule.steps == 2 * height + flits - 1 and schedule.steps >= height + flits and not earlier
        yield right, f"{schedule.steps} steps for {flits} flits"
    yield True, f"M + {2 * (n - 1) - 1} steps at B = {n - 1}"


_KINDS: tuple[tuple[str, str, dict[str, str]], ...] = (
    *(("gatherv", model, {"collect": collect}) for model in _MODELS for collect in ("slots", "walk")),
    *(("scatterv", model, {}) for model in _MODELS),
)


@stated("collisions", "none, and nothing is kept: all schedules verified", 2, 12, 40)
def _no_conflict(n: int) -> Claims:
    for case, (kind, model, options) in product(random_cases(n, _PLANNED), _KINDS):
        report = verify(case.planned(kind, model, **options))
        if not report:
            yield False, f"{kind} {options}: {report.violations[0].text}"
    yield True, f"{_PLANNED} trees, {len(_KINDS)} schedules each"


@stated("distributed", "state machines that know only their neighbours say just that", 2, 12, 40)
def _distributed(n: int) -> Claims:
    for case, (kind, model, options) in product(random_cases(n, _PLANNED), _KINDS):
        yield agrees(case.planned(kind, model, **options)), f"{kind} {options}, {model}"
    rng = np.random.default_rng(n)
    for model in _MODELS:
        yield agrees(_on_path([0, *rng.integers(0, 6, n - 1).tolist()], model)), f"shoulder-tap, {model}"
    yield True, f"{_PLANNED} trees, {len(_KINDS)} schedules each, and paths"


@stated("walk", "phases 1 and 2 as in the text take 2(N-1) steps, slots never more", 2, 24, 60)
def _walk(n: int) -> Claims:
    gain: list[int] = []
    for case in random_cases(n, _TRIES):
        slots, walk = _both(case)
        yield walk.done >= slots.done, f"slots take {slots.done + 1} steps, the walk {walk.done + 1}"
        yield walk.done + 1 == 2 * (n - 1), f"the walk takes {walk.done + 1} steps, not {2 * (n - 1)}"
        gain.append(walk.steps - slots.steps)
    yield min(gain) >= 0, f"slots are {np.mean(gain):.1f} steps faster on average, {min(gain)} to {max(gain)}"


@stated("multi-port", "H, H, and M + 2H - 1 steps, M of the heaviest branch", 2, 24, 60)
def _multiport(n: int) -> Claims:
    """Tokens and certificates in parallel take H steps each, orders at most as many, the data of a branch M of it, and H - 1."""
    gain: list[int] = []
    for case in random_cases(n, _TRIES):
        found, height = certificates(case.tree, case.flits, "all"), case.tree.height
        branch = np.bincount(case.tree.branch, case.flits, minlength=case.tree.network.nodes).astype(np.int64)
        most = int(branch.max())
        right = found.tokens == found.collection == height and found.rest <= (most + 2 * height - 1 if most else 0)
        yield right, f"{found.tokens}, {found.collection}, {found.rest} steps, H = {height}, M = {most}"
        gain.append(certificates(case.tree, case.flits).steps - found.steps)
    yield min(gain) >= 0, f"{min(gain)} to {max(gain)} steps less than over one port"


stated.extend(covers.stated)
