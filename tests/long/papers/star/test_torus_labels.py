"""Allgather on tori of two axes: four disjoint trees, and label sets at the lower bound."""

import pytest

from tests.oracles.allgather import check_rows, least
from treecast.networks import network
from treecast.plans import plan


@pytest.mark.parametrize("rows", range(3, 13))
def test_larger_tori_meet_the_bound(rows):
    for columns in range(3, 13):
        torus = network(f"torus:{rows}x{columns}")
        for copies in range(2, 5):
            schedule = plan("allgather", torus, copies=copies)
            assert schedule.steps == least(torus, 1, copies), (columns, copies)
            check_rows(torus, schedule)
