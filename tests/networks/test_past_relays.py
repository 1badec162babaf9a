"""Networks past relays that do not add: routes, who says that relays add, and sums, against judges and exhaustive search."""

import json
import re
from collections import Counter
from dataclasses import replace
from itertools import combinations, product
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treecast
from tests.networks.test_relays import multigraphs
from treecast.cli import main
from treecast.collectives import Collective
from treecast.errors import FormatError, NetworkError, PlanError
from treecast.models import Cost
from treecast.models import model as find_model
from treecast.networks.arcs import arcs_of
from treecast.networks.core import Network
from treecast.networks.past_relays import PastRelays
from treecast.schedule import Payloads, Rows, Schedule
from treecast.schedule.costs import Costs, over_routes
from treecast.takes import takes

SUMS = ["reduce", "reduce-broadcast", "reduce-scatter", "allreduce"]
MODELS = [
    *("all-port", "one-port", "all-port,half", "one-port,half", "one-port,partner", "whispering", "shouting,half"),
    *("all-port,latency=3", "one-port,ports=2", "all-port,ports=2,half", "all-port,combining", "one-port,combining"),
]


def star(hosts: int, **said: Any) -> Any:
    """Return hosts on a switch."""
    graph = nx.Graph([(f"h{u}", "switch") for u in range(hosts)])
    graph.nodes["switch"].update(relay=True, **said)
    return graph


@st.composite
def partly_adding(draw: st.DrawFn, most: int = 8) -> Network:
    """Any multigraph or multidigraph with relays, some of which may add."""
    graph = draw(multigraphs(most=most, whole=True))
    for node, relay in graph.nodes(data="relay"):
        if relay:
            graph.nodes[node]["adds"] = draw(st.booleans())
    return treecast.network(graph)


def judged(schedule: Schedule) -> list[set[str]]:
    """Return the rules that a schedule breaks, by the fast judge and by the slow one."""
    reports = [treecast.verify(schedule, method=how) for how in ("fast", "expanded")]
    return [{rule for rule, count in report.counts.items() if count} for report in reports]


@given(partly_adding(most=12))
def test_routes_are_the_shortest_ways_past_relays_that_do_not_add(whole: Network) -> None:
    where = whole.past_relays()
    if where is whole:
        assert whole.relays is None or whole.adds[whole.relays].all()
        return
    assert isinstance(where, PastRelays)
    assert treecast.network(whole).past_relays() == where
    passes = whole.relays & ~(whole.adds if whole.adds is not None else whole.relays & False)
    kept = np.flatnonzero(~passes).tolist()
    assert where.labels() == whole.labels(kept)
    assert where.relays is None or (where.adds == where.relays).all()
    known = Counter[tuple[int, ...]]()
    for u, port in zip(*map(np.ndarray.tolist, arcs_of(where)[2::3]), strict=True):
        route, v = where.route(u, port), int(where.neighbor(u, port))
        nodes = [a for a, _ in route] + [kept[v]]
        assert nodes[0] == kept[u]
        assert passes[nodes[1:-1]].all()
        assert [int(whole.neighbor(*arc)) for arc in route] == nodes[1:]
        inner = nx.DiGraph(
            (a, b)
            for a, b in whole.to_networkx().edges()
            if (passes[a] or a == kept[u]) and (passes[b] or b == kept[v])
        )
        assert len(route) == nx.shortest_path_length(inner, kept[u], kept[v])
        if whole.both_ways:
            back = where.route(v, int(where.back(u, port)))
            assert back == [(b, int(whole.back(a, by))) for (a, by), b in zip(route, nodes[1:], strict=True)][::-1]
        known[tuple(np.array(route).ravel().tolist())] += 1
    assert set(known.values()) <= {1}


