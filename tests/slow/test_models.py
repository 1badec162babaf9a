"""Models of the machine: what a send takes, and the order in which they stand."""

from itertools import product

import networkx as nx
import pytest

from tests.test_models import EVERY
from treecast.networks import network
from treecast.takes import takes
from treecast.verification.case import Case
from treecast.verification.laws.plans import LINKS, fits, fitting, steps_of
from treecast.verification.rules import rules_for

CABLES = nx.MultiGraph([(0, 1), (0, 1), (1, 2)])


def fitting_by_case(schedule, machine):
    """Return the steps in which the rules of links hold, by the verifier that judges columns."""
    quick, case = set(), Case(schedule, machine)

    def broken(rule, mask, why):
        quick.update(schedule.rows.step[mask].tolist())
        return 0, []

    case.broken = broken
    for rule, check in rules_for(case).items():
        if rule in LINKS:
            check()
    return set(range(schedule.steps)) - quick


@pytest.mark.parametrize("most", [3, pytest.param(4, marks=pytest.mark.long)])
def test_what_is_taken_and_the_order_of_machines_are_those_of_both_verifiers(most):
    together = {machine: set() for machine in EVERY}
    for where in (network("path:4"), network("ring:3"), network("ring:4"), network(CABLES), network(nx.star_graph(3))):
        sets, schedule = steps_of(where, most)
        for machine in EVERY:
            wanted = takes(machine, where)
            found = {step for step, sends in enumerate(sets) if fits(wanted, sends)}
            assert fitting(schedule, machine) == fitting_by_case(schedule, machine) == found, machine
            together[machine] |= {(where.spec, step) for step in found}
    assert len({frozenset(found) for found in together.values()}) == len({machine.normal for machine in EVERY}) == 14
    for low, high in product(EVERY, repeat=2):
        assert (low <= high) == (together[low] <= together[high]), (low, high)
