"""Plans for nodes without buffers: which collectives have one, that both verifiers accept it, and how near the optimum it is."""

import networkx as nx
import numpy as np
import pytest

from tests.bufferless_cases import KINDS, MACHINES, NETWORKS, asked, planned, two_switches
from tests.oracles.bufferless import placed_earlier
from treecast import PlanError, bounds, plan, verify
from treecast.collectives import COLLECTIVES
from treecast.models import MODELS
from treecast.networks import network
from treecast.verification.expanded import check_expanded

NO_WAY_BACK = {("gatherv", "one way")}
"""What has no plan: a gather whose nodes are told when to begin needs arcs both ways."""
FREER = {"bufferless": "one-port", "bufferless-multiport": "all-port"}


def breaches(schedule, machine=None):
    """The rules that the slow verifier finds broken."""
    return {rule for rule, (count, _) in check_expanded(schedule, machine or schedule.model)[0].items() if count}


@pytest.mark.slow
@pytest.mark.parametrize("where", NETWORKS)
@pytest.mark.parametrize("machine", MACHINES)
def test_every_collective_has_a_plan_on_every_network(machine, where):
    lacking = set()
    for kind in KINDS:
        for size in (1, 2):
            try:
                schedule = planned(kind, NETWORKS[where], machine, size)
            except PlanError:
                lacking.add((kind, where))
                continue
            assert verify(schedule), (kind, size)
            assert not breaches(schedule), (kind, size)
            assert schedule.model is MODELS[machine]
            # what fits without buffers fits with them
            assert verify(schedule, MODELS[FREER[machine]]) or bool(schedule.rows.control.any())
            least = max(bound.value for bound in bounds(schedule) if bound.of == "steps")
            assert least <= schedule.steps, (kind, size)
    assert lacking == {each for each in NO_WAY_BACK if each[1] == where}


@pytest.mark.parametrize("machine", MACHINES)
def test_scatters_of_any_lengths_on_trees_meet_the_bound(machine):
    dice = np.random.default_rng(52)
    for n in (5, 9, 16, 31):
        for _ in range(6):
            tree = network(nx.from_prufer_sequence(dice.integers(n, size=n - 2).tolist()))
            root, lengths = int(dice.integers(n)), dice.integers(0, 9, n).tolist()
            schedule = plan("scatterv", tree, root=root, lengths=lengths, model=machine, builder="without-waiting")
            paper = plan("scatterv", tree, root=root, lengths=lengths, model=machine, builder="farthest-first")
            least = max(bound.value for bound in bounds(schedule) if bound.of == "steps")
            assert schedule.steps == paper.steps, (n, lengths)
            assert machine != "bufferless" or schedule.steps == least
            assert verify(schedule)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("where", ["mesh:3x3", "petersen", "hypercube:3", "torus:3x3", "one way"])
def test_scatters_take_no_more_steps_than_the_papers(machine, where):
    for size in (1, 3):
        place = network(NETWORKS.get(where, where))
        schedule = plan("scatter", place, messages=size, model=machine)
        paper = plan("scatterv", place, lengths=size, model=machine, builder="farthest-first")
        assert schedule.steps <= paper.steps
        if where != "one way":
            assert plan("gather", place, messages=size, model=machine).steps == schedule.steps


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(
    ("where", "kind", "size"),
    [
        *(("path:4", "scatter", size) for size in (1, 2)),
        *(("ring:4", "scatter", size) for size in (1, 2)),
        *((where, "alltoall", size) for where in ("path:3", "one way 3") for size in (1, 2)),
        ("two switches", "scatter", 2),
    ],
)
def test_bounds_are_no_more_than_the_optimum_of_a_search(machine, where, kind, size):
    places = {"one way 3": nx.DiGraph([(0, 1), (1, 2), (2, 0)]), "two switches": two_switches()}
    place = network(places.get(where, where))
    schedule = planned(kind, place, machine, size)
    graph, ranks = place.to_networkx(), place.ranks.tolist()
    names = dict(enumerate(graph))
    roots = ranks if COLLECTIVES[kind].all_source else ranks[:1]
    ways = {(u, v): nx.all_simple_paths(graph, names[u], names[v]) for u in roots for v in ranks if u != v}
    messages = [(sorted(map(tuple, found), key=len), size) for found in ways.values()]
    least = max(bound.value for bound in bounds(schedule) if bound.of == "steps")
    assert not placed_earlier(messages, least, machine == "bufferless")
    assert not placed_earlier(messages, schedule.steps, machine == "bufferless") or (kind, size) == ("alltoall", 2)


def test_a_long_message_cannot_pass_through_a_half_duplex_port():
    assert verify(plan("alltoall", "path:3", model="bufferless,half"))
    with pytest.raises(PlanError, match="cannot pass through a node that has no buffer"):
        plan("alltoall", "path:3", messages=2, model="bufferless,half")


def test_sums_of_some_are_refused_where_others_would_have_to_wait():
    with pytest.raises(PlanError, match="adds nothing up in nodes that would have to wait"):
        plan([([0, "+", 1], [3])], "path:4", model="bufferless")
    whole = plan([([0, "+", 1, "+", 2, "+", 3], [3])], "path:4", model="bufferless")
    assert verify(whole)
    assert not breaches(whole)


def test_a_relay_of_one_port_adds_nothing_up():
    adds = network(two_switches(adds=True))
    assert plan("reduce", adds, model="bufferless").network.relays is None
    over_all = plan("reduce", adds, model="bufferless-multiport")
    assert over_all.network.relays is not None
    assert verify(over_all)


def test_a_demand_on_a_graph_that_is_known_stays_on_the_graph():
    what, words = asked("demand", network("ring:5"), 1)
    for machine in ("one-port", "bufferless"):
        assert verify(plan(what, nx.cycle_graph(5), model=machine, **words))
