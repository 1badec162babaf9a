import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import planned
from tests.test_simulator import draw_faults
from treecast.errors import FaultError, PlanError
from treecast.execute.local import chunk_bounds, run
from treecast.faults import Faults, parse_faults
from treecast.plans import plan
from treecast.simulator import simulate


@given(planned(), st.binary(max_size=200), st.data())
def test_what_really_happens_is_what_the_simulator_says(schedule, data, draws):
    faults = draw_faults(draws, schedule)
    done, trace = run(schedule, data, faults), simulate(schedule, faults)
    assert (done.steps, done.transmissions) == (trace.steps, trace.transmissions)
    for v in range(schedule.network.nodes):
        for c in range(schedule.collective.messages):
            assert done.held[v, c] == (trace.arrival_step(v, c) is not None)
    lost = {v for v, _, _ in trace.lost}
    assert done.intact == [v for v in done.living if v not in lost]
    assert [(v, a, b) for v in done.living for a, b in done.lost(v)] == trace.lost


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
    bounds = chunk_bounds(size, messages)
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
    schedule = plan("broadcast", "star:3", messages=4)  # one copy: tree 0 carries 0-1, tree 1 carries 2-3
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


def test_what_cannot_be_run_is_refused():
    schedule = plan("broadcast", "star:4", messages=3)
    with pytest.raises(FaultError, match="cannot be dead from the start"):
        run(schedule, b"x", Faults({0: 0}))
    with pytest.raises(PlanError, match="do not fit"):
        run(schedule, memoryview(np.zeros(2**29, np.uint8)))
    from tests.test_schedule import rotation_of_ring

    with pytest.raises(PlanError, match="allgather"):
        run(rotation_of_ring(4), b"x")
