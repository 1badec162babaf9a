"""Models of the machine: what a send takes, and the order in which they stand."""

from itertools import product

import networkx as nx
import pytest

from treecast import Model, load, plan, save, verify
from treecast.errors import PlanError
from treecast.models import MODELS, model
from treecast.networks import network
from treecast.takes import takes
from treecast.verification.case import Case
from treecast.verification.laws.plans import LINKS, fits, fitting, steps_of
from treecast.verification.rules import rules_for

EVERY = [
    Model(f"{ports}-{duplex}-{partner}-{combining}", ports, duplex, partner, combining)
    for ports, duplex, partner, combining in product(("all", "one"), ("full", "half"), ("any", "same"), (False, True))
]
EVERY += [
    Model(f"2-{duplex}-{combining}", 2, duplex, combining=combining)
    for duplex, combining in product(("full", "half"), (False, True))
]


def test_one_port_may_be_counted_and_late_is_less():
    assert Model("mine", 1).normal == model("one-port").normal
    assert model("one-port,latency=2") <= model("one-port") <= model("one-port,ports=2") <= model("all-port")
    assert not model("one-port,ports=2") <= model("one-port,ports=2,latency=2")
    assert model("all-port,latency=3,ports=2").spelling == "all-port,ports=2,latency=3"
    assert Model("mine", 2, latency=3).spelling == "one-port,ports=2,latency=3"


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


@pytest.mark.parametrize(
    "name",
    [
        *("all-port,partner", "wormhole,partner", "bufferless,combining", "one-port,pair", "one-port,ports=2,partner"),
        *("one-port,ports=2,ports=3", "all-port,ports=4097", "one-port,latency=0", "one-port,latency=9999999999"),
    ],
)
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


def test_a_machine_that_no_words_say_is_saved_in_no_file(tmp_path):
    odd = Model("odd", "all", combining=True, routing="first")
    schedule = plan("broadcast", "mesh:3x3", model=odd)
    with pytest.raises(PlanError, match="no words say the machine odd"):
        save(schedule, tmp_path / "odd.tc")
    assert not (tmp_path / "odd.tc").exists()


def test_a_new_machine_is_one_row(monkeypatch):
    """The planner, the bounds and both verifiers know it by what it is."""
    new = Model("pairs", "one", partner="same", summary="a node has one partner in a step, and a message is one chunk")
    monkeypatch.setitem(MODELS, new.name, new)
    for kind, where in (
        ("broadcast", "complete:6"),
        ("allgather", "debruijn:2,3"),
        ("alltoall", "mesh:2x3"),
        ("allreduce", "mesh:2x3"),
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


@pytest.mark.parametrize(
    "wrong", [{"ports": "two"}, {"duplex": "quarter"}, {"partner": "none"}, {"routing": "last-first"}]
)
def test_a_model_of_values_that_there_are_not_is_refused(wrong):
    with pytest.raises(PlanError, match=f"^{next(iter(wrong))} of a model is one of "):
        Model("mine", **{"ports": "all"} | wrong)


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


@pytest.mark.slow
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
