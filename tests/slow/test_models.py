"""Models of the machine: what a send takes, and the order in which they stand."""

from collections import Counter
from itertools import combinations_with_replacement, product

import networkx as nx
import numpy as np
import pytest

from tests.test_models import EVERY
from treecast.collectives import Collective
from treecast.models import MODELS
from treecast.networks import network
from treecast.networks.arcs import arcs_of
from treecast.schedule import Payloads, Rows, Schedule
from treecast.takes import takes
from treecast.verification.case import Case
from treecast.verification.expanded import check_expanded
from treecast.verification.rules import rules_for

CABLES = nx.MultiGraph([(0, 1), (0, 1), (1, 2)])


LINKS = ("adjacent", "link-once", "one-chunk", "send-port", "recv-port", "one-partner", "half-port", "duplex")


def all_steps(where, most):
    """Return a schedule that has every multiset of so many sends in a step of its own; rules of data are no matter."""
    arcs = arcs_of(where)
    sets = [s for size in range(1, most + 1) for s in combinations_with_replacement(range(len(arcs.head)), size)]
    rows = [(step, arc, place) for step, sends in enumerate(sets) for place, arc in enumerate(sends)]
    step, arc, chunk = np.array(rows).T
    rows = Rows.of(
        Payloads.of_ranges(range(most), range(1, most + 1)),
        step=step,
        steps=np.ones_like(step),
        src=arcs.tail[arc],
        dst=arcs.head[arc],
        port=arcs.port[arc],
        tree=np.zeros_like(step),
        payload=chunk,
    )
    return sets, Schedule(where, Collective.over(where, "broadcast", most), MODELS["all-port"], rows)


def fitting_by_rules(schedule, machine, monkeypatch):
    """Return the steps in which the rules of links hold, by each of the two verifiers."""
    refused, quick = set(), set()
    monkeypatch.setattr("treecast.verification.expanded.SHOWN", 10**9)
    for rule, (_, breaches) in check_expanded(schedule, machine)[0].items():
        refused |= {int(schedule.rows.step[breach.row]) for breach in breaches if rule in LINKS}
    case = Case(schedule, machine)

    def broken(rule, mask, why):
        quick.update(schedule.rows.step[mask].tolist())
        return 0, []

    case.broken = broken
    for rule, check in rules_for(case).items():
        if rule in LINKS:
            check()
    every = set(range(schedule.steps))
    return every - refused, every - quick


def fits(wanted, sends):
    """Return whether some sends fit in a step: whether every resource has room for all keys under which it is taken."""
    taken = Counter()
    for place, arc in enumerate(sends):
        keys = {
            (resource, key if key >= 0 else ("send", place))
            for resource, key in zip(wanted.resource[arc].tolist(), wanted.key[arc].tolist(), strict=True)
        }
        for each in keys:
            taken[each] += 1
    return all(count <= wanted.room[resource] for resource, count in Counter(resource for resource, _ in taken).items())


@pytest.mark.parametrize("most", [3, pytest.param(4, marks=pytest.mark.long)])
def test_what_is_taken_and_the_order_of_machines_are_those_of_both_verifiers(most, monkeypatch):
    fitting = {machine: set() for machine in EVERY}
    for where in (network("path:4"), network("ring:3"), network("ring:4"), network(CABLES), network(nx.star_graph(3))):
        sets, schedule = all_steps(where, most)
        for machine in EVERY:
            wanted = takes(machine, where)
            found = {step for step, sends in enumerate(sets) if fits(wanted, sends)}
            assert fitting_by_rules(schedule, machine, monkeypatch) == (found, found), machine
            fitting[machine] |= {(where.spec, step) for step in found}
    assert len({frozenset(found) for found in fitting.values()}) == len({machine.normal for machine in EVERY}) == 14
    for low, high in product(EVERY, repeat=2):
        assert (low <= high) == (fitting[low] <= fitting[high]), (low, high)
