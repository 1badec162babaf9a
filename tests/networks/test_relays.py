"""Relays, parallel arcs and one-way graphs: every plan on any of them, against the slow verifier, a replay and real bytes."""

import pickle
from collections import Counter
from itertools import product
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import treecast
from tests.strategies import examples
from treecast.collectives import COLLECTIVES, Collective
from treecast.description import describe
from treecast.errors import FaultError, NetworkError, PlanError, ScheduleError
from treecast.models import MODELS
from treecast.models import model as find_model
from treecast.networks.core import Network
from treecast.networks.graph import Graph
from treecast.networks.wired import graph_from
from treecast.plans import plan_again
from treecast.plans.built import Job
from treecast.schedule import Payloads, Rows, Schedule

NAMED = [name for name, kind in COLLECTIVES.items() if kind.blocks != "class"]
ONE_ROOT = [name for name, kind in COLLECTIVES.items() if not (kind.all_source or kind.lengths or kind.targets)]


@st.composite
def multigraphs(draw: st.DrawFn, most: int = 24, whole: bool = False) -> Any:
    """Any multigraph or multidigraph with some relays; ``whole``: one in which every node reaches every other."""
    nodes, directed = draw(st.integers(1, most)), draw(st.booleans())
    graph = (nx.MultiDiGraph if directed else nx.MultiGraph)()
    graph.add_nodes_from(range(nodes))
    relays = draw(st.sets(st.integers(0, nodes - 1), max_size=nodes - 1))
    for node in relays:
        graph.nodes[node]["relay"] = True
    order = draw(st.permutations(range(nodes)))
    if nodes > 1 and (whole or draw(st.booleans())):
        nx.add_cycle(graph, order) if directed or nodes > 2 else nx.add_path(graph, order)
    links = st.tuples(st.integers(0, nodes - 1), st.integers(0, nodes - 1), st.integers(1, 3))
    for u, v, capacity in draw(st.lists(links, max_size=2 * nodes)):
        if u != v:
            graph.add_edge(u, v, capacity=capacity)
    return graph


def capacities(truth: Any) -> Counter[tuple[int, int]]:
    """Return how many arcs lead from each node to each other one, as networkx has them."""
    count = Counter[tuple[int, int]]()
    for u, v, capacity in truth.edges(data="capacity", default=1):
        for ends in {(u, v), (u, v) if truth.is_directed() else (v, u)}:
            count[ends] += capacity
    return count


def flows_from(truth: Any, root: int) -> list[int]:
    """Return the greatest flow from a rank to each other rank, by networkx."""
    capacity = nx.DiGraph()
    capacity.add_weighted_edges_from(((u, v, many) for (u, v), many in capacities(truth).items()), "capacity")
    others = [v for v, relay in truth.nodes(data="relay") if not relay and v != root]
    return [nx.maximum_flow_value(capacity, root, v) for v in others]


@given(multigraphs(most=10))
def test_parallel_arcs_are_ports_of_their_own(truth: Any) -> None:
    graph, wanted = treecast.network(truth), capacities(truth)
    table = graph.neighbor_table()
    u, port = np.nonzero(table >= 0)
    v = table[u, port]
    assert Counter(zip(u.tolist(), v.tolist(), strict=True)) == wanted
    assert graph.parallel_arcs == any(many > 1 for many in wanted.values())
    assert graph.arcs == sum(wanted.values()) == len(graph.arc_lists()[1])
    assert graph.both_ways == all(wanted[b, a] == many for (a, b), many in wanted.items())
    for net in (graph, graph.reversed()):
        table = net.neighbor_table()
        u, port = np.nonzero(table >= 0)
        v, cable = table[u, port], net.cable(u, port)
        seen = Counter(zip(u.tolist(), v.tolist(), cable.tolist(), strict=True))
        assert set(seen.values()) <= {1}  # each cable is one arc
        assert all(not i or (a, b, i - 1) in seen for a, b, i in seen)
        assert np.array_equal(net.port_of_cable(u, v, cable), port)
        assert (net.port_of_cable(u, v, cable + 99) == -1).all()
        back = net.back(u, port)
        for a, b, i, there in zip(u.tolist(), v.tolist(), cable.tolist(), back.tolist(), strict=True):
            assert (there >= 0) == ((b, a, i) in seen)
        some = back >= 0
        assert np.array_equal(net.back(v[some], back[some]), port[some])
        assert (net.back(0, [-1, net.ports]) == -1).all()
        assert (net.cable(0, [-1, net.ports]) == 0).all()
    other = graph.reversed()
    turned = other.port_of_cable(v, u, net.reversed().cable(u, port)) if other is graph else None
    assert turned is None or (turned >= 0).all()


