"""Statements of Cang & Wu: broadcast on meshes of sides 2^k, one-port and wormhole, with little total distance (TCD).

Where the paper is in error, the right statement is called an erratum; Theorem 3 also stands here as the paper has it.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import permutations, product
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from treecast.collectives import Collective
from treecast.lower_bounds import best, bounds
from treecast.models import model
from treecast.networks import Mesh, Torus, network
from treecast.networks.core import Ints, ints
from treecast.papers.mesh.builders import bisection, eyes
from treecast.papers.statement import Claims, Statements
from treecast.plans import plan
from treecast.progress import report
from treecast.schedule import Schedule
from treecast.verification.verifier import verify

_MODELS = ("wormhole", "wormhole-last")  # routes along the first axis first, and along the last
_DIMENSIONS = (1, 2, 3)

stated = Statements()
"""The statements of the paper, where it is in error the right ones, and known facts beside it."""


def _grid(family: str, k: int, d: int) -> Mesh | Torus:
    return cast(Mesh | Torus, network(f"{family}:" + "x".join([str(2**k)] * d)))


def _nodes(k: int, d: int) -> Ints:
    """Return the coordinates of all nodes: int64 (2^k, …, 2^k, d)."""
    return ints(np.moveaxis(np.indices((2**k,) * d), 0, -1))


@lru_cache(32)
def _least(k: int, d: int) -> Ints:
    """Return the TCD of recursive bisection from every node."""
    return bisection.minimum((2**k,) * d)[1].least


def _orders(d: int) -> Iterator[Sequence[int]]:
    return permutations(range(d))


def _by_paper(k: int, d: int) -> list[Ints]:
    """Return the TCD of the paper's algorithm from every node: in each order of dimensions, then in the best of each box."""
    fixed = [eyes.claimed_distance(k, _nodes(k, d), order) for order in _orders(d)]
    return [*fixed, eyes.claimed_distance(k, _nodes(k, d), best_order=True)]


def _are_eyes(k: int, d: int) -> NDArray[np.bool_]:
    """Return of every node of the mesh whether it is one of its eyes."""
    low = eyes.low_eye(k)
    inside = _nodes(k, d)
    return ((inside == low) | (inside == 2**k - 1 - low)).all(axis=-1)


def _at(node: Sequence[int]) -> str:
    return f"({','.join(map(str, node))})"


# --- values ---


@stated("eyes", "2^d of them, a(k) = (2^k - (-1)^k)/3 apart; each the inner eye of a half; d ≤ 3", 1, 6, 6)
def _eyes(k: int) -> Claims:
    low, a = eyes.low_eye(k), eyes.inner_distance(k)
    right = 2**k - 1 - 2 * low == a == (eyes.inner_distance(k - 1) + 2 * eyes.inner_distance(k - 2) if k > 1 else 1)
    right = right and low == max(0, 2 ** (k - 1) - 1 - eyes.low_eye(k - 1))  # the inner eye of the lower half
    for d in _DIMENSIONS:
        found = {tuple(eye) for eye in eyes.eyes(k, d).tolist()}
        right = right and found == set(product((low, 2**k - 1 - low), repeat=d)) and len(found) == 2**d
    yield right, str(a)


@stated("erratum: eyes", "eye (5,5,2) is missing from the list of 8x8x8", 3, 3, 3)
def _all_eyes(k: int) -> Claims:
    found = {tuple(eye) for eye in eyes.eyes(k, 3).tolist()}
    yield len(found) == 8 and (5, 5, 2) in found, ", ".join(map(_at, sorted(found)))


@stated("erratum: one eye", "a node can be an eye of boxes of several sizes", 3, 6, 6)
def _eye_of_several(k: int) -> Claims:
    levels = [i for i in range(1, k + 1) if 2 % 2**i in (eyes.low_eye(i), 2**i - 1 - eyes.low_eye(i))]
    yield levels[:3] == [1, 2, 3], f"(2,2), of the sides {', '.join(str(2**i) for i in levels)}"


