"""Rates and latencies of a graph's own links: plans are those of the same costs said beside it, whatever form the graph has."""

import pickle
from random import Random

import networkx as nx
import pytest

import treecast
from treecast.errors import NetworkError
from treecast.schedule.costs import seconds_by_events

LINKS = {
    ("a", "b"): ("2us", "100Gbit/s"),
    ("b", "c"): ("20ms", "1Gbit/s"),
    ("c", "d"): ("2us", "100Gbit/s"),
    ("d", "a"): ("10ms", "0.5Gbit/s"),
}


def written(folder, form):
    """The graph in a form, as an object or the path of a file."""
    graph = nx.Graph()
    for (u, v), (latency, rate) in LINKS.items():
        graph.add_edge(u, v, latency=latency, rate=rate)
    path = str(folder / f"wan.{form}")
    if form == "graphml":
        nx.write_graphml(graph, path)
    elif form == "edges":
        lines = [f"{u} {v} {rate} {latency}" for (u, v), (latency, rate) in LINKS.items()]
        (folder / "wan.edges").write_text("\n".join(["source target rate latency", *lines]))
    elif form == "dot":
        lines = [f'{u} -- {v} [latency="{latency}" rate="{rate}"]' for (u, v), (latency, rate) in LINKS.items()]
        (folder / "wan.dot").write_text(f"graph {{ {'; '.join(lines)} }}")
    return graph if form == "networkx" else path


@pytest.mark.slow
@pytest.mark.parametrize("form", ["networkx", "graphml", "edges", "dot"])
def test_a_file_says_the_costs_of_its_links(form, tmp_path):
    plain = nx.Graph(list(LINKS))
    both = LINKS | {(v, u): cost for (u, v), cost in LINKS.items()}
    for kind in ("broadcast", "allreduce"):
        said = treecast.plan(kind, plain, bytes="1MiB", latency="2us", rate="100Gbit/s", costs=both)
        found = treecast.plan(kind, written(tmp_path, form), bytes="1MiB")
        assert (found.steps, found.builder, found.collective) == (said.steps, said.builder, said.collective)
        assert seconds_by_events(found, found.costs) == seconds_by_events(said, said.costs)
        assert treecast.verify(found).holds


def test_a_link_without_a_latency_has_that_which_people_say():
    where = treecast.network([("a", "b", "100Gbit/s"), ("b", "c", "0.5Gbit/s"), ("c", "a", "100Gbit/s")])
    assert where.arcs == 6
    assert where.own_costs[1, 2] == (None, 62_500_000)
    assert treecast.plan("broadcast", where).steps == 1  # steps count all alike
    near = treecast.plan("broadcast", where, bytes="1MiB", latency="5us")
    assert seconds_by_events(near, near.costs) < 100e-6  # never by the slow link
    with pytest.raises(treecast.PlanError, match="say latency='1us'"):
        treecast.plan("broadcast", where, bytes="1MiB")


def test_what_is_left_of_a_network_keeps_its_costs(tmp_path):
    where = treecast.network(written(tmp_path, "networkx"))
    assert where.without(links=["b-c"]).own_costs[2, 3] == (2e-6, 12.5e9)
    left = where.without(nodes=["a"])
    assert left.own_costs[left.node("b"), left.node("c")] == (20e-3, 0.125e9)


def test_a_route_past_a_switch_has_the_costs_of_its_links():
    star = nx.Graph()
    star.add_node("s", relay=True)
    for host, latency in (("a", "2us"), ("b", "2us"), ("c", "5ms")):
        star.add_edge(host, "s", rate="100Gbit/s", latency=latency)
    found = treecast.plan("allreduce", star, bytes="1kB")
    assert seconds_by_events(found, found.costs) > 2 * 5e-3
    assert found.network.spec.endswith("past relays")
    assert pickle.loads(pickle.dumps(found)) == found
    hub = nx.star_graph(3)
    hub.nodes[0]["relay"] = True
    plain = treecast.plan("allreduce", hub, messages=2)
    assert pickle.loads(pickle.dumps(plain)) == plain


def test_links_of_cables_and_latencies_that_are_none():
    two = nx.Graph()
    two.add_edge("a", "b", rate="100Gbit/s", capacity=2, latency="1us")
    assert treecast.network(two).arcs == 4
    two.add_edge("b", "c", rate="100Gbit/s", latency="1 fortnight")
    with pytest.raises(NetworkError, match="latency of a link"):
        treecast.network(two)
    bare = treecast.network(nx.Graph([("a", "b", {"latency": "1us"})]))
    assert "passed over: latency, which is read beside a rate" in bare.notes[0]


@pytest.mark.parametrize("kind", ["alltoall", "allgather", "broadcast"])
def test_cables_of_links_that_take_longer_are_busy_as_long(kind):
    chance = Random(kind)
    for seed in range(6):
        graph = nx.gnp_random_graph(5, 0.7, seed=seed)
        for link in graph.edges:
            graph.edges[link].update(
                rate=chance.choice(["100Gbit/s", "1Gbit/s"]),
                latency=chance.choice(["1us", "5ms"]),
                capacity=chance.choice([1, 2]),
            )
        if nx.is_connected(graph):
            schedule = treecast.plan(kind, graph, bytes="64KiB")
            assert treecast.verify(schedule).holds
            assert treecast.verify(schedule, method="expanded").holds
