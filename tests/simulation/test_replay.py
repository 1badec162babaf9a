from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles.plain import all_sends_of, replay, wanted_of
from tests.schedule.test_schedule import rotation_of_ring
from tests.strategies import arbitrary, examples, planned
from treecast.description import describe
from treecast.errors import FaultError, ScheduleError, TreecastError
from treecast.models import Cost
from treecast.networks import network
from treecast.plans import plan
from treecast.running.execution.local import run
from treecast.simulation.faults import Faults, parse_faults
from treecast.simulation.replay import simulate
from treecast.simulation.sweeps import sweep
from treecast.steps import NEVER

pytestmark = pytest.mark.each(2)

COPYING = ["broadcast", "scatter", "gather", "allgather", "alltoall"]
ADDING = ["reduce", "reduce-broadcast", "reduce-scatter", "allreduce"]
ONE_ROOT = ["broadcast", "scatter", "gather", "reduce", "reduce-broadcast"]


@st.composite
def of_any_collective(draw, kinds=(*COPYING, *ADDING)):
    """A right schedule of any collective on a small network."""
    spec = draw(st.sampled_from(["star:3", "hypercube:1", "hypercube:2", "hypercube:3", "torus:3x3", "ring:5"]))
    kind, where = draw(st.sampled_from(kinds)), network(spec)
    spreads = kind in COPYING and spec.startswith(("star", "hypercube"))
    copies = draw(st.integers(1, where.ports)) if spreads else 1
    root = draw(st.integers(0, where.nodes - 1)) if kind in ONE_ROOT else 0
    return plan(kind, where, root=root, messages=draw(st.integers(1, 3)), copies=copies)


def draw_faults(data, schedule, root_too=False):
    network, steps = schedule.network, st.integers(0, schedule.steps + 1)
    inner = st.integers(0, network.nodes - 1).filter(lambda v: root_too or v != schedule.collective.root)
    nodes = data.draw(st.dictionaries(inner, steps, max_size=3)) if network.nodes > 1 else {}
    arc = st.tuples(st.integers(0, network.nodes - 1), st.integers(0, network.ports - 1))
    arcs = data.draw(st.dictionaries(arc.filter(lambda a: int(network.neighbor(*a)) >= 0), steps, max_size=3))
    return Faults(nodes, arcs)


def check(schedule, faults):
    trace = simulate(schedule, faults)
    arrival, made, last = replay(schedule, dict(faults.nodes), dict(faults.arcs))
    nodes, wanted = schedule.network.nodes, wanted_of(schedule, faults.nodes)
    for v in range(nodes):
        for c in range(schedule.collective.chunks):
            assert trace.arrival_step(v, c) == arrival.get((v, c)), (v, c)
    assert (trace.transmissions, trace.steps) == (made, last)
    lost = {(v, c) for v in range(nodes) for c in wanted[v] if (v, c) not in arrival}
    assert {(v, c) for v, a, b in trace.lost for c in range(a, b)} == lost
    assert trace.delivered == nodes - len(faults.nodes) - len({v for v, _ in lost})
    for v in range(nodes):
        done = max((arrival.get((v, c), NEVER) for c in wanted[v]), default=0)
        assert trace.completion[v] == (NEVER if v in faults.nodes else done)
    load = np.zeros((nodes, max(schedule.network.ports, 1)), int)
    lost_sends = 0
    for step, src, dst, port, _, chunk, *_ in all_sends_of(schedule):
        sent = step < faults.nodes.get(src, step + 1) and arrival.get((src, chunk), step + 1) <= step
        carried = step < faults.arcs.get((src, port), step + 1) and step < faults.nodes.get(dst, step + 1)
        load[src, port] += sent
        lost_sends += sent and not carried
    assert trace.lost_sends == lost_sends
    if schedule.network.ports:
        assert (trace.arc_load() == load).all()
    assert (trace.node_load() == load.sum(axis=1)).all()


@pytest.mark.parametrize("spec", ["star:3", "hypercube:3", "torus:3x3", "ring:5"])
@pytest.mark.parametrize("kind", [*COPYING, *ADDING])
def test_every_collective_is_complete_without_faults(kind, spec):
    schedule = plan(kind, spec, messages=3)
    trace = simulate(schedule)
    assert not trace.lost
    assert (trace.steps, trace.transmissions) == (schedule.steps, schedule.transmissions)
    assert trace.completion.max() <= schedule.steps


def test_what_goes_into_a_cut_link_counts_like_what_goes_to_a_dead_node():
    schedule = plan("broadcast", "path:3", messages=4)
    cut_link = parse_faults(schedule.network, links=["1>2"])
    whole, dead, cut = (simulate(schedule, faults) for faults in (Faults(), Faults({2: 0}), cut_link))
    assert [(t.transmissions, t.lost_sends) for t in (whole, dead, cut)] == [(8, 0), (8, 4), (8, 4)]
    for trace in (dead, cut):
        assert "8, 4 of them over failed arcs or to failed nodes" in str(trace)
        assert describe(trace).figures["lost_sends"] == 4


@examples(100)
@given(arbitrary(orbit=True), st.sampled_from(["allgather", "reduce-scatter"]), st.data())
def test_any_orbit_under_faults_against_plain_loops(schedule, kind, data):
    schedule = replace(schedule, collective=replace(schedule.collective, kind=kind))
    check(schedule, draw_faults(data, schedule, root_too=True))