@stated("eq. (16)", "OD_k = (2^d - 1) a(k) + 2^d OD_(k-1), and (3), (13), (16); d = 2 … 8", 1, 6, 6)
def _closed_form(k: int) -> Claims:
    for d in range(2, 9):
        near, far = 2 ** (d - 1) - 1, 2**d + 1
        printed = Fraction(2**d - 1, 3 * far * near) * (3 * 2 ** (d * (k + 1) - 1) - (-1) ** k * near - 2**k * far)
        yield printed == eyes.by_recurrence(k, d), f"d = {d}: {printed}, not {eyes.by_recurrence(k, d)}"
        right = eyes.optimum(k, d) == eyes.by_recurrence(k, d)
        yield right, f"d = {d}: {eyes.optimum(k, d)}, not {eyes.by_recurrence(k, d)}"
    right = 5 * eyes.optimum(k, 2) == 3 * 2 ** (2 * k + 1) - (-1) ** k - 5 * 2**k
    right = right and 27 * eyes.optimum(k, 3) == 7 * (2 ** (3 * k + 2) - (-1) ** k - 3 * 2**k)
    yield right, f"d = 2: {eyes.optimum(k, 2):,}, d = 3: {eyes.optimum(k, 3):,}"


@stated("erratum: d = 1", "eq. (16) is 0/0; right is ((3k+1) 2^k - (-1)^k)/9", 1, 6, 6)
def _paths(k: int) -> Claims:
    """Eq. (16) at d = 1: both parts of the fraction are 0 there; the right formula is another one."""
    d, n = 1, 2**k
    above = (2**d - 1) * ((2 ** (d * k) - 2**k) * (2**d + 1) + (2 ** (d * k) - (-1) ** k) * (2 ** (d - 1) - 1))
    below = 3 * (2 ** (d - 1) - 1) * (2**d + 1)
    value = ((3 * k + 1) * n - (-1) ** k) // 9
    yield (above, below) == (0, 0) and value == eyes.by_recurrence(k, 1), str(value)


@stated("erratum: MD_1", "under eq. (12), MD_1(E_1) is 7 in three dimensions", 1, 1, 1)
def _first_value(k: int) -> Claims:
    yield eyes.by_recurrence(k, 3) == 7 == 2**3 - 1, "7, not 3"


@stated("erratum: Def. 6", "u ≤ 2^(k-1) - 1/2 - a/2; by - 1 the border is left out", 2, 6, 6)
def _definition_6(k: int) -> Claims:
    """How far nodes lie outside of the nearer eye, and which of that the bounds of Definition 6 leave out."""
    found = sorted(set(eyes.outside(k, ints(range(2**k))).tolist()))
    a = eyes.inner_distance(k)
    right, wrong = ([u for u in found if -a < 2 * u <= bound - a] for bound in (2**k - 1, 2**k - 2))
    yield found == right and wrong == found[:-1], f"u = {found[-1]} is left out"


# --- the formulas for Algorithm 2 in three dimensions, as they are printed ---
# Coordinates u, v, w of a source are counted from the nearest eye outwards, in the order in which the axes are used. The borders
# of the paper's regions leave out the outermost nodes; here they are those of the erratum to Definition 6.


def _od(k: int) -> int:
    """Eq. (13), the TCD from an eye; 0 for one node."""
    return 7 * (2 ** (3 * k + 2) - (-1) ** k - 3 * 2**k) // 27


def _nine_regions(k: int, sources: Ints) -> Ints:
    """Return D_k of sources by Theorem 1: int64 (n,)."""
    total = np.zeros(len(sources), np.int64)
    for size in range(1, k + 1):
        u, v, w = eyes.outside(size, sources).T
        a, b = eyes.inner_distance(size), eyes.inner_distance(size - 1)
        near, far, border = -a / 2, b / 2, 2 ** (size - 1) - 1 / 2 - a / 2
        of_u = [(near < u) & (u <= 0), (u > 0) & (u <= far), (far < u) & (u <= border)]
        of_v = [(near < v) & (v <= 0), (v > 0) & (v <= far), (far < v) & (v <= border)]
        first = [-u, 3 * u, u + 2 * np.abs(u - b)]
        second = [-v, 3 * v, 2 * v + np.abs(v - b)]
        regions, found = np.zeros((2, len(sources)), np.int64)
        for i, j in product(range(3), repeat=2):
            inside = of_u[i] & of_v[j] & (near < w) & (w <= border)
            found[inside] = (first[i] + second[j] + 2 * np.abs(w) + w)[inside]
            regions += inside
        if not np.all(regions == 1):
            return np.full(len(sources), -1)
        total += found + 7 * a + 7 * _od(size - 1)
    return total


