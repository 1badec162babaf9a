"""Networks from networkx graphs and from files, against networkx."""

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treecast.errors import NetworkError
from treecast.networks import graph as module
from treecast.networks import network
from treecast.networks.core import Network
from treecast.networks.graph import Graph
from treecast.networks.wired import graph_from

LEAST, MOST = -(2**63), 2**63 - 1
"""The extreme node and port numbers that an array can hold."""


def some_graphs() -> list[Any]:
    made = [
        nx.petersen_graph(),
        nx.path_graph(1),
        nx.path_graph(7),
        nx.cycle_graph(6),
        nx.star_graph(5),
        nx.complete_graph(5),
    ]
    made += [
        nx.DiGraph([(0, 1), (1, 2), (2, 0)]),
        nx.DiGraph([(0, 1), (1, 0)]),
        nx.MultiGraph([(0, 1), (1, 2)]),
    ]
    made += [
        nx.gnp_random_graph(n, 0.35, seed=s, directed=d) for n in (5, 9, 14) for s in range(6) for d in (False, True)
    ]
    ways = {True: nx.is_strongly_connected, False: nx.is_connected}
    made += [nx.relabel_nodes(nx.petersen_graph(), "zyxwvutsrq".__getitem__)]
    return [graph for graph in made if ways[graph.is_directed()](graph)]


GRAPHS = some_graphs()


def test_there_are_graphs_of_both_kinds() -> None:
    assert sum(graph.is_directed() for graph in GRAPHS) >= 5
    assert sum(not graph.is_directed() for graph in GRAPHS) >= 12


@pytest.mark.parametrize("truth", GRAPHS, ids=str)
def test_as_networkx_says(truth: Any) -> None:
    graph = graph_from(truth)
    order = list(truth)
    nodes = np.arange(graph.nodes)
    assert graph.spec == f"graph:{len(order)}"
    assert [graph.label(u) for u in nodes] == [str(name) for name in order]
    for u in nodes:
        there = sorted(order.index(name) for name in truth[order[u]])
        assert graph.neighbor(u, np.arange(graph.ports)).tolist() == there + [-1] * (graph.ports - len(there))
        assert graph.neighbors(u) == there
    assert graph.arcs == truth.to_directed().number_of_edges()
    assert graph.degree == graph.ports == max(len(truth[name]) for name in order)
    lengths = dict(nx.all_pairs_shortest_path_length(truth))
    distances = [[lengths[a][b] for b in order] for a in order]
    assert graph.distance(nodes[:, None], nodes).tolist() == distances
    assert [graph.distance(u, nodes).tolist() for u in nodes] == distances
    assert graph.diameter == nx.diameter(truth)
    assert [graph.eccentricity(u) for u in nodes] == np.max(distances, axis=1).tolist()
    ports = graph.port_between(nodes[:, None], nodes)
    assert np.array_equal(ports, Network._port(graph, *np.broadcast_arrays(nodes[:, None], nodes)))
    assert np.count_nonzero(ports >= 0) == graph.arcs


def test_distances_are_the_same_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    truth = nx.petersen_graph()
    whole, parts = graph_from(truth), graph_from(truth)
    u, v = np.random.default_rng(1).integers(0, 10, (2, 40, 3))
    wanted = whole.distance(u, v)
    for cells in (1, 80, 130):  # one root at a time, two, three
        monkeypatch.setattr(module, "_AT_ONCE", cells)
        assert np.array_equal(parts.distance(u, v), wanted)
    assert parts.diameter == 2


def test_few_distances_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = graph_from(nx.cycle_graph(20))
    searched: list[int] = []
    search = module._levels
    monkeypatch.setattr(module, "_levels", lambda *args: searched.append(int(args[2][0])) or search(*args))
    for root in [0, 0, *range(8), 7, 0]:
        assert graph.distance(root, [root, (root + 11) % 20]).tolist() == [0, 9]
    assert searched == list(range(1, 8))  # those from the first rank are counted when the graph is made
    got = graph.distance(0, np.arange(20))
    got[:] = 99
    assert graph.distance(0, 10) == 10
    for root in range(20):
        graph.distance(root, 0)
    searched.clear()
    for root in [*range(12, 20), 11]:
        graph.distance(root, 0)
    assert searched == [11]


