"""Collectives on networks whose arcs lead one way: de Bruijn, Kautz, and directed graphs; bounds against brute force."""

from itertools import product

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.lower_bounds.test_lower_bounds import shortest_broadcast
from tests.oracles.plain import graph_of
from treecast.collectives import Collective
from treecast.drawing.text import tree_text
from treecast.errors import PlanError
from treecast.lower_bounds import best, bounds
from treecast.models import model
from treecast.networks import network
from treecast.plans import plan
from treecast.simulation.replay import simulate
from treecast.verification.verifier import verify

KINDS = ("broadcast", "scatter", "gather", "reduce", "reduce-broadcast")


def planned(kind, where, root, messages, builder=None):
    """A schedule that both verifiers and the simulator find right, and no faster than its bounds."""
    schedule = plan(kind, where, root=root, messages=messages, builder=builder)
    report = verify(schedule)
    assert report.holds, report.violations
    assert (report.steps, report.transmissions) == (schedule.claims.steps, schedule.claims.transmissions)
    assert report.steps >= best(list(report.bounds), "steps").value
    assert report.transmissions >= best(list(report.bounds), "transmissions").value
    return schedule, report


@pytest.mark.parametrize("kind", KINDS)
def test_drawn(kind):
    schedule = plan(kind, "kautz:2,2", messages=2, builder="breadth-first-tree")
    text = tree_text(schedule, 0)
    assert len(text.splitlines()) == 6
    assert text.splitlines()[0].startswith("01")


def fewest_steps_of_gather(graph, root, messages):
    """The least all-port steps of a gather, by breadth-first search over where the chunks are: they are all alike."""
    start = tuple(sorted(v for v in graph if v != root for _ in range(messages)))
    arcs = {u: [None, *graph.successors(u)] if u != root else [None] for u in graph}
    front, seen, steps = {start}, {start}, 0
    while not any(set(state) == {root} for state in front):
        following = set()
        for state in front:
            for moves in product(*(arcs[u] for u in state)):
                used = [(u, v) for u, v in zip(state, moves, strict=True) if v is not None]
                if len(set(used)) == len(used):
                    following.add(tuple(sorted(u if v is None else v for u, v in zip(state, moves, strict=True))))
        front = following - seen
        seen |= following
        steps += 1
    return steps


LOPSIDED = nx.DiGraph([(0, 1), (1, 2), (2, 3), (3, 0), (1, 0), (2, 0)])  # one arc from node 0, three arcs to it


@pytest.mark.each(7)
@pytest.mark.parametrize("of", ["debruijn:2,2", "kautz:2,1", "kautz:2,2", LOPSIDED, LOPSIDED.reverse()], ids=str)
@pytest.mark.parametrize("messages", [1, 2])
@pytest.mark.parametrize("kind", ["broadcast", "scatter", "gather", "reduce"])
def test_no_schedule_beats_the_bound(of, messages, kind):
    where = network(of)
    if where.nodes > 4 and (messages > 1 or kind in ("broadcast", "reduce")):
        pytest.skip("too many states to search")
    graph = graph_of(where)
    for root in where:
        if kind in ("scatter", "gather"):  # a scatter backwards is a gather, over the arcs turned round
            least = fewest_steps_of_gather(graph if kind == "gather" else graph.reverse(), root, messages)
        else:
            least = shortest_broadcast(graph if kind == "broadcast" else graph.reverse(), root, messages, False)
        known = bounds(Collective(kind, where.nodes, messages, root), where, 1, model("all-port"))
        _, report = planned(kind, where, root, messages)
        assert best(known, "steps").value <= least <= report.steps
        if kind in ("scatter", "gather"):
            assert best(known, "steps").value == least == report.steps


def test_bounds_count_the_arcs_that_lead_to_the_root():
    """Node 0 has one arc, and three lead to it: a scatter of two chunks each takes 6 steps at least, a gather 2."""
    where = network(LOPSIDED)
    steps = {
        kind: best(bounds(Collective(kind, 4, 2, 0), where, 1, model("all-port")), "steps").value for kind in KINDS
    }
    assert (steps["scatter"], steps["gather"]) == (6, 2)
    back = where.reversed()
    assert best(bounds(Collective("scatter", 4, 2, 0), back, 1, model("all-port")), "steps").value == steps["gather"]


@st.composite
def strongly_connected(draw):
    nodes = draw(st.integers(2, 8))
    graph = nx.DiGraph()
    graph.add_nodes_from(range(nodes))
    nx.add_cycle(graph, draw(st.permutations(range(nodes))))
    pairs = st.tuples(st.integers(0, nodes - 1), st.integers(0, nodes - 1)).filter(lambda pair: pair[0] != pair[1])
    graph.add_edges_from(draw(st.lists(pairs, max_size=8)))
    return graph


@given(strongly_connected(), st.sampled_from(KINDS), st.integers(1, 3), st.data())
def test_any_directed_graph(graph, kind, messages, data):
    where = network(graph)
    schedule, _ = planned(kind, where, data.draw(st.integers(0, where.nodes - 1)), messages)
    assert verify(schedule, method="expanded").holds
    assert not simulate(schedule).lost


@given(strongly_connected(), st.sampled_from(["nearest-first", "cover"]), st.data())
def test_gathers_of_any_lengths_go_to_the_root(graph, builder, data):
    where = network(graph)
    lengths = data.draw(st.lists(st.integers(0, 5), min_size=where.nodes, max_size=where.nodes))
    root = data.draw(st.integers(0, where.nodes - 1))
    schedule = plan("gatherv", where, root=root, lengths=lengths, model="bufferless-multiport", builder=builder)
    report = verify(schedule)
    assert report.holds, report.violations
    assert best(list(report.bounds), "steps").value <= report.steps == schedule.claims.steps


def test_what_needs_arcs_both_ways_says_so():
    cycle = nx.cycle_graph(4, create_using=nx.DiGraph)
    for where, builder in (("debruijn:2,3", "transmission-certificate"), (cycle, "shoulder-tap")):
        with pytest.raises(PlanError, match="arcs both ways") as caught:
            plan("gatherv", where, lengths=1, model="bufferless", builder=builder)
        assert "\n" not in str(caught.value)


SPECS = [*(f"debruijn:2,{k}" for k in range(1, 6)), *(f"debruijn:3,{k}" for k in range(1, 4)),
         *(f"kautz:2,{k}" for k in range(1, 5))]  # fmt: skip


@pytest.mark.slow
@pytest.mark.each(19)
@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_root(spec, kind):
    where = network(spec)
    for root in where if where.nodes <= 32 else range(0, where.nodes, 7):
        schedule, report = planned(kind, where, root, 1 + root % 3)
        if where.nodes <= 9:
            assert verify(schedule, method="expanded").holds
            assert not simulate(schedule).lost
        arcs = set(where.to_networkx().edges)
        assert set(zip(schedule.rows.src.tolist(), schedule.rows.dst.tolist(), strict=True)) <= arcs
        # a shortest way to each node, or from it: where arcs lead one way these are different figures
        far = (
            where.distance(root, np.arange(where.nodes))
            if kind == "scatter"
            else where.distance(np.arange(where.nodes), root)
        )
        if kind in ("scatter", "gather"):  # a longer way may save a step
            assert report.transmissions >= (1 + root % 3) * int(far.sum())
            _, nearest = planned(kind, where, root, 1 + root % 3, "breadth-first-tree")
            assert nearest.transmissions == (1 + root % 3) * int(far.sum())
            assert report.steps <= nearest.steps