@given(multigraphs(most=10))
def test_distances_between_ranks(truth: Any) -> None:
    graph, nodes = treecast.network(truth), len(truth)
    lengths = dict(nx.all_pairs_shortest_path_length(truth))
    table = [[lengths[a].get(b, -1) for b in range(nodes)] for a in range(nodes)]
    every = np.arange(nodes)
    assert graph.distance(every[:, None], every).tolist() == table
    assert [graph.distance(every, b).tolist() for b in every] == np.transpose(table).tolist()
    ranks = [u for u in range(nodes) if not truth.nodes[u].get("relay")]
    among = np.array(table)[np.ix_(ranks, ranks)]
    assert graph.ranks.tolist() == ranks
    assert graph.rank_count == len(ranks)
    assert (graph.diameter, graph.connected) == (among.max(), bool((among >= 0).all()))
    assert graph.reversed().connected == graph.connected
    assert [graph.eccentricity(u) for u in ranks] == among.max(axis=1).tolist()
    assert all(sum(graph.levels(u)) == np.count_nonzero(row >= 0) for u, row in zip(ranks, among, strict=True))
    assert pickle.loads(pickle.dumps(graph)) == graph
    assert graph_from(graph.to_networkx()) == graph
    assert describe(graph).figures["ranks"] == len(ranks)


def reach(truth: Any, kind: str, root: int, ranks: list[int]) -> bool:
    """Whether networkx finds all ways that a collective needs."""
    there = set(ranks) <= {root, *nx.descendants(truth, root)}
    back = truth.reverse() if truth.is_directed() else truth
    return (there or COLLECTIVES[kind].ends == "root") and (
        COLLECTIVES[kind].starts == "root" or set(ranks) <= {root, *nx.descendants(back, root)}
    )


@given(multigraphs(), st.data())
def test_plans_between_ranks(truth: Any, data: st.DataObject) -> None:
    graph, kind = treecast.network(truth), data.draw(st.sampled_from(ONE_ROOT))
    root, messages = data.draw(st.sampled_from(graph.ranks.tolist())), data.draw(st.integers(1, 5))
    if not reach(truth, kind, root, graph.ranks.tolist()):
        with pytest.raises(PlanError, match=f"there is no {kind} on graph:.* no way leads from"):
            treecast.plan(kind, graph, root=str(root), messages=messages)
        return
    where = graph.past_relays() if COLLECTIVES[kind].adds else graph
    there = Collective.over(where, kind, messages, root=where.node(graph.label(root)))
    job = Job(where, there, find_model("all-port"))
    able = [entry.name for entry in treecast.builders(kind, where) if not entry.why_not(job)]
    schedule = treecast.plan(
        kind, graph, root=str(root), messages=messages, builder=data.draw(st.sampled_from([None, *able]))
    )
    report = treecast.verify(schedule)
    assert report, report
    assert treecast.verify(schedule, method="expanded")
    assert all(getattr(report, bound.of) >= bound.value for bound in report.bounds)
    trace = treecast.simulate(schedule)
    done = treecast.run(schedule, bytes(range(251)))
    assert (trace.holds, done.holds) == (True, True)
    assert trace.transmissions == done.transmissions == schedule.transmissions
    assert plan_again(schedule) == schedule


@given(multigraphs(most=8), st.sampled_from(sorted(NAMED)), st.integers(1, 3))
def test_relays_hold_and_want_nothing(truth: Any, kind: str, messages: int) -> None:
    graph = treecast.network(truth)
    ranks, relays = set(graph.ranks.tolist()), set(range(graph.nodes)) - set(graph.ranks.tolist())
    traits = COLLECTIVES[kind]
    more: dict[str, Any] = {} if traits.all_source else {"root": min(ranks)}
    if traits.targets:
        more["targets"] = tuple(sorted(ranks)[1:])
        if len(ranks) == 1:
            return
    if traits.lengths:
        flits = [2 * (node in ranks) for node in range(graph.nodes)]
        flits[min(ranks)] = 0
        more["lengths"] = treecast.collectives.Lengths.of(
            flits if traits.blocks != "pair" else np.outer(flits, flits).ravel()
        )
    with_relays = Collective.over(graph, kind, 1 if traits.lengths else messages, **more)
    plain = Collective(kind, graph.nodes, with_relays.messages, **more)
    for now, before in ((with_relays.given(), plain.given()), (with_relays.wanted(), plain.wanted())):
        pairs = {(node, chunk) for node, first, stop in now for chunk in range(first, stop)}
        used = with_relays.is_used(range(plain.chunks))
        every = {(node, chunk) for node, first, stop in before for chunk in range(first, stop)}
        assert pairs == {(node, chunk) for node, chunk in every if node in ranks and used[chunk]}
    if traits.blocks == "node" and not traits.lengths:
        assert np.flatnonzero(~with_relays.is_used(range(plain.chunks)))[: len(relays) * messages].tolist() == [
            node * messages + c for node in sorted(relays) for c in range(messages)
        ]


