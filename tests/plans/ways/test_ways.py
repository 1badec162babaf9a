"""Ways taken off schedules, and their timetables on any machine."""

from random import Random

import networkx as nx
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.oracles.timetables import list_schedule
from treecast import Model, bounds, job, load, plan, save, sweep, verify
from treecast.errors import PlanError
from treecast.lower_bounds import tightest
from treecast.models import model
from treecast.networks import network
from treecast.plans import plan_again
from treecast.plans.times.timetable import listed, there_and_back
from treecast.plans.ways.ways import Ways
from treecast.schedule import Payloads, Schedule

MACHINES = (
    "all-port",
    "all-port,half",
    "one-port",
    "one-port,half",
    "one-port,partner",
    "one-port,combining",
    "one-port,combining,half",
    "whispering",
    "shouting",
    "shouting,half",
)
KINDS = (
    "broadcast",
    "scatter",
    "gather",
    "reduce",
    "reduce-broadcast",
    "allgather",
    "alltoall",
    "reduce-scatter",
    "allreduce",
)
SMALL = ("path:3", "ring:4", "tree:2,2", "complete:4", "debruijn:2,2", "fat-tree:2")


def judged(schedule):
    """Return a schedule that both verifiers accept and no bound forbids."""
    for method in ("fast", "expanded"):
        report = verify(schedule, method=method)
        assert report.holds, report
        assert (report.steps, report.transmissions) == (schedule.claims.steps, schedule.claims.transmissions)
    least = bounds(job(schedule))
    assert schedule.steps >= tightest(least, "steps").value
    assert schedule.transmissions >= tightest(least, "transmissions").value
    return schedule


def test_hops_that_wait_in_a_circle_are_refused():
    circle = np.array([0, 1])
    ways = Ways(
        network("path:2"), circle, circle, Payloads.of_ranges([0, 1], [1, 2]), circle, circle, circle, circle[::-1]
    )
    with pytest.raises(PlanError, match="in a circle"):
        listed(ways, model("all-port"), [circle])


def cells(networks, machines=MACHINES):
    return [(kind, where, machine) for where in networks for machine in machines for kind in KINDS]


@pytest.mark.each(13)
@pytest.mark.parametrize(("kind", "where", "machine"), cells(SMALL))
def test_every_collective_has_a_plan_on_every_machine(kind, where, machine):
    judged(plan(kind, where, model=machine, messages=2))


@pytest.mark.each(5)
@pytest.mark.parametrize("machine", [name for name in MACHINES if not model(name).combining])
@pytest.mark.parametrize("kind", ["broadcast", "reduce", "allgather", "allreduce"])
@pytest.mark.parametrize("where", SMALL)
def test_an_exchange_is_right_on_every_machine(kind, where, machine):
    assert judged(plan(kind, where, model=machine, messages=3, builder="spread")).steps > 0


@pytest.mark.each(5)
@pytest.mark.parametrize(
    ("words", "most"),
    [
        ("broadcast debruijn:2,4 one-port,half 8", 24),
        ("broadcast mesh:4x4 one-port 60", 68),
        ("broadcast ring:8 one-port,half 60", 108),
        ("broadcast mesh:4x4 all-port,half 8", 9),
        ("broadcast ring:8 all-port,half 8", 9),
        ("broadcast fat-tree:4 one-port 8", 23),
        ("allgather mesh:4x4 one-port 1", 18),
        ("allgather torus:4x4x4 all-port,half 1", 21),
        ("alltoall mesh:4x4 one-port 1", 47),
        ("alltoall mesh:4x4 one-port,half 1", 90),
    ],
)
def test_steps_on_machines_between(words, most):
    """Ways of all-port plans take up to twice as many."""
    kind, where, machine, messages = words.split()
    assert judged(plan(kind, where, model=machine, messages=int(messages))).steps <= most


def test_an_exchange_is_refused_where_it_would_take_long():
    with pytest.raises(PlanError, match="looks at every chunk at every arc in every step"):
        plan("allgather", "torus:8x8", messages=20, model="one-port", builder="spread")


@pytest.mark.parametrize(
    ("where", "machine", "steps"),
    [
        ("ring:8", "one-port,combining", 4),
        ("torus:4x4", "whispering", 5),
        ("petersen", "whispering", 4),
    ],
)
def test_gossip_by_exchange_where_messages_combine(where, machine, steps):
    """As few steps as a search by matchings of greatest weight takes, or fewer."""
    schedule = judged(plan("allgather", where, model=machine, messages=7, builder="spread"))
    assert schedule.steps <= steps


