"""One port of half duplex: each step of a plan for full duplex in two or three, and meetings in pairs."""

from dataclasses import replace
from math import gcd

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.plans.whole.one_port.oracle import broadcast_held
from treecast.lower_bounds import best
from treecast.models import model
from treecast.plans import builders, job, plan
from treecast.plans.whole.one_port import halves
from treecast.plans.whole.one_port.halves import parts_of_step
from treecast.verification.verifier import verify


@given(
    st.integers(2, 30).flatmap(
        lambda n: st.tuples(st.permutations(range(n)), st.lists(st.booleans(), min_size=n, max_size=n))
    )
)
def test_no_node_sends_and_receives_in_a_part(case):
    targets, kept = np.array(case[0]), np.array(case[1])
    source = np.flatnonzero(kept & (targets != np.arange(len(targets))))
    target = targets[source]
    part = parts_of_step(source, target)
    assert set(part.tolist()) <= {0, 1, 2}
    for p in range(3):
        assert not set(source[part == p].tolist()) & set(target[part == p].tolist())
    third = 0
    following = dict(zip(source.tolist(), target.tolist(), strict=True))
    for start in following:
        cycle, at = [start], following[start]
        while at in following and at != start and len(cycle) <= len(following):
            cycle.append(at)
            at = following[at]
        third += at == start and min(cycle) == start and len(cycle) % 2
    assert int((part == 2).sum()) == third


