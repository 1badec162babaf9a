"""Alltoall over disjoint paths of least total length: as few sends as there can be, in as few steps."""

from collections import defaultdict
from itertools import pairwise
from math import comb

import numpy as np
import pytest

from tests.oracles.plain import graph_of
from treecast import builders, network, plan
from treecast.lower_bounds import best
from treecast.networks import Star
from treecast.simulation.sweeps import sweep
from treecast.verification.verifier import verify

pytestmark = pytest.mark.each(2)

STAR_STEPS = {
    4: (21, 54, 94),
    5: (111, 255, 425, 616),
    6: (689, 1510, 2447, 3428, 4520),
    7: (4938, 10530, 16825, 23194, 29927, 37278),
}
STAR_HOPS = {
    4: (62, 160, 282),
    5: (442, 1020, 1698, 2464),
    6: (3444, 7548, 12232, 17136, 22600),
    7: (29628, 63180, 100950, 139160, 179560, 223668),
}


def cube_hops(d, copies):
    """Σ over all nodes of the least total length of x ways: w arcs each, two more by a bit that is 0 (Saad & Schultz)."""
    return sum(comb(d, w) * (copies * w + 2 * max(0, copies - w)) for w in range(1, d + 1))


def planned(spec, copies, messages=1):
    """The schedule, which is right, has as few transmissions as there can be, and does as it says; and its bound on steps."""
    schedule = plan("alltoall", spec, copies=copies, messages=messages, builder="priced-paths")
    report = verify(schedule)
    assert report.holds, report.violations
    assert (report.steps, report.transmissions) == (schedule.claims.steps, schedule.claims.transmissions)
    assert report.transmissions == best(list(report.bounds), "transmissions").value
    return schedule, best(list(report.bounds), "steps").value


@pytest.mark.parametrize("n", [4, 5, 6, pytest.param(7, marks=pytest.mark.long)])
def test_stars_take_the_fewest_sends_in_the_fewest_steps(n):
    for copies, (steps, hops) in enumerate(zip(STAR_STEPS[n], STAR_HOPS[n], strict=True), 1):
        schedule, bound = planned(f"star:{n}", copies)
        assert schedule.steps == bound == steps == -(-hops // (n - 1))
        assert schedule.transmissions == hops * schedule.network.nodes


@pytest.mark.slow
@pytest.mark.parametrize("d", range(2, 9))
def test_hypercubes_take_the_fewest_sends_and_an_even_number_of_steps(d):
    """A port is used an even number of times in all, so an orbit of an odd number of steps leaves every port idle once."""
    for copies in range(1, d + 1):
        schedule, bound = planned(f"hypercube:{d}", copies)
        hops = cube_hops(d, copies)
        assert schedule.transmissions == hops << d
        assert schedule.steps <= 2 * -(-hops // (2 * d)) == bound + bound % 2
        if schedule.orbit:
            assert schedule.steps == bound + bound % 2
            assert (np.bincount(schedule.rows.port) % 2 == 0).all()
    odd = {(4, 3), (6, 3), (6, 4), (8, 3), (8, 5), (8, 6), (8, 7)}
    assert {x for x in range(1, d + 1) if -(-cube_hops(d, x) // d) % 2} == {x for e, x in odd if e == d}


@pytest.mark.parametrize(
    "spec", ["star:2", "star:3", "star:4", "star:5", "hypercube:1", "hypercube:3", "hypercube:4", "hypercube:5"]
)
def test_any_number_of_messages_meets_the_bound(spec):
    where = network(spec)
    for messages in (2, where.ports + 1, 2 * where.ports, 7):
        for copies in {1, min(3, where.ports), where.ports}:
            schedule, bound = planned(spec, copies, messages)
            odd = bound % 2 if where.family == "hypercube" and where.ports > 1 else 0
            assert schedule.steps == bound + odd


@pytest.mark.parametrize(
    "spec", ["star:3", "star:4", "star:5", "hypercube:2", "hypercube:3", "hypercube:4", "hypercube:5"]
)
def test_the_ways_of_every_destination_are_disjoint_and_as_long_as_for_networkx(spec):
    where, graph = network(spec), graph_of(network(spec))
    for copies in range(1, where.ports + 1):
        rows = plan("alltoall", where, copies=copies, builder="priced-paths").rows
        hops = defaultdict(list)
        for step, src, dst, tree, payload in zip(
            *(getattr(rows, name).tolist() for name in ("step", "src", "dst", "tree", "payload")), strict=True
        ):
            ((chunk, _),) = rows.payloads.ranges(payload)
            hops[chunk, tree].append((step, src, dst))
        inner = defaultdict(list)
        for (node, _), way in hops.items():
            way.sort()
            assert way[0][1] == 0
            assert way[-1][2] == node
            assert all(a[2] == b[1] and graph.has_edge(b[1], b[2]) for a, b in pairwise(way))
            inner[node] += [dst for _, _, dst in way[:-1]]
        assert set(inner) == set(range(1, where.nodes))
        assert len(hops) == copies * (where.nodes - 1)
        assert all(len(set(nodes)) == len(nodes) and not {0, node} & set(nodes) for node, nodes in inner.items())


@pytest.mark.parametrize("spec", ["star:3", "star:4", "hypercube:2", "hypercube:3", "hypercube:4"])
def test_judged_by_symmetry_and_send_by_send(spec):
    for copies in range(1, network(spec).ports + 1):
        schedule, _ = planned(spec, copies, 1 if copies > 2 else 2)
        slow = verify(schedule, method="expanded")
        assert slow.holds
        assert (slow.steps, slow.transmissions) == (schedule.steps, schedule.transmissions)


@pytest.mark.parametrize("spec", ["star:4", "hypercube:4"])
def test_every_set_of_dead_nodes_that_copies_promise_to_survive(spec):
    where = network(spec)
    for copies in range(1, where.ports + 1):
        found = sweep(plan("alltoall", where, copies=copies), kind="nodes")
        assert found.counterexample is None
        assert found.sets == sum(comb(where.nodes, dead) for dead in range(copies))
        more = sweep(plan("alltoall", where, copies=copies), kind="nodes", most=copies)
        assert more.counterexample is not None  # one more dead node is too many


def test_renamings_carry_ways():
    """Ports renamed, a node's type becomes the node: all nodes of S_5 and Q_5, and as many of each type as it says."""
    for spec in ("star:5", "hypercube:5"):
        where, counted = network(spec), defaultdict(int)
        for node in range(1, where.nodes):
            kind, renaming = where.renaming(node)
            assert sorted(renaming) == list(range(where.ports))
            u, v = 0, 0
            while u != kind:  # a shortest way
                near = where.neighbors(u)
                port = int(np.argmin(where.distance(near, kind)))
                u, v = near[port], int(where.neighbor(v, renaming[port]))
            assert v == node
            counted[kind] += 1
        assert counted == where.types()


def test_networks_too_large_to_search():
    reason = "searches for paths among at most 4,194,304 nodes"
    found = next(entry for entry in builders("alltoall", "star:8") if entry.name == "priced-paths" and entry.orbit)
    assert found.on(Star(11)) == reason
    assert found.on(Star(10)) == ""


@pytest.mark.slow
def test_it_is_what_is_planned_by_itself_and_the_same_every_time():
    for spec in ("star:4", "star:5", "hypercube:4"):
        for copies in range(1, network(spec).ports + 1):
            schedule = plan("alltoall", spec, copies=copies)
            assert schedule.recipe.builder == "priced-paths"
            assert schedule == plan("alltoall", spec, copies=copies)