def test_there_is_no_arc_outside() -> None:
    for graph in (graph_from(nx.path_graph(4)), graph_from(nx.path_graph(1))):
        nodes = np.array([LEAST, -graph.nodes, -1, graph.nodes, MOST])
        assert (graph.neighbor(nodes[:, None], np.arange(-2, 4)) == -1).all()
        assert (graph.neighbor(0, [LEAST, -2, -1, 1, 2, MOST]) == -1).all()
        assert (graph.port_between(nodes[:, None], [*nodes, 0]) == -1).all()
        assert (graph.port_between([[0], [graph.nodes - 1]], nodes) == -1).all()
        for u in nodes:
            assert graph.neighbor(u, 0) == graph.port_between(u, 0) == graph.port_between(0, u) == -1
            for pair in ((u, 0), (0, u), ([[0], [u]], 0)):
                with pytest.raises(NetworkError, match="is no node of graph:"):
                    graph.distance(*pair)


@st.composite
def connected(draw: st.DrawFn) -> Any:
    """A strongly connected graph: random links and a cycle through all nodes (or a tree, when undirected)."""
    nodes, directed = draw(st.integers(1, 12)), draw(st.booleans())
    names = draw(st.permutations(range(nodes)))
    graph = nx.DiGraph() if directed else nx.Graph()
    graph.add_nodes_from(names)
    if directed and nodes > 1:
        nx.add_cycle(graph, draw(st.permutations(names)))
    for u in range(1, nodes):
        graph.add_edge(names[u], names[draw(st.integers(0, u - 1))])
    links = st.tuples(st.integers(0, nodes - 1), st.integers(0, nodes - 1)).filter(lambda link: link[0] != link[1])
    if nodes > 1:
        graph.add_edges_from(draw(st.lists(links, max_size=20)))
    return graph


@given(connected())
def test_properties(truth: Any) -> None:
    graph = graph_from(truth)
    nodes, ports = np.arange(graph.nodes), np.arange(graph.ports)
    table = graph.neighbor(nodes[:, None], ports)
    assert graph.arcs == np.count_nonzero(table >= 0)
    ours = {(graph.label(u), graph.label(v)) for u, row in enumerate(table.tolist()) for v in row if v >= 0}
    assert ours == {(str(u), str(v)) for u, v in truth.to_directed().edges()}
    u, port = np.nonzero(table >= 0)
    assert np.array_equal(graph.port_between(u, table[u, port]), port)
    distances = graph.distance(nodes[:, None], nodes)
    assert (distances[:, :, None] + distances[None] >= distances[:, None, :]).all()
    for at in nodes[:, None]:
        nearer = graph.distance(table[u, port], at) - graph.distance(u, at)
        assert (nearer >= -1).all()
        assert {int(x) for x in u[nearer == -1]} == set(nodes.tolist()) - set(at.tolist())
    assert graph_from(nx.relabel_nodes(graph.to_networkx(), graph.label)) == graph
    assert all(graph.node(graph.label(u)) == u for u in nodes)


def test_a_name_wins_over_a_number() -> None:
    graph = graph_from(nx.Graph([("2", "a"), ("a", "0b1"), ("0b1", "2")]))
    assert [graph.node(text) for text in ("2", "a", "0b1", "0", "1", " a ")] == [0, 1, 2, 0, 1, 1]
    assert graph.node(2) == 2
    with pytest.raises(
        NetworkError, match="'b' is no node of graph:3: write a label like 0b1, or a number from 0 to 2"
    ):
        graph.node("b")


def test_equality_is_of_name_and_arcs(tmp_path: Path) -> None:
    ring, line = nx.cycle_graph(4), nx.path_graph(4)
    path = str(tmp_path / "net.graphml")
    nx.write_graphml(ring, path)
    one, other = graph_from(ring), graph_from(ring.to_directed())
    assert one == other
    assert hash(one) == hash(other)
    assert one != graph_from(line)
    assert one != network(path) == network(path)
    assert one != "graph:4"
    again = pickle.loads(pickle.dumps(one))
    assert (again, again.diameter) == (one, 2)
    assert Graph("graph:4", "0123", [(3, 0), (1, 2), (0, 1), (2, 3), (0, 3), (2, 1), (1, 0), (3, 2)]) == one


