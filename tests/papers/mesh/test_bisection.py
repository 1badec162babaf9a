"""Recursive bisection held against the true minimum of all broadcasts in the fewest steps, and against the paper's values."""

from functools import cache
from itertools import permutations, product
from math import prod

import numpy as np
import pytest

from treecast.papers.mesh.builders import eyes
from treecast.papers.mesh.builders.bisection import minimum, transform

pytestmark = pytest.mark.each(3)

FAR = 1 << 13  # twice as much, and a distance, is an int16


def shapes(most, fewest=1):
    """Every shape of that many nodes with sides in ascending order, none of 1 but of the single node."""

    def below(nodes, side):
        yield ()
        for first in range(side, nodes + 1):
            yield from ((first, *rest) for rest in below(nodes // first, first))

    return sorted((s or (1,) for s in below(most, 2) if prod(s) >= fewest), key=lambda s: (prod(s), s))


def least(shape):
    return minimum(shape)[1].least


def distances(shape):
    """The Manhattan distances of all nodes, in plain loops."""
    nodes = list(product(*map(range, shape)))
    return np.array([[sum(abs(a - b) for a, b in zip(u, v, strict=True)) for v in nodes] for u in nodes])


@cache
def exact(shape):
    """The least TCD of all one-port broadcasts in the fewest steps, from every node: over all cuts of all sets of nodes.

    In T steps, a node s of a set informs the set as follows, if at all: its first message goes to some b, which with those
    whom it informs is a part of at most 2^(T-1) nodes, has T-1 steps, and so has s for all others. A step in which s idles
    saves nothing. So D(S, T)[s] = min over S = A + B with s in A of D(A, T-1)[s] + min over b in B of |s - b| + D(B, T-1)[b].
    """
    n, distance = prod(shape), distances(shape)
    distance = distance.astype(np.int16)
    steps = (n - 1).bit_length()
    sets = np.arange(1 << n)
    size, inside = np.bitwise_count(sets), (sets[:, None] >> np.arange(n) & 1) > 0
    table = np.where(inside & (size == 1)[:, None], 0, FAR).astype(np.int16)
    for t in range(1, steps + 1):
        few = 1 << (t - 1)
        fewest = n - (
            (1 << steps) - (1 << t)
        )  # fewer than that, and the others are too many for the steps that are left
        parts = sets[(size >= 1) & (size <= few) & (size >= fewest - few)]
        wider = table.copy()
        for part in parts.tolist():
            reach = (distance + table[part]).min(axis=1)
            rest = parts[(parts & part == 0) & (size[parts] + size[part] >= fewest)]
            whole = rest | part
            # each set is there once, so that this is no lost update
            wider[whole] = np.where(inside[rest], np.minimum(wider[whole], table[rest] + reach), wider[whole])
        table = wider
    return table[-1].reshape(shape)


def by_informed_sets(shape, source):
    """The same by another way, forwards: the least cost with which each set of nodes is informed, a step after the other."""
    n, distance = prod(shape), distances(shape).tolist()
    cost = {1 << source: 0}
    for _ in range((n - 1).bit_length()):
        after = {}
        for informed, spent in cost.items():
            front = {informed: spent}
            for u in (u for u in range(n) if informed >> u & 1):
                for now, total in list(front.items()):
                    for v in (v for v in range(n) if not now >> v & 1):
                        more = now | 1 << v
                        front[more] = min(front.get(more, FAR), total + distance[u][v])
            for now, total in front.items():
                after[now] = min(after.get(now, FAR), total)
        cost = after
    return cost[(1 << n) - 1]


def symmetries(table):
    """The table as every symmetry of its mesh shows it."""
    for order in permutations(range(table.ndim)):
        if tuple(table.shape[a] for a in order) == table.shape:
            for flips in product((1, -1), repeat=table.ndim):
                yield table.transpose(order)[tuple(slice(None, None, f) for f in flips)]


@pytest.mark.parametrize("shape", shapes(8), ids=str)
def test_both_searches_of_all_broadcasts_agree(shape):
    assert [by_informed_sets(shape, source) for source in range(prod(shape))] == exact(shape).reshape(-1).tolist()


def test_values_of_the_8x8_mesh():
    table = least((8, 8))
    quarter = [[79, 75, 73, 74], [75, 72, 70, 70], [73, 70, 69, 69], [74, 70, 69, 71]]
    assert table[:4, :4].tolist() == quarter
    assert table.mean() == np.mean(quarter) == 72.0625
    assert (table == 69).sum() == 12  # not only from the 4 eyes
    assert table[2, 3] == 69


@pytest.mark.parametrize(
    "shape", [(4, 4), (8, 8), (16, 16), (32, 32), (4, 4, 4), (8, 8, 8), (2, 2, 2, 2), (4, 4, 4, 4)], ids=str
)
def test_never_above_the_papers_value(shape):
    k, d = shape[0].bit_length() - 1, len(shape)
    table, grid = least(shape), np.moveaxis(np.indices(shape), 0, -1)
    for options in [{"order": order} for order in permutations(range(d))] + [{"best_order": True}]:
        assert (table <= eyes.claimed_distance(k, grid, **options)).all()
    assert table.min() == eyes.optimum(k, d)
    assert (table < eyes.claimed_distance(k, grid)).any() == (k > 1)  # Theorem 3 is false, for one order of dimensions,
    assert (table < eyes.claimed_distance(k, grid, best_order=True)).any() == (k > 2)  # and for the best


@pytest.mark.parametrize("k", range(9))
def test_the_papers_value_on_paths(k):
    table = least((2**k,))
    assert table.tolist() == eyes.claimed_distance(k, np.arange(2**k)[:, None]).tolist()
    assert table.min() == eyes.optimum(k, 1)


@pytest.mark.parametrize(
    "shape", [s for s in shapes(256) if prod(s).bit_count() == 1 and prod(s) > 16 and len(s) < 5], ids=str
)
def test_bounds_where_sides_are_powers_of_two(shape):
    """A lower bound of every broadcast, N - 1 + 2(2^(m-2d) - 1) for N = 2^m and m ≥ 2d, and the symmetries of the mesh."""
    table, n = least(shape), prod(shape)
    m, d = n.bit_length() - 1, len(shape)
    assert table.min() >= n - 1 + 2 * (2 ** max(m - 2 * d, 0) - 1)
    for turned in symmetries(table):
        assert turned.tolist() == table.tolist()


@pytest.mark.parametrize("shape", [(1,), (9,), (4, 5), (2, 3, 4), (1, 6, 1, 3)], ids=str)
def test_the_distance_transform_is_the_least_sum(shape):
    field = np.random.default_rng(len(shape)).integers(0, 40, shape) << 32
    told = field.copy()
    transform(told)
    assert (told >> 32).reshape(-1).tolist() == (distances(shape) + (field >> 32).reshape(-1)).min(axis=1).tolist()


@pytest.mark.parametrize("shape", [(5,), (4, 6), (3, 5, 2)], ids=str)
def test_the_distance_transform_round_a_torus(shape):
    """Of a window of a longer torus too: the way round is longer by what lies outside."""
    rng = np.random.default_rng(3)
    for longer in range(3):
        field = rng.integers(0, 40, shape) << 32
        around = tuple(side + longer for side in shape)
        nodes = list(product(*map(range, shape)))
        far = [
            [sum(min(abs(a - b), s - abs(a - b)) for a, b, s in zip(u, v, around, strict=True)) for v in nodes]
            for u in nodes
        ]
        told = field.copy()
        transform(told, around)
        assert (told >> 32).reshape(-1).tolist() == (np.array(far) + (field >> 32).reshape(-1)).min(axis=1).tolist()
