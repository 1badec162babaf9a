"""What people who know networkx, numpy and pandas type first, at a prompt or in a notebook."""

import json
import pickle
import sys
from types import SimpleNamespace
from typing import Any

import networkx as nx
import numpy as np
import pytest

import treecast
from treecast.errors import NetworkError, TreecastError
from treecast.schedule import Row
from treecast.steps import NEVER


@pytest.fixture(scope="module")
def schedule() -> treecast.Schedule:
    return treecast.plan("broadcast", "star:4", messages=6, survive=2)


def test_rows_are_a_sequence_of_tuples(schedule: treecast.Schedule) -> None:
    rows = schedule.rows
    every = list(rows)
    assert len(every) == len(rows) == len(schedule)
    assert every[0] == rows[0] == Row(0, 6, 0, 6, 0, 0, 0)
    assert rows[-1] == every[-1]
    assert list(rows[3:9]) == every[3:9]
    with pytest.raises(IndexError):
        rows[len(rows)]
    assert sum(row.steps for row in rows) == schedule.transmissions


def test_a_file_can_be_drawn_with_faults_as_people_write_them(schedule: treecast.Schedule, tmp_path: Any) -> None:
    treecast.save(schedule, tmp_path / "plan.tc")
    faults = treecast.parse_faults(schedule.network, ["2134@3"])
    drawn = treecast.draw(schedule, kind="space-time", faults=faults)
    assert drawn == treecast.draw(str(tmp_path / "plan.tc"), kind="space-time", faults="2134@3")
    assert drawn == treecast.draw(tmp_path / "plan.tc", kind="space-time", faults=["2134@3"])
    assert drawn != treecast.draw(schedule, kind="space-time")


def test_results_travel_to_other_processes(schedule: treecast.Schedule) -> None:
    trace = treecast.simulate(schedule, ["2134@3"])
    again = pickle.loads(pickle.dumps(trace))
    assert (again.lost, again.delivered, again.schedule == schedule) == (trace.lost, trace.delivered, True)
    for thing in (treecast.verify(schedule), schedule.network, treecast.network(nx.petersen_graph())):
        assert pickle.loads(pickle.dumps(thing)) == thing


@pytest.mark.parametrize("kind", ["broadcast", "allreduce", "scatter"])
def test_equal_schedules_are_one_key(kind: str) -> None:
    one, other = (treecast.plan(kind, "hypercube:3", messages=2) for _ in range(2))
    assert one is not other
    assert {one: 1}[other] == 1
    assert hash(one.rows) == hash(other.rows) == hash(pickle.loads(pickle.dumps(one)).rows)
    assert len({one, other, treecast.plan(kind, "hypercube:3", messages=3), one[:1]}) == 3


def test_a_schedule_is_a_graph_of_its_rows(schedule: treecast.Schedule) -> None:
    graph = schedule.to_networkx()
    assert (graph.number_of_nodes(), graph.number_of_edges()) == (24, len(schedule))
    assert sum(stop - first for _, _, said in graph.edges(data=True) for first, stop in said["chunks"]) == 414
    for tree in range(3):
        one = nx.DiGraph((u, v) for u, v, number in graph.edges(data="tree") if number == tree)
        assert nx.is_arborescence(one)
        assert nx.utils.graphs_equal(
            nx.DiGraph(one.edges), nx.DiGraph(treecast.disjoint_trees("star:4")[tree].to_networkx().edges)
        )
    assert graph.nodes[6] == {"label": "2134"}


def test_a_schedule_is_a_table(schedule: treecast.Schedule, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=dict))
    table = schedule.to_pandas()
    assert {len(column) for column in table.values()} == {len(schedule)}
    assert (table["from"][0], table["to"][0], table["chunks"].sum()) == ("1234", "2134", 414)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(TreecastError, match="pip install pandas"):
        schedule.to_pandas()


@pytest.mark.parametrize("name", ["verify", "simulate", "sweep", "run", "save", "draw"])
def test_what_is_no_method_is_named(schedule: treecast.Schedule, name: str) -> None:
    with pytest.raises(AttributeError, match=rf"a schedule has no '{name}': write treecast.{name}\(schedule\)"):
        getattr(schedule, name)
    assert callable(getattr(treecast, name))
    assert not hasattr(schedule, "nothing")


def test_nodes_may_be_named_wherever_one_is_asked_for() -> None:
    star, mesh = treecast.network("star:4"), treecast.network("mesh:4x5")
    assert star["2134"] == star.neighbors("2134") == star.neighbors(6) == star[6]
    assert star.degree_at("2134") == 3
    assert mesh[1, 2] == mesh.neighbors((1, 2)) == mesh.neighbors(mesh.node("1,2")) == mesh["1,2"]
    assert [mesh.degree_at(u) for u in [(0, 0), "0,1", 6]] == [2, 3, 4]
    assert treecast.network("tree:2,2").degree_at("0") == 2
    assert (1, 2) in mesh
    assert (4, 4) not in mesh
    assert "9999" not in star
    assert 24 not in star
    assert None not in star
    assert star.labels() == [star.label(u) for u in star] == star.labels(range(24))
    assert treecast.plan("broadcast", "mesh:4x5", root=(1, 2)).at((1, 2)).collective.root == 7
    assert treecast.parse_faults("star:4", ["2134"]).nodes == {6: 0}
    for wrong in (lambda: star.label("2134"), lambda: star.distance("1234", "4321"), lambda: star.node(1.5)):
        with pytest.raises(NetworkError, match="is no number of a node"):
            wrong()


def test_networks_from_what_people_have() -> None:
    links: list[Any] = [("a", "b"), ("b", "c", 2), ("c", "d", {"capacity": 3})]
    where = treecast.network(links)
    assert (where.labels(), where.arcs, where.both_ways) == (["a", "b", "c", "d"], 12, True)
    assert treecast.network([(0, 1), (1, 2)]).nodes == 3
    assert treecast.network([[0, 1], [1, 0]]).nodes == treecast.network(np.array([[0, 1], [1, 0]])).nodes == 2
    grid = treecast.plan("broadcast", nx.grid_2d_graph(3, 3), root=(1, 2))
    assert grid.network.label(grid.collective.root) == "1,2"
    with pytest.raises(NetworkError, match="a list of links"):
        treecast.network(5)
    assert {"star", "mesh", "file"} <= set(treecast.families())


def test_a_report_knows_its_ratio_and_its_json(schedule: treecast.Schedule) -> None:
    report = treecast.verify(schedule)
    assert report.ratio == 11 / 10
    figures = json.loads(report.to_json())
    assert figures["ratio"] == 1.1
    assert [(bound["of"], bound["value"]) for bound in figures["bounds"]] == [(b.of, b.value) for b in report.bounds]
    assert all(bound["formula"] and bound["source"] for bound in figures["bounds"])
    assert json.loads(treecast.sweep(schedule).to_json())["sweep"]["sets"] == 277


def test_the_completion_of_those_that_have_all_can_be_averaged(schedule: treecast.Schedule) -> None:
    trace = treecast.simulate(schedule, ["2134"])
    having = [at for at in trace.completion.tolist() if at != NEVER]
    assert len(having) == trace.completed.count() == 23
    assert trace.completed.mean() == sum(having) / 23
    assert trace.completed.mask[6]
