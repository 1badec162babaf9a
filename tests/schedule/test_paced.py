"""Paced streams, one chunk in every T steps: each is as good as a row for each of its chunks."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.oracles.plain import sends_of
from tests.strategies import arbitrary, examples, paced, planned, stretched
from treecast.collectives import Collective
from treecast.errors import ScheduleError
from treecast.files.formats import load, save
from treecast.files.programs.messages import messages_of
from treecast.models import model
from treecast.networks import network
from treecast.plans import plan
from treecast.plans.after.repairs import repair
from treecast.running.engine.transfers import transfers_of
from treecast.running.execution.local import run
from treecast.schedule import COLUMNS, Payloads, Rows, Schedule
from treecast.simulation.faults import Faults
from treecast.simulation.replay import simulate
from treecast.simulation.sweeps import sweep
from treecast.verification.verifier import verify

UNDER = ["all-port", "all-port,half", "one-port", "one-port,partner", "one-port,half", "shouting", "whispering"]


def single(schedule):
    """The same schedule with a row for each chunk of each row that is a stream."""
    rows, combined = schedule.rows, {r for r, pace in enumerate(schedule.rows.pace.tolist()) if pace == 0}
    sends = [(step, 1, *ends, [(c, c + 1)]) for step, *ends, c, r in sends_of(schedule) if r not in combined]
    every = list(rows)
    sends += [(*every[r][:-1], rows.payloads.ranges(every[r].payload)) for r in combined]
    columns = {name: [send[i] for send in sends] for i, name in enumerate(COLUMNS)} | {"payload": range(len(sends))}
    return replace(schedule, rows=Rows.of(Payloads.of([send[-1] for send in sends]), **columns))


def some_faults(data, schedule):
    where, steps = schedule.network, st.integers(0, schedule.steps + 1)
    inner = st.integers(0, where.nodes - 1).filter(lambda v: v != schedule.collective.root)
    nodes = data.draw(st.dictionaries(inner, steps, max_size=2)) if where.nodes > 1 else {}
    arc = st.tuples(st.integers(0, where.nodes - 1), st.integers(0, where.ports - 1))
    return Faults(
        nodes, data.draw(st.dictionaries(arc.filter(lambda a: int(where.neighbor(*a)) >= 0), steps, max_size=2))
    )


@examples(80)
@given(paced() | arbitrary(), st.sampled_from(UNDER))
def test_a_paced_schedule_and_its_single_sends_have_one_verdict(schedule, under):
    one, other = verify(schedule, under), verify(single(schedule), under)
    assert {rule for rule, count in one.counts.items() if count} == {
        rule for rule, count in other.counts.items() if count
    }
    assert (one.steps, one.transmissions) == (other.steps, other.transmissions)
    assert verify(schedule, under, method="expanded").holds == one.holds


@examples(40)
@given(paced())
def test_paced_schedules_are_right_where_they_leave_room(schedule):
    assert verify(schedule).holds == verify(schedule, method="expanded").holds
    assert verify(stretched(plan("broadcast", "star:4", messages=5, copies=2), 3)).holds


@examples(80)
@given(paced() | arbitrary(), st.data())
def test_they_arrive_alike_under_faults(schedule, data):
    schedule, faults = schedule.plain(), some_faults(data, schedule.plain())
    one, other = simulate(schedule, faults), simulate(single(schedule), faults)
    for v in range(schedule.network.nodes):
        for c in range(schedule.collective.chunks):
            assert one.arrival_step(v, c) == other.arrival_step(v, c)
    assert (one.steps, one.transmissions, one.lost_sends) == (other.steps, other.transmissions, other.lost_sends)
    assert (one.lost, one.completion.tolist()) == (other.lost, other.completion.tolist())
    assert one.message_sizes.tolist() == other.message_sizes.tolist()


@examples(40)
@given(paced(), st.data(), st.binary(min_size=60, max_size=99))
def test_they_carry_the_same_bytes(schedule, data, content):
    schedule, faults = schedule.plain(), some_faults(data, schedule.plain())
    one, other = run(schedule, content, faults), run(single(schedule), content, faults)
    assert np.array_equal(one.held, other.held)
    assert (one.steps, one.transmissions, one.intact) == (other.steps, other.transmissions, other.intact)


@examples(40)
@given(paced() | arbitrary(), st.sampled_from(["all-port", "shouting"]))
def test_they_are_the_same_sends_and_messages(schedule, under):
    schedule = replace(schedule, model=model(under))
    other = single(schedule)
    assert schedule.message_sizes.tolist() == other.message_sizes.tolist()
    assert sorted(s[:6] for s in schedule) == sorted(s[:6] for s in other)
    assume(verify(schedule).holds)

    def said(messages):
        named = list(
            zip(*(getattr(messages, name).tolist() for name in ("step", "src", "dst", "port", "tree")), strict=True)
        )
        named = [(*name, *messages.ranges(m)) for m, name in enumerate(named)]
        return sorted((name, sorted(named[need] for need in messages.needs_of(m))) for m, name in enumerate(named))

    assert said(messages_of(schedule)) == said(messages_of(other))


@examples(40)
@given(paced())
def test_a_rank_knows_when_each_chunk_passes(schedule):
    plain = schedule.plain()
    for rank in range(plain.network.nodes):
        found = transfers_of(plain.at(rank), rank, 1 << 20)
        mine = sorted((t.step_of(c), t.sends, t.peer, t.tree, c) for t in found for c in range(t.first, t.stop))
        sends = [s for s in sends_of(plain) if rank in s[1:3]]
        assert mine == sorted((s[0], s[1] == rank, s[2] if s[1] == rank else s[1], s[4], s[5]) for s in sends)


@examples(20)
@given(planned(), st.integers(2, 3), st.data())
def test_they_are_repaired(schedule, pace, data):
    schedule = stretched(schedule, pace)
    assume(schedule.network.nodes > 2)
    node = data.draw(st.integers(0, schedule.network.nodes - 1).filter(lambda v: v != schedule.collective.root))
    found = repair(schedule, dead_nodes=[node])
    assert verify(found.schedule).holds


def test_a_fault_cuts_a_paced_stream_in_its_middle():
    schedule = stretched(plan("broadcast", "path:3", messages=5), 3)
    trace = simulate(schedule, Faults({1: 6}))  # chunks 0 and 1 left the root in steps 0 and 3, and node 1 in 3 and 6
    assert [trace.arrival_step(1, c) for c in range(5)] == [1, 4, None, None, None]
    assert [trace.arrival_step(2, c) for c in range(5)] == [4, None, None, None, None]


def test_a_sweep_of_paced_streams():
    schedule = stretched(plan("broadcast", "star:4", messages=6, copies=3), 2)
    assert not sweep(schedule, 2).failing
    assert sweep(schedule, 3).failing


@pytest.mark.parametrize("chunks", [10**4, pytest.param(10**6, marks=pytest.mark.long)])
def test_paced_streams_share_a_port_by_turns(chunks):
    """The middle of a path sends both its neighbours many chunks, by turns; at other paces they meet somewhere."""
    where, payloads = network("path:3"), Payloads.of([[(0, chunks)]])

    def of(*rows):
        columns = {name: [row[i] for row in rows] for i, name in enumerate(COLUMNS) if name != "payload"}
        collective = Collective("broadcast", 3, chunks, 1)
        return Schedule(where, collective, model("one-port"), Rows.of(payloads, **columns, payload=0))

    def lasts(pace):
        return (chunks - 1) * pace + 1

    assert verify(of((0, lasts(2), 1, 0, 1, 0), (1, lasts(2), 1, 2, 0, 0))).holds
    assert verify(of((0, lasts(2), 1, 0, 1, 0), (3, lasts(4), 1, 2, 0, 0))).holds
    met = verify(of((0, lasts(2), 1, 0, 1, 0), (1, lasts(3), 1, 2, 0, 0)))
    assert {rule for rule, count in met.counts.items() if count} == {"send-port"}
    met = verify(of((0, lasts(2), 1, 0, 1, 0), (2 * chunks - 2, lasts(1), 1, 2, 0, 0)))
    assert {rule for rule, count in met.counts.items() if count} == {"send-port"}


def test_other_numbers_of_steps_are_refused():
    for steps in (2, 3, 6):
        with pytest.raises(
            ScheduleError, match=rf"^a row sends 5 chunks in {steps} steps: a stream takes one step per chunk, "
        ):
            Rows.of(Payloads.of([[(0, 5)]]), step=[0], steps=[steps], src=[0], dst=[1], port=[0])


@pytest.mark.slow
@examples(30)
@given(paced(), st.sampled_from([".tc", ".tcb"]))
def test_files_hold_them(tmp_path_factory, schedule, suffix):
    path = tmp_path_factory.mktemp("paced") / f"plan{suffix}"
    save(schedule, path)
    assert load(path).rows == schedule.rows
