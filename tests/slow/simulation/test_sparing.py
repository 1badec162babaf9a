"""Sparing schedules under faults: every set that they claim to survive, and what lies beyond."""

from dataclasses import replace
from itertools import combinations
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles.plain import replay_sparing, sends_that_took_place
from tests.papers.hypercube.test_dimension_order import KINDS, MODELS, without_the_last_step
from tests.simulation.test_sparing import any_sparing, both_ways, links, planned, served, served_by
from tests.strategies import examples
from treecast.plans import plan
from treecast.running.execution.local import run
from treecast.schedule import Rows
from treecast.simulation.faults import Faults
from treecast.simulation.replay import simulate
from treecast.simulation.sweeps import sweep
from treecast.verification.verifier import verify


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("kind", "d"), [("broadcast", 3), ("allgather", 3), ("broadcast", 4)])
def test_a_plain_replay_finds_the_same_under_every_set_of_nodes_and_links(kind, d, model):
    """Sets of ≤ k, and of k + 1, of which some fail: as many by plain loops as by the sweep."""
    for k in range(d if d < 4 else 2):
        schedule, sends = planned(kind, d, k, model)
        elements = [v for v in range(1 << d) if v or kind == "allgather"]
        elements += links(d)
        most = k + 1 if (kind, d) == ("broadcast", 3) or k == 0 else k
        failing = tried = 0
        for size in range(most + 1):
            for these in combinations(elements, size):
                nodes = {e: 0 for e in these if not isinstance(e, tuple)}
                arrival, _ = replay_sparing(schedule, nodes, both_ways(e for e in these if isinstance(e, tuple)), sends)
                fails = not served(schedule, arrival, nodes)
                assert size > k or not fails, these
                tried, failing = tried + 1, failing + fails
        found = sweep(schedule, most, "nodes+links", keep_going=True)
        assert (found.sets, found.failing) == (tried, failing)
        assert failing or most == k


@pytest.mark.parametrize("d", range(2, 6))
@pytest.mark.parametrize("kind", KINDS)
def test_an_extended_unit_less_and_some_set_does_harm(kind, d):
    for k in range(1, d):
        fewer = without_the_last_step(kind, d, k, "whispering")
        assert fewer.steps == d + k
        assert not sweep(fewer, k, "links").holds
        assert sweep(fewer, k, "nodes").holds == (k == 1)
        assert not sweep(plan(kind, f"hypercube:{d}", model="shouting", survive=k - 1), k, "links").holds


@pytest.mark.each(2)
@pytest.mark.parametrize("model", MODELS)
def test_every_pair_of_faults_each_at_every_step(model):
    """Three dimensions, two faults: 17,000 pairs, by simulate; the root may not fail."""
    schedule, _ = planned("broadcast", 3, 2, model)
    elements = [({v: 0}, ()) for v in range(1, 8)] + [({}, ((v, port),)) for v, port in links(3)]
    when = range(schedule.steps) if model == "shouting" else range(0, schedule.steps, 2)
    for (one, first), (other, second) in combinations(elements, 2):
        for s in when:
            for t in when:
                nodes = dict.fromkeys(one, s) | dict.fromkeys(other, t)
                faults = Faults(nodes, both_ways(first, s) | both_ways(second, t))
                assert served_by(simulate(schedule, faults)), faults


@given(any_sparing())
@examples(150)
def test_every_replay_of_any_sparing_schedule_is_the_plain_one(case):
    schedule, faults = case
    arrival, made = replay_sparing(schedule, faults.nodes, faults.arcs)
    trace, ran = simulate(schedule, faults), run(schedule, bytes(range(60)), faults)
    every = [(v, c) for v in range(schedule.network.nodes) for c in range(schedule.collective.chunks)]
    assert {key: s for key in every if (s := trace.arrival_step(*key)) is not None} == arrival
    assert {key for key in every if ran.held[key]} == set(arrival)
    assert sends_that_took_place(trace) == made
    assert (trace.transmissions, ran.transmissions) == (len(made), len(made))
    if not len(faults) and verify(schedule).counts["holds"] == 0:
        assert schedule.transmissions == len(made)


@st.composite
def altered(draw):
    """A planned schedule of which some rows are left out, moved in time, said again, or turned round."""
    kind, by, d = draw(st.sampled_from(KINDS)), draw(st.sampled_from(MODELS)), draw(st.integers(2, 3))
    k = draw(st.integers(1, d - 1))
    other = draw(st.permutations(range(d)))
    base = [tuple(r) for r in zip(*columns_of(planned(kind, d, k, by)[0]), strict=True)]
    more = [
        tuple(r) for r in zip(*columns_of(plan(kind, f"hypercube:{d}", survive=k, model=by, order=other)), strict=True)
    ]
    random, rows = Random(draw(st.integers(0, 2**32))), list(base)
    for _ in range(draw(st.integers(0, 5))):
        r = random.randrange(len(rows))
        step, src, dst, port = rows[r]
        change = draw(st.sampled_from(["out", "later", "earlier", "again", "added"]))
        if change == "out":
            del rows[r]
        elif change == "added":
            rows.append(random.choice(more))
        else:
            moved = (
                max(0, step + {"later": 1, "earlier": -1, "again": random.randrange(1, 4)}[change]),
                src,
                dst,
                port,
            )
            rows = [*rows, moved] if change == "again" else [*rows[:r], moved, *rows[r + 1 :]]
    if draw(st.integers(0, 4)) == 0:
        rows += more
    if draw(st.integers(0, 4)) == 0:
        rows += [(step, src ^ 1, dst ^ 1, port) for step, src, dst, port in base if step >= d]
    table = planned(kind, d, k, by)[0].rows.payloads
    columns = dict(zip(("step", "src", "dst", "port"), zip(*sorted(set(rows)), strict=True), strict=True))
    same = [0] * len(columns["step"])
    made = Rows.of(table, **columns, steps=[1] * len(same), tree=[-1] * len(same), payload=same)
    schedule = replace(planned(kind, d, k, by)[0], rows=made, claims=None)
    return schedule, d, k


def columns_of(schedule):
    return [getattr(schedule.rows, name).tolist() for name in ("step", "src", "dst", "port")]


@given(altered(), st.randoms(use_true_random=False))
@examples(300)
def test_what_verifies_survives_whatever_it_claims(case, random):
    """Calling paths are enough: from the start, by every set, and in mid-run, by some."""
    schedule, d, k = case
    if not verify(schedule).holds:
        return
    found = sweep(schedule, k, "nodes+links")
    assert found.holds, found.counterexample
    for _ in range(20):
        nodes, arcs = {}, {}
        for _ in range(k):
            v, port, step = random.randrange(1, 1 << d), random.randrange(d), random.randrange(schedule.steps)
            if random.random() < 0.5:
                nodes[v] = step
            else:
                arcs |= both_ways([(v, port)], step)
        assert served_by(simulate(schedule, Faults(nodes, arcs))), (nodes, arcs)
