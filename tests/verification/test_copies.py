"""Copies against nodes, links and arcs: what is claimed, both verifiers and every single fault agree."""

from dataclasses import replace

import networkx as nx
import pytest

from tests.networks.test_flows import random_graphs
from treecast import elect, load, plan, save, sweep, verify
from treecast.against import AGAINST, covers
from treecast.description import describe
from treecast.errors import ScheduleError, TreecastError
from treecast.networks import network
from treecast.networks.flows import fewest_apart
from treecast.plans import plan_again
from treecast.schedule import Payloads, Rows, Schedule

BOW = network(nx.Graph([(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 2)]))


def agreed(schedule):
    """Return whether a schedule holds; both verifiers say so, and both name the same rules."""
    fast, slow = verify(schedule), verify(schedule, method="expanded")
    broken = [{rule for rule, count in report.counts.items() if count} for report in (fast, slow)]
    assert broken[0] == broken[1]
    return fast.holds


def test_more_links_than_nodes_are_survived_where_a_node_cuts_others_off():
    for against in ("links", "arcs"):
        schedule = plan("broadcast", BOW, messages=4, survive=1, against=against)
        assert agreed(schedule)
        assert sweep(schedule).kind == against
        assert sweep(schedule).holds
        assert not sweep(schedule, 1, "nodes").holds
        assert plan_again(schedule) == schedule
    assert agreed(plan("gather", "tree:2,2", messages=2))


def test_liars_are_of_the_kind_that_copies_are_against():
    schedule = plan("broadcast", "star:4", messages=6, copies=3, against="links")
    found = elect(schedule, bytes(range(60)), ["1234-2134"])
    assert found.tolerates == 1
    assert len(found.right) == 24
    assert str(describe(found).lines["tolerates"]).startswith("any c dead and l lying links while c + 2 l < 3")


def broadcast_of(where, trees, copies, against):
    """Return a broadcast of one chunk down trees, each a list of rows (source, destination, step)."""
    rows = [(step, u, v, tree) for tree, arcs in enumerate(trees) for u, v, step in arcs]
    columns = dict(zip(("step", "src", "dst", "tree"), zip(*rows, strict=True), strict=True))
    ports = where.port_between(list(columns["src"]), list(columns["dst"]))
    many = Rows.of(Payloads.of([[(0, 1)]]), steps=[1] * len(rows), payload=[0] * len(rows), port=ports, **columns)
    base = plan("broadcast", where)
    return Schedule(where, base.collective, base.model, many, copies, against=against)


def test_ways_that_cross_a_link_both_ways_are_good_against_arcs_alone():
    ring = network("ring:4")
    there = [(0, 1, 0), (1, 2, 1), (2, 3, 2)]
    back = [(0, 3, 1), (3, 2, 3), (2, 1, 4)]
    assert agreed(broadcast_of(ring, [there, back], 2, "nodes"))
    square = network(nx.Graph([(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)]))
    one = [(0, 1, 0), (1, 2, 1), (2, 3, 2)]
    other = [(0, 2, 0), (2, 1, 1), (1, 3, 2)]
    verdicts = {against: agreed(broadcast_of(square, [one, other], 2, against)) for against in AGAINST}
    assert verdicts == {"nodes": False, "links": False, "arcs": True}
    again = [(0, 2, 1), (2, 1, 2), (1, 3, 3)]
    assert not agreed(broadcast_of(square, [again, other], 2, "arcs"))


@pytest.mark.parametrize("against", AGAINST)
def test_personal_data(against):
    schedule = plan("scatter", "star:4", messages=2, copies=3, against=against)
    assert agreed(schedule)
    assert sweep(schedule).holds
    rows = schedule.rows
    twice = Rows.of(rows.payloads, **rows.columns() | {"tree": (rows.tree + 1) % 3})
    assert agreed(replace(schedule, rows=twice))


def test_files_say_it_only_where_it_is_not_nodes(tmp_path):
    for against in AGAINST:
        schedule = plan("broadcast", "torus:3x3", messages=2, survive=1, against=against)
        for suffix in ("tc", "tcb"):
            path = tmp_path / f"plan.{suffix}"
            save(schedule, path)
            assert load(path) == schedule
        assert (f"against {against}" in (tmp_path / "plan.tc").read_text()) == (against != "nodes")
        assert (f"--against {against}" in schedule.command) == (against != "nodes")
    wrong = (tmp_path / "plan.tc").read_text().replace("against arcs", "against liars")
    lines = [line for line in wrong.splitlines() if not line.startswith("digest")]
    (tmp_path / "wrong.tc").write_text("\n".join(lines) + "\n")
    with pytest.raises(TreecastError, match="copies are against nodes, links, arcs, not 'liars'"):
        load(tmp_path / "wrong.tc")
    with pytest.raises(ScheduleError, match="not 'liars'"):
        replace(schedule, against="liars")


KNOT = network(nx.compose(nx.complete_graph(4), nx.complete_graph(range(3, 7))))


@pytest.mark.slow
def test_what_copies_are_against_is_judged_and_survived():
    judged = {True: 0, False: 0}
    for where, root in [(BOW, 0), (KNOT, 1), *random_graphs(8, 7, seed=31)]:
        for against in AGAINST:
            most = fewest_apart(where, root, against).ways
            if most < 2:
                continue
            schedule = plan(
                "broadcast", where, root=root, messages=3, copies=2, against=against, builder="packed-trees"
            )
            assert schedule.against == against
            for claimed in AGAINST:
                holds = agreed(replace(schedule, against=claimed))
                judged[holds] += 1
                assert holds or not covers(against, claimed)
                if holds:
                    assert sweep(replace(schedule, against=claimed)).holds
                    assert sweep(schedule, 1, claimed).holds
    assert judged[True] > 30
    assert judged[False] > 3
