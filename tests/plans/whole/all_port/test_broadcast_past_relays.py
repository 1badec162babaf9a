"""Broadcasts past switches: as many trees as cuts allow, and every switch or link that fails alone."""

from itertools import combinations
from random import Random

import networkx as nx
import pytest

from tests.lower_bounds.test_cuts import boxes
from tests.plans.whole.all_port.test_balanced_trees import PAGE, fat_tree
from treecast import bounds, network, plan, sweep, verify
from treecast.errors import PlanError


@pytest.mark.parametrize(
    ("graph", "trees", "steps", "bound"),
    [
        (fat_tree(), 1, 605, 605),
        (fat_tree(2), 2, 305, 305),
        pytest.param(boxes(2, 4, 9, 1), 4, 155, 151, marks=pytest.mark.long),
    ],
    ids=["fat tree", "dual-homed", "boxes"],
)
def test_many_messages_go_down_as_many_trees_as_cuts_allow(graph, trees, steps, bound):
    where = network(graph)
    root = int(where.ranks[0])
    schedule = plan("broadcast", where, root=root, messages=600)
    assert (schedule.trees, schedule.steps, verify(schedule).holds) == (trees, steps, True)
    least = max(b.value for b in bounds("broadcast", where, root=root, messages=600) if b.of == "steps")
    assert least == bound
    assert str(steps) in PAGE.read_text()


def test_one_copy_takes_as_few_steps_as_the_bound_past_any_number_of_switches():
    """Named networks, from one message to many: the trees that prices choose lose nothing to the bounds by cuts."""
    for graph in ("fat-tree:4", fat_tree(2), "dragonfly:2,1,1", "dragonfly:3,1,2"):
        where = network(graph)
        root = int(where.ranks[0])
        for messages in (1, 8, 60, 600):
            schedule = plan("broadcast", where, root=root, messages=messages)
            assert verify(schedule).holds
            assert schedule.steps == max(
                b.value for b in bounds("broadcast", where, root=root, messages=messages) if b.of == "steps"
            )


def switched(seed):
    """Some hosts below one switch or several, and switches joined at random, by links of different capacity."""
    chance = Random(seed)
    hosts, switches = chance.randint(2, 8), chance.randint(1, 6)
    graph = nx.Graph()
    for host in range(hosts):
        for switch in chance.sample(range(switches), chance.randint(1, min(3, switches))):
            graph.add_edge(f"h{host}", f"s{switch}", capacity=chance.choice((1, 1, 2, 3)))
    for a, b in combinations(range(switches), 2):
        if chance.random() < 0.5:
            graph.add_edge(f"s{a}", f"s{b}", capacity=chance.choice((1, 1, 2, 3)))
    nx.set_node_attributes(graph, {v: v.startswith("s") for v in graph}, "relay")
    return graph


@pytest.mark.parametrize(
    "seeds", [range(12), pytest.param(range(12, 300), marks=pytest.mark.long)], ids=["few", "many"]
)
def test_as_many_trees_as_cuts_allow_on_random_switched_networks(seeds):
    asked = 0
    for graph in filter(nx.is_connected, map(switched, seeds)):
        where = network(graph)
        root = int(where.ranks[0])
        schedule = plan("broadcast", where, root=root, messages=600)
        ways = min(nx.maximum_flow_value(graph, where.label(root), v) for v in where.labels(where.ranks[1:]))
        assert (schedule.trees, verify(schedule).holds) == (ways, True)
        asked += 1
    assert asked >= len(seeds) // 2


def test_a_relay_that_few_ways_reach_is_no_limit():
    """Two switches join four ranks; a third hangs below one rank, and nobody needs it."""
    graph = nx.Graph([(rank, switch) for rank in range(4) for switch in ("s", "t")] + [(0, "spare")])
    for switch in ("s", "t", "spare"):
        graph.nodes[switch]["relay"] = True
    where = network(graph)
    schedule = plan("broadcast", where, root="1", messages=100)
    assert (schedule.trees, schedule.steps, verify(schedule).holds) == (2, 51, True)


@pytest.mark.each(3)
@pytest.mark.parametrize("against", ["nodes", "links"])
@pytest.mark.parametrize("kind", [pytest.param("broadcast", marks=pytest.mark.long), "scatter", "gather"])
def test_hosts_below_two_switches_survive_any_one(kind, against):
    where = network(fat_tree(2))
    more = {} if kind == "broadcast" else {"root": where.node("h0.0.0")}
    schedule = plan(kind, where, messages=8, survive=1, against=against, **more)
    assert verify(schedule).holds
    assert sweep(schedule, 1, against).holds


def test_hosts_below_one_switch_do_not():
    where = network(fat_tree())
    with pytest.raises(
        PlanError, match=r"2 copies, to survive 1 dead node, need 2 node-disjoint paths; .* \(cut off by e\d.\d\)"
    ):
        plan("broadcast", where, survive=1)
