"""Ways taken off schedules, and their timetables on any machine."""

import networkx as nx
import numpy as np
import pytest

from treecast import bounds, job, plan, verify
from treecast.errors import PlanError
from treecast.lower_bounds import tightest
from treecast.models import model
from treecast.networks import network
from treecast.plans.times.timetable import listed
from treecast.plans.ways.ways import Ways
from treecast.schedule import Payloads

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
    with pytest.raises(PlanError, match="under model bufferless"):
        plan("broadcast", "path:3", model="bufferless")
