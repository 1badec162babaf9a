"""Allgather on tori of two axes: four disjoint trees, and label sets at the lower bound."""

import pytest

from tests.oracles.allgather import check_rows, least
from treecast.networks import network
from treecast.plans import plan
from treecast.verification.verifier import verify

SPECS = ["torus:3x3", "torus:3x4", "torus:4x4", "torus:5x4", "torus:5x5", "torus:3x7", "torus:1x3x5"]


@pytest.mark.parametrize("spec", SPECS)
def test_tori_meet_the_bound(spec):
    torus = network(spec)
    for copies in range(2, 5):
        schedule = plan("allgather", torus, copies=copies)
        assert schedule.recipe.builder == "label-sets"
        assert schedule.steps == least(torus, 1, copies)
        check_rows(torus, schedule)
        for messages in (2, 3, 7):
            schedule = plan("allgather", torus, copies=copies, messages=messages)
            assert schedule.steps == schedule.claims.steps == least(torus, messages, copies)
            assert verify(schedule).holds
        assert plan("allgather", torus, copies=copies, messages=7).rows == schedule.rows
