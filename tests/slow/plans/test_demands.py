"""Demands by chance on all networks and machines, several of each."""

import pytest

from tests.demands.demands import MACHINES, NETWORKS
from tests.plans.test_demands import CASES, check

SEEDS = range(1, 3)


@pytest.mark.parametrize(("where", "machine", "family"), CASES)
def test_demands_by_chance_are_planned(where, machine, family):
    for seed in SEEDS:
        check(where, machine, family, seed)


def test_all_machines_are_there():
    assert len(CASES) == 3 * len(NETWORKS) * len(MACHINES)
