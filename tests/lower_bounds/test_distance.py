"""Bounds of the total distance of broadcasts off powers of two, against all broadcasts."""

from functools import lru_cache
from itertools import product

import numpy as np
import pytest

from treecast.collectives import Collective
from treecast.lower_bounds import best, bounds, search
from treecast.lower_bounds.wormhole import _at_prices, _beyond_neighbors, _by_degree, _in_line, least_on_a_ring
from treecast.models import model
from treecast.networks import network
from treecast.plans import plan


def least_of_all(where, root):
    """The least total distance of all broadcasts in the fewest steps, over all ways to divide the nodes, by recursion."""
    far = where.distance(np.arange(where.nodes)[:, None], np.arange(where.nodes)).tolist()

    @lru_cache(None)
    def within(mask, steps, source):
        if mask.bit_count() > 1 << steps:
            return 10**6
        if mask == 1 << source:
            return 0
        found, part = within(mask, steps - 1, source), (mask - 1) & mask
        while part:
            if not part >> source & 1:
                kept = within(mask ^ part, steps - 1, source)
                entered = (far[source][v] + within(part, steps - 1, v) for v in range(where.nodes) if part >> v & 1)
                found = min(found, kept + min(entered))
            part = (part - 1) & mask
        return found

    return within((1 << where.nodes) - 1, (where.nodes - 1).bit_length(), root)


def proved(where, root):
    """The bounds of distance but the search: by degree, and by gaps on paths and rings."""
    job = Collective("broadcast", where.nodes, 1, root)
    return [b.value for part in (_by_degree, _in_line) for b in part(where.grid, job)]


@pytest.mark.parametrize(
    "spec", ["ring:3", "ring:5", "ring:6", "ring:7", "path:2", "path:5", "path:6", "path:7", "mesh:2x3", "torus:2x3"]
)
def test_no_bound_is_above_the_least_of_all_broadcasts(spec):
    where = network(spec)
    for root in range(where.nodes if not where.seen_alike else 1):
        assert max(proved(where, root)) <= least_of_all(where, root)


@pytest.mark.parametrize("spec", ["ring:8", "ring:9", "path:8", "path:9", "mesh:2x4", "mesh:3x3", "torus:3x3"])
def test_no_bound_is_above_what_the_search_finds(spec):
    where = network(spec)
    found = search(where, range(where.nodes))[0][-1, -1]
    least = [max(proved(where, root)) for root in range(where.nodes)]
    assert all(bound <= value for bound, value in zip(least, found.tolist(), strict=True))
    if where.wraps and len(where.sides) == 1:
        assert least == found.tolist()


def test_what_is_proved_to_be_the_minimum_on_rings():
    """What is planned meets the bound on up to 28 nodes, and on 33 … 44."""
    for nodes in (*range(2, 29, 3), 17, 28, 33, 44):
        schedule = plan("broadcast", f"ring:{nodes}", model="wormhole")
        distance = int(schedule.network.distance(schedule.rows.src, schedule.rows.dst).sum())
        assert distance == least_on_a_ring(nodes), nodes


def test_ring_of_17():
    found = bounds(Collective("broadcast", 17, 1), network("ring:17"), 1, model("wormhole"))
    assert best(found, "tcd").value == 23
    assert {b.value for b in found if b.of == "tcd"} == {16, 19, 23}


def test_by_degree_is_what_it_is_on_powers_of_two():
    """N - 1 + 2 (N / 2^degree - 1), where that is more than N - 1."""
    for m, degree in product(range(1, 12), range(2, 8)):
        expected = 2 * ((1 << (m - degree)) - 1) if m >= degree else 0
        assert _beyond_neighbors(1 << m, degree) == expected
    for nodes, degree in ((63, 4), (120, 4), (60, 4), (121, 4)):
        assert _beyond_neighbors(nodes, degree) > 0


def test_any_price_gives_a_bound():
    """Of gaps of few nodes: no price gives more than the search."""
    random = np.random.default_rng(1)
    for spec in ("ring:7", "ring:9"):
        where = network(spec)
        least = int(search(where, range(where.nodes))[0][-1, -1, 0])
        for prices in random.integers(0, 6, (20, 4)).tolist():
            between, _ = _at_prices(where.nodes, tuple(prices))
            assert between[where.nodes - 1] - sum(prices) <= least


OPEN = {
    "ring:29": (48, 47), "ring:30": (51, 49), "ring:31": (54, 51), "ring:32": (57, 53), "ring:64": (135, 122),
    "path:31": (70, 62), "torus:5x5": (25, 24), "torus:3x7": (21, 20), "torus:7x9": (70, 67), "torus:9x12": (121, 107),
    "mesh:7x9": (79, 67),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.each(2)
@pytest.mark.parametrize("spec", OPEN)
def test_distances_that_are_open(spec):
    """What docs/explanation/open.md lists: what is planned, and the bound."""
    schedule = plan("broadcast", spec, model="wormhole")
    reached = int(schedule.network.distance(schedule.rows.src, schedule.rows.dst).sum())
    found = bounds(schedule.collective, schedule.network, 1, model("wormhole"))
    assert (reached, best(found, "tcd").value) == OPEN[spec]


@pytest.mark.long
@pytest.mark.parametrize(
    "spec",
    [
        "ring:15",
        "ring:16",
        "ring:17",
        "path:13",
        "path:15",
        "path:16",
        "path:17",
        "mesh:3x5",
        "torus:3x5",
        "mesh:2x2x4",
    ],
)
def test_no_bound_is_above_what_a_longer_search_finds(spec):
    where = network(spec)
    found = search(where, range(where.nodes))[0][-1, -1].tolist()
    least = [max(proved(where, root)) for root in range(where.nodes)]
    assert all(bound <= value for bound, value in zip(least, found, strict=True))
    if spec.startswith("ring"):
        assert least == found
    if spec.startswith("path"):
        assert max(np.array(found) - least) <= 5