def test_a_circulant_broadcast_takes_two_or_three_steps_for_one_at_most():
    """Three where a skip makes odd cycles beside the one that the root cuts: of more nodes than one, and more than one."""
    for nodes in (2, 7, 9, 12, 13, 16):
        one, more = (
            plan("broadcast", f"complete:{nodes}", messages=messages, model="one-port,half", builder="circulant")
            for messages in (60, 72)
        )
        assert broadcast_held(one, half=True)
        skips = [nodes]
        while skips[-1] > 1:
            skips.append(-(-skips[-1] // 2))
        odd = [gcd(skip, nodes) > 1 and nodes // gcd(skip, nodes) % 2 for skip in skips[1:]]
        each = [1 if nodes == 2 else 3 if is_odd else 2 for is_odd in odd]
        assert (more.steps - one.steps) * len(each) <= 12 * sum(each)


@pytest.mark.parametrize(("nodes", "copies"), [(3, 2), (5, 2), (9, 3)])
def test_copies_of_half_duplex(nodes, copies):
    copies_hold(nodes, copies)


def copies_hold(nodes, copies):
    for kind in ("broadcast", "scatter", "allgather", "alltoall"):
        for messages in (1, 3, 30) if kind == "broadcast" else (1, 3):
            schedule = plan(kind, f"complete:{nodes}", messages=messages, copies=copies, model="one-port,half")
            report = verify(schedule)
            assert report.holds
            if kind == "scatter":
                assert report.steps == best(list(report.bounds), "steps").value


@pytest.mark.each(5)
@pytest.mark.parametrize(("nodes", "copies"), [(2, 1), (7, 1), (12, 1), (16, 1), (24, 1), (3, 2), (10, 3), (16, 2)])
def test_no_more_steps_than_each_step_cut_in_parts(nodes, copies, monkeypatch):
    for messages in (1, 15, 40):
        for kind in ("broadcast", "allgather", "alltoall") if copies > 1 and messages < 40 else ("broadcast",):
            asked = {"messages": messages, "copies": copies}
            name = {"broadcast": "circulant" if copies == 1 else "disjoint-trees"}.get(kind, "direct")
            full = plan(kind, f"complete:{nodes}", builder=name, model="one-port", **asked)
            schedule = plan(kind, f"complete:{nodes}", builder=name, model="one-port,half", **asked)
            parts = (parts_of_step(sends.src, sends.dst) for sends in full.plain().expand())
            cut = sum(int(each.max()) + 1 for each in parts)
            assert schedule.steps <= cut
            assert schedule.steps == schedule.claims.steps
            assert verify(schedule).holds
            with monkeypatch.context() as patch:  # as on large networks
                patch.setattr(halves, "_MOST_ARCS", 0)
                large = plan(kind, f"complete:{nodes}", builder=name, model="one-port,half", **asked)
            assert large.steps == large.claims.steps == cut
            assert verify(large).holds


@pytest.mark.parametrize(
    "spec", ["complete:7", "complete:16", "complete:12 x2", "hypercube:4", "hypercube:3 x2", "torus:4x4 x3"]
)
def test_very_many_messages_repeat_the_parts_of_a_period(spec, monkeypatch):
    """As steps cut in parts, but for the first steps, in which few nodes send."""
    spec, _, copies = spec.partition(" x")
    monkeypatch.setattr(halves, "_MOST_SENDS", 0)
    for messages in (1, 5, 40):
        asked = job("broadcast", spec, messages=messages, copies=int(copies or 1), model="one-port,half")
        halved = next(
            each.name
            for each in builders("broadcast", asked.network)
            if each.is_for(asked) and each.name not in ("binomial", "direct") and not each.why_not(asked)
        )
        schedule = plan(replace(asked, builder=halved))
        full = plan(replace(asked, model=model("one-port"), builder=halved))
        assert verify(schedule).holds
        assert schedule.rows.src.size == full.rows.src.size
        assert schedule.steps <= 3 * full.steps


@pytest.mark.slow
@pytest.mark.parametrize("nodes", [1, 5, *(pytest.param(n, marks=pytest.mark.long) for n in (8, 13))])
def test_half_duplex_where_messages_combine(nodes):
    all_combine(nodes)


def all_combine(nodes):
    depth, turns = (nodes - 1).bit_length(), nodes - 1 + nodes % 2 if nodes > 1 else 0
    steps = {"broadcast": depth, "reduce": depth, "scatter": depth, "gather": depth, "reduce-broadcast": 2 * depth,
             "allgather": 2 * depth, "reduce-scatter": 2 * depth, "allreduce": 4 * depth, "alltoall": 2 * turns}  # fmt: skip
    less = {(5, "allgather"): 1, (5, "reduce-scatter"): 1}  # list schedules win
    less[nodes, "allreduce"] = 2 * depth  # all sums meet in one node
    for kind, wanted in steps.items():
        for messages in (1, 5):
            asked = {"messages": messages, "model": "one-port,combining,half"}
            asked_for = job(kind, f"complete:{nodes}", **asked)
            closed = [each for each in builders(kind, asked_for.network) if each.claims and not each.why_not(asked_for)]
            assert wanted in {each.claims(asked_for).steps for each in closed}
            schedule = plan(kind, f"complete:{nodes}", **asked)
            report = verify(schedule)
            assert report.holds, (kind, messages, report.violations)
            assert report.steps == schedule.claims.steps
            least = wanted - less.get((nodes, kind), 0)
            assert report.steps == least or (kind == "alltoall" and report.steps < least)  # trees carry blocks together
            assert report.transmissions == schedule.claims.transmissions
            if depth == wanted:
                assert report.steps == best(list(report.bounds), "steps").value


@pytest.mark.slow
@pytest.mark.parametrize("nodes", [1, 2, 3, 5, 8, 9, 12])
def test_plans_of_half_duplex(nodes):
    for kind in ("broadcast", "scatter", "allgather", "alltoall", "reduce", "allreduce"):
        for messages in (1, 2, 9):
            schedule = plan(kind, f"complete:{nodes}", messages=messages, model="one-port,half")
            report = verify(schedule)
            assert report.holds, (kind, messages, report.violations)
            if kind in ("scatter", "allgather", "alltoall"):
                assert report.steps == best(list(report.bounds), "steps").value


@pytest.mark.slow
def test_copies_of_half_duplex_at_length():
    copies_hold(12, 2)


@pytest.mark.slow
@pytest.mark.parametrize("nodes", [2, 3])
def test_half_duplex_where_messages_combine_at_length(nodes):
    all_combine(nodes)