def switched() -> Network:
    """Return two ranks of each of two switches, which two cables join; a third switch that nobody needs."""
    wired = nx.Graph([("s", "t", {"capacity": 2}), ("s", "a"), ("s", "b"), ("t", "c"), ("t", "d"), ("t", "idle")])
    for name in ("s", "t", "idle"):
        wired.nodes[name]["relay"] = True
    return treecast.network(wired)


def test_the_first_rank_is_the_root() -> None:
    network = switched()
    schedule = treecast.plan("broadcast", network, messages=2)
    assert network.labels([0, schedule.collective.root]) == ["s", "a"]
    assert (schedule.steps, schedule.transmissions) == (4, 10)
    assert treecast.verify(schedule)
    assert str(schedule.collective) == "broadcast over 4 ranks: 2 messages from node 2"
    least = treecast.bounds("gather", network)  # two are three arcs away
    assert [max(bound.value for bound in least if bound.of == of) for of in ("transmissions", "steps")] == [8, 4]
    for wrong in ("s", 0):
        with pytest.raises(
            PlanError, match="root s is a relay, which has nothing and wants nothing: take a rank, as a"
        ):
            treecast.plan("broadcast", network, root=wrong)
    with pytest.raises(PlanError, match="target t is a relay"):
        treecast.plan("multicast", network, targets=["t", "c"], model="wormhole")
    with pytest.raises(PlanError, match="t is a relay, which takes no part: its length is 0, not 3"):
        treecast.plan("scatterv", network, lengths=dict.fromkeys("tabcd", 3) | {"s": 0, "idle": 0})
    with pytest.raises(PlanError, match="root 0 is a relay"):
        Collective.over(network, "broadcast")
    with pytest.raises(ScheduleError, match="differ in their relays"):
        Schedule(network, Collective("broadcast", 7, 2, 2), schedule.model, schedule.rows)


def test_what_a_relay_must_not_do() -> None:
    network = switched().adding()
    good = treecast.plan("reduce", network)
    a, s, t = (network.node(name) for name in "ast")
    for bad in (
        good.select(~((good.rows.src == t) & (good.rows.dst == s))),  # what it adds up never leaves it
        good.select(good.rows.src != network.node("d")),
    ):
        for method in ("fast", "expanded"):
            broken = {rule for rule, count in treecast.verify(bad, method=method).counts.items() if count}
            assert "delivered" in broken, (method, broken)
        assert not treecast.run(bad, bytes(range(99))).holds
    spread = treecast.plan("broadcast", network)
    early = spread.select(spread.rows.src != a)  # nobody has told the switch, which sends all the same
    for method in ("fast", "expanded"):
        assert treecast.verify(early, method=method).counts["holds"]


def test_cables_that_are_cut() -> None:
    network = switched()
    s, t = network.node("s"), network.node("t")
    ports = [p for p in range(network.ports) if network.neighbor(s, p) == t]
    assert len(ports) == 2
    both = treecast.parse_faults(network, links=["s-t"])
    assert both.describe(network) == ["s-t#0", "s-t#1"]
    one = treecast.parse_faults(network, links=["s-t#1@3"])
    assert one.arcs == {(s, ports[1]): 3, (t, int(network.back(s, ports[1]))): 3}
    assert treecast.parse_faults(network, links=one.describe(network)) == one
    assert treecast.parse_faults(network, links=["s>t#0"]).arcs == {(s, ports[0]): 0}
    assert treecast.parse_faults(network, links=["a-s"]).describe(network) == ["s-a"]
    with pytest.raises(FaultError, match="'s-t#2' is no cable of graph:7: those are numbered from 0 to 1"):
        treecast.parse_faults(network, links=["s-t#2"])
    with pytest.raises(FaultError, match="s is joined to t, a, b"):
        treecast.parse_faults(network, links=["s-c"])
    schedule = treecast.plan("broadcast", network, messages=4)
    assert treecast.simulate(schedule, ["s-t"]).delivered == 2  # a and b
    swept = treecast.sweep(schedule, 1, "links", keep_going=True)
    assert (swept.sets, swept.failing) == (1 + 7, 5)  # each cable is a link; one of the two is not used


