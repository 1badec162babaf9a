"""Repairs: the new schedule is right on what is left, nobody who still can be reached is lost, and what is said of it is true."""

import random

import networkx as nx
import numpy as np
import pytest

import treecast
from treecast.description import describe
from treecast.errors import NetworkError, PlanError

KINDS = ["broadcast", "reduce", "scatter", "gather", "reduce-broadcast"]


def test_whoever_is_not_named_has_the_same_rows_as_before() -> None:
    before = treecast.plan("broadcast", "torus:4x4", messages=2, builder="breadth-first-tree")
    found = treecast.repair(before, cut_links=["0,0-0,1"])
    label = before.network.label

    def rows(schedule, node):
        return [(s.step, label(s.src), label(s.dst), s.chunk) for s in schedule.at(node)]

    same = set(before.network.labels(range(16))) - set(found.told)
    assert same
    assert all(rows(before, node) == rows(found.schedule, node) for node in same)
    assert all(rows(before, node) != rows(found.schedule, node) for node in found.told)


def test_trees_are_kept_but_for_what_hung_below_the_fault() -> None:
    before = treecast.plan("broadcast", "torus:4x4x4", messages=600)
    found = treecast.repair(before, cut_links=["0,0,0-0,0,1", "1,0,0-1,1,0"])
    assert (found.schedule.trees, found.schedule.steps) == (5, 126)
    assert 0 < len(found.moved) < 16
    assert 5 * 63 - 16 < found.kept < 5 * 63


def test_a_patch_of_many_messages_takes_no_more_steps_than_trees() -> None:
    before = treecast.plan("broadcast", "torus:4x4x4", messages=600)
    found = treecast.repair(before, dead_nodes=["1,1,1"])
    assert found.patched
    assert found.schedule.steps <= 126
    assert len(found.told) < 40
    assert treecast.verify(found.schedule)


def test_nodes_that_are_cut_off_are_named_and_the_others_go_on() -> None:
    found = treecast.repair(treecast.plan("broadcast", "tree:2,2", messages=3), dead_nodes=[1])
    assert found.unreached == ("3", "4")
    assert treecast.verify(found.schedule)
    alone = treecast.repair(treecast.plan("allgather", "ring:4"), dead_nodes=[1, 3])
    assert len(alone.unreached) == 1


@pytest.mark.each(2)
@pytest.mark.parametrize("against", ["nodes", "links", "arcs"])
@pytest.mark.parametrize("spec", ["torus:4x4x4", "petersen", "random-regular:23,4,1"])
def test_copies_are_copies_after_a_repair(spec: str, against: str) -> None:
    before = treecast.plan("broadcast", spec, messages=8, survive=1, against=against)
    where = before.network
    link = f"{where.label(5)}-{where.label(where.neighbors(5)[0])}"
    found = treecast.repair(before, cut_links=[link])
    assert (found.schedule.copies, found.schedule.against) == (2, against)
    assert treecast.verify(found.schedule)
    assert treecast.sweep(found.schedule, 1)
    assert found.kept or spec == "petersen"


@pytest.mark.each(7)
@pytest.mark.parametrize("kind", ["broadcast", "scatter", "allgather", "alltoall"])
@pytest.mark.parametrize(
    ("spec", "copies", "left"), [("ring:6", 2, 1), ("star:4", 3, 2), ("torus:4x4", 4, 3), ("petersen", 3, 2)]
)
def test_where_ways_are_lost_there_are_fewer_copies(kind: str, spec: str, copies: int, left: int) -> None:
    before = treecast.plan(kind, spec, copies=copies)
    where = before.network
    found = treecast.repair(before, cut_links=[f"{where.label(1)}-{where.label(where.neighbors(1)[-1])}"])
    assert found.before is before
    assert found.schedule.copies == left
    assert treecast.verify(found.schedule)
    assert treecast.sweep(found.schedule, left - 1)
    said = describe(found)
    assert said.lines["copies"] == f"{left} to each node, {copies} before: the rest of the network has no more paths"
    assert said.figures["copies_before"] == copies


def test_time_makes_trees_less_deep() -> None:
    before = treecast.plan("broadcast", "random-regular:40,4,1", messages=60)
    rng = np.random.default_rng(1)
    nodes = [int(v) for v in rng.choice(np.arange(1, 40), 3, replace=False)]
    at_once = treecast.repair(before, dead_nodes=nodes)
    later = treecast.repair(before, dead_nodes=nodes, within=0.2)
    assert treecast.verify(later.schedule)
    assert later.schedule.steps <= at_once.schedule.steps


def test_a_repair_says_what_it_did(tmp_path) -> None:
    before = treecast.plan("broadcast", "torus:4x4x4", messages=600)
    found = treecast.repair(before, cut_links=["0,0,0-0,0,1", "1,0,0-1,1,0"])
    said = describe(found)
    assert said.lines["before"] == "106 steps over 6 trees"
    assert said.lines["to notify"].startswith("64 of 64 nodes: 0,0,0, 0,0,1, ")
    assert said.lines["loss"].startswith(f"{found.schedule.steps} steps instead of 106 on torus:4x4x4, ")
    assert said.figures["compared_with"] == {"network": "torus:4x4x4", "steps": 106, "lower_bound": 105}
    assert said.lines["repaired"].startswith(f"{found.kept} of 315 arcs of the trees stay; ")
    treecast.save(found.schedule, tmp_path / "new.tc")
    assert treecast.load(tmp_path / "new.tc") == found.schedule


