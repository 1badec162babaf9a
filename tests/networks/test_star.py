import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles.plain import graph_of, lexicographic
from treecast.errors import NetworkError
from treecast.networks import Star, network


@pytest.mark.parametrize("n", range(2, 6))
def test_distances_between_all_pairs(n):
    star = Star(n)
    every = dict(nx.all_pairs_shortest_path_length(graph_of(star)))
    table = star.distance(np.arange(star.nodes)[:, None], np.arange(star.nodes)[None, :])
    assert all(table[u, v] == d for u, row in every.items() for v, d in row.items())


@pytest.mark.parametrize("n", range(2, 9))
def test_the_compiled_table_of_neighbours_is_the_arithmetic_one(n):
    star = Star(n)
    u = np.arange(star.nodes)
    table = star.neighbor_table()
    for port in range(star.ports):
        assert (table[:, port] == star.neighbor(u, port)).all()
        assert (star.port_between(u, table[:, port]) == port).all()
    low, high = star.nodes // 3, star.nodes - star.nodes // 5
    assert (star.neighbor_table(low, high) == table[low:high]).all()


def test_a_table_of_neighbours_that_nobody_could_hold_is_refused():
    with pytest.raises(NetworkError, match="too many nodes"):
        Star(13).neighbor_table(6_227_020_776)


def test_no_node_and_no_port_lead_nowhere():
    star = Star(4)
    assert star.neighbor([-1, 24, 0, 0], [0, 0, -1, 3]).tolist() == [-1] * 4
    assert star.port_between(0, [0, -1 % 24, 5]).tolist()[0] == -1


@given(st.integers(2, 10), st.data())
def test_translation_is_a_group_action_that_keeps_ports(n, data):
    star = Star(n)
    node = st.integers(0, star.nodes - 1)
    h, u, port = data.draw(node), data.draw(node), data.draw(st.integers(0, star.ports - 1))
    assert int(star.translate(h, 0)) == h
    assert int(star.untranslate(h, star.translate(h, u))) == u
    assert int(star.neighbor(star.translate(h, u), port)) == int(star.translate(h, star.neighbor(u, port)))
    assert int(star.distance(star.translate(h, 0), star.translate(h, u))) == int(star.distance(0, u))


def test_the_examples_of_the_paper():
    four, five, six = Star(4), Star(5), Star(6)
    assert [four.label(u) for u in four.necklace(four.node("4123"))] == ["4123", "2413", "3421"]
    assert six.cycle_notation(six.node("341526")) == "(13)(245)"
    assert [five.label(u) for u in five.necklace(five.node("13254"))] == ["13254", "15432"]
    assert len(five.unfolded_necklace(five.node("13254"))) == 4
    assert len(five.necklace(five.node("12435"))) == 4


def test_large_labels_are_written_with_commas():
    star = network("star:12")
    label = star.label(star.nodes - 1)
    assert label == "12,11,10,9,8,7,6,5,4,3,2,1"
    assert star.node(label) == star.nodes - 1
    assert star.labels([0, star.nodes - 1]) == [star.label(0), label]


@pytest.mark.parametrize("text", ["11234", "2134x", "0,1,2,3", "", "-1", "24", "²", "1.5", "99999999999999999999999"])
def test_what_is_no_label_is_refused_in_one_line(text):
    with pytest.raises(NetworkError) as error:
        Star(4).node(text)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "spec", ["star:1", "star:25", "star:0", "star:x", "star:", "star:-3", "star", "stars:4", "", "star:4:4"]
)
def test_what_is_no_star_network_is_refused_in_one_line(spec):
    with pytest.raises(NetworkError) as error:
        network(spec)
    assert "\n" not in str(error.value)


def swap_graph(n):
    """S_n from its definition: permutations as tuples, joined by a swap of the first symbol with another."""
    graph = nx.Graph()
    for row in map(tuple, lexicographic(n).tolist()):
        for k in range(1, n):
            other = list(row)
            other[0], other[k] = row[k], row[0]
            graph.add_edge(row, tuple(other), dimension=k + 1)
    return graph


@pytest.mark.slow
@pytest.mark.parametrize("n", range(2, 7))
def test_the_network_is_the_one_of_the_definition(n):
    star, graph, rows = Star(n), swap_graph(n), [tuple(r) for r in lexicographic(n).tolist()]
    assert star.nodes == len(graph)
    assert star.arcs == 2 * graph.number_of_edges()
    assert star.diameter == nx.diameter(graph)
    for u, row in enumerate(rows):
        assert star.label(u) == "".join(map(str, row))
        assert star.node(star.label(u)) == u
        for port in range(star.ports):
            other = rows[int(star.neighbor(u, port))]
            assert graph[row][other]["dimension"] == port + 2
    distance = nx.single_source_shortest_path_length(graph, rows[0])
    assert star.distance(0, np.arange(star.nodes)).tolist() == [distance[row] for row in rows]


@pytest.mark.slow
@pytest.mark.parametrize("n", range(2, 7))
def test_necklaces_divide_the_nodes_and_the_degree(n):
    star = Star(n)
    seen = [u for u in range(star.nodes) for _ in [0] if u == min(star.necklace(u))]
    assert sum(len(star.necklace(u)) for u in seen) == star.nodes
    assert all(star.ports % len(star.necklace(u)) == 0 for u in seen)