@given(partly_adding(), st.sampled_from(SUMS), st.integers(1, 3), st.sampled_from(MODELS), st.data())
def test_sums_past_relays_are_right_on_every_machine(
    whole: Network, kind: str, messages: int, machine: str, data: st.DataObject
) -> None:
    schedule = treecast.plan(kind, whole, messages=messages, model=machine)
    assert schedule.network == whole.past_relays()
    assert judged(schedule) == [set(), set()]
    done = treecast.run(schedule, bytes(range(99)))
    assert (treecast.simulate(schedule).holds, done.holds) == (True, True)
    report = treecast.verify(schedule)
    assert all(getattr(report, bound.of) >= bound.value for bound in report.bounds)
    if schedule.orbit or not len(schedule.rows):
        return
    columns = {name: column.copy() for name, column in schedule.rows.columns().items()}  # with a row in another step
    row, by = data.draw(st.integers(0, len(schedule.rows) - 1)), data.draw(st.sampled_from([-2, -1, 1, 2]))
    columns["step"][row] = max(0, columns["step"][row] + by)
    fast, slow = judged(replace(schedule, rows=Rows.of_any_steps(schedule.rows.payloads, **columns), claims=None))
    assert bool(fast) == bool(slow)
    assert not (fast ^ slow) & {"adds", "channel-once", "link-once", "adjacent"}


@pytest.mark.parametrize("said", [{}, {"adds": True}])
def test_a_rank_that_is_alone_at_a_switch_sends_nothing(said: dict[str, bool]) -> None:
    for kind, machine, messages in product(SUMS, MODELS, (1, 3)):
        schedule = treecast.plan(kind, star(1, **said), messages=messages, model=machine)
        assert (schedule.steps, schedule.transmissions, judged(schedule)) == (0, 0, [set(), set()])


@given(partly_adding(most=6), st.sampled_from(["reduce", "reduce-scatter"]))
def test_no_relay_adds_of_which_nobody_says_so(whole: Network, kind: str) -> None:
    schedule, count = treecast.plan(kind, whole.adding()), Counter[tuple[int, int]]()
    rows = schedule.rows
    for row in range(len(rows)):
        for first, stop in rows.payloads.ranges(int(rows.payload[row])):
            count.update((int(rows.dst[row]), chunk) for chunk in range(first, min(stop, schedule.collective.sums)))
    plain = whole.relays if whole.adds is None else whole.relays & ~whole.adds if whole.relays is not None else None
    added = plain is not None and any(plain[node] for (node, _), many in count.items() if many > 1)
    if whole.relays is not None:
        assert judged(replace(schedule, network=whole)) == [{"adds"} if added else set()] * 2


def test_two_sends_over_one_link_of_their_routes() -> None:
    where = treecast.network(star(3)).past_relays()
    for model, again in product(("all-port", "all-port,combining", "all-port,half"), (0, 1)):
        rows = Rows.of(
            Payloads.of([[(0, 1)]]),
            step=[0, again],
            steps=[1, 1],
            src=[1, 2],
            dst=[0, 0],
            port=[0, 0],
            tree=[-1, -1],
            payload=[0, 0],
        )
        schedule = Schedule(where, Collective.over(where, "reduce", 1), find_model(model), rows)
        assert judged(schedule) == [{"channel-once"} if not again else set()] * 2, (model, again)


def fewest_steps(where: Network, root: int, messages: int) -> int:
    """Return the fewest steps of a reduce over all ports, by a search of who has not sent its sum yet, of each message."""
    arcs, table = arcs_of(where), takes(find_model("all-port"), where)
    ends = list(zip(arcs.tail.tolist(), arcs.head.tolist(), strict=True))
    together = [
        some
        for many in range(1, 2 * where.nodes + 1)
        for some in combinations(range(len(ends)), many)
        if max(Counter(table.resource[list(some)].ravel().tolist()).values()) == 1
    ]
    every, aim = frozenset(range(where.nodes)), (frozenset({root}),) * messages
    seen, now, steps = {(every,) * messages}, [(every,) * messages], 0
    while aim not in seen:
        after = set[tuple[frozenset[int], ...]]()
        for state, some in product(now, together):
            for which in product(range(messages), repeat=len(some)):
                moves = [(m, *ends[a]) for m, a in zip(which, some, strict=True)]
                sent = {(m, u) for m, u, _ in moves}
                right = len(sent) == len(moves) and all(
                    u != root and {u, v} <= state[m] and (m, v) not in sent for m, u, v in moves
                )
                if right:
                    after.add(tuple(state[m] - {u for of, u in sent if of == m} for m in range(messages)))
        now, steps = list(after - seen), steps + 1
        seen |= after
    return steps


