import hashlib
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles.plain import parts_of, replay, wanted_of
from tests.simulation.test_replay import ADDING, COPYING, draw_faults, of_any_collective
from tests.strategies import examples
from treecast.collectives import Collective
from treecast.errors import FaultError, PlanError
from treecast.models import model
from treecast.networks import network
from treecast.plans import plan
from treecast.running.execution.layout import even_layout
from treecast.running.execution.local import run
from treecast.schedule import COLUMNS, Payloads, Rows, Schedule
from treecast.simulation.faults import Faults, parse_faults
from treecast.simulation.replay import simulate

NO_ROWS = Rows.of(Payloads.of([]), **{name: [] for name in COLUMNS})


@examples(80)
@given(of_any_collective(), st.binary(max_size=200), st.data())
def test_what_really_happens_is_what_the_simulator_says(schedule, data, draws):
    faults = draw_faults(draws, schedule, root_too=schedule.collective.all_source)
    done, trace = run(schedule, data, faults), simulate(schedule, faults)
    assert (done.steps, done.transmissions) == (trace.steps, trace.transmissions)
    assert done.lost_sends == trace.lost_sends
    for v in range(schedule.network.nodes):
        for c in range(schedule.collective.chunks):
            assert done.held[v, c] == (trace.arrival_step(v, c) is not None)
    lost = {v for v, _, _ in trace.lost}
    assert done.intact == [v for v in done.living if v not in lost]
    assert [(v, a, b) for v in range(schedule.network.nodes) for a, b in done.lost(v)] == trace.lost
    sent = set(trace.schedule.rows.tree[trace.via[trace.via >= 0]].tolist())
    assert {tree for v in range(schedule.network.nodes) for tree in done.by_tree(v)} <= sent


def test_of_copies_that_come_in_one_step_the_first_row_counts():
    schedule = plan("broadcast", "hypercube:3", root=2, copies=2, builder="disjoint-trees")
    done, trace = run(schedule, b"x", Faults({3: 0})), simulate(schedule, Faults({3: 0}))
    for v in (u for u in range(8) if u not in (2, 3)):
        assert list(done.by_tree(v)) == [int(schedule.rows.tree[trace.via[0, v]])]


def test_sums_that_others_own_against_plain_loops():
    schedule = plan("allreduce", "star:3", messages=3, builder="priced-trees")
    assert schedule.collective.owners
    done, (_, made, last) = run(schedule, b"data"), replay(schedule)
    assert (done.transmissions, done.steps) == (made, last)


@examples(80)
@given(of_any_collective(), st.binary(max_size=200), st.data())
def test_bytes_and_sums_against_plain_loops(schedule, data, draws):
    faults = draw_faults(draws, schedule, root_too=schedule.collective.all_source)
    done, parts, wanted = run(schedule, data, faults), parts_of(schedule, data), wanted_of(schedule, faults.nodes)
    arrival, made, last = replay(schedule, dict(faults.nodes), dict(faults.arcs))
    assert (done.transmissions, done.steps) == (made, last)
    for v, chunks in enumerate(wanted):
        contents = digest_of(parts[c] for c in sorted(chunks))
        assert done.true_digests[v] == contents
        assert set(np.flatnonzero(done.wanted[v]).tolist()) == chunks
        if v in faults.nodes:
            assert done.digests[v] is None
        elif all((v, c) in arrival for c in chunks):
            assert v in done.intact
            assert done.digests[v] == contents
        else:
            assert v not in done.intact


def digest_of(parts):
    """The digest of bytes, or of numbers of eight bytes each."""
    whole = b"".join(p if isinstance(p, bytes) else b"".join(n.to_bytes(8, "little") for n in p) for p in parts)
    return hashlib.sha256(whole).hexdigest()


@pytest.mark.each(5)
@pytest.mark.parametrize("kind", [*COPYING, *ADDING])
@pytest.mark.parametrize("size", [0, 1, 5, 23, 25, 1001])
def test_any_size_of_file_for_every_collective(kind, size):
    data = np.random.default_rng(size).bytes(size)
    for spec, messages in (("star:4", 1), ("hypercube:3", 7), ("torus:3x3", 2)):
        schedule = plan(kind, spec, messages=messages)
        done = run(schedule, data)
        nodes, parts = schedule.network.nodes, parts_of(schedule, data)
        assert done.intact == list(range(nodes))
        assert done.digests == [digest_of(parts[c] for c in sorted(chunks)) for chunks in wanted_of(schedule)]
        assert (done.steps, done.transmissions) == (schedule.steps, schedule.transmissions)


def test_a_network_of_one_node_has_its_data():
    for kind in (*COPYING, *ADDING):
        schedule = Schedule(network("path:1"), Collective(kind, 1, 2), model("all-port"), NO_ROWS)
        done = run(schedule, b"abc")
        assert done.intact == [0]
        assert done.digests == done.true_digests
        assert not simulate(schedule).lost


