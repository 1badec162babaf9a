from itertools import product

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.networks.test_flows import random_graphs
from tests.strategies import examples
from treecast.errors import PlanError
from treecast.lower_bounds import best, schedule_bounds
from treecast.networks import network
from treecast.networks.flows import fewest_ways
from treecast.plans import plan, plan_again
from treecast.plans.times.pipelines import uneven_streams
from treecast.plans.whole.all_port import packed_trees as builders_of
from treecast.simulation.sweeps import sweep
from treecast.verification.verifier import verify

PETERSEN = network(nx.petersen_graph())


def copy_of(spec):
    """Return a network that does not know its family."""
    return network(nx.Graph(network(spec).to_networkx()))


@given(st.integers(1, 40), st.lists(st.integers(1, 9), min_size=1, max_size=5), st.data())
def test_uneven_streams_carry_each_message_x_times_in_the_fewest_steps(messages, depths, data):
    copies = data.draw(st.integers(1, len(depths)))
    steps, carried = uneven_streams(messages, copies, depths)

    def room(limit):
        return sum(min(messages, max(0, limit - depth + 1)) for depth in depths)

    assert room(steps) >= messages * copies > room(steps - 1)
    chunks = [[c for a, b in runs for c in range(a, b)] for runs in carried]
    for depth, each in zip(depths, chunks, strict=True):
        assert len(each) == len(set(each)) <= max(0, steps - depth + 1)
    assert sorted(c for each in chunks for c in each) == sorted(list(range(messages)) * copies)


def test_no_messages_and_one_node_take_no_step():
    assert uneven_streams(0, 1, [3, 3]) == (0, [[], []])
    assert len(plan("broadcast", nx.empty_graph(1), messages=3, builder="packed-trees").rows) == 0
    assert len(plan("broadcast", "mesh:1x1", messages=3, builder="disjoint-trees").rows) == 0
    assert len(plan("broadcast", "torus:1", messages=3, builder="disjoint-trees").rows) == 0


@pytest.mark.parametrize(
    ("where", "steps"),
    [
        (copy_of("torus:4x4x4"), 106),
        (network("mesh:4x4"), 305),
        (network("mesh:8x8"), 313),
        (network("mesh:4x4x4"), 208),
        (PETERSEN, 203),
        (copy_of("star:4"), 205),
        (copy_of("hypercube:6"), 106),
    ],
    ids=str,
)
def test_steps_of_600_messages(where, steps):
    schedule = plan("broadcast", where, messages=600)
    report = verify(schedule)
    assert report.holds, report.violations
    assert report.steps == schedule.claims.steps == steps


def test_too_many_copies_are_refused_with_the_cut():
    bow = network(nx.Graph([(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 2)]))
    with pytest.raises(
        PlanError,
        match=r"^2 copies, to survive 1 dead node, need 2 node-disjoint paths; 3 has 1 \(cut off by 2\). "
        "Possible here: dead nodes 0, dead links 1, dead arcs 1$",
    ):
        plan("broadcast", bow, survive=1)
    for against in ("links", "arcs"):
        assert sweep(plan("broadcast", bow, messages=3, survive=1, against=against)).holds
        with pytest.raises(
            PlanError, match=f"^3 copies, to survive 2 dead {against}, need 3 {against[:-1]}-disjoint paths; . has 2 "
        ):
            plan("broadcast", bow, survive=2, against=against)
    with pytest.raises(PlanError, match=r"dead nodes 1, dead links 1, dead arcs 1$"):
        plan("broadcast", "mesh:4x4", survive=2)
    with pytest.raises(PlanError, match=r"cut off by .*, .*, .*, .*, .* and 4 more\)"):
        plan("broadcast", "complete:10", survive=9)


def test_a_recipe_makes_the_same_rows():
    schedule = plan("broadcast", PETERSEN, messages=7, copies=2, builder="packed-trees", tree_seed=5)
    assert schedule.recipe.options == {"tree-seed": "5"}
    assert plan_again(schedule) == schedule
    with pytest.raises(PlanError, match="is no seed"):
        plan("broadcast", PETERSEN, tree_seed="x")


