"""Arcs with gaps and delays: plans beside the optimum by search, both judges, clocks, files, and dear arcs that harm nobody."""

from dataclasses import replace
from itertools import product

import networkx as nx
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import treecast
from treecast.models import Cost, Model, model
from treecast.networks.arcs import arcs_of
from treecast.schedule.costs import Costs, seconds_by_events
from treecast.verification.verifier import verify

KINDS = ["broadcast", "scatter", "gather", "reduce", "allgather", "reduce-scatter", "allreduce", "alltoall"]


def unlike(network, seed, most=3, ports="all"):
    """Return a machine whose arcs have gaps and delays by chance."""
    arcs, rng = arcs_of(network), np.random.default_rng(seed)
    gap = rng.integers(1, most + 1, len(arcs.tail))
    ends = zip(
        arcs.tail.tolist(),
        arcs.head.tolist(),
        gap.tolist(),
        (gap + rng.integers(0, most, len(gap))).tolist(),
        strict=True,
    )
    return Model("unlike", ports=ports, arcs=tuple(ends))


def fewest_steps(network, machine, messages):
    """Return the fewest steps of a broadcast from node 0 over all ports: breadth-first over all that may be under way."""
    arcs = arcs_of(network)
    ends = list(zip(arcs.tail.tolist(), arcs.head.tolist(), strict=True))
    ticks = {each[:2]: each[2:] for each in machine.arcs}
    nodes, chunks = network.nodes, range(messages)
    start = (frozenset((0, c) for c in chunks), frozenset(), (0,) * len(ends))
    front, goal, step = {start}, nodes * messages, 0
    while True:
        if any(len(has) == goal for has, _, _ in front):
            return step
        following = set()
        for has, coming, busy in front:
            known = has | {entry[:2] for entry in coming}
            choices = [
                [None, *(c for c in chunks if (u, c) in has and (v, c) not in known)] if not wait else [None]
                for (u, v), wait in zip(ends, busy, strict=True)
            ]
            for chosen in product(*choices):
                gone = [(v, c) for (_, v), c in zip(ends, chosen, strict=True) if c is not None]
                if len(set(gone)) < len(gone):
                    continue
                later, until = set(coming), list(busy)
                for i, c in enumerate(chosen):
                    if c is not None:
                        gap, delay = ticks.get(ends[i], (1, 1))
                        later.add((ends[i][1], c, delay))
                        until[i] = gap
                there = has | {(v, c) for v, c, left in later if left == 1}
                rest = frozenset((v, c, left - 1) for v, c, left in later if left > 1)
                following.add((there, rest, tuple(max(0, wait - 1) for wait in until)))
        front, step = following, step + 1


@pytest.mark.parametrize("spec", ["path:3", "ring:3", "star:3"])
@pytest.mark.parametrize("seed", range(4))
def test_bounds_are_at_most_the_optimum_and_plans_at_least(spec, seed):
    network = treecast.network(spec)
    machine, messages = unlike(network, seed), 2 if network.nodes == 3 else 1
    plan = treecast.plan("broadcast", network, model=machine, messages=messages)
    least = max(
        bound.value
        for bound in treecast.bounds("broadcast", network, model=machine, messages=messages)
        if bound.of == "steps"
    )
    optimum = fewest_steps(network, machine, messages)
    assert least <= optimum <= plan.steps <= optimum + 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ports", ["all", "one", 2])
def test_both_verifiers_accept_plans(kind, ports):
    for seed, spec in enumerate(["ring:5", "complete:4", "mesh:2x3"]):
        network = treecast.network(spec)
        plan = treecast.plan(kind, network, model=unlike(network, seed, ports=ports), messages=1 + seed)
        assert verify(plan).holds
        assert verify(plan, method="expanded").holds
        assert treecast.simulate(plan).steps == plan.steps == plan.claims.steps
        bounds = [bound.value for bound in verify(plan).bounds if bound.of == "steps"]
        assert max(bounds) <= plan.steps


@pytest.mark.parametrize("kind", ["broadcast", "allgather", "allreduce", "alltoall"])
def test_both_verifiers_refuse_the_same_rows_moved(kind):
    network, refused = treecast.network("complete:4"), 0
    plan = treecast.plan(kind, network, model=unlike(network, 1), messages=2)
    for row in range(len(plan.rows)):
        for shift in (-1, 1, -2):
            columns = plan.rows.columns()
            step = columns["step"].astype(np.int64).copy()
            step[row] = max(0, step[row] + shift)
            moved = replace(
                plan, rows=type(plan.rows).of(plan.rows.payloads, **(columns | {"step": step})), claims=None
            )
            fast, slow = verify(moved), verify(moved, method="expanded")
            rules = [{rule for rule, count in each.counts.items() if count} - {"delivered"} for each in (fast, slow)]
            assert rules[0] == rules[1]  # of a sum that goes on too early, the slow one also says what does not arrive
            refused += not fast.holds
    assert refused


def test_a_paced_stream_keeps_its_arc_for_its_gaps():
    network = treecast.network("path:2")
    machine, payloads = Model("slow", arcs=[(0, 1, 3, 4)]), treecast.Payloads.of([[(0, 3)]])
    plan = treecast.plan("broadcast", network, messages=3)
    for steps, holds in ((7, True), (9, True), (5, False), (3, False)):
        rows = type(plan.rows).of(payloads, step=[0], steps=[steps], src=[0], dst=[1], port=[0])
        paced = replace(plan, rows=rows, model=machine, claims=None)
        assert (verify(paced).holds, verify(paced, method="expanded").holds) == (holds, holds)
        assert paced.steps == steps - 1 + 4


