"""Alltoall over disjoint paths of least total length: as few sends as there can be, in as few steps."""

import pytest

from treecast import network, plan

pytestmark = pytest.mark.each(2)


def test_it_is_what_is_planned_by_itself_and_the_same_every_time():
    for spec in ("star:4", "star:5", "hypercube:4"):
        for copies in range(1, network(spec).ports + 1):
            schedule = plan("alltoall", spec, copies=copies)
            assert schedule.recipe.builder == "disjoint-paths"
            assert schedule == plan("alltoall", spec, copies=copies)
