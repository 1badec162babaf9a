"""A plan on a graph holds the graph: what is judged is what it was planned on, whatever becomes of the file."""

import pickle
import re
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treecast
from tests.networks.test_relays import multigraphs
from treecast.errors import FormatError, PlanError
from treecast.files import formats
from treecast.networks import header
from treecast.networks.graph import Graph
from treecast.networks.past_relays import whole_of


def test_a_plan_is_judged_on_the_graph_that_it_was_planned_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    net = tmp_path / "net.graphml"
    nx.write_graphml(nx.petersen_graph(), net)
    monkeypatch.chdir(tmp_path)
    schedule = treecast.plan("broadcast", "file:net.graphml", root="7", messages=3)
    for name in ("plan.tc", "plan.tcb"):
        treecast.save(schedule, tmp_path / name)
        nx.write_graphml(nx.petersen_graph(), net)
        (tmp_path / "elsewhere").mkdir(exist_ok=True)
        monkeypatch.chdir(tmp_path / "elsewhere")
        assert treecast.load(tmp_path / name) == schedule  # no such file here
        nx.write_graphml(nx.path_graph(10), net)
        monkeypatch.chdir(tmp_path)
        assert treecast.load(tmp_path / name) == schedule  # another graph there
        net.unlink()
        assert treecast.verify(tmp_path / name)
        assert treecast.run(tmp_path / name, b"some bytes").holds


def test_a_graph_less_some_parts_is_held_too() -> None:
    whole = treecast.network(nx.petersen_graph())
    schedule = treecast.plan("broadcast", whole.without(nodes=["3"], links=["0-1"]), messages=4)
    again = formats.decode(formats.encode(schedule))
    assert again == schedule
    assert "nodes " not in formats.encode(treecast.plan("broadcast", "petersen without links 0-1")).decode()


def test_what_stands_in_the_file() -> None:
    wired = nx.MultiDiGraph([("a", "b"), ("b", "a"), ("a", "b"), ("b", "c"), ("c", "a")])
    wired.nodes["b"]["relay"] = True
    text = formats.encode(treecast.plan("broadcast", wired)).decode()
    assert "network graph:3\nnodes a b c\nlinks 0-1 0>1 1>2 2>0\nrelays b\ncollective broadcast\n" in text
    alone = formats.encode(treecast.plan("broadcast", nx.empty_graph(1))).decode()
    assert "nodes 0\ncollective" in alone
    assert formats.decode(alone.encode()).steps == 0


def file(network: str = "graph:3", nodes: str = "a b c", links: str = "0-1 1-2", more: str = "") -> bytes:
    lines = ["treecast 2", f"network {network}", f"nodes {nodes}", f"links {links}", "collective broadcast"]
    return ("\n".join([line for line in lines if line.split()[1:]]) + "\n" + more + "rows 0\n").encode()


def test_by_hand() -> None:
    schedule = formats.decode(file(links="1-0*2 1>2", more="relays c\nroot b\n"))
    assert schedule.network == Graph("graph:3", "abc", [(0, 1), (0, 1), (1, 0), (1, 0), (1, 2)], [False, False, True])
    assert schedule.collective.relays == (2,)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (file(links="0-3"), "'0-3' is no link: write U-V, U>V one way, .* U and V numbers below 3"),
        (file(links="0-1*0"), "'0-1\\*0' is no link"),
        (file(links="0-1*-1"), "'0-1\\*-1' is no link"),
        (file(links="a-b"), "'a-b' is no link"),
        (file(links="0-1 0-" + "9" * 5000), "is no link"),
        (file(links="0-1*9999999999"), "more than 4,194,304 cables"),
        (file(links=" ".join(["0-1*4000000"] * 9)), "more than 4,194,304 cables"),
        (file(links="0-1*40000"), "a plan holds a graph of up to"),
        (file(nodes=" ".join(f"n{u}" for u in range(10**4)), links="0-1*32000"), "a plan holds a graph of up to"),
        (file(links="0-0"), "a link from 'a' to itself"),
        (file(nodes="a b a"), "two nodes named 'a'"),
        (file(nodes=""), "links without nodes"),
        (file(more="relays d\n"), "relay 'd' is none of the nodes"),
        (file(more="relays a b c\n"), "relays only"),
        (file(more="relays a\n"), "root 0 is a relay"),
        (file(network="ring:3"), "'ring:3' is known by its name: delete the lines nodes, links, relays"),
        (file(network="graph:3", nodes="", links="", more="relays a\n"), "relays without nodes"),
        (file(network="graph:3", nodes="", links=""), "graph:3.* is no network"),
    ],
)
def test_graphs_that_cannot_be(data: bytes, says: str) -> None:
    with pytest.raises(FormatError) as caught:
        formats.decode(data)
    message = str(caught.value)
    assert re.search(says, message), message
    assert len(message) < 500
    assert "\n" not in message


def test_a_network_that_a_plan_cannot_hold() -> None:
    ring = treecast.network(nx.cycle_graph(4))
    schedule = treecast.plan("gather", nx.DiGraph([(0, 1), (1, 0), (1, 2), (2, 0)]))
    assert treecast.verify(formats.decode(formats.encode(schedule)))
    with pytest.raises(FormatError, match="cannot be found again by its name"):
        header.words_of(treecast.network("debruijn:2,3").reversed())
    assert header.words_of(ring)["nodes"] == "0 1 2 3"


@pytest.mark.slow
@given(multigraphs(most=12), st.sampled_from(["broadcast", "scatter", "gather", "reduce"]))
def test_what_is_read_is_what_was_saved(truth: Any, kind: str) -> None:
    graph = treecast.network(truth)
    try:
        schedule = treecast.plan(kind, graph, messages=2)
    except PlanError:  # no way leads there
        return
    for form in ("text", "binary"):
        again = formats.decode(formats.encode(schedule, form))
        assert again == schedule
        assert whole_of(again.network) == graph
        assert whole_of(again.network).labels(range(graph.nodes)) == graph.labels(range(graph.nodes))
        assert formats.encode(again, form) == formats.encode(schedule, form)
        assert treecast.verify(again)  # a file of a judged plan carries the proof of its bound, too
    assert pickle.loads(pickle.dumps(schedule)) == schedule