TINY = {
    "three hosts on a switch": (star(3), 2),
    "four hosts on a switch": (star(4), 1),
    "two switches in a row": (nx.Graph([("a", "s"), ("b", "s"), ("s", "t"), ("t", "c")]), 2),
    "a host on two switches": (nx.Graph([("a", "s"), ("a", "t"), ("b", "s"), ("c", "t"), ("s", "t")]), 1),
    "two hosts joined as well": (nx.Graph([("a", "s"), ("b", "s"), ("c", "s"), ("a", "b")]), 1),
}


@pytest.mark.parametrize(("graph", "messages"), TINY.values(), ids=TINY.keys())
def test_no_bound_is_above_the_optimum(graph: Any, messages: int) -> None:
    for name in {"s", "t"} & set(graph):
        graph.nodes[name]["relay"] = True
    for count in range(1, messages + 1):
        job = treecast.job("reduce", graph, messages=count)
        optimum = fewest_steps(job.network, 0, count)
        bound = max(bound.value for bound in treecast.bounds(job) if bound.of == "steps")
        assert bound <= optimum <= treecast.plan(job).steps <= optimum + 1


@pytest.mark.parametrize(
    "spec", ["fat-tree:4", "fat-tree:6", "leaf-spine:4,2,4", "leaf-spine:8,4,8", "dragonfly:3,1,1"]
)
def test_a_ring_past_relays_takes_the_fewest_steps(spec: str) -> None:
    ranks = treecast.network(spec).rank_count
    for kind, times in (("reduce-scatter", 1), ("allreduce", 2)):
        schedule = treecast.plan(kind, spec, messages=4)
        report = treecast.verify(schedule)
        assert report.holds
        assert schedule.builder == "hamiltonian"
        assert schedule.steps == times * 4 * (ranks - 1) == max(b.value for b in report.bounds if b.of == "steps")


def test_a_relay_is_named_by_no_sum_past_it() -> None:
    graph = star(3)
    schedule = treecast.plan("reduce", graph, root="h1")
    assert schedule.network.label(schedule.collective.root) == "h1"
    number = treecast.network(graph).node("h1")
    assert treecast.plan("reduce", graph, root=number) == schedule  # numbers are those of the graph that is given
    with pytest.raises(PlanError, match="root switch is a relay"):
        treecast.plan("reduce", graph, root="switch")
    with pytest.raises(
        NetworkError, match="switch is a relay that does not add, which only passes on what others send"
    ):
        schedule.network.node("switch")
    dead = treecast.parse_faults(schedule.network, ["switch@1"])
    assert set(dead.arcs.values()) == {1}
    assert len(dead.arcs) == schedule.network.arcs == 6
    assert len(treecast.parse_faults(schedule.network, links=["h0-switch"]).arcs) == 4
    assert not treecast.simulate(schedule, ["switch"]).holds


def test_a_plan_is_mended_past_relays_that_are_left() -> None:
    before = treecast.plan("reduce", "fat-tree:4")
    found = treecast.repair(before, dead_nodes=["core-0.0"], cut_links=["edge-1.0-aggregation-1.0"]).schedule
    assert found.network.spec == ("fat-tree:4 without links edge-1.0-aggregation-1.0 nodes core-0.0 past relays")
    assert judged(found) == [set(), set()]
    assert treecast.network(found.network.spec) == found.network


def test_costs_of_routes() -> None:
    where = treecast.network(star(3)).past_relays()
    whole, usual = where.whole, Cost(2.0, 1.0)
    a, b, switch = whole.node("h0"), whole.node("h1"), whole.node("switch")
    costs = over_routes(Costs(usual, {(a, switch): Cost(5.0, 1.0), (switch, b): Cost(4.0, 3.0)}), where)
    assert costs.arcs == {(0, 1): Cost(7.0, 3.0), (0, 2): Cost(5.0, 1.0), (2, 1): Cost(4.0, 3.0)}


def plans_of(where: Any) -> str:
    """Return whether a plan of a sum lets relays add: a part of them, all, or none."""
    relays = treecast.network(where).relays
    adds = treecast.network(where).adds
    return "none" if adds is None else "all" if (adds == relays).all() else "some"