def test_nothing_can_be_changed() -> None:
    graph = graph_from(nx.cycle_graph(4))
    for name in ("spec", "nodes", "degree", "diameter"):
        with pytest.raises(AttributeError):
            setattr(graph, name, 1)
    for array in (value for value in vars(graph).values() if isinstance(value, np.ndarray)):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    assert (graph.neighbor(0, 1).shape, graph.neighbor(0, 1).dtype) == ((), np.int64)
    assert (graph.port_between([[0], [1]], [1, 2]).shape, graph.distance([[0], [1]], [1, 2]).shape) == (
        (2, 2),
        (2, 2),
    )


@pytest.mark.parametrize("truth", GRAPHS, ids=str)
def test_files(truth: Any, tmp_path: Path) -> None:
    named = nx.relabel_nodes(nx.Graph(truth) if truth.is_multigraph() else truth, lambda name: f"n{name}")
    wanted = graph_from(named)
    for name in ("net.graphml", "NET.XML"):
        nx.write_graphml(named, tmp_path / name)
        graph = network(tmp_path / name)
        assert graph.spec == f"file:{tmp_path / name}"
        assert [graph.label(u) for u in range(graph.nodes)] == [wanted.label(u) for u in range(wanted.nodes)]
        assert np.array_equal(graph.neighbor_table(), wanted.neighbor_table())
    if len(named) > 1 and not named.is_directed():
        path = tmp_path / "net.edgelist"
        for data in (True, False):
            nx.write_edgelist(named, path, data=data)
            graph = network(f"file:{path}")
            there = {(graph.label(u), graph.label(v)) for u in range(graph.nodes) for v in graph.neighbors(u)}
            assert there == set(named.to_directed().edges())


def test_an_edge_list_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "net.txt"
    path.write_bytes("\ufeff# my network\r\n\r\nzürich  bern # by train\r\n\tbern\tgenève {'km': 160}\r\n".encode())
    graph = network(f"file:{path}")
    assert [graph.label(u) for u in range(3)] == ["zürich", "bern", "genève"]
    assert (graph.arcs, graph.diameter, graph.degree) == (4, 2, 2)


@pytest.mark.parametrize(
    ("truth", "says"),
    [
        (nx.Graph(), "has no node"),
        (nx.Graph([(1, 1), (1, 2)]), "a link from '1' to itself"),
        (nx.DiGraph([(1, 2), (2, 1), (2, 2)]), "a link from '2' to itself"),
        (nx.Graph([(1, 2, {"capacity": 0})]), "the link from '1' to '2' has capacity 0: write a whole number from 1"),
        (nx.Graph([(1, 2, {"capacity": -1})]), "has capacity -1"),
        (nx.Graph([(1, 2, {"capacity": 1.5})]), "has capacity 1.5"),
        (nx.Graph([(1, 2, {"capacity": float("nan")})]), "has capacity nan"),
        (nx.Graph([(1, 2, {"capacity": "fast"})]), "has capacity 'fast'"),
        (nx.Graph([(1, 2, {"capacity": True})]), "has capacity True"),
        (nx.Graph([(1, 2, {"capacity": 2**30})]), "1,073,741,824 cables, more than 2,097,152 of them in parallel"),
        (nx.Graph([(1, "1")]), "two nodes named '1'"),
        (nx.Graph([("a b", "c")]), "a node named 'a b': rename it without whitespace"),
        (nx.Graph([("a\nb", "c")]), r"a node named 'a\\nb'"),
        (nx.Graph([("", "c")]), "a node named ''"),
        (nx.Graph([((0, 1), "0,1")]), "two nodes named '0,1'"),
        ([(1, 2), ("1", 3)], "two nodes named '1'"),
        ([("a", "b", 0.5)], "write a whole number from 1, .* or their rate with its unit: 4Gbit/s"),
        ([("a", "b", "4Gbit")], "or their rate with its unit: 4Gbit/s"),
        ({"a": "bc"}, "node 'a' has 'bc': write the nodes that arcs lead to"),
        ({"a": 3}, "node 'a' has 3"),
        ({"a": {"b": 0}}, "from 'a' to 'b' has capacity 0"),
        ([[0, 1, 1], [1, 0, 1]], r"a matrix of shape \(2, 3\) is no network"),
        ([[0, 1], [1]], "a matrix whose rows differ in length"),
        (np.array([[0, -1], [1, 0]]), "from '0' to '1' has capacity -1"),
        (np.array([[0, 0.5], [1, 0]]), "has capacity 0.5"),
        (np.array([[1]]), "a link from '0' to itself"),
        (np.zeros((0, 0)), "has no node"),
        ("petersen", "a str is no network"),
        (None, "a NoneType is no network"),
    ],
)
def test_what_is_no_network(truth: Any, says: str) -> None:
    with pytest.raises(NetworkError, match=says) as caught:
        graph_from(truth)
    assert "\n" not in str(caught.value)


