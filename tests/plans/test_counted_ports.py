"""Machines with several ports, and machines on which chunks arrive late: known optima, exhaustive search, both verifiers."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import treecast
from tests.oracles.machines import TINY, tiny_optimum
from treecast import Model, plan, simulate, verify
from treecast.errors import PlanError, ScheduleError
from treecast.lower_bounds import schedule_bounds, tightest
from treecast.lower_bounds.proof import of_bounds
from treecast.schedule.costs import Costs, seconds_by_events, seconds_by_steps
from treecast.schedule.sizes import Sizes


def machine(ports=0, latency=1, half=False, **more):
    return Model("mine", ports or "all", "half" if half else "full", latency=latency, **more)


def checked(schedule):
    """Return the steps of a schedule and its bound, if both verifiers accept it, and the bound's proof proves no more."""
    for method in ("fast", "expanded"):
        assert verify(schedule, method=method).holds
    trace, known = simulate(schedule), schedule_bounds(schedule)
    assert trace.holds
    assert trace.steps == schedule.steps
    if schedule.copies == 1:
        assert schedule.steps == int(trace.completion[schedule.collective.ranks].max())
    least = tightest(known, "steps").value
    proof = of_bounds(known, schedule.collective, schedule.network, schedule.copies, schedule.model)
    assert least <= schedule.steps
    assert proof is None or proof.steps <= schedule.steps
    return schedule.steps, least


def postal(nodes, ports, latency):
    """Return in how many steps so many nodes can know: the generalised Fibonacci numbers of Bar-Noy and Kipnis."""
    know = [1]
    while know[-1] < nodes:
        know.append(know[-1] + (ports * know[-latency] if len(know) >= latency else 0))
    return len(know) - 1


@pytest.mark.parametrize("nodes", [4, 9, pytest.param(16, marks=pytest.mark.long)])
@pytest.mark.parametrize(("ports", "latency"), list(product((1, 2, 3), (1, 2, 3, 5, 8))))
def test_a_broadcast_on_a_complete_network_takes_as_long_as_the_postal_model_says(nodes, ports, latency):
    best = postal(nodes, ports, latency)
    assert checked(plan("broadcast", f"complete:{nodes}", model=machine(ports, latency))) == (best, best)


@pytest.mark.parametrize("ports", [2, 3])
@pytest.mark.parametrize("kind", ["scatterv", "gatherv"])
def test_plans_without_buffers_hold_where_ports_are_counted(kind, ports):
    for where in ("complete:5", "star:4"):
        checked(plan(kind, where, lengths=2, model=machine(ports)))


