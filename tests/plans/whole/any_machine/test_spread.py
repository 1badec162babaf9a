"""Allgather, reduce-scatter and allreduce on any network, chunk by chunk, and the bounds beside them."""

from fractions import Fraction
from itertools import combinations, permutations, product
from math import ceil

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import examples
from treecast.collectives import Collective
from treecast.errors import PlanError
from treecast.lower_bounds import best, bounds
from treecast.models import model
from treecast.networks import network
from treecast.plans import plan
from treecast.verification.verifier import verify

KINDS = ("allgather", "reduce-scatter", "allreduce")


def grid(sides, wraps):
    return nx.convert_node_labels_to_integers(nx.grid_graph(sides, periodic=wraps), ordering="sorted")


def less_links(graph, links, seed):
    """The graph without some links: still connected, and no node loses two."""
    less = graph.copy()
    less.remove_edges_from([sorted(graph.edges)[(seed + 37 * i) % graph.number_of_edges()] for i in range(links)])
    assert nx.is_connected(less)
    return less


def star_graph_of_permutations(n):
    graph = nx.Graph()
    for word in permutations(range(n)):
        for j in range(1, n):
            other = list(word)
            other[0], other[j] = other[j], other[0]
            graph.add_edge("".join(map(str, word)), "".join(map(str, other)))
    return graph


def two_cliques(size, bridges):
    """Two complete graphs with a few links between them: what crosses is scarce, and must not cross twice."""
    graph = nx.disjoint_union(nx.complete_graph(size), nx.complete_graph(size))
    graph.add_edges_from((i, size + i) for i in range(bridges))
    return graph


def least(kind, where, messages=1):
    return best(bounds(Collective(kind, where.nodes, messages), where, 1, model("all-port")), "steps").value


@st.composite
def graphs(draw, most=10):
    """Connected graphs, and strongly connected directed ones."""
    nodes, one_way = draw(st.integers(2, most)), draw(st.booleans())
    seed, density = draw(st.integers(0, 10**6)), draw(st.floats(0.1, 0.8))
    graph = nx.gnp_random_graph(nodes, density, seed=seed, directed=one_way)
    graph.add_edges_from((v, (v + 1) % nodes) for v in range(nodes) if v + 1 < nodes or one_way)
    return graph


TARGETS = [
    (nx.petersen_graph(), 3),
    (nx.random_regular_graph(4, 23, seed=1), 6),
    (grid([4, 4], False), 8),
    (grid([8, 8], False), 32),
    (grid([4, 4, 4], False), 21),
    (grid([4, 4], True), 4),
    (less_links(grid([4, 4, 4], True), 3, 5), 13),
    (star_graph_of_permutations(4), 8),
    (star_graph_of_permutations(5), 30),
    (two_cliques(6, 2), 4),
    (nx.hypercube_graph(6), 11),
]


@pytest.mark.each(5)
@pytest.mark.parametrize(("graph", "steps"), TARGETS)
def test_as_few_steps_as_can_be(graph, steps):
    where = network(nx.convert_node_labels_to_integers(graph))
    schedule = plan("allgather", where, builder="spread")
    assert schedule.steps == steps == least("allgather", where)
    assert verify(schedule).holds
    if where.nodes < 100:
        assert plan("allgather", where, messages=3).steps == least("allgather", where, 3)


def fewest_steps(graph):
    """The least steps of an allgather, by going through everything that can happen: what each node holds, as bits."""
    nodes, arcs = graph.number_of_nodes(), list(graph.to_directed().edges)
    steps, states = 0, {tuple(1 << v for v in range(nodes))}
    while tuple([2**nodes - 1] * nodes) not in states:
        following = set()
        for state in states:
            choices = [[0, *(1 << c for c in range(nodes) if state[u] & ~state[v] & 1 << c)] for u, v in arcs]
            for sent in product(*(some[1:] or some for some in choices)):  # an arc that can be used is used
                after = list(state)
                for (_, v), chunk in zip(arcs, sent, strict=True):
                    after[v] |= chunk
                following.add(tuple(after))
        steps, states = steps + 1, following
    return steps


TINY = [
    nx.path_graph(4), nx.star_graph(3), nx.cycle_graph(4), nx.complete_graph(3), nx.DiGraph([(0, 1), (1, 2), (2, 0), (0, 2)]),
    nx.DiGraph([(0, 1), (1, 2), (2, 3), (3, 0), (1, 3), (2, 0)]), nx.lollipop_graph(3, 1), nx.cycle_graph(5, nx.DiGraph),
]  # fmt: skip


