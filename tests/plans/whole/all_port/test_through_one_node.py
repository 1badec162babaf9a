"""Allreduce by way of one node: right past relays, at the bound where switches form a tree, at any size."""

from dataclasses import replace

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.networks.test_parting import switched
from tests.networks.test_relays import multigraphs
from tests.strategies import examples
from treecast import bounds, load, network, plan, run, save, simulate, verify
from treecast.collectives import Collective
from treecast.errors import FormatError, PlanError
from treecast.plans import plan_again


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


@pytest.mark.slow
@given(switched(), st.integers(1, 4))
@examples(40)
def test_sums_may_be_completed_by_any_node(graph, messages):
    where = network(graph).adding()
    if where.rank_count == 1:
        return
    schedule = plan("allreduce", where, messages=messages, builder="through-one-node")
    for report in (verify(schedule), verify(schedule, method="expanded")):
        assert report.holds, report.violations
    assert len({node for _, node in schedule.collective.owners}) == 1
    for of, taken in (("steps", schedule.steps), ("transmissions", schedule.transmissions)):
        assert taken >= least(where, messages, of)
    assert simulate(schedule).holds
    assert run(schedule, bytes(range(99))).holds
    assert plan_again(schedule).rows == schedule.rows


@pytest.mark.slow
@given(multigraphs(most=7, whole=True), st.integers(1, 20))
@examples(100)
def test_no_bound_asks_for_owners_that_are_ranks(graph, messages):
    """Where arcs lead one way it may cost more to complete the sums of a block at its own rank."""
    where = network(graph).adding()
    schedule = plan("allreduce", where, messages=messages)
    assert verify(schedule).holds
    assert schedule.steps >= least(where, messages)


@pytest.mark.slow
def test_a_file_says_who_owns_the_sums(tmp_path):
    made = plan("allreduce", network(SLURM).adding(), messages=2)
    assert "the sums are completed at switch3" in str(made)
    ((_, switch),) = made.collective.owners
    wrong = replace(made, collective=replace(made.collective, owners=((0, switch), (3, 0))))
    for name in ("plan.tc", "plan.tcb"):
        save(made, tmp_path / name)
        assert load(tmp_path / name) == made
        save(wrong, tmp_path / name)
        assert "once" in {violation.rule for violation in verify(tmp_path / name).violations}


@pytest.mark.slow
@pytest.mark.parametrize(
    "owners", ["0", ":host0-0", "1:host0-0", "0:host0-0 0:host0-1", "0:nobody", "0:host0-0 99:host0-1"]
)
def test_a_file_with_wrong_owners_is_refused(tmp_path, owners):
    path = tmp_path / "plan.tc"
    save(plan("allreduce", network(SLURM).adding()), path)
    lines = [f"owners {owners}" if line.startswith("owners") else line for line in path.read_text().splitlines()]
    path.write_text("\n".join([lines[0], *lines[2:], ""]))
    with pytest.raises(FormatError, match=r"owner|nobody"):
        load(path)