@pytest.mark.parametrize("model", ["all-port,half", "shouting,half"])
def test_each_cable_is_a_half_duplex_link(model: str) -> None:
    network = treecast.network(nx.MultiGraph([("a", "b"), ("a", "b")]))
    for there, back in product(range(2), repeat=2):
        rows = Rows.of(
            Payloads.of([[(0, 1)], [(1, 2)]]),
            step=[0, 0],
            steps=[1, 1],
            src=[0, 1],
            dst=[1, 0],
            port=[there, back],
            tree=[-1, -1],
            payload=[0, 1],
        )
        schedule = Schedule(network, Collective("allgather", 2, 1), find_model(model), rows)
        counts = [treecast.verify(schedule, method=how).counts["duplex"] for how in ("fast", "expanded")]
        assert counts == [int(there == back)] * 2


def test_names_and_attributes() -> None:
    with pytest.raises(NetworkError, match="relays only: a network has a rank at least"):
        Graph("graph:2", "ab", [(0, 1)], [True, True])
    with pytest.raises(NetworkError, match="say of each whether it is a relay"):
        Graph("graph:2", "ab", [(0, 1)], [True])
    wired = nx.Graph([(0, 1)])
    wired.nodes[1]["relay"] = "perhaps"
    with pytest.raises(NetworkError, match="node '1' has relay 'perhaps': write true or false"):
        treecast.network(wired)
    wired.nodes[1]["relay"] = "no"
    assert treecast.network(wired).relays is None


def test_a_plan_says_whether_relays_add() -> None:
    path = nx.Graph([("a", "s"), ("b", "s"), ("c", "s")])
    path.nodes["s"]["relay"] = True
    for kind, more in (("allreduce", ", which does not add"), ("reduce", ", which does not add"), ("alltoall", "")):
        said = describe(treecast.plan(kind, path)).lines["network"]
        assert said == f"graph:4, 4 nodes, 1 of them a relay{more}", kind
    path.nodes["s"]["adds"] = "true"
    said = "graph:4, 4 nodes, 1 of them a relay, which adds, as a switch with SHARP or NVLS does"
    assert describe(treecast.plan("reduce", path)).lines["network"] == said


def test_lengths_of_ranks_alone_leave_out_relays() -> None:
    of_ranks = list(range(1, 17))
    schedule = treecast.plan("allgatherv", "fat-tree:4", lengths=of_ranks)
    flits = schedule.collective.lengths.flits
    assert flits[schedule.network.ranks].tolist() == of_ranks
    assert flits.sum() == sum(of_ranks)
    with pytest.raises(PlanError, match="needs as many lengths, not 17"):
        treecast.plan("allgatherv", "fat-tree:4", lengths=[*of_ranks, 1])


KINDS = [name for name, kind in COLLECTIVES.items() if not (kind.lengths or kind.targets)]


MACHINES = [name for name, machine in MODELS.items() if machine.buffered and not machine.routing]


@pytest.mark.slow
@given(multigraphs(most=8, whole=True), st.sampled_from(KINDS), st.sampled_from(MACHINES), st.data())
@examples(600)
def test_every_collective_has_a_plan_under_every_machine(
    truth: Any, kind: str, machine: str, data: st.DataObject
) -> None:
    graph, traits = treecast.network(truth), COLLECTIVES[kind]
    assume(graph.rank_count > 1)
    messages = data.draw(st.sampled_from([1, 2, 3, 7, 40] if traits.all_source else [1, 2, 3, 7, 40, 1000, 10**6]))
    root = None if traits.all_source else str(data.draw(st.sampled_from(graph.ranks.tolist())))
    schedule = treecast.plan(kind, graph, messages=messages, model=machine, root=root)
    report = treecast.verify(schedule)
    assert report, report
    assert all(getattr(report, bound.of) >= bound.value for bound in report.bounds)
    if schedule.transmissions < 1000:
        assert treecast.verify(schedule, method="expanded")
