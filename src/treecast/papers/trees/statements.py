"""Statements of Bhatt, Pucci, Ranade & Rosenberg: scatter and gather on trees without buffers, messages of any length.

Communication model: bufferless; N counts the nodes of a tree, the root among them. Where the paper is in error, or says what
cannot be so in every reading, what is checked is what is right, and the statement is called an erratum.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import combinations_with_replacement, permutations, product
from math import log2
from typing import Any, NamedTuple

import numpy as np

from treecast.networks import Graph, network
from treecast.networks.core import Ints, ints
from treecast.papers.statement import Statement, Verdict
from treecast.papers.trees.gatherings import begins_earlier, ends_earlier
from treecast.plans import plan
from treecast.plans.bufferless.gather import Certificates, certificates
from treecast.plans.bufferless.scatter import ORDERS, lengths_of
from treecast.plans.trees.spanning import breadth_first
from treecast.progress import report
from treecast.protocols import agrees
from treecast.schedule import Schedule
from treecast.schedule.trees import Tree
from treecast.verification.verifier import verify

_MODELS = ("bufferless", "bufferless-multiport")
_TRIES = 60  # random trees of each size of which only numbers are computed
_PLANNED = 3  # of which schedules are planned and verified


class _Case(NamedTuple):
    """A tree, and the length of each node's message."""

    tree: Tree
    flits: Ints

    @property
    def total(self) -> int:
        """M: all flits."""
        return int(self.flits.sum())

    def planned(self, kind: str, model: str = "bufferless", **options: Any) -> Schedule:
        """Return a schedule of this case."""
        return plan(kind, self.tree.network, root=self.tree.root, lengths=self.flits.tolist(), model=model, **options)


# --- trees ---


@lru_cache(8)
def _rooted_trees(n: int) -> tuple[tuple[int, ...], ...]:
    """Return all rooted trees of n nodes up to isomorphism, as parents; node 0 is the root."""
    found: dict[object, tuple[int, ...]] = {}
    for parents in product(*(range(v) for v in range(1, n))):
        found.setdefault(_form((-1, *parents), 0), (-1, *parents))
    return tuple(found.values())


def _form(parents: Sequence[int], v: int) -> object:
    return tuple(sorted((_form(parents, w) for w, above in enumerate(parents) if above == v), key=str))


def _depths(parents: Sequence[int]) -> list[int]:
    depth = [0] * len(parents)
    for v in range(1, len(parents)):
        depth[v] = depth[parents[v]] + 1
    return depth


def _branches(parents: Sequence[int]) -> list[int]:
    """Return of each node the child of the root above it, or itself."""
    branch = list(range(len(parents)))
    for v in range(1, len(parents)):
        branch[v] = branch[parents[v]] if parents[v] else v
    return branch


def _network(parents: Sequence[int]) -> Graph:
    links = [(v, above) for v, above in enumerate(parents) if above >= 0]
    arcs = ints(links + [(b, a) for a, b in links]).reshape(-1, 2)
    return Graph(f"graph:{len(parents)}", [str(v) for v in range(len(parents))], arcs)


def _random(n: int, tries: int) -> Iterator[_Case]:
    """Yield random trees, bushy and lean ones, at random roots, with messages of which some are null."""
    rng = np.random.default_rng(n)
    for _ in range(tries):
        reach = int(rng.integers(1, n + 1))
        tree = _network([-1, *(int(rng.integers(max(0, v - reach), v)) for v in range(1, n))])
        flits = rng.integers(0, 10, n) * (rng.random(n) < rng.choice([0.2, 0.6, 1.0]))
        root = int(rng.integers(n))
        flits[root] = 0
        yield _Case(breadth_first(tree, root), flits)


# --- scatter ---


def _brute(depths: Sequence[int], lengths: Ints) -> tuple[Ints, Ints, Ints]:
    """Return of cases (rows of ``lengths``) the least time of all orders, and the least and most of those of FDF."""
    depth, count = ints(depths), len(depths)
    orders = ints(list(permutations(range(count)))).reshape(-1, count)
    farthest = (np.diff(depth[orders], axis=1) <= 0).all(axis=1)
    flits = lengths[:, orders]
    times = np.where(flits > 0, np.cumsum(flits, axis=2) + depth[orders] - 1, 0).max(axis=2, initial=0)
    return times.min(axis=1), times[:, farthest].min(axis=1), times[:, farthest].max(axis=1)


def _all_lengths(depths: Sequence[int], most: int) -> Ints:
    """Return all lengths up to ``most``, up to exchange of nodes of one depth; ``depths`` in order: int64 (cases, nodes)."""
    groups = [depths.count(depth) for depth in sorted(set(depths))]
    found = product(*(combinations_with_replacement(range(most + 1), size) for size in groups))
    return ints([[length for part in case for length in part] for case in found]).reshape(-1, len(depths))


