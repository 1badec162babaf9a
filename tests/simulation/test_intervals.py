"""Intervals hold the truth as often as they claim: added up over all outcomes, by sums that are not our own functions'."""

from fractions import Fraction
from math import comb

import numpy as np
import pytest

from treecast.simulation.survival import chance_of_at_most, clopper_pearson, mean_within


def exact_chances(draws, p):
    p = Fraction(p)
    return [comb(draws, k) * p**k * (1 - p) ** (draws - k) for k in range(draws + 1)]


@pytest.mark.parametrize("draws", [1, 2, 3, 7, 20, 45])
def test_the_chance_of_few_hits_is_the_sum_of_binomials(draws):
    for p in (1e-6, 0.01, 0.3, 0.5, 0.77, 0.999):
        chances = exact_chances(draws, p)
        for hits in range(draws + 1):
            assert chance_of_at_most(hits, draws, p) == pytest.approx(
                float(sum(chances[: hits + 1])), rel=1e-9, abs=1e-15
            )


@pytest.mark.parametrize("doubt", [0.05, 0.001])
@pytest.mark.parametrize("draws", [1, 5, 30, 64])
def test_a_probability_is_held_as_often_as_claimed_whatever_it_is(draws, doubt):
    held = [clopper_pearson(hits, draws, doubt) for hits in range(draws + 1)]
    assert all(low <= hits / draws <= high for hits, (low, high) in enumerate(held))
    for p in (0.0, 1e-4, 0.02, 0.1, 0.31, 0.5, 0.83, 0.99, 1.0):
        within = sum(
            float(chance) for chance, (low, high) in zip(exact_chances(draws, p), held, strict=True) if low <= p <= high
        )
        assert within >= 1 - doubt


def test_the_ends_are_where_the_outcome_becomes_as_rare_as_the_doubt():
    """So no shorter interval of this kind would do."""
    for hits, draws in ((0, 50), (3, 50), (49, 50), (50, 50), (7, 200)):
        low, high = clopper_pearson(hits, draws, 0.02)
        if hits < draws:
            assert float(sum(exact_chances(draws, high)[: hits + 1])) == pytest.approx(0.01, rel=1e-6)
        if hits:
            assert float(sum(exact_chances(draws, low)[hits:])) == pytest.approx(0.01, rel=1e-6)
    low, high = clopper_pearson(500_000, 1_000_000, 0.05)
    assert 0.4989 < low < 0.4991 < 0.5009 < high < 0.5011
    assert clopper_pearson(0, 0, 0.05) == (0.0, 1.0)


def test_a_mean_is_held():
    random = np.random.default_rng(1)
    held = 0
    for _ in range(200):
        drawn = random.choice([0.0, 0.1, 0.9], 300, p=[0.9, 0.07, 0.03])
        low, high = mean_within(float(drawn.sum()), float((drawn**2).sum()), 300, 0.05)
        held += low <= 0.034 <= high < 0.2
    assert held >= 190
    assert mean_within(1.0, 1.0, 1, 0.05) == (0.0, 1.0)
