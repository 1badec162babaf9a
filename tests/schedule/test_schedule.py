from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles.plain import sends_of
from tests.strategies import arbitrary, planned
from treecast.collectives import Collective
from treecast.errors import ScheduleError
from treecast.models import model
from treecast.networks import network
from treecast.plans import plan
from treecast.schedule import COLUMNS, Payloads, Rows, Schedule


def entries(schedule, start=0, stop=None):
    return sorted(
        (s.step, *entry)
        for s in schedule.expand(start, stop)
        for entry in zip(*(c.tolist() for c in (s.src, s.dst, s.port, s.tree, s.chunk, s.row)), strict=True)
    )


@given(arbitrary())
def test_expansion_is_every_single_send(schedule):
    sends = sends_of(schedule)
    assert entries(schedule) == sends
    assert schedule.transmissions == len(sends)
    assert schedule.steps == max((s[0] + 1 for s in sends), default=0)


@given(planned(), st.integers(0, 12), st.integers(0, 12))
def test_expansion_by_ranges_of_steps(schedule, start, stop):
    assert entries(schedule, start, stop) == [s for s in sends_of(schedule) if start <= s[0] < stop]
    picked = schedule[start:stop]
    assert {s[:6] for s in entries(schedule, start, stop)} <= {s[:6] for s in sends_of(picked)}


@given(arbitrary(), st.randoms())
def test_rows_in_any_order_are_the_same_rows(schedule, random):
    rows = schedule.rows
    order = list(range(len(rows)))
    random.shuffle(order)
    assert rows.take(np.array(order, int)) == rows
    keys = list(zip(rows.step.tolist(), rows.src.tolist(), rows.dst.tolist(), strict=True))
    assert keys == sorted(keys)


def test_payloads_are_canonical():
    columns = {"step": [0, 1], "steps": [2, 2], "src": [0, 1], "dst": [1, 2], "port": [0, 0], "tree": [0, 0]}
    one = Rows.of(Payloads.of([[(0, 1), (1, 2)], [(5, 6)], [(0, 2)]]), payload=[0, 2], **columns)
    other = Rows.of(Payloads.of([[(0, 2)]]), payload=[0, 0], **columns)
    assert one == other
    assert len(one.payloads) == 1


def test_nothing_in_a_schedule_can_be_changed():
    schedule = plan("broadcast", "star:4", messages=3)
    with pytest.raises(ValueError, match="read-only"):
        schedule.rows.step[0] = 7
    with pytest.raises(AttributeError):
        schedule.copies = 2


def rotation_of_ring(n, messages=1):
    """Allgather on a ring as an orbit: node 0's data goes right, one hop a step."""
    ring = network(f"ring:{n}")
    hops = np.arange(n - 1)
    columns = {
        "step": hops * messages,
        "steps": np.full(n - 1, messages),
        "src": hops,
        "dst": hops + 1,
        "port": hops * 0,
    }
    rows = Rows.of(Payloads.of([[(0, messages)]]), tree=hops * 0, payload=hops * 0, **columns)
    return Schedule(ring, Collective("allgather", n, messages), model("all-port"), rows, orbit=True)


@pytest.mark.parametrize("schedule", [rotation_of_ring(5), rotation_of_ring(4, 3)])
def test_an_orbit_is_its_translates(schedule):
    network, messages = schedule.network, schedule.collective.messages
    expected = sorted(
        (step, (src + h) % network.nodes, (dst + h) % network.nodes, port, tree, h * messages + chunk)
        for step, src, dst, port, tree, chunk, _ in sends_of(schedule)
        for h in range(network.nodes)
    )
    assert sorted(s[:6] for s in entries(schedule)) == expected
    assert sorted(s[:6] for s in entries(schedule.plain())) == expected
    assert schedule.transmissions == len(expected)
    assert schedule.steps == schedule.plain().steps
    for node in range(network.nodes):
        mine = sorted(s[:6] for s in entries(schedule.at(node)))
        assert mine == [s for s in expected if node in s[1:3]]


@given(arbitrary(orbit=True))
def test_programs_of_orbits_make_up_the_whole(schedule):
    plain = sorted(s[:6] for s in entries(schedule.plain()))
    for node in range(schedule.network.nodes):
        assert sorted(s[:6] for s in entries(schedule.at(node))) == [s for s in plain if node in s[1:3]]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"steps": [2]}, "a stream takes one step per chunk"),
        ({"steps": [4]}, "a stream takes one step per chunk"),
        ({"steps": [0]}, "outside 1"),
        ({"step": [-1]}, "outside 0"),
        ({"step": [2**31]}, "outside 0"),
        ({"step": [2**31 - 2]}, "ends after step"),
        ({"port": [-2]}, "outside -1"),
        ({"payload": [1]}, "names payload 1 of 1"),
        ({"src": [0.5]}, "whole numbers"),
        ({"src": [0, 1]}, "of one length"),
    ],
)
def test_columns_that_do_not_fit_are_refused(change, said):
    columns = {"step": [0], "steps": [3], "src": [0], "dst": [1], "port": [0], "tree": [0], "payload": [0]} | change
    assert set(columns) == set(COLUMNS)
    with pytest.raises(ScheduleError, match=said):
        Rows.of(Payloads.of([[(0, 3)]]), **columns)


@pytest.mark.parametrize("ranges", [[(3, 3)], [(-1, 2)], [(0, 3), (2, 4)]])
def test_payloads_that_are_none_are_refused(ranges):
    columns = {"step": [0], "steps": [1], "src": [0], "dst": [1], "port": [0], "tree": [0], "payload": [0]}
    with pytest.raises(ScheduleError):
        Rows.of(Payloads.of([ranges]), **columns)


def test_schedules_whose_parts_do_not_fit_are_refused():
    schedule = plan("broadcast", "star:4", messages=3)
    with pytest.raises(ScheduleError, match="number of nodes"):
        replace(schedule, network=network("star:5"))
    with pytest.raises(ScheduleError, match="orbit"):
        replace(schedule, orbit=True)
    with pytest.raises(ScheduleError, match="chunks go from 0 to 1"):
        replace(schedule, collective=Collective("broadcast", 24, 2))
    with pytest.raises(ScheduleError, match="copies"):
        replace(schedule, copies=0)
    with pytest.raises(ScheduleError, match="does not have"):
        replace(schedule, network=network("path:6"), collective=Collective("broadcast", 6, 3))