def _theorem_1(n: int) -> Verdict:
    profiles, cases = sorted({tuple(sorted(_depths(tree)[1:])) for tree in _rooted_trees(n)}), 0
    for done, depths in enumerate(profiles):
        lengths = _all_lengths(depths, 3)
        for part in np.array_split(lengths, len(lengths) // 64 + 1):
            least, good, bad = _brute(depths, part)
            if not (np.array_equal(least, good) and np.array_equal(least, bad)):
                return Verdict(False, f"distances {depths}")
        cases += len(lengths)
        report(done + 1, len(profiles), "profiles")
    return Verdict(True, f"{cases:,} cases of {len(_rooted_trees(n))} trees, {max(n - 1, 0)}! orders each")


def _start_times(n: int) -> Verdict:
    """Without taking for granted that there are no gaps: any steps in which messages may begin to leave the root."""
    cases = 0
    for parents in _rooted_trees(n):
        tree = _network(parents)
        for lengths in product(range(3), repeat=n - 1):
            schedule = plan("scatterv", tree, lengths=[0, *lengths], model="bufferless", builder="farthest-first")
            if ends_earlier(parents, (0, *lengths), schedule.steps) or not verify(schedule):
                return Verdict(False, f"{parents}, {lengths}")
            cases += 1
    return Verdict(True, f"{cases:,} cases")


def _time(n: int) -> Verdict:
    for case in _random(n, _PLANNED):
        for first in ORDERS:
            schedule = case.planned("scatterv", first=first)
            flits = case.flits[lengths_of(schedule.collective).sequence]
            depth = case.tree.depth[lengths_of(schedule.collective).sequence]
            time = int((np.cumsum(flits) + depth - 1)[flits > 0].max(initial=0))
            if schedule.steps != time or not verify(schedule):
                return Verdict(False, f"{first} first: {schedule.steps} steps, not {time}")
    return Verdict(True, f"{_PLANNED} trees, {len(ORDERS)} orders")


def _scatter_multiport(n: int) -> Verdict:
    said = 0
    for parents in _rooted_trees(n):
        rng = np.random.default_rng(n)
        for _ in range(2):
            flits = rng.integers(0, 4, n)
            flits[0] = 0
            depth, branch = _depths(parents), _branches(parents)
            least = 0
            for child in set(branch[1:]):
                mine = [v for v in range(1, n) if branch[v] == child]
                least = max(least, int(_brute([depth[v] for v in mine], flits[None, mine])[0][0]))
            schedule = plan(
                "scatterv", _network(parents), lengths=flits.tolist(), model=_MODELS[1], builder="farthest-first"
            )
            if schedule.steps != least or not verify(schedule):
                return Verdict(False, f"{parents}, {flits.tolist()}")
            said += 1
    return Verdict(True, f"{said} cases")


# --- gather on a path ---


def _on_path(lengths: Sequence[int], model: str = _MODELS[0]) -> Schedule:
    return plan("gatherv", network(f"path:{len(lengths)}"), lengths=list(lengths), model=model, builder="shoulder-tap")


def _data_steps(schedule: Schedule) -> int:
    data = ~schedule.rows.control
    return int((schedule.rows.step + schedule.rows.steps)[data].max(initial=0))


def _longest(n: int) -> int:
    return 3 if n <= 5 else 2


def _theorem_2(n: int) -> Verdict:
    cases = list(product(range(_longest(n) + 1), repeat=n - 1))
    for done, lengths in enumerate(cases):
        schedule = _on_path((0, *lengths))
        if begins_earlier(lengths, _data_steps(schedule)) or not verify(schedule):
            return Verdict(False, str(lengths))
        if not done % 64:
            report(done + 1, len(cases), "cases")
    return Verdict(True, f"{len(cases):,} cases, lengths 0 … {_longest(n)}")


def _waiting(n: int) -> Verdict:
    """A node sends first and wakes the next afterwards: that helps where those beyond have nothing, which nobody knows."""
    cases, better = list(product(range(3), repeat=n - 1)), 0
    for lengths in cases:
        steps = _data_steps(_on_path((0, *lengths)))
        saved = 0
        while begins_earlier(lengths, steps - saved, waiting=True):
            saved += 1
        alone = sum(length > 0 for length in lengths) > 0 and lengths[-1] == 0
        better += saved > 0
        if saved > 1 or (saved and not alone):
            return Verdict(False, f"{lengths}: {saved} steps")
    return Verdict(better > 0, f"{better} of {len(cases)} cases, by 1 step")


def _beside(n: int) -> Verdict:
    rng, more = np.random.default_rng(n), list[int]()
    for _ in range(2 * _PLANNED):
        lengths = [0, *(rng.integers(0, 6, n - 1) * (rng.random(n - 1) < 0.5)).tolist()]
        lengths[int(rng.integers(1, n))] = 1  # if all were null, nobody would be told to begin
        found = certificates(breadth_first(network(f"path:{n}"), 0), ints(lengths)).steps
        more.append(found - _data_steps(_on_path(lengths)) - 2 * (n - 1))
    return Verdict(set(more) <= {0, -1}, f"{2 * (n - 1)} steps more, or 1 less than that")


# --- gather on any tree ---


def _both(case: _Case, ports: str = "one") -> tuple[Certificates, Certificates]:
    slots, walk = (certificates(case.tree, case.flits, ports, collect) for collect in ("slots", "walk"))
    return slots, walk


def _theorem_3(n: int) -> Verdict:
    over = list[int]()
    for case in _random(n, _TRIES):
        height = case.tree.height
        if not case.total:
            continue
        found = certificates(case.tree, case.flits)
        b, c = found.tokens, found.collection
        if found.rest > case.total + b + height - 1 or found.steps > 2 * b + c + case.total + height - 1:
            return Verdict(False, f"{found.steps} steps: B = {b}, C = {c}, M = {case.total}, H = {height}")
        over.append(found.steps - (2 * b + c + case.total))
    met = sum(value <= 0 for value in over)
    return Verdict(True, f"{met} of {len(over)} without H - 1, the worst is {max([0, *over])} over that")


def _sorting(case: _Case) -> float:
    """Return the paper's C: the most, over ways down from the root, of d log2 d added up, d the children of a node."""
    children = np.bincount(case.tree.parent[case.tree.order[1:]], minlength=case.tree.network.nodes).tolist()
    weight = [0.0] * len(children)
    for v in case.tree.order.tolist():
        own = children[v] * log2(children[v]) if children[v] else 0.0
        above = int(case.tree.parent[v])
        weight[v] = own + (weight[above] if above >= 0 else 0.0)
    return max(weight)


def _figure(n: int) -> Verdict:
    """The paper's 2B + C + M, with C as it says: the time of sorting alone."""
    excess: list[float] = []
    for case in _random(n, _TRIES):
        found = certificates(case.tree, case.flits)
        if case.total:
            excess.append(found.steps - (2 * found.tokens + _sorting(case) + case.total))
    met = sum(value <= 0 for value in excess)
    path = certificates(breadth_first(network(f"path:{n}"), 0), ints([0] * (n - 1) + [1]))  # where nothing is sorted
    over = path.steps - (2 * path.tokens + 1)
    right = over == 2 * (n - 1) - 1 > 0
    return Verdict(right, f"{met} of {len(excess)} trees meet it, the worst is {max(excess):.1f} over; a path {over}")


def _least_broadcast(tree: Tree) -> int:
    """Return the steps of a broadcast down a tree if each node serves first the child that needs longest."""
    below: dict[int, list[int]] = {}
    for v in tree.order[::-1].tolist():
        times = sorted(below.get(v, []), reverse=True)
        steps = max((place + time for place, time in enumerate(times, 1)), default=0)
        if v == tree.root:
            return steps
        below.setdefault(int(tree.parent[v]), []).append(steps)
    return 0


def _lower(n: int) -> Verdict:
    ratios, above = list[float](), 0
    for case in _random(n, _TRIES):
        least, found = _least_broadcast(case.tree), certificates(case.tree, case.flits)
        bound = max(least, case.total)
        above += found.tokens > least
        if least > found.tokens or found.steps < bound:
            return Verdict(False, f"{found.steps} steps, at least {bound}")
        ratios.append(found.steps / bound)
    return Verdict(
        True, f"{min(ratios):.2f} to {max(ratios):.2f} times; B of the fixed order is more for {above} of {_TRIES}"
    )


def _farthest_alone(n: int) -> Verdict:
    """One message at the end of a path: told in step H - 1 at the earliest, its last flit is there M + H - 1 steps later."""
    for flits in (1, 2, n, 3 * n):
        lengths = [0] * (n - 1) + [flits]
        schedule, height = _on_path(lengths), n - 1
        earlier = n <= 6 and flits < 3 and begins_earlier(lengths[1:], schedule.steps, waiting=True)
        if schedule.steps != 2 * height + flits - 1 or schedule.steps < height + flits or earlier:
            return Verdict(False, f"{schedule.steps} steps for {flits} flits")
    return Verdict(True, f"M + {2 * (n - 1) - 1} steps at B = {n - 1}")


def _kinds() -> list[tuple[str, str, dict[str, str]]]:
    gathers = [("gatherv", model, {"collect": collect}) for model in _MODELS for collect in ("slots", "walk")]
    return [*gathers, *(("scatterv", model, {}) for model in _MODELS)]


def _no_conflict(n: int) -> Verdict:
    for case in _random(n, _PLANNED):
        for kind, model, options in _kinds():
            report = verify(case.planned(kind, model, **options))
            if not report:
                return Verdict(False, f"{kind} {options}: {report.violations[0].text}")
    return Verdict(True, f"{_PLANNED} trees, {len(_kinds())} schedules each")


def _distributed(n: int) -> Verdict:
    for case in _random(n, _PLANNED):
        for kind, model, options in _kinds():
            if not agrees(case.planned(kind, model, **options)):
                return Verdict(False, f"{kind} {options}, {model}")
    rng = np.random.default_rng(n)
    for model in _MODELS:
        if not agrees(_on_path([0, *rng.integers(0, 6, n - 1).tolist()], model)):
            return Verdict(False, f"shoulder-tap, {model}")
    return Verdict(True, f"{_PLANNED} trees, {len(_kinds())} schedules each, and paths")


def _walk(n: int) -> Verdict:
    gain: list[int] = []
    for case in _random(n, _TRIES):
        slots, walk = _both(case)
        if walk.done + 1 != 2 * (n - 1):
            return Verdict(False, f"the walk takes {walk.done + 1} steps, not {2 * (n - 1)}")
        gain.append(walk.steps - slots.steps)
    return Verdict(min(gain) >= 0, f"slots are {np.mean(gain):.1f} steps faster on average, {min(gain)} to {max(gain)}")


def _multiport(n: int) -> Verdict:
    """Tokens and certificates in parallel take H steps each, orders at most as many, the data of a branch M of it, and H - 1."""
    gain: list[int] = []
    for case in _random(n, _TRIES):
        found, height = certificates(case.tree, case.flits, "all"), case.tree.height
        branch = np.bincount(case.tree.branch, case.flits, minlength=case.tree.network.nodes).astype(np.int64)
        most = int(branch.max())
        if (found.tokens, found.collection) != (height, height) or found.rest > (most + 2 * height - 1 if most else 0):
            return Verdict(False, f"{found.tokens}, {found.collection}, {found.rest} steps, H = {height}, M = {most}")
        gain.append(certificates(case.tree, case.flits).steps - found.steps)
    return Verdict(min(gain) >= 0, f"{min(gain)} to {max(gain)} steps less than over one port")


STATEMENTS = (
    Statement("time", "of an order: all flits up to a message's last, + its distance - 1, at most", 2, 12, 40, _time),
    Statement(
        "Theorem 1", "FDF, ties in any order, is the best of all orders; all trees, lengths ≤ 3", 2, 6, 7, _theorem_1
    ),
    Statement("… with gaps", "… and no start times are better, lengths ≤ 2", 2, 4, 5, _start_times),
    Statement("… multi-port", "FDF in each branch of the root is the best", 2, 5, 6, _scatter_multiport),
    Statement(
        "Theorem 2", "SHOULDER-TAP: no start times behind the wake-up, ineq. (5), are better", 2, 6, 7, _theorem_2
    ),
    Statement(
        "… if it waits", "a wake-up sent on later gains 1 step at most, where the end has nothing", 3, 4, 5, _waiting
    ),
    Statement("… or Theorem 3", "TRANSMISSION-CERTIFICATE on a path: 2H steps more, or 2H - 1", 2, 16, 40, _beside),
    Statement(
        "Theorem 3", "2B + C + M + H - 1 steps, C of collecting; orders and data M + B + H - 1", 2, 24, 60, _theorem_3
    ),
    Statement(
        "erratum: C", "2B + C + M with C of sorting alone is too little: certificates travel", 2, 24, 60, _figure
    ),
    Statement("lower bound", "max(B, M), B of the best order of children", 2, 24, 60, _lower),
    Statement("… worst case", "B + M, when the end of a path has all: 2H + M - 1", 2, 24, 60, _farthest_alone),
    Statement("collisions", "none, and nothing is kept: all schedules verified", 2, 12, 40, _no_conflict),
    Statement("distributed", "state machines that know only their neighbours say just that", 2, 12, 40, _distributed),
    Statement("walk", "phases 1 and 2 as in the text take 2(N-1) steps, slots never more", 2, 24, 60, _walk),
    Statement("multi-port", "H, H, and M + 2H - 1 steps, M of the heaviest branch", 2, 24, 60, _multiport),
)
"""The statements of the paper, where it is in error what is right, and what is known beside it."""
