"""Scatter and gather in the order of the nodes' numbers: what a node does follows from its label."""

from itertools import pairwise

import pytest

from treecast import network, plan, program
from treecast.errors import PlanError
from treecast.networks import Star
from treecast.papers.paths import node_disjoint_paths
from treecast.plans.ways.trees import disjoint
from treecast.verification.verifier import verify

pytestmark = pytest.mark.each(2)

BY_NUMBER = "disjoint-trees-by-number"


@pytest.mark.each(5)
@pytest.mark.parametrize(
    "spec", ["star:2", "star:3", "star:4", "hypercube:1", "hypercube:2", "hypercube:3", "hypercube:4", "star:5"]
)
def test_it_is_right_for_any_copies_and_each_node_knows_its_rows(spec):
    where = network(spec)
    depth = disjoint.trees_of(where).depth(where)
    for copies in range(1, where.ports + 1):
        for kind, messages, root in (("scatter", 1, 0), ("gather", 2, where.nodes // 2)):
            asked = {"copies": copies, "messages": messages, "root": root, "builder": BY_NUMBER}
            schedule = plan(kind, where, **asked)
            report = verify(schedule)
            assert report.holds, report.violations
            assert (report.steps, report.transmissions) == (schedule.claims.steps, schedule.claims.transmissions)
            least = -(-messages * copies * (where.nodes - 1) // where.ports)
            assert least <= report.steps <= least + messages + depth - 1
            for node in range(0, where.nodes, 1 if where.nodes < 25 else 23):
                assert program(kind, where, node, **asked).rows == schedule.at(node).rows


def test_the_papers_trees_serve_too():
    schedule = plan("scatter", "star:4", copies=3, trees="paper", builder=BY_NUMBER)
    assert verify(schedule).holds
    for node in range(24):
        assert (
            program("scatter", "star:4", node, copies=3, trees="paper", builder=BY_NUMBER).rows
            == schedule.at(node).rows
        )


def test_a_program_as_large_as_the_network_is_refused():
    with pytest.raises(
        PlanError,
        match=r"^0b0+ has more than 12,000 nodes below it in the trees of scatter on hypercube:30, and passes",
    ):
        program("scatter", "hypercube:30", 0)
    with pytest.raises(PlanError, match=r"^0b0{26}11000000111001 has more than 12,000 nodes below it in the trees"):
        program("gather", "hypercube:40", 12345)  # few of the shares pass it, but all below it are looked at
    with pytest.raises(PlanError, match=r"use plan\(\); every node hears at least 1,307,674,367,999 messages$"):
        program("allgather", "star:15", 5)


def test_ways_between_nodes_of_a_network_that_no_machine_holds():
    star = Star(15)
    paths = node_disjoint_paths(star, 10**12, 7 * 10**11)
    inner = [node for way in paths.ways for node in way[1:-1]]
    assert len(paths.ways) == 14
    assert len(set(inner)) == len(inner)
    assert all(int(star.port_between(u, v)) >= 0 for way in paths.ways for u, v in pairwise(way))
    assert max(map(len, paths.ways)) <= star.diameter + 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spec", "node", "copies"),
    [("star:15", 10**12, 14), ("hypercube:40", 0x12345F789A, 40), ("star:14", 29059430400, 1)],
)
def test_nodes_of_networks_that_no_machine_holds(spec, node, copies):
    """What goes in comes out: a share that is not the node's own leaves in the step after it arrives, in the same tree."""
    where = network(spec)
    rows = program("scatter", where, node, copies=copies).rows
    back = program("gather", where, node, copies=copies).rows
    assert len(rows) == len(back)
    hears, passes = (
        {(step - late, tree, chunks) for step, end, tree, chunks in sends_at(rows, name) if end == node}
        for name, late in (("dst", 0), ("src", 1))
    )
    own = {each for each in hears if each[2] == repr([(node, node + 1)])}
    assert len(own) == copies
    assert hears - own == passes
    assert (rows.step >= 0).all()
    assert int(rows.step.max()) < copies * where.nodes // where.ports + 60
    assert (back.step >= 0).all()


def sends_at(rows, end):
    for i in range(len(rows)):
        yield (
            int(rows.step[i]),
            int(getattr(rows, end)[i]),
            int(rows.tree[i]),
            repr(rows.payloads.ranges(int(rows.payload[i]))),
        )