def test_all_messages_of_a_source_go_together_where_messages_combine():
    one, many = (plan("allreduce", "mesh:3x3", model="one-port,combining", messages=m) for m in (1, 1000))
    assert many.steps == one.steps
    assert len(many) == len(one)
    assert verify(many).holds


def test_networks_of_which_arcs_lead_one_way_refuse_what_they_cannot_carry():
    line = nx.DiGraph([("a", "b"), ("b", "c")])
    judged(plan("broadcast", line, root="a", model="one-port"))
    with pytest.raises(PlanError, match="no way leads from b to a, as no arc leads to a"):
        plan("reduce", line, root="a", model="one-port")
    with pytest.raises(PlanError, match="no way leads"):
        plan("allgather", line, model="all-port,half")


def test_what_is_too_large_or_has_no_ways_is_refused():
    with pytest.raises(PlanError, match="pairs of a source and a node, and 2,097,152 at most"):
        plan("allgather", "torus:40x40", model="one-port,half")
    with pytest.raises(PlanError, match="under model wormhole"):
        plan("broadcast", "debruijn:2,2", model="wormhole")


CABLES = nx.MultiGraph([(0, 1), (0, 1), (1, 2), (2, 0)])


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.each(13)
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("kind", ["broadcast", "scatter", "gather", "allgather", "alltoall"])
def test_copies_keep_their_certificate(kind, machine):
    for where, survive in (("ring:5", 1), ("hypercube:3", 2), ("debruijn:2,2", 0)):
        schedule = plan(kind, where, model=machine, survive=survive, messages=2)
        assert schedule.copies == survive + 1
        judged(schedule)
    assert sweep(plan(kind, "ring:4", model=machine, survive=1), 1).holds


@pytest.mark.slow
@pytest.mark.each(3)
@pytest.mark.parametrize("lengths", [2, [3, 0, 1, 5]])
@pytest.mark.parametrize("machine", MACHINES)
def test_blocks_of_different_lengths(machine, lengths):
    schedule = plan("allgatherv", "path:4", lengths=lengths, model=machine)
    for method in ("fast", "expanded"):
        assert verify(schedule, method=method).holds


@pytest.mark.slow
@pytest.mark.each(4)
@pytest.mark.parametrize("where", ["star:4", "petersen", "tree:2,3"])
@pytest.mark.parametrize("kind", ["allgather", "alltoall"])
def test_a_stronger_machine_takes_no_more_steps_where_messages_combine(kind, where):
    met, free = (
        plan(kind, where, model=name, builder="list-schedule").steps for name in ("whispering", "one-port,combining")
    )
    assert free <= met


@pytest.mark.slow
def test_many_messages_go_in_blocks():
    schedule = plan("broadcast", "petersen", model="one-port", messages=10**6, builder="list-schedule")
    assert verify(schedule).holds
    assert schedule.steps < 1.2 * 10**6 * 2


@pytest.mark.slow
def test_plans_are_planned_again_and_kept(tmp_path):
    mine = Model("mine", "one", partner="same")
    for kind in KINDS:
        schedule = plan(kind, "mesh:2x3", model=mine, messages=2)
        assert plan_again(schedule).rows == schedule.rows
        save(schedule, tmp_path / "plan.tc")
        again = load(tmp_path / "plan.tc")
        assert again.rows == schedule.rows
        assert again.model.normal == mine.normal


@pytest.mark.slow
@pytest.mark.parametrize(("where", "steps"), [("dragonfly:4,2", 8), ("fat-tree:4", 11), ("random-regular:24,4,1", 7)])
def test_gossip_by_exchange_on_larger_networks(where, steps):
    schedule = judged(plan("allgather", where, model="one-port,combining", messages=7))
    assert schedule.steps <= steps


REVIEWED = (
    "star:4",
    "hypercube:4",
    "torus:4x4",
    "mesh:4x4",
    "tree:2,3",
    "complete:8",
    "petersen",
    "debruijn:2,4",
    "fat-tree:4",
)


@pytest.mark.long
@pytest.mark.parametrize(("kind", "where", "machine"), cells(REVIEWED))
def test_every_collective_has_a_plan_on_every_machine_of_larger_networks(kind, where, machine):
    judged(plan(kind, where, model=machine))
