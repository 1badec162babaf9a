"""Translates of one node's sends, one after the other: the fewest steps over one port on networks that look alike everywhere."""

import numpy as np
import pytest

from treecast.errors import PlanError
from treecast.lower_bounds import best, schedule_bounds
from treecast.networks import network
from treecast.plans import plan
from treecast.verification.verifier import verify

ALIKE = ("star:4", "hypercube:3", "torus:3x4", "ring:5", "complete:5", "circulant:9,1,2", "hyperx:2x3", "ring:2")


def planned(kind, spec, messages, machine="one-port"):
    name = "orbits"
    schedule = plan(kind, spec, messages=messages, model=machine, builder=name)
    for method in ("fast", "expanded"):
        report = verify(schedule, method=method)
        assert report.holds, report
    return schedule


@pytest.mark.parametrize("spec", ALIKE)
@pytest.mark.parametrize("messages", [1, 2, 7])
def test_as_many_steps_as_a_node_sends(spec, messages):
    where = network(spec)
    far = int(where.distance(0, np.arange(where.nodes)).sum())
    assert planned("allgather", spec, messages).steps == messages * (where.nodes - 1)
    assert planned("alltoall", spec, messages).steps == messages * far


@pytest.mark.parametrize("spec", ALIKE)
@pytest.mark.parametrize(
    "machine", ["one-port,ports=2", "one-port,ports=3", "one-port,latency=3", "all-port,latency=2"]
)
@pytest.mark.parametrize("kind", ["allgather", "alltoall", "reduce-scatter"])
def test_over_several_ports_and_where_chunks_arrive_late(kind, spec, machine):
    for messages in (1, 4):
        schedule = planned(kind, spec, messages, machine)
        assert schedule.steps >= best(schedule_bounds(schedule), "steps").value


@pytest.mark.parametrize("nodes", [2, 3, 8, 16, 33, 128])
@pytest.mark.parametrize("ports", [2, 3, 7])
@pytest.mark.parametrize("kind", ["allgather", "alltoall", "reduce-scatter"])
def test_on_complete_networks_all_ports_are_busy_in_each_step(kind, ports, nodes):
    schedule = plan(kind, f"complete:{nodes}", model=f"one-port,ports={ports}")
    assert schedule.steps == -(-(nodes - 1) // ports)


@pytest.mark.parametrize("kind", ["allgather", "alltoall", "reduce-scatter", "allreduce"])
@pytest.mark.parametrize("spec", ["star:7", "hypercube:11"])
def test_on_thousands_of_nodes(kind, spec):
    """Of an allreduce with owners: each sum is sent N - 1 times, and as often when it is finished."""
    schedule = plan(kind, spec, model="one-port")
    assert verify(schedule).holds
    assert schedule.steps == best(schedule_bounds(schedule), "steps").value


@pytest.mark.parametrize("spec", ["star:4", "hypercube:4", "torus:4x4", "ring:8", "complete:6"])
def test_each_step_in_two_of_half_duplex(spec):
    """Where cycles over each port are even, and on some where they are not."""
    schedule = planned("alltoall", spec, 1, "one-port,half")
    assert schedule.steps == best(schedule_bounds(schedule), "steps").value


def test_copies_and_other_networks_have_none():
    with pytest.raises(PlanError, match="sends one copy"):
        plan("alltoall", "star:4", model="one-port", copies=2, builder="orbits")
    with pytest.raises(PlanError, match="there is no builder 'orbits'"):
        plan("alltoall", "mesh:3x3", model="one-port", builder="orbits")