@pytest.mark.parametrize(("ports", "latency"), list(product((1, 2, 3), (1, 3))))
@pytest.mark.parametrize("kind", ["allgather", "alltoall", "scatter", "gather"])
def test_a_node_of_a_complete_network_hears_as_many_at_once_as_it_has_ports(kind, ports, latency):
    for nodes in (4, 5, 8):
        best = -(-(nodes - 1) // ports) + latency - 1
        assert checked(plan(kind, f"complete:{nodes}", model=machine(ports, latency))) == (best, best)


@pytest.mark.parametrize("spec", ["path:6", "hypercube:3", "hypercube:4", "torus:4x4", "star:4", "petersen"])
@pytest.mark.parametrize("ports", [0, 1, 2])
def test_a_late_broadcast_takes_as_many_steps_as_the_bound(spec, ports):
    steps, least = checked(plan("broadcast", spec, model=machine(ports, 3)))
    assert steps == least
    if spec.startswith(("path", "hypercube")):
        assert steps == 3 * treecast.network(spec).diameter


KINDS = (
    "broadcast",
    "scatter",
    "allgather",
    "alltoall",
    "reduce",
    "gather",
    "reduce-scatter",
    "reduce-broadcast",
    "allreduce",
)
MACHINES = [
    machine(2, 3),
    machine(2, half=True),
    machine(3, 2, half=True),
    machine(1, 2, partner="same"),
    machine(2, 2, combining=True),
    machine(2, 1, half=True, combining=True),
    machine(0, 2, half=True, combining=True),
    replace(treecast.models.model("whispering"), latency=3),
]


@pytest.mark.parametrize("own", [machine(2, 3), machine(0, 2)], ids=lambda own: own.spelling)
def test_copies_survive_every_dead_node(own):
    schedule = plan("broadcast", "hypercube:3", messages=2, survive=1, model=own)
    checked(schedule)
    assert treecast.sweep(schedule, kind="nodes").holds
    for node in schedule.network.labels(range(1, 8)):
        assert simulate(schedule, [node]).holds
        assert treecast.run(schedule, bytes(range(200)), faults=[node]).holds


@pytest.mark.parametrize("free", [False, True])
def test_late_sums_are_added_once(free):
    for own in (machine(1, 3), machine(2, 2), machine(1, 2, combining=True)):
        schedule = plan("allreduce", "ring:4", messages=2, model=own, **{"without_owners": True} if free else {})
        checked(schedule)
        data = np.arange(4 * schedule.collective.sums, dtype=np.int64).tobytes()
        assert treecast.run(schedule, data).holds


def test_a_chunk_that_is_under_way_is_not_passed_on_yet():
    """With a link dead, node 3 hears from node 2 alone, and too late for a row that had its chunk from node 1."""
    early = machine(0, 1)
    schedule = plan("broadcast", "ring:4", model=early)
    assert not verify(schedule, replace(early, latency=2)).holds
    assert not verify(schedule, replace(early, latency=2), method="expanded").holds
    late = plan("broadcast", "ring:4", model=replace(early, latency=2))
    assert verify(late, early).holds
    assert verify(late, early).steps == late.steps - 1


def test_a_send_is_under_way_as_long_as_it_takes_to_arrive():
    costs = Costs.of("1us", "1GB/s")
    schedule = replace(plan("broadcast", "complete:9", model=machine(2, 3)), sizes=Sizes(1000, 1000))
    assert seconds_by_steps(schedule, costs) == pytest.approx(6 * 2e-6)
    assert seconds_by_events(schedule, costs) == pytest.approx(6 * 2e-6)
    for own in MACHINES:
        schedule = replace(plan("allgather", "mesh:2x3", messages=2, model=own), sizes=Sizes(2000, 1000))
        assert seconds_by_events(schedule, costs) <= seconds_by_steps(schedule, costs) * (1 + 1e-9)


def test_what_no_machine_can_be_is_refused():
    for wrong, said in (
        ({"ports": 0}, "ports of a model is one of 'all', 'one' or a whole number from 1 to 4,096, not 0"),
        ({"latency": 0}, "latency of a model is a whole number of steps from 1 to 1,048,576, not 0"),
        ({"latency": True}, "not True"),
        ({"ports": 2, "partner": "same"}, "one partner in a step is for one port, not for 2"),
        ({"ports": "one", "latency": 2, "buffered": False}, "where nodes keep what they relay"),
    ):
        with pytest.raises(PlanError, match=said):
            Model("mine", **wrong)
    for name in (
        "one-port,ports=x",
        "all-port,latency=0",
        "one-port,lag=2",
        "whispering,ports=2",
        "wormhole,latency=2",
    ):
        with pytest.raises(PlanError):
            treecast.models.model(name)
    sparing = plan("allgather", "hypercube:3", model="whispering", survive=1, builder="dimension-order")
    with pytest.raises(ScheduleError, match="where chunks arrive late"):
        replace(sparing, model=replace(sparing.model, latency=2))


OF_SUMS = {"complete", "once", "delivered"}  # each verifier tells in words of its own what is wrong with a sum


@pytest.mark.slow
@pytest.mark.parametrize(("ports", "latency"), list(product((0, 1, 2, 3), (1, 2, 3))))
def test_plans_of_tiny_networks_are_optimal_and_no_bound_is_above(ports, latency):
    for kind, messages, specs in TINY:
        for spec, half in product(specs, (False, True)):
            best = tiny_optimum(kind, messages, spec, ports, latency, half)
            steps, least = checked(plan(kind, spec, messages=messages, model=machine(ports, latency, half)))
            assert least <= best == steps, (kind, messages, spec, half)


@pytest.mark.slow
@pytest.mark.parametrize("ports", [1, 2, 3])
def test_postal_broadcasts_to_many_take_the_fewest_steps(ports):
    for nodes, latency in product((8, 32, 64), (1, 2, 5, 8)):
        schedule, best = (
            plan("broadcast", f"complete:{nodes}", model=machine(ports, latency)),
            postal(nodes, ports, latency),
        )
        assert (schedule.steps, verify(schedule).ratio) == (best, 1.0)


@pytest.mark.slow
@pytest.mark.each(3)
@pytest.mark.parametrize("own", MACHINES, ids=lambda own: own.spelling)
@pytest.mark.parametrize("kind", KINDS)
def test_every_collective_is_planned(own, kind):
    for spec in ("mesh:2x3", "complete:4"):
        checked(plan(kind, spec, messages=2 - (kind == "allreduce"), model=own))


@pytest.mark.slow
@pytest.mark.parametrize("own", MACHINES, ids=lambda own: own.spelling)
def test_both_verifiers_refuse_the_same_when_a_row_moves(own):
    chance = np.random.default_rng(1)
    for kind in KINDS:
        schedule = plan(kind, "mesh:2x3", messages=2 - (kind == "allreduce"), model=own)
        for _ in range(12):
            columns = schedule.rows.columns()
            step = columns["step"].astype(np.int64)
            at = int(chance.integers(len(step)))
            step[at] = max(0, step[at] + int(chance.choice([-2, -1, 1, 2])))
            rows = treecast.schedule.Rows.of(schedule.rows.payloads, **columns | {"step": step})
            moved = replace(schedule, rows=rows, claims=None)
            fast, slow = (verify(moved, method=method) for method in ("fast", "expanded"))
            assert fast.holds == slow.holds, (kind, at, step[at])
            broken = [{rule for rule, count in each.counts.items() if count} - OF_SUMS for each in (fast, slow)]
            assert broken[0] == broken[1], (kind, at, step[at])


@pytest.mark.slow
def test_a_freer_machine_never_takes_more_steps():
    for kind in ("broadcast", "allgather", "alltoall", "reduce"):
        taken = [
            [plan(kind, "mesh:2x3", model=machine(ports, latency)).steps for ports in (1, 2, 3, 0)]
            for latency in (1, 2, 3)
        ]
        assert (np.diff(taken, axis=0) >= 0).all()
        assert (np.diff(taken, axis=1) <= 0).all()