def test_who_says_that_relays_add(tmp_path: Any) -> None:
    for said, means in ((False, "none"), (True, "all"), ("false", "none"), ("true", "all")):
        assert plans_of(star(3, adds=said)) == means
    with pytest.raises(NetworkError, match="node 'switch' has adds 'perhaps': write true or false"):
        treecast.network(star(3, adds="perhaps"))
    graph = star(3, adds=True)
    graph.add_edge("switch", "other")
    graph.nodes["other"]["relay"] = True
    graph.add_edge("other", "h9")
    nx.write_graphml(graph, tmp_path / "net.graphml")
    (tmp_path / "net.json").write_text(json.dumps(nx.node_link_data(graph)))
    (tmp_path / "net.dot").write_text(
        "graph { s [relay=true, adds=true]; t [relay=true]; a -- s -- t -- b; a -- c [rate=9]; c -- t }"
    )
    for name in ("net.graphml", "net.json", "net.dot"):
        assert plans_of(tmp_path / name) == "some", name
        assert plans_of(f"{tmp_path / name} with relays-add yes") == "all"
        assert treecast.network(tmp_path / name, relays_add=True).adds.sum() == 2
    for name, means in (("dgx-h100", "all"), ("gb200-nvl72", "all"), ("dgx-a100", "none")):
        assert plans_of(f"machine:{name}") == means
    fabric = tmp_path / "net.ibnetdiscover"
    fabric.write_text(
        'Switch 3 "S-1" # "a"\n[1] "H-1"[1] # 4xHDR\n[2] "S-2"[1] # 4xHDR\n'
        '[3] "H-3"[1] # 4xHDR\n'
        'Switch 2 "S-2" # "b"\n[1] "S-1"[2] # 4xHDR\n[2] "H-2"[1] # 4xHDR\nCa 1 "H-1" # "x HCA-1"\n'
        '[1] "S-1"[1] # 4xHDR\n'
        'Ca 1 "H-2" # "y HCA-1"\n[1] "S-2"[2] # 4xHDR\nCa 1 "H-3" # "Mellanox Technologies Aggregation Node"\n'
        '[1] "S-1"[3] # 4xHDR\n'
    )
    where = treecast.network(fabric)
    assert where.labels(np.flatnonzero(where.adds)) == ["a"]


@pytest.mark.parametrize("suffix", ["tc", "tcb"])
def test_files_say_which_relays_add(tmp_path: Any, suffix: str) -> None:
    graph = star(3, adds=True)
    graph.add_edge("other", "switch")
    graph.add_edge("other", "h9")
    graph.nodes["other"]["relay"] = True
    for where in (
        graph,
        star(4),
        star(4, adds=True),
        "fat-tree:2",
        "fat-tree:2 with relays-add yes",
        "machine:dgx-h100",
    ):
        for kind in ("reduce", "broadcast"):
            schedule = treecast.plan(kind, where, messages=2)
            treecast.save(schedule, tmp_path / f"plan.{suffix}")
            found = treecast.load(tmp_path / f"plan.{suffix}")
            assert found == schedule
            assert found.network == schedule.network
            assert treecast.verify(found).holds


def test_files_from_before_keep_their_meaning(tmp_path: Any) -> None:
    path = tmp_path / "plan.tc"
    for where, before in (
        ("leaf-spine:3,1,1 with relays-add yes", "leaf-spine:3,1,1"),
        (star(3, adds=True), "graph:4"),
    ):
        treecast.save(treecast.plan("reduce", where), path)
        lines = [line for line in path.read_text().splitlines() if not line.startswith(("digest", "network"))]
        lines.insert(1, f"network {before}")
        now = [line.replace("relays-add yes", "relays-add no") for line in lines]
        path.write_text("\n".join(line for line in lines if not line.startswith("relays-add")) + "\n")
        old = treecast.load(path)
        assert old.network.spec == f"{before} with relays-add yes"
        assert judged(old) == [set(), set()]
        path.write_text("\n".join(now) + "\n")
        with pytest.raises(FormatError, match=r"brings a second contribution to .*, which does not add"):
            treecast.load(path)
    path.write_text("\n".join(now).replace("relays-add no", "relays-add 0 7") + "\n")
    with pytest.raises(FormatError, match="which relays add is said by yes, no, or numbers of relays, not by '0 7'"):
        treecast.load(path)


