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