@pytest.mark.parametrize("kind", ["broadcast", "allgather", "alltoall"])
def test_without_faults_the_plan_stays_as_it_is(kind: str) -> None:
    before = treecast.plan(kind, "star:4")
    found = treecast.repair(before)
    assert (found.schedule, found.told, found.moved) == (before, (), ())
    assert describe(found).lines["repaired"] == "there are no faults"


def test_a_repair_says_how_many_copies_there_are() -> None:
    found = treecast.repair(treecast.plan("broadcast", "petersen", survive=1), cut_links=["0-1"])
    assert describe(found).lines["copies"] == "2 to each node, 2 before"


@pytest.mark.parametrize(
    ("faults", "error", "words"),
    [
        ({"dead_nodes": ["1234"]}, PlanError, "the root 1234 is dead"),
        ({"dead_nodes": ["9234"]}, NetworkError, "is no node"),
        ({"cut_links": ["1234-4321"]}, NetworkError, "is no link"),
    ],
)
def test_what_cannot_be_repaired_is_refused(faults, error, words) -> None:
    with pytest.raises(error, match=words):
        treecast.repair(treecast.plan("broadcast", "star:4"), **faults)


def test_nodes_keep_their_names_where_their_numbers_change() -> None:
    found = treecast.repair(treecast.plan("reduce", "ring:6", messages=4, root=3), dead_nodes=["1"])
    assert found.schedule.network.label(found.schedule.collective.root) == "3"
    lengths = {str(v): v for v in range(1, 15)}
    found = treecast.repair(treecast.plan("gatherv", "tree:2,3", lengths=lengths), dead_nodes=["3"])
    left, flits = found.schedule.network, found.schedule.collective.lengths.flits
    assert [int(flits[left.node(name)]) for name in lengths if name in left] == [1, 2, 4, 5, 6, *range(9, 15)]
    assert treecast.verify(found.schedule)


@pytest.mark.parametrize("faults", [{"dead_nodes": ["1"]}, {"cut_links": ["0-1"]}])
@pytest.mark.parametrize("kind", KINDS)
def test_a_root_may_be_left_alone(kind: str, faults: dict[str, list[str]]) -> None:
    found = treecast.repair(treecast.plan(kind, "path:3"), **faults)
    assert (found.schedule.network.nodes, found.schedule.steps) == (1, 0)
    assert treecast.verify(found.schedule)


def test_a_node_whose_part_is_as_before_need_not_be_told() -> None:
    before = treecast.plan("scatter", "path:6", root=3)
    found = treecast.repair(before, dead_nodes=["0"])

    def part(schedule, node: str) -> list[tuple[int, str, str, str]]:
        label = schedule.network.label
        return [(s.step, label(s.src), label(s.dst), label(s.chunk)) for s in schedule.at(schedule.network.node(node))]

    changed = [name for name in "12345" if part(before, name) != part(found.schedule, name)]
    assert list(found.told) == changed


def test_the_part_with_most_ranks_is_kept() -> None:
    """Of a chain a-b-c-s1-s2-s3-s4-h the three hosts at one end go on, not the four switches with one host at the other."""
    graph = nx.path_graph(["a", "b", "c", "s1", "s2", "s3", "s4", "h"])
    nx.set_node_attributes(graph, {name: True for name in graph if name.startswith("s")}, "relay")
    before = treecast.plan("allgather", treecast.network(graph))
    found = treecast.repair(before, cut_links=["c-s1"])
    left = found.schedule.network
    assert set(left.labels(left.ranks)) == {"a", "b", "c"}
    assert treecast.verify(found.schedule)


@pytest.mark.parametrize(("kind", "left"), [("reduce-broadcast", 2), ("broadcast", 3), ("reduce", 2)])
def test_one_way_cuts_leave_out_whom_data_cannot_leave(kind: str, left: int) -> None:
    found = treecast.repair(treecast.plan(kind, "ring:3", root=2), cut_links=["1>2", "0-1"])
    assert found.schedule.network.nodes == left
    assert found.unreached == ("1",) * (3 - left)
    assert treecast.verify(found.schedule)


def test_labels_in_one_text_are_labels() -> None:
    before = treecast.plan("broadcast", "star:4", messages=60)
    assert treecast.repair(before, dead_nodes="2134").schedule == treecast.repair(before, dead_nodes=["2134"]).schedule
    both = {"dead_nodes": "2134 4231", "cut_links": "1234-3214"}
    assert treecast.repair(before, **both).schedule.network.spec.count("2134") == 1


@pytest.mark.slow
@pytest.mark.each(7)
@pytest.mark.parametrize(
    "spec", ["torus:4x4", "mesh:3x4", "petersen", "hypercube:4", "star:4", "random-regular:14,3,2"]
)
@pytest.mark.parametrize("kind", KINDS)
def test_repaired_schedules_are_right(kind: str, spec: str) -> None:
    before = treecast.plan(kind, spec, messages=9)
    where, rng = before.network, random.Random(spec)
    for _ in range(3):
        nodes = rng.sample(range(1, where.nodes), rng.randint(0, 1))
        u = rng.randrange(where.nodes)
        link = f"{where.label(u)}-{where.label(rng.choice(where.neighbors(u)))}"
        found = treecast.repair(before, dead_nodes=nodes, cut_links=[link])
        assert treecast.verify(found.schedule)
        assert found.schedule.network.nodes + len(nodes) + len(found.unreached) == where.nodes
        assert set(found.told) <= set(found.schedule.network.labels(range(found.schedule.network.nodes)))
