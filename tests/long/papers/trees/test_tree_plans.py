"""Scatters and gathers without buffers: optimal where the paper says so, and right by a simulator that moves single flits."""

from functools import lru_cache
from itertools import combinations_with_replacement, permutations, product

import numpy as np

from tests.oracles.bufferless import faults
from tests.papers.trees.test_tree_plans import assert_in_time, assert_no_earlier
from tests.tree_cases import network_of, random_case, schedules
from treecast import verify
from treecast.collectives import Collective, Lengths
from treecast.models import model as model_of
from treecast.papers.trees.builders import one_tree
from treecast.plans.built import Job


def depths_of(parents):
    depth = [0]
    for above in parents:
        depth.append(depth[above] + 1)
    return depth


@lru_cache(8)
def orders_of(count):
    return np.array(list(permutations(range(count)))).reshape(-1, count)


def times_of_orders(depths, lengths):
    """The times of all orders of messages, and which are farthest first.

    The last flit of a message of l flits that is preceded by s is there after s + l + d - 1 steps; null messages need none.
    """
    orders, depth, flits = orders_of(len(depths)), np.array(depths), np.array(lengths)
    times = np.cumsum(flits[orders], axis=1) + depth[orders] - 1
    return np.where(flits[orders] > 0, times, 0).max(axis=1), (np.diff(depth[orders], axis=1) <= 0).all(axis=1)


def assert_farthest_first_is_best(depths, lengths):
    times, farthest = times_of_orders(depths, lengths)
    assert (times[farthest] == times.min()).all()
    return int(times.min())


def scattered(parents, lengths, first="farthest"):
    where = network_of(parents)
    collective = Collective("scatterv", where.nodes, 1, 0, (), Lengths.of([0, *lengths]))
    job = Job(where, collective, model_of("bufferless"), options={"first": first})
    return one_tree.over_one_tree(job).claims.steps


@lru_cache(8)
def rooted_trees(n):
    """One tree, as parents, of each multiset of distances there is: nothing else counts, as other tests show."""
    found = {}
    for parents in product(*(range(v) for v in range(1, n))):
        found.setdefault(tuple(sorted(depths_of(parents))), parents)
    return list(found.values())


def test_farthest_first_is_the_best_of_all_orders():
    """10^4 different cases, at random, of trees of up to 7 nodes with lengths 0 … 3; equals in any order."""
    rng, seen = np.random.default_rng(1), set()
    while len(seen) < 10_000:
        n = int(rng.choice([3, 4, 5, 6, 7], p=[0.02, 0.03, 0.05, 0.2, 0.7]))
        parents, lengths = [int(rng.integers(v)) for v in range(1, n)], rng.integers(0, 4, n - 1).tolist()
        depths = depths_of(parents)[1:]
        key = tuple(sorted(zip(depths, lengths, strict=True)))
        if key in seen:
            continue
        seen.add(key)
        best = assert_farthest_first_is_best(depths, lengths)
        if len(seen) % 40 == 0:
            assert scattered(parents, lengths) == best


def test_farthest_first_is_the_best_of_all_orders_everywhere():
    """Every tree of up to 7 nodes, every lengths 0 … 3, up to exchange of nodes at one distance."""
    checked = 0
    for n in range(2, 8):
        for parents in rooted_trees(n):
            depths = sorted(depths_of(parents))[1:]
            groups = [combinations_with_replacement(range(4), depths.count(d)) for d in sorted(set(depths))]
            for parts in product(*groups):
                lengths = [length for part in parts for length in part]
                assert_farthest_first_is_best(depths, lengths)
                checked += 1
    assert checked > 40_000


def test_shoulder_tap_is_optimal_on_six_nodes():
    for lengths in product((0, 1, 3), repeat=5):
        assert_no_earlier(lengths)


def test_shoulder_tap_is_optimal_on_longer_paths():
    for lengths in product(range(4), repeat=5):
        assert_no_earlier(lengths)
    for lengths in product(range(3), repeat=6):
        assert_no_earlier(lengths)


def test_times_on_a_hundred_thousand_trees():
    rng = np.random.default_rng(3)
    for _ in range(100_000):
        assert_in_time(random_case(rng))


def test_schedules_on_many_trees():
    rng = np.random.default_rng(4)
    for _ in range(2_000):
        for schedule in schedules(random_case(rng)):
            assert verify(schedule)
            assert not faults(schedule)
