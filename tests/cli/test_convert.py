"""``treecast convert``."""

import networkx as nx


def test_a_network_is_written_as_other_tools_read_it(ask, answer, tmp_path):
    graphml, dot = str(tmp_path / "net.graphml"), str(tmp_path / "net.dot")
    assert ask("convert", "petersen", "-o", graphml)[0] == 0
    assert nx.is_isomorphic(nx.Graph(nx.read_graphml(graphml)), nx.petersen_graph())
    assert ask("convert", graphml, "-o", dot)[0] == 0
    assert [answer("networks", name)["arcs"] for name in (graphml, dot)] == [30, 30]


def test_other_names_are_refused(ask, tmp_path):
    status, out, err = ask("convert", "petersen", "-o", str(tmp_path / "net.png"))
    assert (status, out) == (2, "")
    assert err.endswith("let it end in .graphml or .dot\n")
