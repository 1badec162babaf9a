"""Graphs from everywhere: objects in Python, GraphML and edge lists, against networkx."""

import doctest
import re
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treecast
from tests.networks.test_relays import capacities, multigraphs
from treecast.errors import NetworkError
from treecast.networks.core import Network


def arcs_by_label(network: Network) -> Counter[tuple[str, str]]:
    table = network.neighbor_table()
    u, port = np.nonzero(table >= 0)
    return Counter(zip(network.labels(u), network.labels(table[u, port]), strict=True))


def as_text(truth: Any) -> Counter[tuple[str, str]]:
    return Counter({(str(u), str(v)): many for (u, v), many in capacities(truth).items()})


@given(multigraphs(most=9))
def test_matrices_and_dicts(truth: Any) -> None:
    wanted, nodes = as_text(truth), len(truth)
    table = np.zeros((nodes, nodes), np.int64)
    for (u, v), many in capacities(truth).items():
        table[u, v] = many
    row, col = np.nonzero(table)
    sparse = SimpleNamespace(row=row, col=col, data=table[row, col], shape=table.shape)
    sparse.tocoo = lambda: sparse
    nested = {u: {v: int(table[u, v]) for v in np.flatnonzero(table[u])} for u in range(nodes)}
    listed = {u: [int(v) for v in np.repeat(np.arange(nodes), table[u])] for u in range(nodes)}
    attributes = {u: {v: {"capacity": many} for v, many in there.items()} for u, there in nested.items()}
    for what in (table, table.astype(float), table.tolist(), sparse, nested, listed, attributes):
        found = treecast.network(what)
        assert (found.nodes, arcs_by_label(found)) == (nodes, wanted)
        assert found.relays is None
    simple = treecast.network(table > 0)
    assert arcs_by_label(simple) == dict.fromkeys(wanted, 1)


@given(multigraphs(most=9), st.booleans())
def test_graphml_as_networkx_writes_it(
    tmp_path_factory: pytest.TempPathFactory, truth: Any, all_attributes: bool
) -> None:
    path = tmp_path_factory.getbasetemp() / "net.graphml"
    if all_attributes:
        nx.set_node_attributes(truth, False, "relay") if not nx.get_node_attributes(truth, "relay") else None
        nx.set_edge_attributes(truth, "100G", "rate")
    nx.write_graphml(truth, path)
    found, plain = treecast.network(path), treecast.network(truth)
    assert (
        arcs_by_label(found) == as_text(truth) == as_text(nx.read_graphml(path, node_type=int, force_multigraph=True))
    )
    assert found.labels(found.ranks) == plain.labels(plain.ranks)
    assert found.labels(range(found.nodes)) == plain.labels(range(plain.nodes))


def test_any_names() -> None:
    grid = treecast.network(nx.grid_2d_graph(2, 3))
    assert grid.labels(range(6)) == ["0,0", "0,1", "0,2", "1,0", "1,1", "1,2"]
    schedule = treecast.plan("broadcast", nx.grid_2d_graph(2, 3), root=(1, 2))
    assert schedule.network.label(schedule.collective.root) == "1,2"
    odd = nx.Graph([(frozenset({1, 2}), True), (True, 2.5), (("a", (3, "b")), 2.5)])
    assert set(treecast.network(odd).labels(range(4))) == {"frozenset({1,2})", "True", "2.5", "a,3,b"}


GRAPHML = """<?xml version="1.0" encoding="{encoding}"?>
<!-- made by hand -->
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="c" for="edge" attr.name="capacity" attr.type="double"><default>2</default></key>
  <key id="r" for="node" attr.name="relay" attr.type="boolean"/>
  <key id="d" for="all" attr.name="description" attr.type="string"><default>none</default></key>
  <graph edgedefault="undirected">
    <edge source="a" target="zürich"/>
    <edge source="a" target="b" directed="true"><data key="c">1.0</data><data key="d">capacity</data></edge>
    <node id="b"><data key="d">7</data><data key="r"> true </data></node>
    <node id="a"><port name="p"/></node>
  </graph>
</graphml>
"""


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "iso-8859-1"])
def test_graphml_by_hand(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "net.xml"
    path.write_bytes(GRAPHML.format(encoding=encoding).encode(encoding))
    found = treecast.network(f"file:{path}")
    assert found.labels(range(3)) == ["b", "a", "zürich"]  # nodes as they come, then those that only links name
    assert arcs_by_label(found) == {("a", "zürich"): 2, ("zürich", "a"): 2, ("a", "b"): 1}
    assert found.labels(found.ranks) == ["a", "zürich"]


def test_laughs_are_refused_at_once(tmp_path: Path) -> None:
    lines = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 12))
    (tmp_path / "net.graphml").write_text(f'<!DOCTYPE g [<!ENTITY l0 "ha">{lines}]><graphml>&l11;</graphml>')
    with pytest.raises(NetworkError, match="it declares entities"):
        treecast.network(tmp_path / "net.graphml")
    (tmp_path / "net.graphml").write_text('<!DOCTYPE g SYSTEM "file:///etc/passwd"><graphml>&g;</graphml>')
    with pytest.raises(NetworkError, match="it is no GraphML"):
        treecast.network(tmp_path / "net.graphml")


