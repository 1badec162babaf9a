"""``plan KIND NETWORK --messages 8 --survive 1`` on every kind of network: each single dead node and link does no harm.

Where that cannot be, the reason names the cut.
"""

import networkx as nx
import pytest

from treecast import alternatives, plan, sweep, verify
from treecast.against import AGAINST, covers
from treecast.errors import PlanError
from treecast.networks import network


def fat_tree_of_dual_homed_hosts():
    """Two switches on top, four below them in two pairs, and four hosts below each pair, each with a link to both."""
    graph = nx.Graph([(f"leaf{i}", f"spine{j}") for i in range(4) for j in range(2)])
    nx.set_node_attributes(graph, True, "relay")
    graph.add_edges_from((f"host{i}", f"leaf{i // 4 * 2 + j}") for i in range(8) for j in range(2))
    return network(graph)


def survives(where, against="nodes", kind="broadcast"):
    schedule = plan(kind, where, messages=8, survive=1, against=against)
    assert verify(schedule).holds
    for what in AGAINST:
        if covers(against, what):
            found = sweep(schedule, 1, what)
            assert found.holds, found
            assert found.exhaustive
            assert found.sets >= where.nodes
    return schedule


@pytest.mark.parametrize("kind", ["broadcast", "scatter", "gather", "allgather", "alltoall"])
def test_hosts_with_links_to_two_switches(kind):
    survives(fat_tree_of_dual_homed_hosts(), kind=kind)


@pytest.mark.parametrize("kind", ["broadcast", "scatter", "gather", "allgather", "alltoall"])
def test_a_bridge_is_named_where_it_stands_in_the_way(kind):
    graph = nx.relabel_nodes(nx.barbell_graph(4, 0), dict(enumerate("abcdefgh")))
    for against, cut in (("nodes", "d"), ("links", "d-e"), ("arcs", "d>e")):
        asked = f"2 copies, to survive 1 dead {against[:-1]}, need 2 {against[:-1]}-disjoint paths; e has 1"
        with pytest.raises(
            PlanError, match=rf"^{asked}( from a)? \(cut off by {cut}\)\. Possible here: dead nodes 0, .*0$"
        ):
            plan(kind, graph, messages=8, survive=1, against=against)


def test_two_faults_of_each_kind():
    where = network(nx.circulant_graph(9, [1, 2]))
    for against in AGAINST:
        schedule = plan("broadcast", where, messages=4, survive=2, against=against)
        assert sweep(schedule).holds
        assert sweep(schedule).sets > 30


@pytest.mark.parametrize("kind", ["broadcast", "scatter", "gather", "allgather", "alltoall"])
def test_a_switch_that_nobody_needs_is_no_limit(kind):
    graph = nx.complete_graph(5)
    graph.add_node("switch", relay=True)
    graph.add_edge(0, "switch")
    survives(network(graph), kind=kind)


def butterfly():
    """Relays between a root and two targets: each target hears over two ways, one of them over the middle."""
    graph = nx.DiGraph([("r", "a"), ("r", "b"), ("a", "s"), ("b", "t"), ("a", "m"), ("b", "m"), ("m", "n")])
    graph.add_edges_from([("n", "s"), ("n", "t"), ("s", "r"), ("t", "r")])
    for name in "abmn":
        graph.nodes[name]["relay"] = True
    return network(graph)


@pytest.mark.parametrize("against", AGAINST)
def test_two_trees_take_turns_on_an_arc_between_relays(against):
    where = butterfly()
    schedule = plan("broadcast", where, root="r", messages=10, survive=1, against=against)
    assert verify(schedule).holds
    assert verify(schedule, method="expanded").holds
    assert sweep(schedule, 1, against).holds
    rows, middle = schedule.rows, where.node("m")
    assert rows.steps[rows.src == middle].sum() == 20


def test_parallel_cables_are_one_way_past_nodes():
    """Where nothing can make the copies, whoever lists builders hears so, too."""
    graph = nx.Graph()
    graph.add_edge("a", "b", capacity=4)
    for ask in (plan, alternatives):
        with pytest.raises(PlanError, match="2 copies, to survive 1 dead node, need 2 node-disjoint paths; b has 1"):
            ask("allgather", graph, copies=2)
    assert plan("allgather", graph, copies=2, against="arcs").steps == 1