def _f(k: int, sources: Ints) -> Ints:
    """Return f_k by the four cases of Definition 6."""
    u, v, w = list[Ints](eyes.outside(k, sources).T)
    b = eyes.inner_distance(k - 1)
    by_u = np.where(u <= b / 2, 2 * np.abs(u) + u, np.abs(u) + 2 * np.abs(u - b))
    by_v = np.where(v <= b / 2, 2 * np.abs(v) + v, 2 * np.abs(v) + np.abs(v - b))
    return by_u + by_v + 2 * np.abs(w) + w


@stated("Theorem 1", "3-D: D_k of Algorithm 2 by nine regions, mended borders; all sources", 1, 6, 6)
def _theorem_1(k: int) -> Claims:
    sources = _nodes(k, 3).reshape(-1, 3)
    wrong = _nine_regions(k, sources) != eyes.claimed_distance(k, sources, range(3))
    yield not wrong.any(), f"{int((~wrong).sum()):,} sources"


@stated("Lemma 1", "D_k = f_k + 7a_k + D_(k-1) + 7 OD_(k-1); f_k ≥ 0, 0 at eyes only", 1, 6, 6)
def _lemma_1(k: int) -> Claims:
    sources = _nodes(k, 3).reshape(-1, 3)
    f, below = _f(k, sources), _nine_regions(k - 1, sources)
    sums = f + 7 * eyes.inner_distance(k) + below + 7 * _od(k - 1)
    at_eyes = (eyes.outside(k, sources) == 0).all(axis=1)
    right = np.array_equal(_nine_regions(k, sources), sums) and np.array_equal(f <= 0, at_eyes)
    yield right and int(f.min()) == 0, f"f_k up to {int(f.max())}"


@stated("Lemma 2", "D_k = OD_k + Σ f_i, i = 2 … k; 3-D, all sources", 1, 6, 6)
def _lemma_2(k: int) -> Claims:
    sources = _nodes(k, 3).reshape(-1, 3)
    total = np.sum([_f(size, sources) for size in range(2, k + 1)], axis=0) + _od(k)
    yield np.array_equal(np.broadcast_to(total, len(sources)), _nine_regions(k, sources)), f"{len(sources):,} sources"


# --- schedules ---


def _planned(k: int, d: int, root: int, builder: str, **options: Any) -> Schedule:
    return plan("broadcast", _grid("mesh", k, d), root=root, model="wormhole", builder=builder, **options)


def _wrong(schedule: Schedule, k: int, d: int, claimed: int) -> str:
    """Return the error of a broadcast in d k steps that is to have a certain TCD, under either order of routes."""
    at = schedule.network.label(schedule.collective.root)
    for name in _MODELS:
        report = verify(schedule, name)
        if not report:
            return f"{at}: {report.violations[0].rule}"
        if (schedule.steps, report.distance) != (d * k, claimed):
            return f"{at}: {schedule.steps} steps, TCD {report.distance}, not {d * k} and {claimed}"
    return ""


def _algorithm(k: int, d: int) -> Claims:
    """From every source, in every order of dimensions, and in the best order of each box."""
    sources, orders = 2 ** (k * d), list(_orders(d))
    for order, claims in zip([*orders, None], _by_paper(k, d), strict=True):
        how: dict[str, Any] = {"order": order} if order else {"best_order": True}
        for root, claimed in enumerate(claims.reshape(-1).tolist()):
            wrong = _wrong(_planned(k, d, root, "eyes", **how), k, d, claimed)
            yield not wrong, f"order {order}, source {wrong}"
            report(root + 1, sources, "sources")
    yield True, f"{sources:,} sources, {len(orders)} orders and the best"


stated("Algorithm 1", "2-D: dk steps, no contention, TCD of eq. (11); all sources", 1, 3, 4)(lambda k: _algorithm(k, 2))
stated("Algorithm 2", "3-D: the same", 1, 2, 3)(lambda k: _algorithm(k, 3))


@stated("Algorithm 3", "from eyes: the same, with a TCD of OD_k; 2-D and 3-D", 1, 3, 4)
def _algorithm_3(k: int) -> Claims:
    for d in _DIMENSIONS[1:]:
        for eye in np.flatnonzero(_are_eyes(k, d)).tolist():
            wrong = _wrong(_planned(k, d, eye, "eyes"), k, d, eyes.optimum(k, d))
            yield not wrong, f"d = {d}, source {wrong}"
    yield True, f"{eyes.optimum(k, 2)} and {eyes.optimum(k, 3)}"


