"""The list of builders: each takes what its plan takes, the default stands first, and its reason is true."""

import re
import sys
from typing import Any

import pytest

import treecast
from treecast.description import describe
from treecast.errors import PlanError
from treecast.plans import choice, plan
from treecast.plans.baselines import baseline
from treecast.plans.request import request

JOBS = [
    ("broadcast", "torus:3x3", {"messages": 12}),
    ("broadcast", "star:4", {"survive": 1}),
    ("broadcast", "mesh:3x3", {"model": "wormhole"}),
    ("allgather", "hypercube:3", {}),
    ("reduce", "ring:5", {"messages": 3}),
    ("scatterv", "tree:2,2", {"lengths": [0, 3, 1, 4, 1, 5, 9]}),
]


@pytest.mark.parametrize(("kind", "spec", "what"), JOBS)
def test_each_builder_takes_what_the_list_says(kind: str, spec: str, what: dict[str, Any]) -> None:
    found = treecast.alternatives(kind, spec, **what)
    assert found.chosen.name == treecast.plan(kind, spec, **what).recipe.builder
    assert {each.builder.name for each in found.candidates} == {b.name for b in treecast.builders(kind, spec)}
    what = what | {"model": found.job.model}
    for name in {each.builder.name for each in found.candidates}:
        called = [each for each in found.candidates if each.builder.name == name]
        if able := [each for each in called if each.claims]:  # of a method on several machines, the best
            report = treecast.verify(treecast.plan(kind, spec, builder=name, **what))
            assert (report.steps, report.transmissions) == min(each.cost[:2] for each in able)
        elif all(each.reason.startswith("is used only where") for each in called):
            assert not any(each.builder.is_for(found.job) for each in called)
        else:
            with pytest.raises(PlanError):
                treecast.plan(kind, spec, builder=name, **what)
        assert all(each.claims or each.reason for each in called)
    serious = [each.cost for each in found.candidates if each.claims and not each.builder.baseline]
    assert found.candidates[0].cost == min(serious)


@pytest.mark.parametrize(
    ("kind", "spec", "what", "why"),
    [
        ("broadcast", "torus:4x4x4", {"messages": 600}, "the fewest steps"),
        ("broadcast", "petersen", {"messages": 600}, "the first of equals"),
        ("broadcast", "star:4", {"survive": 1, "messages": 400}, "the only one that can"),
        ("allgather", "hypercube:3", {}, "no builder takes fewer steps or transmissions"),
        ("broadcast", "mesh:4x4", {"model": "wormhole"}, "the first of equals"),
    ],
)
def test_the_reason_is_said(kind: str, spec: str, what: dict[str, Any], why: str) -> None:
    import networkx as nx

    where = nx.petersen_graph() if spec == "petersen" else spec
    assert treecast.alternatives(kind, where, **what).why == why


def test_large_networks_are_not_planned_for_a_list() -> None:
    found = treecast.alternatives("scatter", "mesh:80x80", messages=5)
    reasons = {each.builder.name: each.reason for each in found.candidates if each.claims is None}
    assert re.search("not built: .* more than 4,096 nodes", reasons["breadth-first-tree"])
    assert found.why == "the first that fits"


def test_the_list_prints_the_default_first() -> None:
    said = describe(treecast.alternatives("broadcast", "torus:4x4x4", messages=600))
    assert said.lines["takes"] == "disjoint-trees: the fewest steps"
    assert said.tables[0].rows[0][:3] == ["disjoint-trees", 106, 37_800]
    assert said.pick("chosen", "lower_bounds") == {
        "chosen": "disjoint-trees",
        "lower_bounds": {"steps": 105, "transmissions": 37_800},
    }


def test_a_single_step_is_said_to_be_one() -> None:
    assert describe(baseline(plan("broadcast", "complete:2"))).lines["one tree"] == "takes 1 step: this takes as many"


def test_alternatives_build_nothing_twice(monkeypatch):
    built, run_builder = [], choice.run_builder
    monkeypatch.setattr(
        choice,
        "run_builder",
        lambda job, entry: [built.append((job.model.name, entry.name)), run_builder(job, entry)][1],
    )
    found = treecast.alternatives("allgather", "mesh:3x3", model="one-port")
    built = [name for machine, name in built if machine == "one-port"]  # others are of ways that are timed anew
    assert sorted(built) == sorted(each.builder.name for each in found.candidates if each.built)
    assert len(set(built)) == len(built) > 1


@pytest.mark.parametrize("spec", ["star:4", "complete:8"])
def test_a_refusal_says_what_a_machine_needs(spec):
    with pytest.raises(PlanError, match=r"wormhole, which needs a mesh or torus; there is: all-port, one-port,"):
        plan("multicast", spec, targets=[1], model="wormhole")


def test_the_price_of_surviving_is_that_of_the_plan_in_one_copy() -> None:
    many, one = (plan("broadcast", "torus:4x4x4", messages=60, survive=survive) for survive in (1, 0))
    assert baseline(many).one_copy == one.steps
    more = f"{100 * (many.steps / one.steps - 1):.3g} % more"
    assert describe(baseline(many)).lines["one copy"].endswith(more)
    assert baseline(one).one_copy == 0
    assert "one copy" not in describe(baseline(plan("alltoall", "hypercube:3", survive=2))).lines  # no closed form


def test_a_plan_by_a_rule_makes_few_calls():
    """Rules are compared by their claims, and no more is asked of bounds than that the best one is met.

    How a loop runs is not counted: that depends on how long loops have run before.
    """
    calls = 0

    def count(frame, event, argument):
        nonlocal calls
        file = frame.f_code.co_filename
        calls += event == "call" and "treecast" in file and not file.endswith("compiled.py")

    plan("broadcast", "torus:4x4x4")  # what is imported and kept is there
    sys.setprofile(count)
    try:
        plan("broadcast", "torus:4x4x4")
    finally:
        sys.setprofile(None)
    assert calls < 700


@pytest.mark.slow
@pytest.mark.parametrize("spec", ["ring:5", "mesh:3x3", "tree:2,2", "petersen"])
@pytest.mark.parametrize("model", ["all-port", "one-port", "one-port,half"])
def test_no_plan_takes_less_than_its_builder_says_that_it_takes_at_least(spec, model):
    job, able = request("allreduce", spec, messages=2, model=model)
    bound = [entry for entry in able if entry.least]
    assert bound
    for entry in bound:
        made = choice.run_builder(job, entry).claims
        assert entry.least(job) <= (made.steps, made.transmissions), entry.name


@pytest.mark.parametrize(("spec", "steps"), [("fat-tree:4", 8), ("dragonfly:4,2", 12)])
def test_where_messages_combine_all_sums_meet_in_one_node_first(spec, steps, monkeypatch):
    asked, run = list[str](), choice.run_builder
    monkeypatch.setattr(
        choice,
        "run_builder",
        lambda job, entry: (job.collective.kind == "allreduce" and asked.append(entry.name)) or run(job, entry),
    )
    assert plan("allreduce", spec, model="one-port,combining").steps == steps
    assert asked == ["through-one-node"]
