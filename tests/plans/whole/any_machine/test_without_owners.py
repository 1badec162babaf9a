"""Sums that nobody owns: the steps they take, and that verifiers, simulator and runs agree on them."""

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import treecast
from tests.strategies import examples
from treecast.errors import PlanError
from treecast.files import formats
from treecast.models import MODELS
from treecast.networks import network
from treecast.running.engine.memory import Additions, Part
from treecast.running.engine.transfers import Transfer
from treecast.running.execution.local import run
from treecast.schedule import Payloads, Rows
from treecast.simulation.faults import Faults

PLANS = {
    "ring": ("ring:4", 1, "all-port"),
    "odd ring": ("ring:5", 2, "all-port"),
    "one port": ("path:5", 1, "one-port"),
    "torus": ("torus:3x4", 1, "all-port"),
    "cube": ("hypercube:3", 2, "one-port,combining"),
    "beyond": ("complete:6", 1, "whispering"),
    "tree": ("tree:2,2", 1, "shouting"),
    "half": ("mesh:2x3", 2, "all-port,half"),
    "half ring": ("ring:5", 1, "one-port,half"),
    "half cube": ("hypercube:3", 2, "one-port,combining,half"),
    "one way": ("debruijn:2,3", 1, "all-port"),
    "relays": ("fat-tree:2", 2, "one-port"),
}


def plan(case):
    where, messages, machine = PLANS[case]
    return treecast.plan("allreduce", where, messages=messages, model=machine, without_owners=True)


def verdicts(schedule):
    return [bool(treecast.verify(schedule, method=method)) for method in ("fast", "expanded")]


@pytest.mark.parametrize("case", PLANS)
def test_both_verifiers_the_replay_and_the_run_accept_them(case):
    schedule = plan(case)
    assert schedule.collective.shared
    assert verdicts(schedule) == [True, True]
    trace = treecast.simulate(schedule)
    assert trace.holds
    assert (trace.steps, trace.transmissions) == (schedule.steps, schedule.transmissions)
    assert len(run(schedule, np.random.default_rng(0).bytes(999)).intact) == schedule.network.rank_count
    assert all(formats.decode(formats.encode(schedule, to)) == schedule for to in ("text", "binary"))


@pytest.mark.parametrize("nodes", range(4, 15, 2))
def test_even_rings_take_a_step_less_than_with_owners(nodes):
    schedule = treecast.plan("allreduce", f"ring:{nodes}", without_owners=True)
    assert schedule.steps == nodes - 1 == treecast.plan("allreduce", f"ring:{nodes}").steps - 1
    assert treecast.verify(schedule).ratio == 1


@pytest.mark.parametrize("nodes", range(2, 20))
def test_doubling_takes_as_many_steps_as_there_are_bits(nodes):
    schedule = treecast.plan("allreduce", f"complete:{nodes}", without_owners=True, model="one-port,combining")
    bits = nodes.bit_length() - 1
    assert schedule.builder == "recursive-doubling" or nodes < 4
    assert schedule.steps <= bits + 2 * (nodes != 1 << bits)
    assert verdicts(schedule) == [True, True]


@pytest.mark.parametrize("spec", ["path:2", "path:5", "ring:7", "hypercube:3", "mesh:3x3", "complete:5"])
def test_of_half_duplex_a_sum_is_complete_at_a_node_from_which_none_is_far(spec):
    """Where messages combine over all ports: as many steps as there and back from the middle."""
    schedule = treecast.plan("allreduce", spec, without_owners=True, model="shouting,half")
    where = schedule.network
    radius = min(int(where.distance(v, np.arange(where.nodes)).max()) for v in range(where.nodes))
    assert schedule.steps == 2 * radius
    assert verdicts(schedule) == [True, True]


@pytest.mark.slow
@given(st.sampled_from(sorted(PLANS)), st.integers(0, 10**6), st.integers(-2, 2), st.booleans())
def test_both_verifiers_refuse_the_same(case, place, later, finished):
    """A row moved in time, or one that carries the finished sum instead of the sum, or the other way round."""
    schedule = plan(case)
    rows, sums = schedule.rows, schedule.collective.sums
    columns, table = rows.columns(), rows.payloads
    step, payload = columns["step"].copy(), columns["payload"].copy()
    at = place % len(rows)
    step[at] = max(0, int(step[at]) + later)
    first, stop = table.first[table.start[payload]], table.stop[table.start[payload]]
    if finished:
        first[at], stop[at] = (first[at] + sums) % (2 * sums), (stop[at] + sums - 1) % (2 * sums) + 1
    columns |= {"step": step, "payload": np.arange(len(rows))}
    changed = replace(schedule, rows=Rows.of(Payloads.of_ranges(first, stop), **columns), claims=None)
    fast, expanded = verdicts(changed)
    assert fast == expanded
    if fast:
        assert len(run(changed, bytes(range(200))).intact) == schedule.network.rank_count


@pytest.mark.each(7)
@pytest.mark.parametrize("case", PLANS)
def test_under_faults_the_replay_and_the_run_agree(case):
    schedule = plan(case)
    data = np.random.default_rng(1).bytes(500)
    for node in range(schedule.network.nodes):
        for step in range(schedule.steps):
            faults = Faults(nodes={node: step})
            trace, done = treecast.simulate(schedule, faults), run(schedule, data, faults)
            complete = [v for v in range(schedule.network.nodes) if v != node and trace.completion[v] < 2**31 - 1]
            if step:  # else what the others add up lacks a part that was there
                assert done.intact == complete
            assert done.transmissions == trace.transmissions


