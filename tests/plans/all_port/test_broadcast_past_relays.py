"""Broadcasts past switches: as many trees as cuts allow, and every switch or link that fails alone."""

import networkx as nx
import pytest

from tests.lower_bounds.test_cuts import boxes
from tests.plans.all_port.test_balanced_trees import PAGE, fat_tree
from treecast import bounds, network, plan, sweep, verify
from treecast.errors import PlanError


@pytest.mark.parametrize(
    ("graph", "trees", "steps", "bound"),
    [(fat_tree(), 1, 605, 605), (fat_tree(2), 2, 305, 305), (boxes(2, 4, 9, 1), 4, 155, 151)],
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


def test_a_relay_that_few_ways_reach_is_no_limit():
    """Two switches join four ranks; a third hangs below one rank, and nobody needs it."""
    graph = nx.Graph([(rank, switch) for rank in range(4) for switch in ("s", "t")] + [(0, "spare")])
    for switch in ("s", "t", "spare"):
        graph.nodes[switch]["relay"] = True
    where = network(graph)
    schedule = plan("broadcast", where, root="1", messages=100)
    assert (schedule.trees, schedule.steps, verify(schedule).holds) == (2, 51, True)


@pytest.mark.parametrize("against", ["nodes", "links"])
@pytest.mark.parametrize("kind", ["broadcast", "scatter", "gather"])
def test_hosts_below_two_switches_survive_any_one(kind, against):
    where = network(fat_tree(2))
    more = {} if kind == "broadcast" else {"root": where.node("h0.0.0")}
    schedule = plan(kind, where, messages=8, survive=1, against=against, **more)
    assert verify(schedule).holds
    assert sweep(schedule, 1, against).holds


def test_hosts_below_one_switch_do_not():
    where = network(fat_tree())
    with pytest.raises(PlanError, match=r"survive 1 dead node needs 2 node-disjoint ways; .* \(cut off by e\d.\d\)"):
        plan("broadcast", where, survive=1)
