"""All to all under wormhole switching: a broadcast backwards and forwards, and bounds of one-way calls."""

from itertools import permutations, product

import pytest

from treecast.errors import PlanError
from treecast.lower_bounds.spreads import by_one_way_calls
from treecast.models import WORMHOLE
from treecast.networks import network
from treecast.plans import plan
from treecast.verification.verifier import verify

SPECS = [
    "path:2",
    "path:3",
    "path:7",
    "ring:5",
    "mesh:2x2",
    "mesh:3x4",
    "torus:3x3",
    "mesh:2x3x2",
    "mesh:4x4",
    "torus:4x4",
]


@pytest.mark.parametrize("model", [f"{name}{half}" for name in WORMHOLE for half in ("", ",half")])
@pytest.mark.parametrize("spec", SPECS)
def test_both_judges_take_it_under_every_routing(spec, model):
    nodes = network(spec).nodes
    for kind in ("allgather", "alltoall", "reduce-scatter", "allreduce"):
        schedule = plan(kind, spec, messages=2, model=model)
        assert schedule.steps == 2 * (nodes - 1).bit_length()
        assert len(schedule.rows) == 2 * (nodes - 1)
        for method in ("fast", "expanded"):
            report = verify(schedule, method=method)
            assert report.holds, report.violations
        assert all(
            getattr(report, bound.of if bound.of != "tcd" else "distance") >= bound.value for bound in report.bounds
        )


@pytest.mark.parametrize("spec", SPECS)
def test_nothing_is_sent_twice_to_a_node(spec):
    nodes = network(spec).nodes
    assert plan("allgather", spec, messages=3, model="wormhole").transmissions == 3 * nodes * (nodes - 1)


def test_one_node_sends_nothing_and_large_meshes_are_refused():
    assert plan("allgather", "mesh:1x1", model="wormhole").steps == 0
    with pytest.raises(PlanError, match=r"at most 1,024 nodes"):
        plan("alltoall", "mesh:33x32", model="wormhole")


def _fewest_steps(nodes):
    """The fewest steps in which all hear of all where each sends or receives one message, by going over all ways."""
    calls = list(permutations(range(nodes), 2))
    steps = [[]]
    for call in calls:
        steps += [[*some, call] for some in steps if not {v for each in some for v in each} & set(call)]
    steps = [some for some in steps if len(some) == nodes // 2]  # whoever idles may as well call
    seen = {tuple(1 << v for v in range(nodes))}
    done = 0
    while all(set(state) != {(1 << nodes) - 1} for state in seen):
        after = set()
        for state, some in product(seen, steps):
            heard = list(state)
            for u, v in some:
                heard[v] |= state[u]
            after.add(tuple(heard))
        seen, done = after, done + 1
    return done


@pytest.mark.parametrize(("nodes", "fewest"), [(2, 2), (3, 4), (4, 4)])
def test_no_search_finds_less_than_the_bound_of_one_way_calls(nodes, fewest):
    assert by_one_way_calls(nodes) <= _fewest_steps(nodes) == fewest


def test_the_bound_grows_as_the_golden_ratio():
    """Of T steps the bound is for more nodes than of T - 1, and 2N/5 <= φ^(T-2), by Fibonacci numbers: F(k+1) > φ^k / √5."""
    for nodes in range(2, 3000):
        steps = by_one_way_calls(nodes)
        phi = (1 + 5**0.5) / 2
        assert phi ** (steps - 2) > 2 * nodes / 5 - 1e-9
        assert steps == 2 or phi ** (steps - 3) < 2 * nodes / 5 + 1e-9
