"""A walk past the relays of networks with many ranks: its routes, the plans over them, and the judges of these."""

from random import Random
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treecast
from treecast.collectives import COLLECTIVES
from treecast.errors import NetworkError
from treecast.networks import Network, past_relays
from treecast.networks.arcs import arcs_of
from treecast.networks.past_relays import PastRelays
from treecast.schedule import Rows, Schedule
from treecast.schedule.costs import Costs, seconds_by_steps

SUMS = ["reduce", "reduce-broadcast", "reduce-scatter", "allreduce"]


@st.composite
def fabrics(draw: st.DrawFn, most: int = 14) -> PastRelays:
    """Any relays that are joined, with ranks at them, and the walk past them however few ranks there are."""
    relays, ranks = draw(st.integers(1, 6)), draw(st.integers(3, most))
    graph = nx.random_labeled_tree(relays, seed=draw(st.integers(0, 999)))
    graph = nx.relabel_nodes(graph, {v: f"s{v}" for v in graph})
    chance = draw(st.randoms(use_true_random=False))
    for _ in range(draw(st.integers(0, 3)) if relays > 1 else 0):
        graph.add_edge(*chance.sample(sorted(graph), 2))
    for switch in list(graph):
        graph.nodes[switch]["relay"] = True
    for rank in range(ranks):
        graph.add_edge(f"r{rank}", f"s{chance.randrange(relays)}")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(past_relays, "_FEW_PAIRS", 1)
        return PastRelays(treecast.network(graph))


