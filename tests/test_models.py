"""Models of the machine: what a send takes, and the order in which they stand."""

from collections import Counter
from itertools import combinations_with_replacement, product

import networkx as nx
import numpy as np
import pytest

from treecast import Model, load, plan, save, verify
from treecast.collectives import Collective
from treecast.errors import PlanError
from treecast.models import MODELS, model, takes
from treecast.networks import network
from treecast.networks.arcs import arcs_of
from treecast.schedule import Payloads, Rows, Schedule
from treecast.verification.case import Case
from treecast.verification.expanded import check_expanded
from treecast.verification.rules import rules_for

EVERY = [
    Model(f"{ports}-{duplex}-{partner}-{combining}", ports, duplex, partner, combining)
    for ports, duplex, partner, combining in product(("all", "one"), ("full", "half"), ("any", "same"), (False, True))
]
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
    """Return whether some sends fit in a step: whether every resource is taken under one key."""
    taken = Counter()
    for place, arc in enumerate(sends):
        keys = {
            (resource, key if key >= 0 else ("send", place))
            for resource, key in zip(wanted.resource[arc].tolist(), wanted.key[arc].tolist(), strict=True)
        }
        for each in keys:
            taken[each] += 1
    return max(Counter(resource for resource, _ in taken).values()) == 1


@pytest.mark.parametrize("most", [2, pytest.param(4, marks=pytest.mark.long)])
def test_what_is_taken_and_the_order_of_machines_are_those_of_both_verifiers(most, monkeypatch):
    fitting = {machine: set() for machine in EVERY}
    for where in (network("path:4"), network("ring:3"), network("ring:4"), network(CABLES)):
        sets, schedule = all_steps(where, most)
        for machine in EVERY:
            wanted = takes(machine, where)
            found = {step for step, sends in enumerate(sets) if fits(wanted, sends)}
            assert fitting_by_rules(schedule, machine, monkeypatch) == (found, found), machine
            fitting[machine] |= {(where.spec, step) for step in found}
    assert len({frozenset(found) for found in fitting.values()}) == len({machine.normal for machine in EVERY}) == 10
    for low, high in product(EVERY, repeat=2):
        assert (low <= high) == (fitting[low] <= fitting[high]), (low, high)


def test_buffers_and_routes_are_part_of_the_order():
    assert model("bufferless") <= model("one-port") <= model("shouting")
    assert not model("one-port") <= model("bufferless")
    assert model("wormhole,half") <= model("wormhole")
    assert not model("wormhole") <= model("shouting")
    assert not model("wormhole") <= model("wormhole-last")
    with pytest.raises(PlanError, match="channels of its route"):
        takes(model("wormhole"), network("mesh:2x2"))


@pytest.mark.parametrize("machine", EVERY, ids=lambda machine: machine.name)
def test_every_machine_can_be_spelled(machine):
    assert model(machine.spelling).normal == machine.normal


@pytest.mark.parametrize("name", [*MODELS, "one-port,half", "one-port,combining", "one-port,combining,half"])
def test_a_preset_is_spelled_by_its_name(name):
    assert model(name).spelling == name


@pytest.mark.parametrize("name", ["all-port,partner", "wormhole,partner", "bufferless,combining", "one-port,pair"])
def test_no_such_model(name):
    with pytest.raises(PlanError, match="is no model"):
        model(name)


def test_a_model_of_ones_own_works_as_a_preset_does(tmp_path):
    mine = Model("mine", "all")
    schedule = plan("broadcast", "star:4", messages=6, survive=2, model=mine)
    assert schedule.model == mine
    assert schedule.rows == plan("broadcast", "star:4", messages=6, survive=2).rows
    assert schedule.command.endswith("--copies 3 --model all-port --builder disjoint-trees")
    save(schedule, tmp_path / "mine.tc")
    assert load(tmp_path / "mine.tc").model == model("all-port")


def test_a_new_machine_is_one_row(monkeypatch):
    """The planner, the bounds and both verifiers know it by what it is."""
    new = Model("pairs", "one", partner="same", what="a node has one partner in a step, and a message is one chunk")
    monkeypatch.setitem(MODELS, new.name, new)
    for kind, where in (
        ("broadcast", "complete:6"),
        ("allgather", "debruijn:2,3"),
        ("alltoall", "mesh:3x3"),
        ("allreduce", "mesh:3x3"),
    ):
        schedule = plan(kind, where, model="pairs")
        assert schedule.model == new
        for method in ("fast", "expanded"):
            assert verify(schedule, method=method).holds
    assert schedule.model.spelling == "pairs"


def test_what_holds_on_a_weaker_machine_is_planned_on_a_stronger_one():
    whispered = plan("alltoall", "hypercube:4", model="whispering")
    combined = plan("alltoall", "hypercube:4", model="one-port,combining")
    assert combined.rows == whispered.rows
    assert verify(combined).holds