def test_arcs_to_no_node() -> None:
    for arcs in ([(0, 2)], [(-1, 0)]):
        with pytest.raises(NetworkError, match="nodes go from 0 to 1"):
            Graph("graph:2", "ab", arcs)


GRAPHML = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="undirected">{}</graph></graphml>'


def test_a_folder_and_a_name_beside_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "adir").mkdir()
    (tmp_path / "fabric.txt").write_text("a b\n")
    with pytest.raises(NetworkError, match="it is a folder: name a file in it"):
        network("adir")
    with pytest.raises(NetworkError, match=r"No such file or directory; did you mean 'fabric\.txt'"):
        network("fabrics.txt")
    assert ": all take part" in str(network("fabric.txt"))


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("net.txt", b" ", "it is empty"),
        (
            "net.txt",
            b"# size count algbw busbw\n",
            "it looks like a benchmark's log, which is not read: give it to treecast doctor",
        ),
        ("net.txt", b"# nothing\n", "has no node"),
        ("net.txt", b"a b\nc\n", "net.txt': line 2 is no link: write two names"),
        ("net.txt", b"a,b,2,3\n", "line 1 is no link: write two names, and a capacity if you like, as in: a b 2"),
        ("net.txt", b"a,b\nb c\n", "line 2 is no link"),
        ("net.txt", b"a b\nb, c\n", "line 2 is no link"),
        ("net.txt", b"node1 gpus=4\nnode2 gpus=4\n", "line 1 has a setting, 'gpus=4', no node: write two names"),
        ("net.txt", b"n1 4\nn2 4\n", "one column is of names, the other of numbers, which is no list of links"),
        ("net.txt", b"10.0.0.1 n1\n10.0.0.2 n2\n", "one column is of names, the other of numbers"),
        ("net.txt", b"Host n1\nUser me\n", "no name stands in two of its lines, so they are no links of a network"),
        ("net.txt", b"name,age\nbob,5\nann,5\n", "line 1 has 'name' and 'age', which no other line has: names of"),
        ("net.txt", b"from,to\na,b\nc\n", "line 3 is no link"),
        ("net.txt", b"from,to\na,b\nc,\n", "line 3 is no link"),
        ("net.txt", b"a ->\n", "line 1 is no link between two ends: .*, or a -> b"),
        ("net.txt", b"a -> b -> c\n", "line 1 is no link between two ends"),
        ("net.txt", b"a b 3.5\n", "line 1: the link from 'a' to 'b' has capacity '3.5': write a whole number from 1"),
        ("net.txt", b"a b 0\n", "capacity '0'"),
        ("net.txt", b"a b -2\n", "capacity '-2'"),
        ("net.txt", b"a b x\n", "capacity 'x'"),
        ("net.txt", b"a b {'capacity': 1.5}\n", "capacity 1.5"),
        ("net.txt", b"a b {oops\n", "cannot read the network"),
        ("net.txt", b"\xff\x00garbage\x9c", "it looks like data that is no text, which is not read"),
        (
            "net.txt",
            b"a b\nb a\n",
            "line 2 gives the link between 'b' and 'a' again, as line 1: write it once, with its capacity",
        ),
        ("net.txt", b"a a\n", "a link from 'a' to itself"),
        ("net.graphml", b"", "it is empty"),
        ("net.graphml", b"a b\n", "it is no GraphML: syntax error in line 1"),
        ("net.graphml", b"<html></html>", "it is no GraphML: it begins with <html>"),
        ("net.graphml", b"<graphml></graphml>", "it is no GraphML: it holds no graph"),
        (
            "net.graphml",
            GRAPHML.format("").encode().replace(b"</graphml>", b"<graph/></graphml>"),
            "it holds several graphs",
        ),
        ("net.graphml", b"<!DOCTYPE g [<!ENTITY a 'b'>]>" + GRAPHML.encode(), "it declares entities"),
        ("net.graphml", GRAPHML.format("<node id='a'/><node id='a'/>").encode(), "two nodes named 'a'"),
        ("net.graphml", GRAPHML.format("<edge source='a'/>").encode(), "an edge its source or target"),
        ("net.graphml", GRAPHML.format("<hyperedge/>").encode(), "cannot read the network"),
        ("net.graphml", GRAPHML.format("").encode(), "has no node"),
        ("net.xml", b"\x00\xff", "cannot read the network"),
    ],
)
def test_files_that_hold_no_network(name: str, content: bytes, says: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(NetworkError, match=says) as caught:
        network(tmp_path / name)
    assert "\n" not in str(caught.value)
    assert name in str(caught.value)


@pytest.mark.parametrize("name", ["missing.graphml", "missing.txt", "two\nlines", "nul\0.txt", ".", "nul\0.xml"])
def test_files_that_cannot_be_read(name: str, tmp_path: Path) -> None:
    with pytest.raises(NetworkError, match="cannot read the network") as caught:
        network(f"file:{tmp_path}/{name}")
    assert "\n" not in str(caught.value)


def test_no_name_at_all() -> None:
    with pytest.raises(NetworkError, match=r"as in file:net\.graphml"):
        network("file:")


@given(st.binary(max_size=60), st.sampled_from(["net.txt", "net.graphml"]))
def test_garbage_is_refused_in_one_line(tmp_path_factory: pytest.TempPathFactory, content: bytes, name: str) -> None:
    path = tmp_path_factory.getbasetemp() / name
    path.write_bytes(content)
    said = ""
    try:
        network(f"file:{path}")
    except NetworkError as error:
        said = str(error)
    assert len(said.splitlines()) <= 1


def test_networkx_is_imported_only_when_needed() -> None:
    code = "import sys, treecast.networks.graph; sys.exit('networkx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=100).returncode == 0


def test_a_long_ring_is_measured_quickly() -> None:
    graph = graph_from(nx.cycle_graph(500))
    assert graph.diameter == 250


def test_rates_of_links_are_taken_in_every_form_as_those_of_files_are(tmp_path: Path) -> None:
    rates = {("a", "b"): "400Gbit/s", ("b", "c"): "100Gbit/s", ("c", "a"): "12.5GB/s"}
    (tmp_path / "net.dot").write_text(
        "graph {" + "; ".join(f'{u} -- {v} [rate="{rate}", km=3]' for (u, v), rate in rates.items()) + "}"
    )
    drawn = nx.Graph([(u, v, {"rate": rate, "km": 3}) for (u, v), rate in rates.items()])
    both = dict[str, dict[str, str]]()
    for (u, v), rate in rates.items():
        both.setdefault(u, {})[v] = both.setdefault(v, {})[u] = rate
    wanted = network(str(tmp_path / "net.dot"))
    assert (wanted.arcs, wanted.chunk_rate) == (12, 12.5e9)
    links = "".join(f"{u} {v} {rate}\n" for (u, v), rate in rates.items())
    (tmp_path / "net.edges").write_text(links)
    for source in (drawn, [(*pair, rate) for pair, rate in rates.items()], both, str(tmp_path / "net.edges")):
        found = network(source)
        assert found.chunk_rate == wanted.chunk_rate
        assert sorted(found.to_networkx().edges()) == sorted(wanted.to_networkx().edges())
    assert "passed over: km" in str(network(drawn))
    del drawn.edges["a", "b"]["rate"]  # then they are no rates of all, and that is said
    assert "rate, which is read where all links have it" in str(network(drawn))
    assert network(drawn).chunk_rate is None