def test_four_hosts_on_a_switch(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    nx.write_graphml(star(4), tmp_path / "hosts.graphml")
    words = [
        "plan",
        "allreduce",
        str(tmp_path / "hosts.graphml"),
        "--bytes",
        "800MB",
        "--latency",
        "5us",
        "--rate",
        "100Gbit/s",
    ]
    assert main([*words, "--json"]) == 0
    plain = json.loads(capsys.readouterr().out)
    assert main([*words, "--relays-add", "--json"]) == 0
    adding = json.loads(capsys.readouterr().out)
    assert plain["time"] >= plain["time_lower_bound"] >= 0.096
    assert adding["time"] == pytest.approx(0.06514, rel=1e-3)
    main(words)
    said = capsys.readouterr().out
    assert (
        "5 nodes, 1 of them a relay, which does not add (--relays-add if yours do, by SHARP or NVLS: then 65.14 ms)"
        in said
    )
    assert "which add" not in said


@pytest.mark.slow
@pytest.mark.parametrize(
    "said",
    [
        "leaf-spine:2,2,1 with relays-add yes",
        "machine:dgx-h100",
        "net.dot",
        "net.graphml",
        "net.graphml without links t-d",
    ],
)
def test_relays_of_which_it_is_said_do_not_add(said: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the file or the machine says of them; then the network is as one that never said so."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.dot").write_text(
        "graph { s [relay=true, adds=true]; t [relay=true, adds=true]; "
        + "; ".join(f'{u} -- {v} [rate="100Gbit/s"]' for u, v in ("as", "bs", "cs", "dt", "et", "st"))
        + "}"
    )
    drawn = nx.Graph([("a", "s"), ("b", "s"), ("c", "s"), ("d", "t"), ("e", "t"), ("s", "t"), ("s", "d")])
    for relay in "st":
        drawn.nodes[relay].update(relay=True, adds=True)
    nx.write_graphml(drawn, tmp_path / "net.graphml")
    whole = treecast.network(said)
    assert whole.adds is not None
    plain, spelled = whole.adding(False), treecast.network(said, relays_add=False)
    again = treecast.network(spelled.spec.removeprefix("file:") if "without" not in said else spelled.spec)
    for where in (plain, spelled, again):
        assert where.adds is None
        assert where.adding(False) == where
        assert where.adding().spec.count("relays-add") == 1
        assert np.array_equal(where.adding().adds, where.relays)
    assert plain == spelled
    slow, fast = treecast.plan("allreduce", plain, messages=8), treecast.plan("allreduce", whole, messages=8)
    assert treecast.verify(slow).holds
    assert (slow.network.spec.endswith(" past relays"), fast.network.spec) == (True, whole.spec)


def test_both_figures_stand_side_by_side(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    nx.write_graphml(star(4, adds=True), tmp_path / "hosts.graphml")
    said = dict[str, str]()
    for word in ("", "--relays-add", "--relays-add no"):
        words = ["plan", "allreduce", str(tmp_path / "hosts.graphml"), *word.split(), "--messages", "3"]
        assert main(words) == 0
        said[word] = " ".join(capsys.readouterr().out.split())
    steps = {word: re.search(r" steps ([0-9]+)", said[word])[1] for word in said}  # type: ignore[index]
    assert steps[""] == steps["--relays-add"] != steps["--relays-add no"]
    for word in ("", "--relays-add"):
        assert f"(--relays-add no if yours do not: then {steps['--relays-add no']} steps)" in said[word]
    assert f"(--relays-add if yours do, by SHARP or NVLS: then {steps['']} steps)" in said["--relays-add no"]


# Few chunks over routes past relays: as few steps as were found by hand.


@pytest.mark.slow
def test_few_chunks_past_relays() -> None:
    for kind, steps in (("reduce", (4, 8)), ("alltoall", (20, 70))):
        for messages, most in zip((1, 4), steps, strict=True):
            found = treecast.plan(kind, "fat-tree:4 past relays", messages=messages)
            assert found.steps <= most
            assert treecast.verify(found).holds