def test_a_sum_waits_for_ever_for_what_does_not_come():
    """path: 0 < 1 < 2 < 3 < 4, all towards the root; node 3 dies, so that 2 waits for it, 1 for 2, and the root for 1."""
    trace = simulate(plan("reduce", "path:5", messages=2), Faults({3: 1}))
    assert [trace.arrival_step(v, 0) for v in range(5)] == [None, None, None, 1, 0]
    assert trace.transmissions == 2  # both chunks of node 4, of which the second reaches nobody
    assert trace.lost == [(0, 0, 2)]
    assert trace.delivered == 3


def test_what_only_the_dead_had_is_not_lost():
    gather = plan("gather", "star:4", messages=2, copies=3)
    trace = simulate(gather, Faults({5: 0, 7: 0}))
    assert not trace.lost
    assert trace.delivered == 22
    assert trace.completion[0] < NEVER
    assert simulate(gather, Faults({5: 1})).lost  # it was alive, and had sent but a part
    for kind in ("allgather", "alltoall"):
        assert not simulate(plan(kind, "star:3", messages=2, copies=2), Faults({4: 0})).lost
        assert simulate(plan(kind, "star:3", messages=2, copies=2), Faults({4: 1})).lost


@pytest.mark.parametrize("kind", ADDING)
def test_sweeps_of_sums_are_refused(kind):
    with pytest.raises(FaultError, match=r"^a sum has one copy and survives no fault: [^\n]+$"):
        sweep(plan(kind, "star:3"), 1)


def test_tables_that_are_too_large_are_refused(monkeypatch):
    monkeypatch.setattr("treecast.simulation.replay._MOST_CELLS", 24**3 - 1)
    with pytest.raises(ScheduleError, match=r"^24 nodes x 576 runs of chunks are too many to replay$"):
        simulate(plan("alltoall", "star:4"))


@examples(150)
@given(planned(), st.data())
def test_right_schedules_under_faults_against_plain_loops(schedule, data):
    check(schedule, draw_faults(data, schedule))


@examples(150)
@given(arbitrary(), st.data())
def test_any_schedule_under_faults_against_plain_loops(schedule, data):
    check(schedule, draw_faults(data, schedule))


def test_streams_of_a_million_messages():
    schedule = plan("broadcast", "star:5", messages=10**6, copies=3)
    faults = parse_faults(schedule.network, ["21345@500000"], ["12345-52341@1000"])
    trace = simulate(schedule, faults)
    assert not trace.lost
    assert trace.steps == schedule.steps
    assert len(trace.atoms) < 100
    assert trace.transmissions < schedule.transmissions == simulate(schedule).transmissions


def test_the_way_by_which_each_chunk_came():
    schedule = plan("broadcast", "star:4", messages=6)
    trace = simulate(schedule)
    for atom in range(len(trace.atoms)):
        for v in range(1, 24):
            row = int(trace.via[atom, v])
            assert schedule.rows.dst[row] == v
            assert trace.atoms.bounds[atom] in {
                c for a, b in schedule.rows.payloads.ranges(int(schedule.rows.payload[row])) for c in range(a, b)
            }
    assert (trace.via[:, 0] == -1).all()


def test_an_orbit_is_replayed_source_by_source():
    trace = simulate(rotation_of_ring(5), Faults({2: 0}))
    lost = {(v, c) for v, a, b in trace.lost for c in range(a, b)}
    # data goes right only: what started left of node 2 does not pass it; its own never started, and is not lost
    assert lost == {
        (v, c) for v in (0, 1, 3, 4) for c in (0, 1, 3, 4) if v != c and 2 in [(c + i) % 5 for i in range((v - c) % 5)]
    }


def test_time():
    trace = simulate(plan("broadcast", "star:4", messages=12, copies=3))
    assert trace.seconds(Cost(1e-6, 1e-9), 1000) == pytest.approx(17 * 2e-6)  # of depth 6
    assert Cost(2.0).step_time(10**9) == 2.0


def test_a_source_that_never_lives_is_refused():
    schedule = plan("broadcast", "star:4", messages=30, root=5)
    with pytest.raises(FaultError, match="root 1432 cannot be dead"):
        simulate(schedule, Faults({5: 0}))
    trace = simulate(schedule, Faults({5: 2}))
    assert trace.lost
    assert trace.delivered < 23


@pytest.mark.parametrize(
    "faults", [Faults({24: 0}), Faults({-1: 3}), Faults({}, {(0, 3): 0}), Faults({}, {(24, 0): 0})]
)
def test_faults_of_what_does_not_exist_are_refused(faults):
    schedule = plan("broadcast", "star:4", messages=3)
    for judge in (simulate, lambda s, f: run(s, b"x", f)):
        with pytest.raises(TreecastError, match=r"^[^\n]+$"):
            judge(schedule, faults)


@pytest.mark.slow
@examples(120)
@given(of_any_collective(), st.data())
def test_every_collective_under_faults_against_plain_loops(schedule, data):
    check(schedule, draw_faults(data, schedule, root_too=schedule.collective.all_source))


@pytest.mark.slow
@pytest.mark.parametrize("step", range(14))
def test_a_node_that_dies_in_mid_run(step):
    schedule = plan("broadcast", "star:4", messages=7, copies=2)
    for node in range(1, 24):
        check(schedule, Faults({node: step}))
        assert not simulate(schedule, Faults({node: step})).lost