@pytest.mark.parametrize("spec", ["path:1", "mesh:2x3", "debruijn:2,2", "kautz:2,1", "fat-tree:2", "complete:5"])
@pytest.mark.parametrize(
    "machine", ["all-port", "all-port,half", "one-port", "one-port,half", "whispering", "shouting"]
)
def test_they_never_take_more_steps_than_with_owners(spec, machine):
    """Past relays and over arcs that lead one way, too."""
    owned, shared = (treecast.plan("allreduce", spec, model=machine, **more) for more in ({}, {"without_owners": True}))
    assert shared.steps <= owned.steps
    assert verdicts(shared) == [True, True]


def test_sums_meet_at_nodes_of_different_degrees():
    where = network(nx.Graph([(0, 1), (0, 4), (1, 2), (1, 3), (2, 4), (3, 4)]))
    schedule = treecast.plan("allreduce", where, model="all-port,half", without_owners=True)
    assert verdicts(schedule) == [True, True]


def test_an_orbit_that_is_too_long_says_so():
    with pytest.raises(PlanError, match=r"too many to write out; .*: with owners there is a plan"):
        treecast.plan("allreduce", "star:7", without_owners=True)


def test_what_needs_owners_says_so():
    schedule = plan("ring")
    assert any("owner" in bound.given for bound in treecast.bounds("allreduce", "ring:4"))
    assert not any(bound.given for bound in treecast.verify(schedule).bounds)
    assert not treecast.plan("allreduce", "ring:4").collective.shared


def test_on_a_graph_that_is_a_ring():
    where = network(nx.relabel_nodes(nx.cycle_graph(8), {v: f"n{v * 3 % 8}" for v in range(8)}))
    schedule = treecast.plan("allreduce", where, without_owners=True)
    assert schedule.steps == 7
    assert verdicts(schedule) == [True, True]
    left = treecast.repair(schedule, dead_nodes=[where.label(2)]).schedule
    assert verdicts(left) == [True, True]


def test_a_rank_sends_what_it_had_before_the_step():
    """However early contributions come: a contribution of step 1 is no part of what goes out in step 1."""
    memory = np.array([1, 0, 0, 0, 0, 0, 0, 0], np.uint8)

    def transfer(sends, peer, step):
        return Transfer(sends, peer, 0, 1, step, 0, -1, 0, 1)

    def add(into, contribution):
        into += contribution

    receives = [transfer(False, peer, step) for peer, step in ((1, 0), (2, 1))]
    sends = [transfer(True, peer, step) for peer, step in ((1, 0), (2, 1), (3, 2))]
    part = Part(lambda chunk: memory, (), {0: 2}, {}, add, shared=True)
    additions = Additions(part, receives + sends)
    assert [None if (out := additions.partial(each, 0)) is None else int(out[0]) for each in sends] == [1, None, None]
    additions.take(receives[1], 0, memory * 0 + 10)
    assert additions.partial(sends[1], 0) is None
    additions.take(receives[0], 0, memory * 0 + 100)
    assert [int(additions.partial(each, 0)[0]) for each in sends] == [1, 101, 111]


def test_bounds_of_such_a_job_are_for_sums_without_owners():
    schedule = treecast.plan("allreduce", "hypercube:3", model="one-port,combining", without_owners=True)
    assert schedule.steps == 3
    for found in (treecast.bounds(schedule), treecast.bounds("allreduce", "hypercube:3", without_owners=True)):
        assert found
        assert not any(bound.given for bound in found)
    assert max(bound.value for bound in treecast.bounds(schedule) if bound.of == "steps") == 3


# Sums without owners on random graphs, past relays and over one-way arcs: all judges agree, and owners make no plan shorter.


MACHINES = [name for name, model in MODELS.items() if model.buffered and not model.routing]


MACHINES += [f"{name},half" for name in MACHINES if "half" not in name]


@pytest.mark.slow
@given(
    st.integers(2, 8),
    st.integers(0, 10**6),
    st.booleans(),
    st.sampled_from(MACHINES),
    st.sampled_from([1, 2, 5, 40]),
    st.data(),
)
@examples(60)
def test_on_any_network(size, seed, one_way, machine, messages, data):
    graph = nx.gnp_random_graph(size, 0.5, seed=seed, directed=one_way)
    assume((nx.is_strongly_connected if one_way else nx.is_connected)(graph))
    relays = data.draw(st.sets(st.integers(1, size - 1), max_size=size - 2))
    nx.set_node_attributes(graph, dict.fromkeys(relays, True), "relay")
    where = treecast.network(graph)
    try:
        owned = treecast.plan("allreduce", where, messages=messages, model=machine)
    except treecast.PlanError:
        return
    shared = treecast.plan("allreduce", where, messages=messages, model=machine, without_owners=True)
    assert shared.steps <= owned.steps
    assert all(treecast.verify(shared, method=method).holds for method in ("fast", "expanded"))
    assert treecast.simulate(shared).holds
    assert len(run(shared, np.random.default_rng(seed).bytes(700)).intact) == where.rank_count