@pytest.mark.parametrize(
    "text",
    [
        "a b 2\nb c\n",
        "a,b,2\nb,c",
        "a, b , 2\nb, c, 1\n",
        "# head\r\n\r\na\tb\t2.0\r\n b  c # one\r\n",
        "a b {'capacity': 2, 'km': [1, 2]}\nb c {}\n",
        "a;b;2\nb;c\n",
        "a -- b 2\nb <-> c",
        "a--b\nb -- c\n a -> b\n b=>a\n",
        "Source,Target,Type,Id,Label,capacity\na,b,Undirected,0,,2\nb,c,,,,\n",
        '"from" "to" "km" "cables"\n"a" "b" 7 2\n"b" "c" 8 1\n',
    ],
)
def test_edge_lists(tmp_path: Path, text: str) -> None:
    path = tmp_path / "net.edges"
    path.write_text(text)
    found = treecast.network(str(path))
    assert arcs_by_label(found) == {("a", "b"): 2, ("b", "a"): 2, ("b", "c"): 1, ("c", "b"): 1}


def test_edge_lists_with_arrows_names_of_blanks_and_rates(tmp_path: Path) -> None:
    path = tmp_path / "net.csv"
    path.write_text("New York,Chicago\nChicago,Denver\nDenver,New York\n")
    assert set(treecast.network(path).labels()) == {"New_York", "Chicago", "Denver"}
    path.write_text("New York -> Chicago\nChicago -> Denver\nDenver -> New York\n")
    ring = [("New_York", "Chicago"), ("Chicago", "Denver"), ("Denver", "New_York")]
    assert arcs_by_label(treecast.network(path)) == dict.fromkeys(ring, 1)
    path.write_text("u v\nv w\nw u\n")  # these are no names of columns: lines use them
    assert set(treecast.network(path).labels()) == {"u", "v", "w"}
    path.write_text("src,dst,rate,km\na,b,400Gbit/s,1\nb,c,12.5GB/s,2\n")
    where = treecast.network(path)
    assert (where.chunk_rate, where.arcs) == (12.5e9, 10)
    assert "passed over: km" in str(where)
    path.write_text("a b\nb c\nd e\n")
    assert treecast.network(path).notes == ("d and e (line 3) stand in no other line: is this a list of links?",)


def test_names_with_commas_between_blanks(tmp_path: Path) -> None:
    truth = nx.grid_2d_graph(2, 2)
    path = tmp_path / "net.edges"
    path.write_text("".join(f"{u[0]},{u[1]} {v[0]},{v[1]}\n" for u, v in truth.edges()))
    assert arcs_by_label(treecast.network(path)) == arcs_by_label(treecast.network(truth))


@pytest.mark.parametrize("write", [nx.write_graphml, nx.write_edgelist, nx.write_weighted_edgelist])
def test_tuples_in_files_are_named_as_in_memory(tmp_path: Path, write: Any) -> None:
    truth = nx.grid_2d_graph(2, 3)
    nx.set_edge_attributes(truth, 1, "weight")
    path = tmp_path / ("net.graphml" if write is nx.write_graphml else "net.edges")
    write(truth, path)
    assert arcs_by_label(treecast.network(path)) == arcs_by_label(treecast.network(truth))


def test_the_page_on_graphs_says_what_is_so() -> None:
    page = (Path(__file__).parents[2] / "docs/reference/graphs.md").read_text()
    code = "\n".join(re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL))
    found = doctest.DocTestRunner().run(doctest.DocTestParser().get_doctest(code, {}, "graphs.md", None, 0))
    assert found.attempted > 10
    assert found.failed == 0


@pytest.mark.parametrize("name", ["ws.links", "ws"])
def test_a_file_needs_no_prefix(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("a b\n")
    assert treecast.network(str(tmp_path / name)).spec == f"file:{tmp_path / name}"


def test_rates_of_graphml_are_read_with_their_unit(tmp_path: Path) -> None:
    edges = "".join(f'<edge source="{u}" target="b"><data key="r">{{}}</data></edge>' for u in "ac")
    text = (
        f'<graphml><key id="r" for="edge" attr.name="rate"/><graph edgedefault="undirected">{edges}</graph></graphml>'
    )
    file = tmp_path / "net.graphml"
    file.write_text(text.format("400Gbit/s", "12.5GB/s"))
    where = treecast.network(f"file:{file}")
    assert (where.chunk_rate, where.arcs) == (12.5e9, 10)  # four cables of 100 Gbit/s and one
    file.write_text(text.format("400", "100"))
    where = treecast.network(f"file:{file}")
    assert (where.chunk_rate, where.arcs) == (None, 4)
    (note,) = where.notes
    assert note.startswith("passed over: rate, which is read where all links have it with its unit")
    with pytest.raises(NetworkError, match="it says no rates, so there is nothing for --unit to divide"):
        treecast.network(f"file:{file} with unit 25GB/s")