def test_machines_are_ordered_by_gaps_and_delays():
    slow, slower = Model("a", arcs=[(0, 1, 2, 3)]), Model("b", arcs=[(0, 1, 2, 4), (1, 0, 2, 2)])
    assert slower <= slow <= model("all-port")
    assert not slow <= slower
    assert not model("all-port") <= slow
    assert slower.reversed.ticks([1], [0])[1].tolist() == [4]
    with pytest.raises(treecast.PlanError, match="1 <= gap <= delay"):
        Model("c", arcs=[(0, 1, 3, 2)])
    with pytest.raises(treecast.PlanError, match="a message is one chunk"):
        Model("d", combining=True, arcs=[(0, 1, 3, 3)])


def costed(seed, nodes=6):
    """Return a graph and its costs: links of three sorts, one of them dear."""
    rng = np.random.default_rng(seed)
    graph = nx.cycle_graph(nodes)
    graph.add_edges_from(tuple(sorted(rng.choice(nodes, 2, replace=False).tolist())) for _ in range(4))
    network = treecast.network(graph)
    sorts = [Cost(1e-6, 1 / 50e9), Cost(2e-6, 1 / 10e9), Cost(20e-6, 1 / 1e9)]
    arcs = {}
    for u, v in graph.edges:
        cost = sorts[int(rng.integers(3))]
        arcs[u, v] = arcs[v, u] = cost
    return network, Costs(sorts[0], arcs)


@pytest.mark.slow
@settings(max_examples=6, deadline=None)
@example(5865, "allreduce", "4kB")
@given(st.integers(0, 10**6), st.sampled_from(["broadcast", "allreduce", "alltoall"]), st.sampled_from(["4kB", "1MB"]))
def test_no_plan_takes_longer_than_without_the_slowest_link(seed, kind, size):
    network, costs = costed(seed)
    plan = treecast.plan(kind, network, bytes=size, costs=costs)
    seconds, total = seconds_by_events(plan, costs), plan.sizes.total(plan.collective)
    assert verify(plan).holds
    machine, tick = costs.on(model("all-port"), network, plan.sizes.chunk)
    if machine == plan.model:
        assert seconds <= plan.steps * tick * (1 + 1e-12)
    u, v = max(costs.arcs, key=lambda arc: costs.arcs[arc].step_time(total))
    left = network.without(links=[f"{u}-{v}"])
    if left.connected:
        fewer = Costs(costs.default, {arc: cost for arc, cost in costs.arcs.items() if set(arc) != {u, v}})
        other = treecast.plan(kind, left, bytes=size, costs=fewer)
        assert seconds <= seconds_by_events(other, fewer) * 1.05  # steps are rounded otherwise


def test_bounds_of_seconds_are_of_the_same_costs(tmp_path):
    network, costs = costed(3)
    for kind in ("broadcast", "allreduce", "alltoall"):
        plan = treecast.plan(kind, network, bytes="256KiB", costs=costs)
        found = treecast.plans.timing.time_plan(plan)
        assert 0 < found.bound.seconds <= found.by_events
        file = tmp_path / f"{kind}.tc"
        treecast.save(plan, file)
        again = treecast.load(file)
        assert again.model.arcs == plan.model.arcs
        assert verify(again).holds
        assert seconds_by_events(again, again.costs) == pytest.approx(found.by_events)


def test_costs_are_named_by_labels():
    graph = nx.Graph([("a", "b"), ("b", "c"), ("c", "a")])
    dear = {("a", "b"): ("30ms", "1Gbit/s"), ("b", "a"): ("30ms", "1Gbit/s")}
    words = {"bytes": "1GB", "latency": "10us", "rate": "100Gbit/s"}
    plan = treecast.plan("allreduce", graph, costs=dear, **words)
    cut = treecast.plan("allreduce", treecast.network(graph).without(links=["a-b"]), **words)
    assert seconds_by_events(plan, plan.costs) <= 1.05 * seconds_by_events(cut, cut.costs)
    with pytest.raises(treecast.PlanError, match="say the cost of the others"):
        treecast.plan("allreduce", graph, costs=dear, bytes="1GB")
    with pytest.raises(treecast.PlanError, match="write costs as"):
        treecast.plan("allreduce", graph, costs={("a", "b"): 3}, **words)


def test_a_finished_sum_waits_for_all_contributions():
    plan = treecast.plan("reduce-broadcast", "path:3", bytes="6kB", messages=1, latency="1us", rate="1GB/s")
    assert seconds_by_events(plan, plan.costs) == pytest.approx(plan.steps * 7e-6)


@pytest.mark.parametrize("kind", ["broadcast", "allgather", "allreduce"])
def test_what_is_left_of_a_network_keeps_the_ticks_of_its_arcs(kind):
    network = treecast.network("complete:5")
    plan = treecast.plan(kind, network, model=unlike(network, 2), messages=2)
    left = treecast.repair(plan, dead_nodes=[3]).schedule
    assert verify(left).holds
    assert verify(left, method="expanded").holds
    nodes = np.array([0, 1, 2, 4])
    ends = [(u, v) for u in range(4) for v in range(4) if u != v]
    source, target = np.array(ends).T
    before, after = plan.model.ticks(nodes[source], nodes[target]), left.model.ticks(source, target)
    assert all((a == b).all() for a, b in zip(before, after, strict=True))
