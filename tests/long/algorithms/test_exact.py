"""Exact sums against whole numbers, a million of each type."""

import pytest

from tests.algorithms.test_exact import TYPES, check


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("seed", range(20))
def test_a_million_sums_are_true_and_rounded_once(name, seed):
    for ranks in (2, 3, 4, 8, 16):
        check(name, ranks, 10_000, 100 * seed + ranks)