def test_a_plan_of_single_messages_does_where_messages_combine():
    """What is legal takes no more steps where more is: bounds of machines that combine do not mislead those who do not."""
    for kind, spec in (("alltoall", "random-regular:10,4,2"), ("scatter", "mesh:3x4"), ("allgather", "petersen")):
        single, freer = (plan(kind, spec, survive=1, messages=5, model=model) for model in ("all-port", "shouting"))
        assert freer.steps <= single.steps
        assert verify(freer).holds


NETWORKS = [
    "torus:4x4x4",
    "petersen",
    "random-regular:23,4,1",
    "dragonfly:4,2",
    "hypercube:4 without links 0b0000-0b0001",
    "mesh:3x4",
    "kautz:2,3",
]


SLOW = {("alltoall", "torus:4x4x4"), ("alltoall", "dragonfly:4,2")}


@pytest.mark.slow
@pytest.mark.parametrize("spec", NETWORKS)
def test_one_fault_is_survived_wherever_two_ways_lead_everywhere(spec):
    where = network(spec)
    assert survives(where).steps <= min(survives(where, against).steps for against in AGAINST) + 1


@pytest.mark.slow
@pytest.mark.each(3)
@pytest.mark.parametrize(
    ("kind", "spec"),
    [
        pytest.param(kind, spec, marks=pytest.mark.long if (kind, spec) in SLOW else ())
        for kind in ("scatter", "gather", "allgather", "alltoall")
        for spec in NETWORKS[:5]
    ],
)
def test_every_collective_that_can_have_copies(kind, spec):
    survives(network(spec), kind=kind)


def two_rings():
    """Two rings with one node in common: it is a limit of copies against nodes, and none against links and arcs."""
    graph = nx.cycle_graph(4)
    nx.add_cycle(graph, [0, 4, 5, 6])
    return graph


def cables():
    """Pairs of cables, and a single one: more ways without a common arc than without a common link."""
    return nx.MultiGraph([(0, 1), (0, 1), (1, 2), (1, 2), (0, 2), (2, 3), (2, 3)])


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["broadcast", "scatter", "gather", "allgather", "alltoall"])
@pytest.mark.parametrize(
    ("graph", "against"),
    [(two_rings, "links"), (two_rings, "arcs"), (cables, "arcs")],
    ids=lambda each: each if isinstance(each, str) else each.__name__,
)
def test_every_collective_against_links_and_arcs(kind, graph, against):
    """As many copies as ways that share no link, or no arc, lead to all; the verifier, single sends and sweeps agree."""
    schedule = plan(kind, graph(), root=None, messages=3, survive=1, against=against)
    assert verify(schedule).holds
    assert verify(schedule, method="expanded").holds
    assert sweep(schedule, 1, against).holds
    with pytest.raises(PlanError, match="2 copies, to survive 1 dead node, need 2 node-disjoint paths"):
        plan(kind, cables(), survive=1, root=None if kind in ("allgather", "alltoall") else "3")


@pytest.mark.long
@pytest.mark.parametrize("against", AGAINST)
@pytest.mark.parametrize("spec", ["dragonfly:8,4", "torus:8x8x8"])
def test_one_fault_is_survived_on_large_networks(spec, against):
    survives(network(spec), against)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["scatter", "gather", "allgather", "alltoall"])
def test_as_many_copies_as_ways_on_random_graphs(kind):
    for seed in range(40):
        graph = nx.gnm_random_graph(7, 12, seed=seed)
        most = nx.edge_connectivity(graph)
        if most < 2:
            continue
        for against in ("links", "arcs"):
            schedule = plan(kind, graph, copies=most, against=against)
            assert verify(schedule).holds
            assert sweep(schedule, most - 1, against).holds
            with pytest.raises(PlanError, match="disjoint paths"):
                plan(kind, graph, copies=min(dict(graph.degree).values()) + 1, against=against)
