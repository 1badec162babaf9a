"""Alltoall by a matrix of demands: König's steps over one port, and plans, bounds and runs on any network and machine."""

from itertools import permutations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treecast
from treecast.cli.lengths import parse_lengths
from treecast.errors import PlanError
from treecast.files import formats
from treecast.networks import network
from treecast.plans.kernels.bottleneck import widest_matching
from treecast.running.execution.local import run

MACHINES = ("all-port", "all-port,half", "one-port", "one-port,half", "one-port,combining", "whispering", "shouting")


def matrices(most, nodes=5):
    return st.integers(1, nodes).flatmap(
        lambda n: st.lists(st.lists(st.integers(0, most), min_size=n, max_size=n), min_size=n, max_size=n)
    )


def random_demands(where, most=5, seed=0):
    return parse_lengths(network(where), f"random:{most}", seed, pairs=True)


@given(matrices(9))
def test_one_port_takes_what_the_busiest_node_sends_or_hears(rows):
    counts = np.array(rows)
    schedule = treecast.plan("alltoallv", f"complete:{len(rows)}", lengths=counts, model="one-port")
    np.fill_diagonal(counts, 0)
    assert schedule.steps == max(counts.sum(axis=0).max(), counts.sum(axis=1).max())
    assert schedule.transmissions == counts.sum()
    assert treecast.verify(schedule)
    assert treecast.verify(schedule, method="expanded")


def test_many_flits_take_few_rows():
    schedule = treecast.plan("alltoallv", "complete:12", lengths=random_demands("complete:12", 10**6), model="one-port")
    assert schedule.builder == "direct"
    assert len(schedule.rows) < 12**3
    assert treecast.verify(schedule).ratio == 1


@given(matrices(6, 4))
def test_the_least_entry_of_a_matching_is_the_greatest_there_can_be(rows):
    left = np.array(rows)
    nodes, (row_of, column_of) = len(left), np.full((2, len(left)), -1)
    least = widest_matching(left, 7, row_of, column_of)
    assert least == max(min(left[r, c] for r, c in enumerate(to)) for to in permutations(range(nodes)))
    assert row_of[column_of].tolist() == list(range(nodes))
    assert left[np.arange(nodes), column_of].min() == least


@pytest.mark.each(4)
@pytest.mark.parametrize("where", ["path:4", "ring:5", "hypercube:3", "tree:2,2", "debruijn:2,2", "fat-tree:2"])
@pytest.mark.parametrize("machine", MACHINES)
def test_on_any_network_and_machine(where, machine):
    schedule = treecast.plan("alltoallv", where, lengths=random_demands(where), model=machine)
    for method in ("fast", "expanded"):
        report = treecast.verify(schedule, method=method)
        assert report, report.violations
    assert all(bound.value <= schedule.steps for bound in report.bounds if bound.of == "steps")
    assert all(bound.value <= schedule.transmissions for bound in report.bounds if bound.of == "transmissions")


@pytest.mark.each(2)
@pytest.mark.parametrize("where", ["ring:5", "hypercube:3", "tree:2,2"])
def test_equal_demands_are_an_alltoall(where):
    for machine in ("all-port", "one-port"):
        equal = treecast.plan("alltoall", where, messages=2, model=machine)
        schedule = treecast.plan("alltoallv", where, lengths=2, model=machine)
        assert schedule.transmissions == equal.transmissions
        ours, theirs = (treecast.verify(each).bounds for each in (schedule, equal))
        for of in ("steps", "transmissions"):
            assert max(b.value for b in ours if b.of == of) >= max(b.value for b in theirs if b.of == of)


def test_copies_survive_any_node():
    demands = random_demands("hypercube:3", 3)
    schedule = treecast.plan("alltoallv", "hypercube:3", lengths=demands, copies=2)
    assert treecast.verify(schedule)
    for node in range(8):
        assert treecast.simulate(schedule, [schedule.network.label(node)]).delivered == 7


@pytest.mark.parametrize("where", ["hypercube:3", "fat-tree:2"])
def test_files_and_the_command_say_the_same(where, tmp_path):
    schedule = treecast.plan("alltoallv", where, lengths=random_demands(where), model="one-port")
    for to in ("text", "binary"):
        assert formats.decode(formats.encode(schedule, to)) == schedule
    flits = schedule.command.split("--lengths ")[1].split()[0]
    again = treecast.plan(
        "alltoallv", where, lengths=parse_lengths(network(where), flits, pairs=True), model="one-port"
    )
    assert again == schedule


def test_every_byte_arrives():
    demands = random_demands("hypercube:3", 4)
    schedule, received = treecast.plan("alltoallv", "hypercube:3", lengths=demands), dict[int, bytes]()
    data = np.random.default_rng(1).bytes(int(demands.sum()) * 3)
    assert len(run(schedule, data, take=received.__setitem__).intact) == 8
    cuts = 3 * np.append(0, np.cumsum(demands.reshape(-1)))
    for v in range(8):
        of = [u * 8 + v for u in range(8)]
        assert received[v] == b"".join(data[cuts[block] : cuts[block + 1]] for block in of)


def test_graphs_that_are_known_networks_and_repair():
    graph = nx.relabel_nodes(nx.hypercube_graph(3), lambda label: "x" + "".join(map(str, label)))
    where = network(graph)
    demands = random_demands("hypercube:3")
    schedule = treecast.plan("alltoallv", where, lengths=demands)
    assert np.array_equal(schedule.collective.lengths.flits.reshape(8, 8), demands)
    assert treecast.verify(schedule)
    mended = treecast.repair(schedule, dead_nodes=[5]).schedule
    keep = [v for v in range(8) if v != 5]
    assert np.array_equal(mended.collective.lengths.flits.reshape(7, 7), demands[np.ix_(keep, keep)])
    assert treecast.verify(mended)


def test_how_demands_are_written(tmp_path):
    where = network("path:3")
    (tmp_path / "some.csv").write_text("0,1,2  # of the first\n3;0;1\n\n0 0 9\n")
    np.save(tmp_path / "some.npy", np.array([[0, 1, 2], [3, 0, 1], [0, 0, 9]]))
    for name in ("some.csv", "some.npy"):
        found = parse_lengths(where, str(tmp_path / name), pairs=True)
        assert found.tolist() == [[0, 1, 2], [3, 0, 1], [0, 0, 9]]
    np.save(tmp_path / "halves.npy", np.ones((3, 3)) / 2)
    (tmp_path / "ragged.csv").write_text("0,1,2\n3\n")
    for name, words in (("halves.npy", "no matrix of whole numbers"), ("ragged.csv", "as many lengths in each line")):
        with pytest.raises(PlanError, match=words):
            parse_lengths(where, str(tmp_path / name), pairs=True)
    for lengths in ([1, 2], np.ones((2, 2), int)):
        with pytest.raises(PlanError, match="3 rows of 3"):
            treecast.plan("alltoallv", where, lengths=lengths)
    with pytest.raises(
        PlanError, match="star:15 has 1,307,674,368,000 nodes, and a length for each pair is for 32,768 nodes at most"
    ):
        treecast.bounds("alltoallv", "star:15", lengths=3)


def test_demands_of_ranks_alone():
    where = network("fat-tree:2")
    ranks = np.arange(where.rank_count**2).reshape(where.rank_count, -1) % 3
    schedule = treecast.plan("alltoallv", where, lengths=ranks)
    assert np.array_equal(
        schedule.collective.demands()[np.ix_(where.ranks, where.ranks)], ranks * (1 - np.eye(len(ranks)))
    )
    assert treecast.verify(schedule)
