"""Broadcasts along the dimensions of a cube in turn: fewest steps over one port, and copies over disjoint paths."""

import random

import numpy as np
import pytest

from tests.plans.whole.one_port.oracle import broadcast_held
from treecast import job, network, program, sweep
from treecast.errors import PlanError
from treecast.lower_bounds import best
from treecast.plans import plan
from treecast.plans.whole.one_port.dimensions_in_turn import entries
from treecast.verification.verifier import verify

CUBES = [
    "complete:8",
    "hypercube:1",
    "hypercube:2",
    "hypercube:3",
    "hypercube:5",
    "ring:4",
    "torus:2x4",
    "torus:4x4",
    "torus:4x2x4",
    "hyperx:2x8",
]


def asked(spec, messages, copies=1, half=False):
    model = "one-port,half" if half else "one-port"
    root = network(spec).nodes // 3
    return job(
        "broadcast", spec, messages=messages, copies=copies, root=root, model=model, builder="dimensions-in-turn"
    )


def planned(*words, **more):
    return plan(asked(*words, **more))


@pytest.mark.parametrize("spec", CUBES)
def test_broadcasts_take_the_fewest_steps(spec):
    dimensions = network(spec).nodes.bit_length() - 1
    for messages in (1, 2, 3, 4, 9, 20):
        schedule = planned(spec, messages)
        assert broadcast_held(schedule)
        report = verify(schedule)
        assert report.holds
        assert report.steps == messages - 1 + dimensions == best(list(report.bounds), "steps").value


@pytest.mark.parametrize("spec", CUBES)
def test_copies_take_a_step_more_than_the_bound(spec):
    dimensions = network(spec).nodes.bit_length() - 1
    for copies in range(2, dimensions + 1):
        for messages in (1, 3, 8):
            report = verify(planned(spec, messages, copies))
            assert report.holds
            assert report.steps == messages * copies + dimensions
            assert report.steps <= best(list(report.bounds), "steps").value + 1


def test_any_dead_nodes_leave_a_copy():
    for spec, copies in (("hypercube:3", 3), ("torus:4x4", 3), ("hyperx:2x4", 2)):
        for half in (False, True):
            assert sweep(planned(spec, 5, copies, half), copies - 1, "nodes").holds


def test_two_conditions_prove_cubes_that_no_machine_could_hold():
    """A node receives every chunk once, and what it sends it has received before; chunks of a period repeat every d steps."""
    dice = random.Random(1)
    for d in (1, 2, 3, 7, 20, 60):
        for node in (1, 2**d - 1, *(dice.randrange(1, 2**d) for _ in range(20))):
            own, *others = entries(d, np.array([node, *(node ^ 1 << i for i in range(d))])).tolist()
            assert sorted(e % d for e in own) == list(range(d))
            assert all(-d <= e < d for e in own)
            at = {e % d: k - e for k, e in enumerate(own)}  # how long after its number a chunk arrives
            for i, other in enumerate(others):
                assert node == 1 << i or at[other[i] % d] + other[i] < i


def test_a_node_knows_its_part_from_its_label():
    for spec in CUBES:
        most = network(spec).nodes.bit_length() - 1
        for words in ((spec, 7), (spec, 1), (spec, 3, most)):
            whole = planned(*words)
            for node in {0, 1, whole.network.nodes // 3, whole.network.nodes - 1}:
                assert program(asked(*words), node).rows == whole.at(node).rows


def test_half_duplex_takes_two_steps_for_one_at_most():
    for spec in CUBES:
        for messages, copies in ((1, 1), (9, 1), (9, network(spec).nodes.bit_length() - 1)):
            schedule = planned(spec, messages, copies, half=True)
            assert verify(schedule).holds
            assert schedule.steps <= 2 * planned(spec, messages, copies).steps


@pytest.mark.parametrize("spec", ["torus:4x8", "torus:3x4", "hyperx:4x6", "mesh:4x4", "ring:16", "star:4"])
def test_networks_of_other_sides_are_refused(spec):
    with pytest.raises(PlanError, match="no builder 'dimensions-in-turn' of broadcast on"):
        planned(spec, 3)


@pytest.mark.parametrize("spec", [*CUBES, "torus:4", "torus:1x2", "hyperx:4x1x2", "complete:1"])
def test_nodes_whose_labels_differ_in_one_bit_are_joined(spec):
    where = network(spec)
    label = np.arange(where.nodes)
    label = label ^ (label >> 1 & where.gray)
    node = np.argsort(label)
    assert (node == label).all()
    for bit in range(where.nodes.bit_length() - 1):
        assert (where.port_between(node, node[np.arange(where.nodes) ^ 1 << bit]) >= 0).all()
