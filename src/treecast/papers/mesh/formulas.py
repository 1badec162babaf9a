"""The formulas of Cang & Wu for Algorithm 2 in three dimensions, as they are printed: Theorem 1, Lemmas 1 and 2.

Coordinates u, v, w of a source are counted from the nearest eye outwards, in the order in which the axes are used. The borders
of the paper's regions leave out the outermost nodes; here they are those of the erratum to Definition 6.
"""

import numpy as np

from treecast.networks.core import Ints, ints
from treecast.papers.mesh.builders import eyes
from treecast.papers.mesh.builders.eyes import inner_distance as _a
from treecast.papers.statement import Claims, Statements

_D = 3

stated = Statements()
"""The statements of the paper on the total distance of Algorithm 2."""


def _od(k: int) -> int:
    """Eq. (13), the TCD from an eye; 0 for one node."""
    return 7 * (2 ** (3 * k + 2) - (-1) ** k - 3 * 2**k) // 27


def _sources(k: int) -> Ints:
    return ints(np.moveaxis(np.indices((2**k,) * _D), 0, -1)).reshape(-1, _D)


def _from_eye(k: int, sources: Ints) -> tuple[Ints, Ints, Ints]:
    """Return u, v and w of sources in their own box of side 2^k: how far outside of its nearest eye they lie."""
    u, v, w = eyes.outside(k, sources).T
    return u, v, w


def _nine_regions(k: int, sources: Ints) -> Ints:
    """Return D_k of sources by Theorem 1: int64 (n,)."""
    total = np.zeros(len(sources), np.int64)
    for size in range(1, k + 1):
        u, v, w = _from_eye(size, sources)
        near, far, border = -_a(size) / 2, _a(size - 1) / 2, 2 ** (size - 1) - 1 / 2 - _a(size) / 2
        of_u = [(near < u) & (u <= 0), (u > 0) & (u <= far), (far < u) & (u <= border)]
        of_v = [(near < v) & (v <= 0), (v > 0) & (v <= far), (far < v) & (v <= border)]
        first = [-u, 3 * u, u + 2 * np.abs(u - _a(size - 1))]
        second = [-v, 3 * v, 2 * v + np.abs(v - _a(size - 1))]
        found = np.zeros(len(sources), np.int64)
        regions = 0
        for i in range(3):
            for j in range(3):
                inside = of_u[i] & of_v[j] & (near < w) & (w <= border)
                found[inside] = (first[i] + second[j] + 2 * np.abs(w) + w)[inside]
                regions = regions + inside.astype(np.int64)
        if not np.all(regions == 1):
            return np.full(len(sources), -1)
        total += found + 7 * _a(size) + 7 * _od(size - 1)
    return total


def _f(k: int, sources: Ints) -> Ints:
    """Return f_k by the four cases of Definition 6."""
    u, v, w = _from_eye(k, sources)
    far = _a(k - 1) / 2
    by_u = np.where(u <= far, 2 * np.abs(u) + u, np.abs(u) + 2 * np.abs(u - _a(k - 1)))
    by_v = np.where(v <= far, 2 * np.abs(v) + v, 2 * np.abs(v) + np.abs(v - _a(k - 1)))
    return by_u + by_v + 2 * np.abs(w) + w


@stated("Theorem 1", "3-D: D_k of Algorithm 2 by nine regions, mended borders; all sources", 1, 6, 6)
def _theorem_1(k: int) -> Claims:
    sources = _sources(k)
    wrong = _nine_regions(k, sources) != eyes.claimed_distance(k, sources, range(_D))
    yield not wrong.any(), f"{int((~wrong).sum()):,} sources"


@stated("Lemma 1", "D_k = f_k + 7a_k + D_(k-1) + 7 OD_(k-1); f_k ≥ 0, 0 at eyes only", 1, 6, 6)
def _lemma_1(k: int) -> Claims:
    sources = _sources(k)
    f, above = _f(k, sources), _nine_regions(k, sources)
    below = _nine_regions(k - 1, sources)
    at_eyes = np.all([x == 0 for x in _from_eye(k, sources)], axis=0)
    right = np.array_equal(above, f + 7 * _a(k) + below + 7 * _od(k - 1)) and np.array_equal(f <= 0, at_eyes)
    yield right and int(f.min()) == 0, f"f_k up to {int(f.max())}"


@stated("Lemma 2", "D_k = OD_k + Σ f_i, i = 2 … k; 3-D, all sources", 1, 6, 6)
def _lemma_2(k: int) -> Claims:
    sources = _sources(k)
    total = np.sum([_f(size, sources) for size in range(2, k + 1)], axis=0) + _od(k)
    yield np.array_equal(np.broadcast_to(total, len(sources)), _nine_regions(k, sources)), f"{len(sources):,} sources"
