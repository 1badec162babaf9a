"""Bounds of the total distance of broadcasts off powers of two, against all broadcasts."""

import numpy as np
import pytest

from tests.lower_bounds.test_distance import proved
from treecast.lower_bounds import search
from treecast.networks import network


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