@pytest.fixture
def small_walks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Walks where routes could join all pairs, on networks that no other test has: they are kept."""
    monkeypatch.setattr(past_relays, "_FEW_PAIRS", 1)


def planned(kind: str, where: Network, **words: Any) -> Schedule:
    return treecast.plan(kind, where, builder="walk", **words)


@given(fabrics())
def test_the_routes_of_a_walk_share_no_channel(where: PastRelays) -> None:
    symmetry, whole = where.symmetry, where.whole
    assert symmetry is not None
    around = symmetry.carry(np.arange(where.nodes), 0)
    assert sorted(around.tolist()) == list(range(where.nodes))
    crossed = list[tuple[int, int]]()
    for u, v in zip(around.tolist(), np.roll(around, -1).tolist(), strict=True):
        route = where.route(u, int(where.port_between(u, v)))
        at = whole.node(where.label(u))
        for place, (node, port) in enumerate(route):
            assert node == at
            assert (whole.relays is not None and whole.relays[node]) == (place > 0)
            at = int(whole.neighbor(node, port))
        assert at == whole.node(where.label(v))
        crossed += route
    assert len(set(crossed)) == len(crossed)


@given(fabrics(most=40), st.randoms(use_true_random=False))
def test_a_tree_of_halves_takes_at_most_twice_the_steps_of_one_port(where: PastRelays, chance: Random) -> None:
    root = where.label(chance.randrange(where.nodes))
    for kind, times in (("reduce", 1), ("reduce-broadcast", 2)):
        schedule = planned(kind, where, root=root)
        assert schedule.steps <= 2 * times * (where.nodes - 1).bit_length()
        assert treecast.verify(schedule).holds


@given(
    fabrics(),
    st.sampled_from([*SUMS, "allgather", "broadcast"]),
    st.sampled_from(
        [
            *("all-port", "one-port", "all-port,latency=3", "one-port,half", "all-port,half", "shouting", "whispering"),
            *("one-port,partner", "one-port,half,latency=4", "one-port,half,ports=2", "shouting,half"),
            *("one-port,combining", "one-port,partner,latency=2", "whispering,latency=3", "one-port,ports=2"),
        ]
    ),
    st.sampled_from([1, 2, 3, 9, 40]),
)
def test_plans_around_a_walk_are_right(where: PastRelays, kind: str, model: str, messages: int) -> None:
    schedule = planned(kind, where, model=model, messages=messages)
    assert treecast.verify(schedule).holds
    assert treecast.verify(schedule.plain(), method="expanded").holds
    if COLLECTIVES[kind].all_source:
        assert schedule.orbit == (model in ("all-port", "one-port", "all-port,latency=3", "one-port,ports=2"))
        assert len(schedule.rows) <= 2 * where.nodes * (1 + (kind == "allreduce"))


def test_two_turns_are_enough_where_ranks_are_even_and_those_below_links_odd(small_walks: None) -> None:
    for spec, turns in (("leaf-spine:6,2,3", 2), ("leaf-spine:6,2,4", 3), ("leaf-spine:5,2,3", 3)):
        where = treecast.network(spec + " past relays")
        for machine in ("all-port,half", "one-port,half"):
            for messages in (1, 5):
                schedule = planned("allgather", where, model=machine, messages=messages)
                assert 0 <= turns * messages * (where.nodes - 1) - schedule.steps <= 1


def test_sums_of_messages_that_combine_meet_in_a_rank(small_walks: None) -> None:
    where = treecast.network("leaf-spine:6,2,4 past relays")
    for machine in ("shouting", "whispering", "one-port,combining"):
        schedule = treecast.plan("allreduce", where, model=machine, messages=5)
        assert (schedule.builder, schedule.steps, len(schedule.rows)) == ("through-one-node", 10, 46)
        assert treecast.verify(schedule).holds


@given(fabrics(most=9), st.data())
def test_both_judges_find_the_links_that_carried_rows_share(where: PastRelays, data: st.DataObject) -> None:
    """An orbit with a row that goes by another route, or in another step, and the same written out."""
    schedule = planned("reduce-scatter", where, messages=data.draw(st.integers(1, 2)))
    rows, arcs = schedule.rows, arcs_of(where)
    columns = {name: column.copy() for name, column in rows.columns().items()}
    row = data.draw(st.integers(0, len(rows) - 1))
    columns["step"][row] = data.draw(st.integers(0, int(rows.step.max())))
    arc = data.draw(st.integers(0, len(arcs.tail) - 1))
    columns["src"][row], columns["dst"][row], columns["port"][row] = arcs.tail[arc], arcs.head[arc], arcs.port[arc]
    moved = Schedule(where, schedule.collective, schedule.model, Rows.of(rows.payloads, **columns), orbit=True)
    fast, slow = treecast.verify(moved), treecast.verify(moved.plain(), method="expanded")
    assert ("channel-once" in _broken(fast)) == ("channel-once" in _broken(slow))
    assert fast.holds == slow.holds


def _broken(report: Any) -> set[str]:
    return {rule for rule, count in report.counts.items() if count}


@pytest.mark.parametrize("spec", ["fat-tree:16", "leaf-spine:32,16,32", "slim-fly:11,4"])
def test_sums_of_a_thousand_ranks_past_plain_switches_meet_their_bounds(spec: str) -> None:
    ranks = treecast.network(spec).rank_count
    for kind, steps in (("reduce-scatter", ranks - 1), ("allreduce", 2 * ranks - 2)):
        schedule = treecast.plan(kind, spec)
        report = treecast.verify(schedule)
        assert report.holds
        assert len(schedule.rows) == schedule.steps == steps == max(b.value for b in report.bounds if b.of == "steps")
    assert treecast.verify(treecast.plan("reduce", spec)).holds


def test_a_plan_around_a_walk_is_kept_in_a_file(tmp_path: Any) -> None:
    schedule = treecast.plan("allreduce", "fat-tree:16", messages=3)
    treecast.save(schedule, path := tmp_path / "walk.treecast")
    assert treecast.load(path) == schedule
    assert b"symmetry" in path.read_bytes()[:2000]
    mine = schedule.at(schedule.network.node("3.1.2"))
    assert len(mine) == 4 * 1023  # what it sends, and what it gets, there and back


def test_the_relays_that_join_all_are_found_beside_others() -> None:
    graph = nx.Graph([(u, side) for u in range(600) for side in (f"box{u // 8}", "all")])
    for side in {v for v in graph if isinstance(v, str)}:
        graph.nodes[side]["relay"] = True
    schedule = treecast.plan("reduce-scatter", graph)
    assert (schedule.builder, schedule.steps) == ("walk", 599)
    assert treecast.verify(schedule).holds


def test_what_joins_no_ranks_one_by_one_and_has_no_walk() -> None:
    graph = nx.star_graph(600)
    graph.nodes[0]["relay"] = True
    other = graph.copy()
    other.add_node("adds", relay=True, adds=True)
    other.add_edge(0, "adds")
    other.add_edge("adds", 1)
    with pytest.raises(NetworkError, match="join up to 512, or more where no relay adds; --relays-add"):
        treecast.network(other).past_relays()
    one_way = graph.to_directed()
    one_way.remove_edge(0, 7)
    one_way.add_edge(8, 7)
    with pytest.raises(NetworkError, match="or more where all links lead both ways"):
        treecast.network(one_way).past_relays()
    apart = nx.star_graph(300)
    apart = nx.disjoint_union(apart, nx.star_graph(300))
    apart.add_edge(5, 310)
    apart.nodes[0]["relay"] = apart.nodes[301]["relay"] = True
    with pytest.raises(NetworkError, match="or more where these join all, and none leads from 1 to 302; --relays-add"):
        treecast.network(apart).past_relays()


def test_all_pairs_are_joined_where_there_is_no_walk() -> None:
    graph = nx.star_graph(130)
    graph.nodes[0]["relay"] = True
    assert len(treecast.network(graph).past_relays().walk) == 130
    graph = graph.to_directed()
    graph.remove_edge(0, 7)
    graph.add_edge(8, 7)
    where = treecast.network(graph).past_relays()
    assert len(where.walk) == 0
    assert where.arcs == 129 * 129 + 1


def test_a_fabric_with_dead_switches_is_no_wall() -> None:
    where = treecast.network("fat-tree:32").without(nodes=["core-0.0", "aggregation-1.1", "3.2.1"])
    schedule = treecast.plan("allgather", where)
    bound = max(bound.value for bound in treecast.bounds(schedule) if bound.of == "steps")
    assert (schedule.builder, schedule.steps, bound, len(schedule)) == ("shared-tree", 8196, 8191, 42037)


def test_a_reduce_of_much_data_takes_less_time_than_an_allreduce_of_it() -> None:
    """Down a chain of all ranks, cut into many chunks."""
    words: dict[str, Any] = {"bytes": "100MB", "latency": "1us", "rate": "12.5GB/s"}
    reduce, allreduce = (treecast.plan(kind, "fat-tree:16", **words) for kind in ("reduce", "allreduce"))
    costs = Costs.of("1us", "12.5GB/s")
    assert seconds_by_steps(reduce, costs) < 0.9 * seconds_by_steps(allreduce, costs)
    assert treecast.verify(reduce).holds