def _boxes_meet(schedule: Schedule) -> bool:
    """Whether the bounding boxes of two messages of a step have a node in common."""
    grid, rows = cast(Mesh, schedule.network), schedule.rows
    ends = np.stack([grid.coordinates(end).T for end in (rows.src, rows.dst)])
    low, high = ends.min(axis=0), ends.max(axis=0)
    for step in np.unique(rows.step).tolist():
        a, b = low[rows.step == step], high[rows.step == step]
        meet = ((a[:, None] <= b[None]) & (a[None] <= b[:, None])).all(axis=-1)
        if int(meet.sum()) > len(a):  # each meets itself
            return True
    return False


# --- minima ---


@stated("Theorem 2", "by the paper's algorithm OD_k is the least, from eyes only; d = 2, 3", 1, 6, 6)
def _theorem_2(k: int) -> Claims:
    for d in _DIMENSIONS[1:]:
        for order in _orders(d):
            claims = eyes.claimed_distance(k, _nodes(k, d), order)
            right = claims.min() == eyes.optimum(k, d) and np.array_equal(claims == claims.min(), _are_eyes(k, d))
            yield right, f"d = {d}, order {order}"
    yield True, f"{eyes.optimum(k, 2):,}"


@stated("erratum: Theorem 2", "by others OD_k is reached from other nodes too; d = 2, 3", 3, 6, 6)
def _not_only_eyes(k: int) -> Claims:
    said: list[str] = []
    for d in _DIMENSIONS[1:]:
        least, optimum = _least(k, d), eyes.optimum(k, d)
        reached = least == optimum
        right = least.min() == optimum and reached[_are_eyes(k, d)].all() and reached.sum() > 2**d
        yield right, f"d = {d}: {int(reached.sum())} sources"
        said.append(f"d = {d}: {int(reached.sum())} sources, not {2**d}")
    yield True, "; ".join(said)


@stated("erratum: eq. (9)", "needs d ≥ 2: on paths more than the eyes do", 3, 6, 6)
def _not_only_eyes_of_paths(k: int) -> Claims:
    claims = eyes.claimed_distance(k, _nodes(k, 1))
    reached = int((claims == eyes.optimum(k, 1)).sum())
    yield claims.min() == eyes.optimum(k, 1) and reached > 2, f"{reached} sources, not 2"


@stated("Theorem 3", "the TCD of Algorithm 2 is the minimum for every source", 1, 6, 6, false_from=2)
def _theorem_3(k: int) -> Claims:
    """By the paper's words: Algorithm 2, its axes in the one order that it has, against the value that bisection reaches."""
    claims, least = eyes.claimed_distance(k, _nodes(k, 3)), _least(k, 3)
    for source in np.argwhere(least < claims).tolist():
        true, said = int(least[tuple(source)]), int(claims[tuple(source)])
        root = _grid("mesh", k, 3).node(",".join(map(str, source)))
        if not _wrong(_planned(k, 3, root, "bisection"), k, 3, true):
            side = 2**k
            yield False, f"source {_at(source)} of {side}x{side}x{side}: {said}; {true} is reached"
    yield True, f"{eyes.optimum(k, 3)}"


@stated("erratum: order", "it holds for no one order of dimensions, from k = 2 on", 2, 6, 6)
def _order_matters(k: int) -> Claims:
    one_order, other_order, _ = _by_paper(k, 2)
    one, other, _ = (int(claims[1, 0]) for claims in _by_paper(2, 2))
    yield bool((one_order != other_order).any()) and (one, other) == (17, 16), "(1,0) of 4x4: 17 or 16"