@examples(20)
@given(st.integers(1, 60))
def test_more_messages_never_take_fewer_steps_and_one_goes_the_shortest_way(messages):
    steps = plan("broadcast", PETERSEN, messages=messages).steps
    assert steps <= plan("broadcast", PETERSEN, messages=messages + 1).steps
    assert steps <= messages + 1


@pytest.mark.parametrize("spec", ["torus:16x16x16", "torus:64x64", "torus:3x300"])
def test_copies_on_large_tori_come_by_rule_without_a_search(spec: str) -> None:
    planned = plan("broadcast", spec, messages=60, survive=1)
    assert planned.recipe is not None
    assert planned.recipe.builder in ("disjoint-trees", "disjoint-trees")


def test_all_numbers_of_trees_share_one_budget(monkeypatch):
    from treecast.plans.kernels import exchanges
    from treecast.plans.ways.trees import packed

    where, climbed, exchange = network(nx.random_regular_graph(7, 300, seed=5)), [], exchanges.exchange

    def counted(*arguments):
        *_, target, moves, _ = arguments
        climbed.append((moves, target))
        return exchange(*arguments)

    monkeypatch.setattr(exchanges, "exchange", counted)
    monkeypatch.setattr(packed, "WORK", 2**23)
    assert verify(plan("broadcast", where, messages=24)).holds
    assert 0 < sum(moves * target for moves, target in climbed) <= 2**22


def cluster(hosts, cards):
    """Hosts whose cards share a switch by nine cables each, and cards of one number a rail by one."""
    graph = nx.Graph()
    for host, card in product(range(hosts), range(cards)):
        graph.add_edge(f"{host}.{card}", f"switch{host}", capacity=9)
        graph.add_edge(f"{host}.{card}", f"rail{card}", capacity=1)
    nx.set_node_attributes(graph, {v: v[0] in "rs" for v in graph}, "relay")
    return network(graph)


def test_more_trees_than_arcs_lead_to_a_relay():
    """Three trees, two arcs to relay 0; eight trees over rails of four cables: a relay is in as many as it has arcs."""
    graph = nx.MultiDiGraph()
    graph.add_nodes_from((v, {"relay": v < 2}) for v in range(5))
    graph.add_edges_from(
        [(0, 1), (0, 3), (0, 3), (0, 4), (0, 4), (0, 4), (1, 2), (2, 0), (2, 3), (2, 4), (2, 4), (3, 4), (4, 0)]
    )
    for where, root, messages, steps in ((network(graph), 2, 10**6, 333_335), (cluster(4, 8), 0, 1000, 136)):
        found = plan("broadcast", where, root=root, messages=messages, builder="packed-trees")
        assert verify(found).holds
        assert found.steps <= steps


def test_trees_that_share_an_arc_to_a_relay_take_turns(monkeypatch):
    monkeypatch.setattr(builders_of, "takes_long", lambda where: "as if it took too long")
    found = plan("broadcast", cluster(4, 8), messages=64, builder="packed-trees")
    assert verify(found).holds


@pytest.mark.slow
def test_verified_is_claimed_is_expanded_on_random_graphs():
    for where, root in random_graphs(15, 8, seed=7):
        for messages in (1, 2, 5):
            schedule = plan("broadcast", where, root=root, messages=messages, builder="packed-trees")
            report = verify(schedule)
            assert report.holds, report.violations
            assert verify(schedule, method="expanded").holds
            assert (report.steps, report.transmissions) == (schedule.claims.steps, messages * (where.nodes - 1))
            assert report.steps >= best(schedule_bounds(schedule), "steps").value
            backwards = plan("reduce", where, root=root, messages=messages, builder="packed-trees")
            assert verify(backwards).holds


@pytest.mark.slow
def test_copies_survive_every_node_and_link():
    for where, root in [
        (PETERSEN, 3),
        (network("mesh:3x3"), 0),
        (network("kautz:2,3"), 1),
        *random_graphs(10, 9, seed=8),
    ]:
        most = fewest_ways(where, root, nodes=True).ways
        for copies in {1, 2, most} - set(range(most + 1, 3)):
            schedule = plan("broadcast", where, root=root, messages=5, copies=copies)
            report = verify(schedule)
            assert report.holds, report.violations
            assert verify(schedule, method="expanded").holds
            if copies == 2:
                assert sweep(schedule, 1, "nodes").holds
                assert sweep(schedule, 1, "links").holds
