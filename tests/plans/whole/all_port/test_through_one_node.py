"""Allreduce by way of one node: right past relays, at the bound where switches form a tree, at any size."""

import networkx as nx
import pytest

from treecast import bounds, network, plan, verify
from treecast.collectives import Collective
from treecast.errors import PlanError


def least(where, messages, of="steps"):
    return max(b.value for b in bounds("allreduce", where, messages=messages) if b.of == of)


def hosts_of(*switches, above=()):
    """Hosts on switches, so many on each; ``above``: pairs of switches that are joined."""
    graph = nx.Graph((f"switch{s}", f"host{s}-{h}") for s, count in enumerate(switches) for h in range(count))
    graph.add_edges_from((f"switch{a}", f"switch{b}") for a, b in above)
    nx.set_node_attributes(graph, {node: True for node in graph if node.startswith("switch")}, "relay")
    return graph


def two_levels(leaves, spines, hosts):
    """Hosts with one cable, on leaf switches that are joined to every spine."""
    above = [(s, leaves + t) for s in range(leaves) for t in range(spines)]
    return hosts_of(*(hosts // leaves + (s < hosts % leaves) for s in range(leaves)), above=above)


NVSWITCH = hosts_of(8)
SLURM = hosts_of(4, 3, 3, 0, above=[(0, 3), (1, 3), (2, 3)])


@pytest.mark.each(2)
@pytest.mark.parametrize(
    ("graph", "messages", "steps", "through_a_rank"),
    [
        (NVSWITCH, 6, 49, 51),
        (SLURM, 6, 63, 67),
        (two_levels(18, 7, 281), 1, 284, 288),
        pytest.param("fat-tree:4", 1, 21, 27, marks=pytest.mark.long),
    ],
)
def test_sums_that_meet_in_a_switch_take_the_fewest_steps(graph, messages, steps, through_a_rank):
    where = network(graph).adding()
    schedule = plan("allreduce", where, messages=messages)
    assert schedule.builder == "through-one-node"
    assert where.relays[schedule.collective.owners[0][1]]
    assert verify(schedule).holds
    assert schedule.steps == steps == least(where, messages)
    one = plan("reduce-broadcast", where, messages=messages * where.rank_count)
    assert one.steps == through_a_rank


def test_a_relay_that_leads_nowhere_is_no_middle():
    graph = nx.DiGraph(
        [("a", "b"), ("b", "c"), ("c", "a"), ("a", "sink"), ("b", "sink"), ("source", "a"), ("source", "c")]
    )
    nx.set_node_attributes(graph, {"sink": True, "source": True}, "relay")
    schedule = plan("allreduce", graph, builder="through-one-node")
    assert verify(schedule).holds
    assert schedule.network.label(schedule.collective.owners[0][1]) in "abc"


@pytest.mark.parametrize("machine", ["whispering", "one-port,combining", "one-port,combining,half", "shouting,half"])
@pytest.mark.parametrize("spec", ["complete:2", "complete:5", "ring:5", "hypercube:3", "star:3", "petersen"])
def test_where_messages_combine_all_sums_take_as_long_as_one(spec, machine):
    schedule = plan("allreduce", spec, messages=3, model=machine)
    assert verify(schedule).holds
    assert verify(schedule, method="expanded").holds
    one = plan("reduce-broadcast", spec, model=machine)
    assert schedule.steps <= one.steps


@pytest.mark.parametrize("d", [2, 3, 4, 6])
def test_whispering_on_a_hypercube_takes_the_fewest_steps_with_owners(d):
    schedule = plan("allreduce", f"hypercube:{d}", model="whispering")
    assert schedule.steps == 2 * d == least_of("whispering", f"hypercube:{d}")


def least_of(machine, spec):
    return max(b.value for b in bounds("allreduce", spec, model=machine) if b.of == "steps")


def test_two_ranks_of_half_duplex_add_up_and_send_back():
    for machine in ("one-port,combining,half", "shouting,half"):
        assert plan("allreduce", "complete:2", model=machine).steps == 2


def test_owners_are_those_of_an_allreduce():
    some = Collective("allreduce", nodes=3, messages=2, owners=((0, 1), (4, 2)))
    assert some.source_of([0, 3, 4, 6, 10]).tolist() == [1, 1, 2, 1, 2]
    with pytest.raises(PlanError, match="chosen in an allreduce"):
        Collective("reduce-scatter", nodes=3, messages=2, owners=((0, 1),))
    with pytest.raises(PlanError, match="no node"):
        Collective("allreduce", nodes=3, messages=2, owners=((0, 3),))