@stated("erratum: Theorem 3", "nor in the best order of each box, from k = 3 on; 2-D and 3-D", 3, 6, 6)
def _not_least(k: int) -> Claims:
    """Sources from which bisection, as verified, is shorter than the paper's in every order of dimensions."""
    grid, claims = _grid("mesh", k, 2), np.array(_by_paper(k, 2))
    paper = claims.min(axis=0)
    shorter = _least(k, 2) < paper
    yield shorter.any(), "no source is a counter-example"
    source = (2, 3) if k == 3 else tuple(int(x) for x in np.argwhere(shorter)[0])
    true = int(_least(k, 2)[source])
    wrong = _wrong(_planned(k, 2, grid.node(",".join(map(str, source))), "bisection"), k, 2, true)
    yield not wrong and true < paper[source] and (k != 3 or true == _bound(grid)), f"source {wrong or _at(source)}"
    by_paper = " or ".join(str(value) for value in np.unique(claims[:, *source]).tolist())
    least = f"{true} true" if k == 3 else f"{true:,} reached"
    detail = f"source {_at(source)} of {2**k}x{2**k}: {by_paper} by the paper, {least}; so for {int(shorter.sum()):,} sources"
    paper_3d = eyes.claimed_distance(k, _nodes(k, 3), best_order=True)
    shorter_3d = int((_least(k, 3) < paper_3d).sum())
    yield shorter_3d > 0, f"{detail}, in 3-D for {shorter_3d:,}"


@stated("Theorem 4", "OD_k is the least from all sources: up to k = 3 by the bound; d = 2, 3", 1, 3, 3)
def _theorem_4(k: int) -> Claims:
    for d in _DIMENSIONS[1:]:
        if _bound(_grid("mesh", k, d)) != eyes.optimum(k, d):
            yield False, f"d = {d}: {eyes.optimum(k, d)}, at least {_bound(_grid('mesh', k, d))}"
    yield True, f"{eyes.optimum(k, 2)} and {eyes.optimum(k, 3)}"


def _bound(grid: Mesh | Torus) -> int:
    """Return N - 1, or the bound by the degree where that is known: those that are the same from every source."""
    found = bounds(Collective("broadcast", grid.nodes, 1), grid, 1, model("wormhole"))
    return best([bound for bound in found if bound.formula.startswith("N - 1")], "tcd").value


@stated("lower bound", "N - 1 + 2 (2^(m-2d) - 1) is OD_k up to k = 3, then below; d ≤ 3", 1, 6, 6)
def _lower_bound(k: int) -> Claims:
    said: list[str] = []
    for d in _DIMENSIONS:
        n, value, optimum = 2 ** (k * d), _bound(_grid("mesh", k, d)), eyes.optimum(k, d)
        right = value == n - 1 + 2 * (2 ** max(0, d * (k - 2)) - 1) and (
            value == optimum if k <= 3 else value < optimum
        )
        yield right, f"d = {d}: {value}, and from eyes {optimum}"
        said.append(f"d = {d}: {value:,}" if value == optimum else f"d = {d}: {value:,} < {optimum:,}")
    yield True, "; ".join(said)


@stated("bisection", "never above the paper, from any source, in any order; d ≤ 3", 1, 6, 6)
def _never_above(k: int) -> Claims:
    for d in _DIMENSIONS:
        least = _least(k, d)
        right = least.min() == eyes.optimum(k, d) and not (least > np.array(_by_paper(k, d))).any()
        yield right, f"d = {d}"
    yield True, f"d = 2: {_least(k, 2).mean():,.3f} on average, the paper {_by_paper(k, 2)[0].mean():,.3f}"


@stated("… schedules", "2-D: dk steps, no two boxes of a step meet; all sources", 1, 3, 4)
def _bisection_schedules(k: int) -> Claims:
    least = _least(k, 2).reshape(-1).tolist()
    for root, claimed in enumerate(least):
        schedule = _planned(k, 2, root, "bisection")
        wrong = _wrong(schedule, k, 2, claimed)
        yield not wrong and not _boxes_meet(schedule), f"source {wrong or 'boxes meet'}"
        report(root + 1, len(least), "sources")
    yield True, f"{len(least):,} sources, TCD {min(least)} to {max(least)}"


@stated("torus", "OD_k from every node; 2-D, and 3-D up to k = 2", 1, 3, 4)
def _torus(k: int) -> Claims:
    said: list[str] = []
    for d in _DIMENSIONS[1:] if k < 3 else _DIMENSIONS[1:2]:
        torus, optimum = _grid("torus", k, d), eyes.optimum(k, d)
        for root in range(torus.nodes):
            schedule = plan("broadcast", torus, root=root, model="wormhole", builder="bisection")
            wrong = _wrong(schedule, k, d, optimum)
            yield not wrong, f"source {wrong}"
            report(root + 1, torus.nodes, "sources")
        if k <= 3 and _bound(torus) != optimum:
            yield False, f"d = {d}: {optimum}, at least {_bound(torus)}"
        said.append(str(optimum))
    yield True, " and ".join(said)
