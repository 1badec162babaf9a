"""Fault-tolerant broadcast and gossip on the hypercube: Chau & Fu, and Fraigniaud, held against the paper's figures."""

from random import Random

import pytest

from tests.oracles.plain import sends_that_took_place, talk
from tests.papers.hypercube.test_dimension_order import (
    KINDS,
    MODELS,
    every_row_is_needed,
    orders,
    random_faults,
    refused_when_it_fails,
    steps_of,
    tolerances,
)
from treecast.plans import plan
from treecast.simulation.faults import Faults
from treecast.simulation.replay import simulate
from treecast.verification.verifier import verify

pytestmark = pytest.mark.each(2)


def messages_of(model, d, k):
    """The messages of one broadcast, counted dimension by dimension: the closed forms."""
    n, units = 1 << d, min(k + 1, d) if k else 0
    if model == "whispering":
        return n - 1 + sum(n - 2 ** (i + 1) for i in range(units))
    return n * units // 2 + n - 2**units


@pytest.mark.each(5)
@pytest.mark.parametrize("d", range(7))
@pytest.mark.parametrize("model", MODELS)
def test_every_plan_holds_and_is_as_long_as_the_closed_forms_say(model, d):
    spec, n = f"hypercube:{d}", 1 << d
    for k in tolerances(d):
        for number, order in enumerate(orders(d)):
            for kind in KINDS:
                roots = range(n) if kind == "broadcast" and (d < 3 or (d < 5 and number < 2)) else (0,)
                if kind == "broadcast" and number == 3:
                    roots = (0, n // 2, n - 1)
                for root in roots:
                    schedule = plan(kind, spec, root=root, survive=k, model=model, order=order)
                    assert (schedule.sparing, schedule.copies, schedule.builder) == (True, k + 1, "dimension-order")
                    report = verify(schedule)
                    assert report.holds, (kind, root, order, k, report.violations)
                    figures = steps_of(model, d, k), messages_of(model, d, k) * (n if kind == "allgather" else 1)
                    assert (schedule.claims.steps, schedule.claims.transmissions) == figures
                    assert (report.steps, report.transmissions) == figures
                    assert (schedule.steps, schedule.transmissions) == figures
                    if d < 4 or (number == 3 and d < 6):
                        trace = simulate(schedule)
                        assert trace.transmissions == figures[1]
                        assert trace.delivered == n


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("d", range(1, 6))
def test_nodes_that_know_only_themselves_send_the_same_under_faults(d, model):
    """Any number of faults: what is planned is what the protocol does, send by send."""
    random, n = Random(d), 1 << d
    for kind in KINDS:
        for k in range(d):
            for fault_free in (False, True):
                order, root = tuple(random.sample(range(d), d)), 0 if kind == "allgather" else random.randrange(n)
                schedule = plan(
                    kind, f"hypercube:{d}", model=model, survive=k, order=order, root=root, fault_free=fault_free
                )
                for count in [0, k, d, 2 * d] if d < 5 else [k, 2 * d]:
                    spared = {root} if kind == "broadcast" else set()
                    nodes, arcs = random_faults(random, d, count, schedule.steps, spared)
                    sources = {root} if kind == "broadcast" else set(range(n))
                    held, made, _ = talk(model, d, order, k, sources, fault_free, nodes, arcs)
                    trace = simulate(schedule, Faults(nodes, arcs))
                    found = sends_that_took_place(trace)
                    if kind == "broadcast":
                        made = [(*send[:3], 0) for send in made]
                        held = [{0} if root in these else set() for these in held]
                    assert found == made, (kind, k, order, root, nodes, arcs)
                    for v in set(range(n)) - set(nodes):
                        has = {c for c in range(schedule.collective.chunks) if trace.arrival_step(v, c) is not None}
                        assert has == held[v]


@pytest.mark.parametrize("model", MODELS)
def test_whatever_fails_with_one_row_of_one_source_less_is_refused(model):
    random = Random(4)
    for builder in ("dimension-order", "four-phases"):
        for k in (1, 2):
            schedule = plan("allgather", "hypercube:3", model=model, survive=k, builder=builder).plain()
            every = list(range(len(schedule.rows)))
            for row in random.sample(every, 25):
                refused_when_it_fails(schedule, [r for r in every if r != row], k, builder)


@pytest.mark.each(1)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("kind", KINDS)
def test_whatever_fails_with_a_row_less_is_refused(kind, model):
    every_row_is_needed(3, kind, model)
