"""Circulants, HyperX, dragonflies, slim flies and random regular graphs, against networkx and their definitions as sets."""

from itertools import combinations, product

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles.plain import graph_of
from treecast.errors import NetworkError
from treecast.networks import network
from treecast.plans import builders, plan
from treecast.verification.verifier import verify


def pairs(graph):
    """The links of a networkx graph."""
    return {frozenset(link) for link in graph.edges}


def links_of(where):
    """The links, as pairs of labels."""
    return {frozenset(map(where.label, arc)) for arc in graph_of(where).edges}


@st.composite
def circulants(draw):
    nodes = draw(st.integers(2, 40))
    steps = draw(st.lists(st.integers(1, nodes // 2), min_size=1, max_size=4, unique=True))
    return nodes, steps


@given(circulants())
def test_circulants_are_those_of_networkx(circulant):
    nodes, steps = circulant
    graph = nx.circulant_graph(nodes, steps)
    text = f"circulant:{nodes},{','.join(map(str, steps))}"
    if not nx.is_connected(graph):
        with pytest.raises(NetworkError, match="is not connected"):
            network(text)
        return
    where = network(text)
    assert where.spec == text
    assert pairs(graph_of(where)) == pairs(graph)
    assert where.diameter == nx.diameter(graph)
    for u, v in product(range(nodes), range(0, nodes, 3)):
        assert where.distance(u, v) == nx.shortest_path_length(graph, u, v)
    for port, name in enumerate(map(where.port_name, range(where.ports))):
        assert where.neighbor(1, port) == (1 + int(name)) % nodes


@pytest.mark.parametrize("sides", [(1,), (5,), (2, 3), (3, 1, 2), (3, 3, 3), (2, 2, 2, 2), (4, 4)])
def test_nodes_of_a_hyperx_are_joined_where_one_coordinate_differs(sides):
    where = network(f"hyperx:{'x'.join(map(str, sides))}")
    corners = list(product(*map(range, sides)))
    assert where.labels(range(where.nodes)) == [",".join(map(str, corner)) for corner in corners]
    graph = graph_of(where)
    for (u, a), (v, b) in product(enumerate(corners), repeat=2):
        gap = sum(x != y for x, y in zip(a, b, strict=True))
        assert where.distance(u, v) == gap
        assert graph.has_edge(u, v) == (gap == 1) == (where.port_between(u, v) >= 0)
    assert where.node("(" + where.label(where.nodes - 1) + ")") == where.nodes - 1
    assert sorted(map(where.port_name, range(where.ports))) == sorted(
        f"+{by}@{axis}" for axis, side in enumerate(sides) for by in range(1, side)
    )


def test_large_members_are_computed():
    where = network("hyperx:64x64x64x64x64")
    assert int(where.distance(0, where.nodes - 1)) == where.diameter == 5
    assert where.node(where.label(10**9)) == 10**9
    assert network("circulant:1000000,1,1000").diameter == 999


def test_petersens_graph_is_that_of_networkx():
    where = network("petersen")
    assert pairs(graph_of(where)) == pairs(nx.petersen_graph())
    assert (where.spec, where.family, where.nodes, where.degree, where.diameter) == ("petersen", "petersen", 10, 3, 2)


@pytest.mark.parametrize(("routers", "links"), [(1, 1), (1, 4), (2, 1), (2, 2), (3, 1), (4, 2), (3, 4), (8, 4)])
def test_groups_of_a_dragonfly_are_complete_and_each_two_joined_once(routers, links):
    where = network(f"dragonfly:{routers},{links}")
    groups = routers * links + 1
    assert where.labels(range(where.nodes)) == [f"{g}.{r}" for g in range(groups) for r in range(routers)]
    pairs = [sorted(end.split(".")[0] for end in link) for link in links_of(where)]
    assert sum(a == b for a, b in pairs) == groups * routers * (routers - 1) // 2
    between = [(int(a), int(b)) for a, b in pairs if a != b]
    assert sorted(tuple(sorted(pair)) for pair in between) == list(combinations(range(groups), 2))
    assert {where.degree_at(u) for u in where} == {routers - 1 + links}
    assert where.diameter == (3 if routers > 1 else 1)


@pytest.mark.parametrize(("routers", "links", "hosts"), [(2, 1, 1), (3, 2, 2), (4, 2, 2), (1, 2, 3)])
def test_hosts_of_a_dragonfly_are_ranks_below_its_routers(routers, links, hosts):
    where, bare = network(f"dragonfly:{routers},{links},{hosts}"), network(f"dragonfly:{routers},{links}")
    wires = {
        frozenset((f"{router}.{host}", router)) for router in bare.labels(range(bare.nodes)) for host in range(hosts)
    }
    assert links_of(where) == links_of(bare) | wires
    assert where.ranks.tolist() == list(range(bare.nodes * hosts))
    assert where.labels(where.ranks) == [f"{r}.{h}" for r in bare.labels(range(bare.nodes)) for h in range(hosts)]
    assert where.diameter == bare.diameter + 2
    assert network(f"dragonfly:{routers},{links},0") == bare


@pytest.mark.parametrize("k", [2, 4, 6, 8])
def test_a_fat_tree_has_the_hosts_and_switches_of_its_definition(k):
    where = network(f"fat-tree:{k}")
    assert (len(where.ranks), where.nodes - len(where.ranks)) == (k**3 // 4, 5 * k * k // 4)
    assert where.ranks.tolist() == list(range(k**3 // 4))
    assert {where.degree_at(int(u)) for u in where.ranks} == {1}
    assert {where.degree_at(int(u)) for u in np.flatnonzero(where.relays)} == {k}
    assert where.diameter == 6
    graph = graph_of(where)
    cores = [u for u in where if where.label(u).startswith("core")]
    pods = list(nx.weakly_connected_components(nx.restricted_view(graph, cores, [])))
    assert len(pods) == k
    for core in cores:  # each is joined to every pod once
        assert sorted(len(pod & set(graph[core])) for pod in pods) == [1] * k
    for u, v in ((0, 1), (0, k * k // 4 - 1), (0, len(where.ranks) - 1)):  # same edge switch, same pod, another pod
        same = sum(a == b for a, b in zip(where.label(u).split("."), where.label(v).split("."), strict=True))
        assert k == 2 or where.distance(u, v) == {2: 2, 1: 4, 0: 6}[same] or same == 1


def test_collectives_over_switches():
    for spec in ("fat-tree:4", "dragonfly:3,1,2"):
        for kind in ("broadcast", "scatter", "gather", "reduce"):
            schedule = plan(kind, spec, messages=2)
            assert schedule.collective.root == 0
            assert verify(schedule).holds


def test_the_dragonfly_of_264_routers():
    where = network("dragonfly:8,4")
    assert (where.nodes, where.degree, where.diameter) == (264, 11, 3)


@pytest.mark.parametrize("q", [3, 4, 5, 7, 8, 9, 11, 13, 16, 17])
def test_slim_flies_have_the_degree_and_diameter_of_their_definition(q):
    where = network(f"slim-fly:{q}")
    delta = {0: 0, 1: 1, 3: -1}[q % 4]
    assert (where.nodes, where.diameter) == (2 * q * q, 2)
    assert {where.degree_at(u) for u in where} == {(3 * q - delta) // 2}
    assert len(where.arc_lists()[1]) == where.nodes * where.degree


@pytest.mark.parametrize("q", [5, 7, 11, 13])
def test_slim_flies_of_primes_are_joined_as_their_definition_says(q):
    where = network(f"slim-fly:{q}")
    found: dict[str, set[int]] = {"0": set(), "1": set()}
    for link in links_of(where):
        (s, x, y), (t, m, c) = sorted(tuple(map(int, end.split(","))) for end in link)
        if s == t:
            assert x == m
            found[str(s)] |= {(y - c) % q, (c - y) % q}
        else:
            assert y == (m * x + c) % q
    squares = {x * x % q for x in range(1, q)}
    for steps in found.values():
        assert len(steps) == (q - 1) // 2 if q % 4 == 1 else (q + 1) // 2
    assert found["0"] | found["1"] == set(range(1, q))
    assert q % 4 == 3 or found["0"] == squares


def test_the_smallest_slim_fly_for_five_is_hoffman_and_singletons_graph():
    assert nx.is_isomorphic(nx.Graph(graph_of(network("slim-fly:5"))), nx.hoffman_singleton_graph())


@pytest.mark.parametrize(("nodes", "degree", "seed"), [(23, 4, 1), (10, 3, 0), (6, 5, 9), (2, 1, 0), (100, 6, 2**40)])
def test_random_regular_graphs_are_those_of_networkx(nodes, degree, seed):
    where = network(f"random-regular:{nodes},{degree},{seed}")
    graph = nx.random_regular_graph(degree, nodes, seed)
    assert nx.is_connected(graph)
    assert pairs(graph_of(where)) == pairs(graph)
    assert network(where.spec) == where


def test_random_regular_graphs_are_drawn_until_they_are_connected():
    for seed in range(20):
        assert network(f"random-regular:12,2,{seed}").eccentricity(0) == 6  # a ring
    assert any(not nx.is_connected(nx.random_regular_graph(2, 12, seed)) for seed in range(20))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("petersen:", "write petersen$"), ("petersen:3", "write petersen$"), ("peterson", "did you mean 'petersen'"),
        ("circulant:8,2", "2 divides"), ("circulant:8,2,6", "different steps S from 1 to N/2"), ("circulant:8,3,3", "different"),
        ("circulant:8", "write circulant:N,S"), ("circulant:1,1", "write circulant"), ("circulant:8,0", "write circulant"),
        ("circulant:99999999999,1", "at most 16,777,216"), ("hyperx:0x3", "each at least 1"), ("hyperx:", "write hyperx"),
        ("hyperx:99999x99999x99999", "out of reach"), ("slim-fly:6", "power of a prime"), ("slim-fly:2", "power of a prime"),
        ("slim-fly:131", "power of a prime"), ("slimfly:5", "did you mean 'slim-fly:5'"), ("dragonfly:0,1", "both at least 1"),
        ("dragonfly:4", "write dragonfly"), ("dragonfly:4,2,1,1", "write dragonfly"),
        ("fat-tree:3", "K even"), ("fat-tree:66", "K even"),
        ("dragonfly:1000,1000", "routers: at most"), ("random-regular:5,3,1", "N or D even"),
        ("random-regular:5,5,1", "0 < D < N"), ("random-regular:4,1,1", "not connected"), ("random-regular:5,0,1", "0 < D"),
        ("random-regular:9999999,8,1", "too many links"), ("random-regular:20,4", "write random-regular:N,D,SEED"),
    ],
)  # fmt: skip
def test_what_is_none_is_refused(text, said):
    with pytest.raises(NetworkError, match=said) as caught:
        network(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("spec", ["circulant:16,1,5", "hyperx:3x4", "hyperx:2x3x2"])
def test_what_looks_the_same_everywhere_has_orbits(spec):
    where = network(spec)
    for kind in ("allgather", "alltoall", "reduce-scatter", "allreduce"):
        orbits = [b.name for b in builders(kind, where) if b.orbit]
        schedule = plan(kind, spec, messages=2, builder=orbits[0])
        assert schedule.orbit
        assert verify(schedule).holds
    assert plan("allgather", spec, messages=2).steps == -(-2 * (where.nodes - 1) // where.ports)


@pytest.mark.each(3)
@pytest.mark.parametrize("spec", ["petersen", "slim-fly:3", "dragonfly:3,2", "random-regular:12,3,1", "hyperx:3x3"])
@pytest.mark.parametrize("kind", ["broadcast", "scatter", "gather", "reduce"])
def test_collectives_of_one_root_on_each(spec, kind):
    where = network(spec)
    for root in (0, where.nodes - 1):
        assert verify(plan(kind, where, root=where.label(root), messages=3)).holds


def test_a_broadcast_of_petersens_graph_uses_all_links():
    assert np.unique(plan("broadcast", "petersen", messages=600).rows.tree).size == 3


@pytest.mark.long
@pytest.mark.parametrize("kind", ["broadcast", "scatter", "gather", "reduce"])
def test_collectives_of_one_root_on_a_slim_fly_of_32_nodes(kind):
    test_collectives_of_one_root_on_each("slim-fly:4", kind)


@pytest.mark.long
def test_broadcasts_of_slim_flies_and_dragonflies_use_all_links():
    assert plan("broadcast", "slim-fly:5", messages=600).steps <= 90
    assert plan("broadcast", "dragonfly:8,4", messages=600).steps <= 61
