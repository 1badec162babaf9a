"""Ways taken off schedules, and their timetables on any machine."""

from random import Random

import networkx as nx
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.oracles.timetables import list_schedule
from tests.plans.ways.test_ways import KINDS, MACHINES, SMALL, judged
from treecast import Model, load, plan, save, sweep, verify
from treecast.models import model
from treecast.plans import plan_again
from treecast.plans.times.timetable import listed, there_and_back
from treecast.plans.ways.ways import Ways
from treecast.schedule import Schedule

CABLES = nx.MultiGraph([(0, 1), (0, 1), (1, 2), (2, 0)])


@given(
    kind=st.sampled_from(KINDS),
    where=st.sampled_from([*SMALL, "mesh:2x3", "petersen", CABLES]),
    machine=st.sampled_from(MACHINES),
    messages=st.integers(1, 7),
    most=st.sampled_from([10, 60, 10**6]),
    back=st.booleans(),
    chance=st.randoms(use_true_random=False),
)
@example(kind="broadcast", where=CABLES, machine="whispering", messages=3, most=10, back=False, chance=Random(3))
@example(kind="allreduce", where=CABLES, machine="whispering", messages=2, most=10, back=False, chance=Random(0))
def test_a_list_schedule_is_what_its_definition_says(kind, where, machine, messages, most, back, chance):
    ways = Ways.of_schedule(plan(kind, where, messages=messages), most=most)
    order = list(range(len(ways)))
    chance.shuffle(order)
    key = np.empty(len(ways), np.int64)
    key[order] = np.arange(len(ways))
    found = listed(ways, model(machine), [key], back=back)
    lasts = np.ones_like(ways.lengths) if model(machine).combining else ways.lengths
    assert found.steps == int((found.step + lasts).max(initial=0))
    assert int(found.step.min(initial=0)) == 0
    if not back:
        assert found.step.tolist() == list_schedule(ways, model(machine), order)
    built = found.built()
    judged(
        Schedule(
            ways.network,
            plan(kind, where, messages=messages).collective,
            model(machine),
            built.rows,
            claims=built.claims,
        )
    )


@pytest.mark.each(3)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("where", [*SMALL, "mesh:3x3"])
def test_in_the_order_of_its_schedule_nothing_is_later(kind, where):
    schedule = plan(kind, where, messages=3)
    ways = Ways.of_schedule(schedule)
    own = listed(ways, schedule.model, [np.arange(len(ways))])
    assert own.steps <= schedule.steps
    assert own.transmissions == schedule.transmissions
    assert ways.below.max() <= len(ways)
    assert ways.heights.max() <= own.steps
    shorter = listed(ways, model("one-port,half"), [-ways.below])
    assert there_and_back(shorter).steps <= shorter.steps


@pytest.mark.each(13)
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("kind", ["broadcast", "scatter", "gather", "allgather", "alltoall"])
def test_copies_keep_their_certificate(kind, machine):
    for where, survive in (("ring:5", 1), ("hypercube:3", 2), ("debruijn:2,2", 0)):
        schedule = plan(kind, where, model=machine, survive=survive, messages=2)
        assert schedule.copies == survive + 1
        judged(schedule)
    assert sweep(plan(kind, "ring:4", model=machine, survive=1), 1).holds


@pytest.mark.each(3)
@pytest.mark.parametrize("lengths", [2, [3, 0, 1, 5]])
@pytest.mark.parametrize("machine", MACHINES)
def test_blocks_of_different_lengths(machine, lengths):
    schedule = plan("allgatherv", "path:4", lengths=lengths, model=machine)
    for method in ("fast", "expanded"):
        assert verify(schedule, method=method).holds


@pytest.mark.each(4)
@pytest.mark.parametrize("where", ["star:4", "petersen", "tree:2,3"])
@pytest.mark.parametrize("kind", ["allgather", "alltoall"])
def test_a_stronger_machine_takes_no_more_steps_where_messages_combine(kind, where):
    met, free = (
        plan(kind, where, model=name, builder="list-schedule").steps for name in ("whispering", "one-port,combining")
    )
    assert free <= met


def test_many_messages_go_in_blocks():
    schedule = plan("broadcast", "petersen", model="one-port", messages=10**6, builder="list-schedule")
    assert verify(schedule).holds
    assert schedule.steps < 1.2 * 10**6 * 2


def test_plans_are_planned_again_and_kept(tmp_path):
    mine = Model("mine", "one", partner="same")
    for kind in KINDS:
        schedule = plan(kind, "mesh:2x3", model=mine, messages=2)
        assert plan_again(schedule).rows == schedule.rows
        save(schedule, tmp_path / "plan.tc")
        again = load(tmp_path / "plan.tc")
        assert again.rows == schedule.rows
        assert again.model.normal == mine.normal


@pytest.mark.parametrize(("where", "steps"), [("dragonfly:4,2", 8), ("fat-tree:4", 11), ("random-regular:24,4,1", 7)])
def test_gossip_by_exchange_on_larger_networks(where, steps):
    schedule = judged(plan("allgather", where, model="one-port,combining", messages=7))
    assert schedule.steps <= steps