@pytest.mark.parametrize("graph", TINY)
def test_nothing_is_faster_on_tiny_graphs(graph):
    where = network(graph)
    assert least("allgather", where) <= fewest_steps(graph) == plan("allgather", where).steps


@given(graphs(8))
@examples(30)
def test_the_worst_cut_is_that_of_all_cuts(graph):
    """For many messages nothing counts but the cut that lets in least: the bound has to be that of the worst of all cuts."""
    where, every = network(graph), range(graph.number_of_nodes())
    directed, worst = graph.to_directed(), Fraction(0)
    for size in range(1, len(every)):
        for inside in map(set, combinations(every, size)):
            arcs = sum(u not in inside and v in inside for u, v in directed.edges)
            worst = max(worst, Fraction(len(every) - size, arcs))
    messages = 10**6
    assert 0 <= least("allgather", where, messages) - ceil(messages * worst) <= where.nodes


@pytest.mark.parametrize("spec", ["mesh:3x4", "kautz:2,3", "tree:2,3", "torus:3x3"])
def test_rows_do_not_grow_with_the_messages(spec):
    where = network(spec)
    few, many = (plan("allgather", where, messages=m) for m in (3000, 3_000_000))
    assert len(many) <= len(few) <= 8 * where.nodes * (where.nodes - 1)
    for schedule in (few, many):
        assert schedule.steps == least("allgather", where, schedule.collective.messages)
        assert verify(schedule).holds


def test_the_default_is_the_one_of_fewest_steps():
    assert plan("allgather", "torus:4x4").recipe.builder == "orbits"
    assert plan("allreduce", "torus:4x4x4").steps == 22
    assert not plan("allgather", "mesh:4x4").orbit


def test_equal_jobs_have_equal_rows():
    graph = nx.random_regular_graph(3, 14, seed=3)
    assert plan("allgather", network(graph)).rows == plan("allgather", network(graph.copy())).rows


def test_networks_of_too_many_pairs_are_refused():
    with pytest.raises(PlanError, match="looks at every chunk at every arc in every step") as error:
        plan("allgather", "mesh:64x64", builder="spread")
    assert "\n" not in str(error.value)


def test_parallel_arcs_carry_as_many_chunks():
    """Two links between neighbours are two arcs each way; a reduction goes back over the link over which it would have come."""
    graph = nx.MultiGraph([(u, (u + 1) % 6) for u in range(6) for _ in range(2)])
    for kind, steps in (("allgather", 3), ("reduce-scatter", 3), ("allreduce", 6)):
        schedule = plan(kind, network(graph))
        assert schedule.steps == steps
        assert verify(schedule).holds
        assert verify(schedule, method="expanded").holds


@pytest.mark.slow
@given(graphs(), st.integers(1, 7))
@examples(30)
def test_every_collective_on_random_graphs(graph, messages):
    where = network(graph)
    for kind in KINDS:
        schedule = plan(kind, where, messages=messages)
        for report in (verify(schedule), verify(schedule, method="expanded")):
            assert report.holds, (kind, report.violations)
        assert schedule.steps >= least(kind, where, messages)
        assert schedule.collective.sums == 0 or not schedule.orbit
    # in most cases it is the bound; never far from it
    assert plan("allgather", where, messages=messages).steps <= least("allgather", where, messages) + 1


def dragonfly(routers, links):
    groups, graph = routers * links + 1, nx.Graph()
    for group in range(groups):
        graph.add_edges_from(combinations(range(group * routers, (group + 1) * routers), 2))
        for slot in range(routers * links):
            there = (group + slot + 1) % groups
            back = (routers * links - 1 - slot) // links
            graph.add_edge(group * routers + slot // links, there * routers + back)
    return graph


@pytest.mark.long
@pytest.mark.parametrize(
    ("graph", "steps"),
    [
        (less_links(grid([8, 8, 8], True), 3, 5), 103),
        (dragonfly(8, 4), 24),
        (star_graph_of_permutations(6), 144),
        (nx.hypercube_graph(8), 32),
    ],
)
def test_as_few_steps_as_can_be_on_large_networks(graph, steps):
    where = network(nx.convert_node_labels_to_integers(graph))
    for kind, times in (("allgather", 1), ("allreduce", 2)):
        schedule = plan(kind, where, builder="spread")
        assert schedule.steps == times * steps
        assert verify(schedule).holds
