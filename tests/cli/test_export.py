"""``treecast export``: schedules past switches in formats that know none."""

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treecast
from tests.strategies import examples
from treecast.cli import main
from treecast.collectives import COLLECTIVES
from treecast.errors import FormatError
from treecast.plans.after.past_relays import past_relays

KINDS = [name for name, kind in COLLECTIVES.items() if not (kind.lengths or kind.targets)]


def switched(hosts: int, seed: int, extra: int) -> treecast.Network:
    """Hosts on the switches of a random tree, some of them on two, and a few links between switches more."""
    tree = nx.random_labeled_tree(max(1, hosts // 2), seed=seed)
    graph = nx.relabel_nodes(tree, {v: f"s{v}" for v in tree})
    switches = sorted(graph)
    for each in range(extra):
        u, v = switches[each % len(switches)], switches[(each * 3 + 1) % len(switches)]
        graph.add_edge(u, v) if u != v else None
    nx.set_node_attributes(graph, True, "relay")
    for host in range(hosts):
        for each in range(1 + (host + seed) % 2):
            graph.add_edge(f"h{host}", switches[(host + each * seed) % len(switches)])
    return treecast.network(graph)


@examples(40)
@given(st.sampled_from(KINDS), st.integers(2, 7), st.integers(0, 99), st.integers(0, 3), st.integers(1, 3))
def test_past_relays_is_right_by_every_judge(kind, hosts, seed, extra, messages):
    where = switched(hosts, seed, extra)
    before = treecast.plan(kind, where, messages=messages)
    straight = past_relays(before)
    assert straight.network.nodes == hosts
    assert straight.network.relays is None
    for method in ("fast", "expanded"):
        assert treecast.verify(straight, method=method)
    assert straight.steps <= 2 * before.steps


def test_copies_past_relays_are_stripped():
    graph = nx.Graph([(f"h{v}", switch) for v in range(4) for switch in "st"])
    nx.set_node_attributes(graph, {"s": True, "t": True}, "relay")
    before = treecast.plan("broadcast", treecast.network(graph), survive=1, messages=3)
    assert before.copies == 2
    straight = past_relays(before)
    assert (straight.copies, straight.transmissions) == (1, 9)
    assert treecast.verify(straight)


def test_schedules_without_relays_are_as_they_are():
    schedule = treecast.plan("broadcast", "star:4")
    assert past_relays(schedule) is schedule


def test_lengths_are_refused_past_relays_too():
    with pytest.raises(FormatError, match="blocks of different lengths or chosen targets"):
        treecast.formats.encode(treecast.plan("allgatherv", "fat-tree:2", lengths=2), "msccl")


@pytest.mark.slow
@pytest.mark.each(2)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("spec", ["fat-tree:4", "switched"])
def test_an_export_past_switches_is_right_by_the_rules_of_msccl(kind, spec, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    where = switched(6, 1, 2) if spec == "switched" else spec
    treecast.save(treecast.plan(kind, where, messages=2), "plan.tc")
    assert main(["export", "plan.tc", "-o", "x.xml"]) == 0
    remark = "MSCCL knows no relays: GPUs are the ranks, in their order"
    assert capsys.readouterr().err.startswith(remark if not COLLECTIVES[kind].adds else "wrote x.xml, msccl")
    assert treecast.verify("x.xml").holds
    if spec == "switched":
        assert main(["export", "plan.tc", "-o", "x.mscclpp.json"]) == 0