def test_a_contribution_added_twice_is_not_intact():
    schedule = plan("reduce", "star:3", messages=2)
    rows = schedule.rows
    last = np.flatnonzero(rows.dst == 0)[-1:]
    again = {name: np.concatenate([column, column[last]]) for name, column in rows.columns().items()}
    again["step"][-1] += 2
    done = run(replace(schedule, rows=Rows.of(rows.payloads, **again), claims=None), bytes(range(60)))
    assert done.lost(0) == []
    assert 0 not in done.intact


@pytest.mark.parametrize("size", [0, 1, 2, 99, 100, 101, 12345])
@pytest.mark.parametrize("messages", [1, 7, 100])
def test_any_size_of_file_and_number_of_chunks(size, messages):
    data = np.random.default_rng(size).bytes(size)
    done = run(plan("broadcast", "star:4", messages=messages, copies=2, root="4321"), data)
    assert len(done.intact) == 24
    assert done.digest == hashlib.sha256(data).hexdigest()
    assert set(done.digests) == {done.digest}


@given(st.integers(0, 10**6), st.integers(1, 1000))
def test_chunks_cut_the_file(size, messages):
    bounds = even_layout(size, messages).bounds
    lengths = np.diff(bounds)
    assert (bounds[0], bounds[-1], len(lengths)) == (0, size, messages)
    assert lengths.max() - lengths.min() <= 1


def test_two_nodes_die_and_all_others_have_the_file():
    data = bytes(range(256)) * 40
    schedule = plan("broadcast", "star:4", messages=60, survive=2)
    faults = parse_faults(schedule.network, ["2134@9", "4231@14"])
    done = run(schedule, data, faults)
    assert len(done.living) == len(done.intact) == 22
    assert [v for v, digest in enumerate(done.digests) if digest is None] == sorted(faults.nodes)
    for v in done.living[1:]:
        assert sum(done.by_tree(v).values()) == 60
    assert done.by_tree(0) == {}
    assert all(sum(done.by_tree(v).values()) < 60 for v in faults.nodes)


def test_what_is_lost_is_said():
    schedule = plan(
        "broadcast", "star:3", messages=4, builder="disjoint-trees"
    )  # one copy: tree 0 carries 0-1, tree 1 carries 2-3
    done = run(schedule, b"abcdefgh", parse_faults(schedule.network, ["213"]))
    first = schedule.network.node("312")
    assert first not in done.intact
    assert done.lost(first) == [(0, 2)]
    assert done.by_tree(first) == {1: 2}
    assert done.digests[first] != done.digest


def test_bytes_that_arrive_are_the_bytes_that_left():
    """A buffer of zeros is not mistaken for a file of zeros that never came."""
    schedule = plan("broadcast", "star:3", messages=4)
    done = run(schedule, bytes(8), parse_faults(schedule.network, ["213"]))
    first = schedule.network.node("312")
    assert done.digests[first] == done.digest
    assert first not in done.intact


@pytest.mark.slow
@pytest.mark.parametrize(
    "spec",
    ["star:3", "star:4", "star:5", *(f"hypercube:{d}" for d in range(1, 6)), "torus:3x3", "torus:4x4x4", "ring:5"],
)
def test_an_allreduce_is_exact(spec):
    schedule = plan("allreduce", spec, messages=1 if spec == "star:5" else 2)
    nodes = schedule.network.nodes
    length = 2 * schedule.collective.sums + 1
    data = np.full(nodes * length - 1, 255, np.uint8)  # the greatest sums there are, and a padded end
    data[: nodes * length // 2] = np.random.default_rng(3).integers(256, size=nodes * length // 2)
    done = run(schedule, data.tobytes())
    total = np.append(data, np.uint8(0)).reshape(nodes, length).sum(axis=0, dtype=np.int64)
    assert set(done.digests) == {hashlib.sha256(total.tobytes()).hexdigest()}
    assert len(done.intact) == nodes


@pytest.mark.slow
def test_what_cannot_be_run_is_refused():
    schedule = plan("broadcast", "star:4", messages=3)
    with pytest.raises(FaultError, match="cannot be dead from the start"):
        run(schedule, b"x", Faults({0: 0}))
    with pytest.raises(PlanError, match=r"^24 buffers of [^\n]* do not fit"):
        run(schedule, memoryview(np.zeros(2**29, np.uint8)))
    with pytest.raises(PlanError, match=r"^24 buffers of [^\n]* do not fit"):  # numbers take eight bytes each
        run(plan("reduce", "star:4"), memoryview(np.zeros(2**30, np.uint8)))
    with pytest.raises(PlanError, match=r"^720 buffers of 1 bytes and 5,184,000 chunks do not fit"):
        run(plan("alltoall", "star:6", messages=10), b"x")
    with pytest.raises(PlanError, match=r"^10,000,001 chunks take too long"):
        run(plan("broadcast", "hypercube:1", messages=10**7 + 1), b"x")
