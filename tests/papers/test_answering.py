"""Shouting as Chau & Fu have it: nodes answer what they hear in phase two, and leave out what phase one has carried."""

from random import Random

import pytest

from tests.oracles.plain import replay_sparing, sends_that_took_place
from tests.papers.hypercube.test_dimension_order import KINDS, random_faults
from treecast.errors import TreecastError
from treecast.plans import plan
from treecast.simulation.faults import Faults
from treecast.simulation.replay import simulate
from treecast.simulation.sweeps import sweep
from treecast.verification.verifier import verify


class Node:
    """A node of the paper's shouting. It sends once: when it first hears, over all dimensions behind the last one by which
    it differs from the root, and over the first k + 1, but not where the message came from in phase one.
    """

    def __init__(self, label, d, order, k):
        differs = [i for i, port in enumerate(order) if label >> port & 1]
        last = differs[-1] if differs else -1
        self.over = {port for i, port in enumerate(order) if i > last or i <= k}
        self.came = order[last] if differs else None  # over which dimension phase one reaches it
        self.said = False

    def say(self, heard):
        over = () if self.said else self.over - ({self.came} & heard)
        self.said = True
        return over


def shout(d, order, k, steps, nodes, arcs):
    """Run one broadcast from 0 under faults; return the sends as (step, source, port)."""
    each = [Node(v, d, order, k) for v in range(1 << d)]
    heard, made = {0: set()}, []
    for step in range(steps):
        said = [(v, port) for v, ports in heard.items() if step < nodes.get(v, step + 1) for port in each[v].say(ports)]
        made += [(step, v, port) for v, port in said]
        for v, port in said:
            u = v ^ 1 << port
            if step < arcs.get((v, port), step + 1) and step < nodes.get(u, step + 1):
                heard.setdefault(u, set()).add(port)
    return sorted(made)


@pytest.mark.parametrize("d", range(1, 6))
def test_nodes_that_know_only_themselves_send_the_same_under_faults(d):
    random = Random(d)
    for k in range(d):
        for fault_free in (False, True):
            order = tuple(random.sample(range(d), d))
            schedule = plan(
                "broadcast", f"hypercube:{d}", survive=k, builder="answering", order=order, fault_free=fault_free
            )
            for count in (0, 0, k, 2 * d):
                nodes, arcs = random_faults(random, d, count, schedule.steps, {0})
                found = sends_that_took_place(simulate(schedule, Faults(nodes, arcs)))
                assert [send[:3] for send in found] == shout(d, order, k, schedule.steps, nodes, arcs), (k, nodes, arcs)


@pytest.mark.parametrize("d", range(6))
def test_plans_hold_and_send_as_many_messages_as_the_paper_says(d):
    n = 1 << d
    for kind in KINDS:
        for k in range(max(d, 1)):
            schedule = plan(kind, f"hypercube:{d}", survive=k, builder="answering", model="shouting")
            report = verify(schedule)
            assert report.holds, report.violations
            assert report.steps == (d + 1 if d else 0)
            assert report.transmissions == simulate(schedule).transmissions
            if d:
                sends = n - 1 + sum(n - 2 ** (i + 1) for i in range(k + 1))
                assert report.transmissions == sends * (n if kind == "allgather" else 1)
            if d < 4:
                assert verify(schedule, method="expanded").holds
    if d:
        assert sends == n * d - n + 1


@pytest.mark.parametrize(("kind", "d"), [("broadcast", 2), ("broadcast", 3), ("broadcast", 4), ("allgather", 3)])
def test_every_set_of_as_many_faults_as_it_survives(kind, d):
    for k in range(d):
        schedule = plan(kind, f"hypercube:{d}", survive=k, builder="answering", model="shouting")
        found = sweep(schedule, k, "nodes+links")
        assert found.holds, found.counterexample
        assert found.exhaustive


def test_one_node_starts_the_others():
    for d, k, initiator in ((2, 1, 3), (3, 2, 5)):
        asked = {"builder": "four-phases", "answering": True, "initiator": initiator, "model": "shouting"}
        schedule = plan("allgather", f"hypercube:{d}", survive=k, **asked)
        n = 1 << d
        assert (schedule.steps, schedule.transmissions) == (2 * d + 2, n * (n * d - n + 1))
        assert verify(schedule).holds
        assert sweep(schedule, k, "nodes+links").holds
        assert simulate(schedule, Faults({initiator: 0})).transmissions == 0
        faults = Faults({1: 2}, {(0, 0): 1})
        assert sends_that_took_place(simulate(schedule, faults)) == replay_sparing(schedule, {1: 2}, {(0, 0): 1})[1]


def test_only_all_ports_answer():
    with pytest.raises(TreecastError, match=r"^[^\n]+$"):
        plan("broadcast", "hypercube:3", builder="answering", model="whispering")
