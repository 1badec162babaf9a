"""The network as GraphML and DOT: other readers find the same nodes, arcs and loads."""

import io
from collections import Counter

import networkx as nx
import pytest

from tests.interpreters.graphs import read_dot
from tests.interpreters.jobs import CUT, SPECS, WIRED
from treecast.files import formats
from treecast.networks import network
from treecast.plans import plan

READERS = {"graphml": lambda data: nx.read_graphml(io.BytesIO(data), node_type=int), "dot": read_dot}


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("spec", [*SPECS, CUT, "debruijn:2,3", "complete:5"])
def test_the_same_arcs_are_read_back(spec, name):
    schedule = plan("broadcast", spec, messages=2)
    found = READERS[name](formats.encode(schedule, name))
    wanted = network(spec).to_networkx()
    assert found.is_directed()
    assert dict(found.nodes(data="label")) == dict(wanted.nodes(data="label"))
    arcs = {(u, v): {"port": port, "capacity": 1} for u, v, port in wanted.edges(data="port")}
    have = {(u, v): {key: more[key] for key in more if key != "id"} for u, v, more in found.edges(data=True)}
    assert have == arcs


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize(
    ("kind", "spec"),
    [("broadcast", "star:4"), ("allgather", "torus:3x3"), ("gather", "tree:2,2"), ("reduce", "mesh:3x4")],
)
def test_loads_are_those_of_the_single_sends(kind, spec, name):
    schedule = plan(kind, spec, messages=3)
    found = READERS[name](formats.encode(schedule, name, load=True))
    sent = Counter((send.src, send.dst) for send in schedule)
    assert {(u, v): weight for u, v, weight in found.edges(data="weight") if weight} == dict(sent)
    assert sum(sent.values()) == schedule.transmissions


@pytest.mark.parametrize("name", READERS)
def test_messages_load_every_arc_of_their_route(name):
    schedule = plan("broadcast", "mesh:3x3", model="wormhole")
    found = READERS[name](formats.encode(schedule, name, load=True))
    where = schedule.network
    total = sum(int(where.distance(send.src, send.dst)) for send in schedule)
    assert sum(weight for _, _, weight in found.edges(data="weight")) == total


def test_graphml_is_a_network_again(tmp_path):
    formats.save(plan("broadcast", "torus:3x4"), tmp_path / "net.graphml")
    again, torus = network(f"file:{tmp_path / 'net.graphml'}"), network("torus:3x4")
    assert [again.neighbors(u) for u in again] == [sorted(torus.neighbors(u)) for u in torus]


@pytest.mark.parametrize("name", READERS)
def test_parallel_arcs_are_a_capacity_and_relays_are_marked(name, tmp_path):
    schedule, where = plan("broadcast", WIRED, messages=3), network(WIRED)
    data = formats.encode(schedule, name, load=True)
    found = READERS[name](data)
    count = Counter((u, v) for u in where for v in where.neighbors(u))
    assert max(count.values()) > 1
    assert {(u, v): capacity for u, v, capacity in found.edges(data="capacity")} == dict(count)
    assert [u for u, relay in found.nodes(data="relay") if relay] == [4, 5]
    sent = Counter((send.src, send.dst) for send in schedule)
    assert {(u, v): weight for u, v, weight in found.edges(data="weight") if weight} == dict(sent)
    if name == "graphml":
        (tmp_path / "net.graphml").write_bytes(data)
        again = network(f"file:{tmp_path / 'net.graphml'}")
        assert [again.neighbors(u) for u in again] == [where.neighbors(u) for u in where]
        assert again.relays.tolist() == where.relays.tolist()


def test_strange_names_are_quoted(tmp_path):
    graph = nx.relabel_nodes(nx.path_graph(3), {0: '<a"&>', 1: "b\\", 2: "c'"})
    nx.write_edgelist(graph, tmp_path / "odd.edges", data=False)
    schedule = plan("broadcast", f"file:{tmp_path / 'odd.edges'}")
    for name, read in READERS.items():
        found = read(formats.encode(schedule, name))
        assert list(dict(found.nodes(data="label")).values()) == ['<a"&>', "b\\", "c'"]


def test_broken_files_are_noticed_by_the_reader():
    lines = formats.encode(plan("broadcast", "ring:3"), "dot").decode().splitlines(keepends=True)
    for i in range(len(lines)):
        if "->" not in lines[i]:
            with pytest.raises(ValueError, match=r"it is no digraph|has no nodes"):
                read_dot("".join(lines[:i] + lines[i + 1 :]).encode())
        else:
            with pytest.raises(ValueError, match="stands there twice"):
                read_dot("".join(lines[: i + 1] + lines[i:]).encode())
