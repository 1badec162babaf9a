"""Trees of every rank by splitting off relays: as many as the optimum has messages, no arc in more than it has steps."""

from collections import Counter
from contextlib import nullcontext, suppress
from fractions import Fraction
from math import ceil

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.lower_bounds.test_cuts import boxes, worst_of_all
from tests.networks.test_relays import capacities, flows_from, multigraphs
from tests.plans.whole.all_port.test_balanced_trees import fat_tree, weak_torus
from tests.strategies import examples
from treecast import builders, job, network, plan, verify
from treecast.errors import PlanError
from treecast.lower_bounds.cuts import optimum
from treecast.plans.choice import build
from treecast.plans.request import request
from treecast.plans.ways.trees.split_off import trees_past_relays, trees_split_off

NAMED = {
    "two boxes of 4": boxes(2, 4, 9, 1),
    "two boxes of 8": boxes(2, 8, 12, 1),
    "three boxes of 3": boxes(3, 3, 5, 2),
    "fat tree": fat_tree(),
    "dual-homed": fat_tree(2),
    "weak torus": weak_torus(),
}


def all_relays_are_even(graph):
    """Whether as many arcs lead to each relay as from it."""
    count = capacities(graph)
    relays = [v for v, relay in graph.nodes(data="relay") if relay]
    return all(
        sum(c for (u, _), c in count.items() if u == w) == sum(c for (_, v), c in count.items() if v == w)
        for w in relays
    )


def load_of(found):
    """Return in how many trees the busiest arc is, after walking each tree from every rank to its root."""
    load = Counter[tuple[int, int]]()
    for trees in found:
        where = trees.network
        for tree in range(len(trees)):
            for rank in where.ranks.tolist():
                seen = {rank}
                while rank != trees.root:
                    up, port = int(trees.parent[tree, rank]), int(trees.port[tree, rank])
                    assert int(where.neighbor(up, port)) == rank
                    rank = up
                    assert rank not in seen
                    seen.add(rank)
            inside = trees.parent[tree] >= 0
            load.update(zip(trees.parent[tree][inside].tolist(), trees.port[tree][inside].tolist(), strict=True))
    return max(load.values(), default=0)


@given(multigraphs(most=8, whole=True), st.integers(0, 3))
@examples(60)
def test_the_optimum_of_all_cuts_is_met_on_every_multigraph(graph, seed):
    """Counted over all sets of nodes; where arcs lead one way, relays may have more arcs in than out, and are refused."""
    where = network(graph)
    if where.rank_count == 1:
        return
    found = None
    with nullcontext() if not graph.is_directed() else suppress(PlanError):
        found = trees_split_off(where, seed)
    if found is None:
        assert not all_relays_are_even(graph)
        return
    rate = 1 / worst_of_all(graph)
    assert [len(trees) for trees in found] == [rate.numerator] * where.rank_count
    assert [trees.root for trees in found] == where.ranks.tolist()
    assert load_of(found) <= rate.denominator


@given(multigraphs(most=8, whole=True), st.data())
@examples(100)
def test_as_many_trees_from_a_rank_as_paths_lead_to_each(graph, data):
    where = network(graph)
    if where.rank_count == 1:
        return
    root = data.draw(st.sampled_from(where.ranks.tolist()))
    most = min(flows_from(graph, root))
    found = None
    with nullcontext() if all_relays_are_even(graph) else suppress(PlanError):
        found = trees_past_relays(where, root, most)
    if found is not None:
        assert (found.root, len(found)) == (root, most)
        assert load_of([found]) == 1


@pytest.mark.each(3)
@pytest.mark.parametrize("name", NAMED)
def test_no_arc_is_in_more_trees_than_the_optimum_has_steps(name):
    where = network(NAMED[name])
    rate, found = optimum(where), trees_split_off(where)
    assert {len(trees) for trees in found} == {rate.numerator}
    assert load_of(found) == rate.denominator


@given(
    multigraphs(most=7, whole=True), st.integers(1, 9), st.sampled_from(["allgather", "reduce-scatter", "allreduce"])
)
@examples(15)
def test_plans_hold_on_every_multigraph(graph, messages, kind):
    where = network(graph).adding()
    asked, every = request(kind, where, messages=messages, model="all-port")
    for entry in every:
        if entry.name == "packed-trees":
            with nullcontext() if all_relays_are_even(graph) else suppress(PlanError):
                schedule = build(asked, [entry])
                assert verify(schedule).holds
                assert verify(schedule, method="expanded").holds


def test_a_relay_with_more_arcs_in_than_out_is_named():
    graph = nx.DiGraph([(0, "w"), ("w", 1), ("w", 2), (1, 0), (2, 0)])
    graph.nodes["w"]["relay"] = True
    where = network(graph)
    with pytest.raises(
        PlanError, match=r"cannot split off relay w of graph:4: as many arcs have to lead to it as from it"
    ):
        trees_split_off(where)


def test_long_blocks_lose_little():
    """So many messages that they go in blocks: the rate is still within a half per cent of the optimum."""
    where = network(boxes(2, 4, 9, 1))
    schedule = plan("allgather", where, messages=40_000, builder="packed-trees")
    assert verify(schedule).holds
    assert len(schedule.rows) <= 2**18
    assert 40_000 <= schedule.steps <= ceil(40_000 * 1.005)


def test_more_ranks_are_refused():
    wired = nx.grid_2d_graph(13, 13)
    nx.set_edge_attributes(wired, 2, "capacity")
    assert "packs trees of up to 144 ranks, which takes seconds, and" in refused(network(wired))
    assert "splits off relays for as long as that takes seconds" in refused(network(boxes(17, 8, 9, 1)))


def refused(where):
    """Return why packed trees are no plans of an allgather."""
    asked = job("allgather", where)
    return " ".join(each.why_not(asked) for each in builders("allgather", where) if each.name == "packed-trees")


@pytest.mark.slow
@pytest.mark.each(3)
@pytest.mark.parametrize("name", NAMED)
def test_the_rate_is_reached_exactly(name):
    """What M messages take beyond M U steps does not grow with M."""
    where = network(NAMED[name])
    rate = optimum(where)
    late = list[Fraction]()
    for turns in (2, 8, 24):
        messages = turns * rate.numerator
        schedule = plan("allgather", where, messages=messages, builder="packed-trees")
        assert verify(schedule).holds
        late.append(schedule.steps - messages / rate)
    assert min(late) >= 0
    assert late[2] <= late[1] <= late[0] + 1 <= 16


@pytest.mark.slow
def test_turns_take_fewer_steps_than_streams():
    where = network(boxes(2, 8, 12, 1))
    assert plan("allgather", where, messages=600).steps == 696
    assert plan("allgather", where, messages=600, builder="priced-trees").steps == 740


@pytest.mark.long
def test_the_gap_of_many_ranks():
    """As docs/explanation/open.md says."""
    where = network(boxes(19, 8, 9, 1))
    schedule = plan("allgather", where, messages=20)
    report = verify(schedule)
    assert report.holds
    assert (report.steps, max(b.value for b in report.bounds if b.of == "steps")) == (523, 361)
