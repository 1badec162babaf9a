"""Networks less their broken parts, against networkx's removal of nodes and edges."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles.plain import graph_of
from treecast.errors import NetworkError
from treecast.files import formats
from treecast.networks import network
from treecast.networks.arcs import arcs_called
from treecast.plans import plan
from treecast.simulation.sweeps import sweep
from treecast.verification.verifier import verify

WHOLE = [
    "hypercube:4",
    "torus:3x4",
    "mesh:3x3",
    "star:4",
    "complete:6",
    "petersen",
    "debruijn:2,3",
    "circulant:9,1,2",
    "tree:2,3",
]


def labelled(where):
    """The network as a networkx graph of labels."""
    return nx.relabel_nodes(nx.DiGraph(graph_of(where).edges), where.label)


@given(st.data())
def test_what_is_left_is_what_networkx_leaves(data):
    whole = network(data.draw(st.sampled_from(WHOLE)))
    graph = labelled(whole)
    arcs = sorted(graph.edges)
    nodes = data.draw(st.lists(st.sampled_from(sorted(graph)), max_size=2, unique=True))
    cut = data.draw(st.lists(st.sampled_from(arcs), max_size=3, unique=True))
    signs = [data.draw(st.sampled_from("->")) for _ in cut]
    left = graph.copy()
    left.remove_nodes_from(nodes)
    for (u, v), sign in zip(cut, signs, strict=True):
        left.remove_edges_from([(u, v)] if sign == ">" else [(u, v), (v, u)])
    links = [f"{u}{sign}{v}" for (u, v), sign in zip(cut, signs, strict=True)]
    where = whole.without(nodes, links)
    assert set(where.labels(range(where.nodes))) == set(left)
    assert set(labelled(where).edges) == set(left.edges)
    assert where.connected == nx.is_strongly_connected(left)
    again = network(where.spec)
    assert (again, again.spec, hash(again)) == (where, where.spec, hash(where))
    said = "".join(f" without {word} {' '.join(some)}" for word, some in (("nodes", nodes), ("links", links)) if some)
    assert network(whole.spec + said) == where
    step_by_step = whole
    for link in links:
        try:
            step_by_step = step_by_step.without(links=[link])
        except NetworkError:  # it is gone already
            assert "-" in signs
    for node in nodes:
        step_by_step = step_by_step.without([node])
    assert step_by_step == where


def test_nothing_left_out_is_the_network_itself():
    whole = network("star:4")
    assert whole.without() is whole
    torn = whole.without([3])
    assert torn.without() is torn


def test_the_spelling_has_one_form():
    where = network("hypercube:3  without nodes 7 links 1-0 0>2  without links 3-7 2>0")
    assert where.spec == "hypercube:3 without links 0b000-0b001 0b000-0b010 nodes 0b111"
    assert network("hypercube:3 without links 1>0").spec == "hypercube:3 without links 0b001>0b000"
    assert where.spelled
    assert where.family == ""
    assert not network(nx.petersen_graph()).without([3]).spelled


def test_labels_stay_and_those_that_are_gone_are_not_read_as_numbers():
    where = network("complete:5 without nodes 3")
    assert [where.label(u) for u in range(4)] == ["0", "1", "2", "4"]
    assert where.node("4") == 3
    with pytest.raises(NetworkError, match="'3' is no node of complete:5 without nodes 3: it is left out"):
        where.node("3")
    torus = network("torus:3x3 without nodes 1,1")
    assert torus.node("( 1, 2 )") == torus.node("1,2") == 4
    with pytest.raises(NetworkError, match="it is left out"):
        torus.node("(1,1)")


def test_one_of_parallel_links_can_be_named():
    where = network("mesh:2x2")
    assert arcs_called(where, "0,0-0,1#0") == arcs_called(where, "0,0-0,1") == [(0, 2), (1, 3)]
    with pytest.raises(NetworkError, match="is no cable of mesh:2x2: those are numbered from 0 to 0"):
        arcs_called(where, "0,0-0,1#1")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "star:4 without nodes 1235",
            "1235 is no node of star:4: a label has each of the symbols 1 to 4 once, as 4321: 5 is none of them",
        ),
        ("star:4 without links 1234-2135", "names no link: write A-B .* as in 1234-2134"),
        ("star:4 without links 1234-2314", "is no link of star:4: 1234 is joined to 2134, 3214, 4231"),
        ("star:4 without links 1234", "names no link"),
        ("ring:3 without nodes 0 1 2", "has no other nodes: leave one at least"),
        ("hypercube:24 without nodes 5", "too many to list"),
        ("sar:4 without nodes 5", "did you mean 'star:4'"),
    ],
)
def test_what_does_not_exist_is_refused(text, said):
    with pytest.raises(NetworkError, match=said) as caught:
        network(text)
    assert "\n" not in str(caught.value)


def test_relays_stay_relays_and_cables_are_taken_one_by_one():
    wired = nx.Graph([("a", "s", {"capacity": 3}), ("b", "s", {"capacity": 2}), ("c", "s"), ("c", "a")])
    wired.nodes["s"]["relay"] = True
    whole = network(wired)
    torn = whole.without(["c"], ["a-s#1", "b>s#0"])
    assert torn.spec == "graph:4 without links a-s#1 b>s#0 nodes c"
    assert torn.labels(torn.ranks) == ["a", "b"]
    assert torn.labels(np.flatnonzero(torn.relays)) == ["s"]
    arcs = [(torn.label(u), torn.label(v)) for u in torn for v in torn.neighbors(u)]
    assert sorted(arcs) == sorted([("a", "s"), ("s", "a")] * 2 + [("b", "s")] + [("s", "b")] * 2)
    assert torn.without(links=["a-s#1"]) == whole.without(["c"], ["a-s#1", "b>s#0", "a-s#2"])
    assert "s" not in whole.without(links=["a-s"]).labels(whole.without(links=["a-s"]).neighbors(0))
    with pytest.raises(NetworkError, match="relays only"):
        whole.without(["a", "b", "c"])


def test_names_that_are_nearly_right_are_answered_with_those_meant():
    whole = network(nx.relabel_nodes(nx.cycle_graph(4), lambda u: f"rack{u}/left"))
    with pytest.raises(NetworkError, match="did you mean 'rack2/left'"):
        whole.without(nodes=["rack2/lft"])
    with pytest.raises(NetworkError, match="did you mean 'rack2/left'"):
        whole.without(links=["rack1/left-rack2/lft"])
    with pytest.raises(NetworkError, match="'rack0/left-rack2/left' is no link of graph:4"):
        whole.without(links=["rack0/left-rack2/left"])


def test_the_rate_of_the_cables_that_are_left_stays(tmp_path):
    wired = nx.cycle_graph(4)
    nx.set_edge_attributes(wired, "100Gbit/s", "rate")
    nx.write_graphml(wired, tmp_path / "ring.graphml")
    whole = network(str(tmp_path / "ring.graphml"))
    assert (
        whole.without(links=["0-1"]).chunk_rate == whole.without(nodes=["2"]).chunk_rate == whole.chunk_rate == 12.5e9
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "spec", ["hypercube:4 without links 0-1", "torus:3x4 without nodes 1,1", "petersen without nodes 3"]
)
def test_plans_on_what_is_left_stand_in_files(spec, tmp_path):
    for kind in ("broadcast", "scatter", "gather", "reduce"):
        schedule = plan(kind, spec, messages=3)
        assert verify(schedule).holds
        for name in ("plan.tc", "plan.tcb"):
            formats.save(schedule, tmp_path / name)
            assert formats.load(tmp_path / name) == schedule
    schedule = plan("broadcast", spec, messages=3, survive=1)
    assert sweep(schedule, 1, "nodes").failing == sweep(schedule, 1, "links").failing == 0
