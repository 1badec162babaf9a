"""Allgather of blocks of unequal length: over one port on complete networks, over all ports on any, in bytes, and on files."""

from itertools import combinations, pairwise, product
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.plans.test_unequal_allgather import least
from tests.plans.whole.one_port.oracle import replay
from treecast import simulate
from treecast.cli import main
from treecast.cli.lengths import parse_lengths
from treecast.errors import PlanError
from treecast.files import formats
from treecast.networks import network
from treecast.plans import builders, plan
from treecast.verification.verifier import verify

ROOT = Path(__file__).parents[3]


ANYWHERE = ["mesh:3x4", "hypercube:4", "petersen", "ring:7", "kautz:2,2", "tree:2,2", "star:4", "dragonfly:4,2"]


@pytest.mark.each(3)
@pytest.mark.parametrize("nodes", [8, 13, 33, 64])
@pytest.mark.parametrize(("model", "most"), [("one-port", 1.03), ("one-port,half", 1.15)])
def test_how_close_to_the_bound_lengths_to_100_come(nodes, model, most):
    lengths = np.random.default_rng(nodes).integers(0, 101, nodes)
    schedule = plan("allgatherv", f"complete:{nodes}", lengths=lengths, model=model)
    assert verify(schedule).holds
    assert schedule.steps <= most * least(f"complete:{nodes}", lengths, model=model)


def test_the_table_of_the_page():
    page = (ROOT / "docs/explanation/one-port.md").read_text()
    dice = parse_lengths(network("complete:64"), "random:100")
    for name, lengths in (
        ("one of 1000 flits, 63 of one", [1000] + [1] * 63),
        ("`--lengths random:100`", dice),
        ("10 flits each", [10] * 64),
    ):
        cells = list[str]()
        for model in ("one-port", "one-port,half"):
            steps = plan("allgatherv", "complete:64", lengths=lengths, model=model).steps
            cells.append(f"{steps} ({least('complete:64', lengths, model=model)})")
        straight = plan("allgatherv", "complete:64", lengths=lengths, model="one-port", builder="direct").steps
        assert f"| {name} | {' | '.join(cells)} | {straight} |" in page


@pytest.mark.each(5)
@pytest.mark.parametrize("spec", ANYWHERE)
def test_all_ports_meet_the_bound_or_nearly(spec):
    nodes = network(spec).nodes
    dice = np.random.default_rng(nodes)
    for lengths in (dice.integers(0, 10, nodes), np.full(nodes, 3), dice.integers(0, 300, nodes)):
        schedule = plan("allgatherv", spec, lengths=lengths)
        assert verify(schedule).holds
        assert schedule.steps <= least(spec, lengths) + 5
        assert schedule.transmissions == least(spec, lengths, "transmissions")


@pytest.mark.parametrize("spec", ["fat-tree:4", "fat-tree:2"])
def test_past_relays(spec):
    where = network(spec)
    for most in (4, 40):
        lengths = np.where(where.relays, 0, np.random.default_rng(most).integers(0, most, where.nodes))
        schedule = plan("allgatherv", where, lengths=lengths)
        assert verify(schedule).holds
        assert schedule.steps <= 1.1 * least(where, lengths)
    assert plan("allgatherv", where, lengths=2).steps == least(where, 2)
    with pytest.raises(PlanError, match="is a relay, which takes no part: its length is 0"):
        plan("allgatherv", where, lengths=[1] * where.nodes)


@given(st.data())
def test_any_graph_any_lengths(data):
    nodes = data.draw(st.integers(2, 9))
    tree = nx.random_labeled_tree(nodes, seed=data.draw(st.integers(0, 99))) if nodes > 2 else nx.path_graph(2)
    pairs = list(combinations(range(nodes), 2))
    tree.add_edges_from(data.draw(st.lists(st.sampled_from(pairs), max_size=nodes)))
    lengths = data.draw(st.lists(st.integers(0, 6), min_size=nodes, max_size=nodes))
    schedule = plan("allgatherv", tree, lengths=lengths)
    assert verify(schedule).holds
    assert verify(schedule, method="expanded").holds
    assert schedule.steps >= least(tree, lengths)
    assert simulate(schedule).holds


@pytest.mark.parametrize("kind", ["network", "space-time"])
def test_pictures(kind, tmp_path):
    schedule = plan("allgatherv", "mesh:3x3", lengths=[3, 0, 1, 4, 1, 5, 9, 2, 6])
    formats.save(schedule, tmp_path / "plan.tc")
    assert main(["draw", str(tmp_path / "plan.tc"), "--kind", kind, "-o", str(tmp_path / "plan.svg")]) == 0
    assert "31 flits in 9 messages, 1 of them null" in (tmp_path / "plan.svg").read_text()
    assert main(["draw", str(tmp_path / "plan.tc")]) == 0


def test_very_many_flits_go_in_streams_over_one_port():
    lengths = np.random.default_rng(1).integers(0, 30_000, 16)
    schedule = plan("allgatherv", "complete:16", lengths=lengths, model="one-port", builder="circulant")
    assert verify(schedule).holds
    assert len(schedule.rows) < 2**21
    assert schedule.steps <= 1.01 * least("complete:16", lengths, model="one-port")


ONE_PORT = ["one-port", "one-port,half", "one-port,combining", "one-port,combining,half"]


def held_in_the_end(schedule, *, half=False):
    """What each node holds in the end, by plain loops; chunks are numbered node by node."""
    sends = [send for step in schedule.expand() for send in as_sends(step)]
    ends = np.cumsum([0, *schedule.collective.lengths.flits.tolist()])
    start = [range(a, b) for a, b in pairwise(ends)]
    return replay(sends, start, half=half)


def as_sends(step):
    return [
        Send(step.step, *ends) for ends in zip(*(c.tolist() for c in (step.src, step.dst, step.chunk)), strict=True)
    ]


class Send:
    def __init__(self, step, src, dst, chunk):
        self.step, self.src, self.dst, self.chunk = step, src, dst, chunk


def planned_by_all(spec, lengths, model, copies=(1,)):
    """Yield a plan by each builder, of each number of parts and copies."""
    for entry in builders("allgatherv", network(spec)):
        for x in copies if model in entry.models else ():
            for parts in (1, 2, 5) if entry.options else (None,):
                more = {} if parts is None else {"parts": parts}
                if x <= entry.most(network(spec)):
                    yield plan("allgatherv", spec, lengths=lengths, model=model, builder=entry.name, copies=x, **more)


@pytest.mark.each(7)
@pytest.mark.parametrize("model", ONE_PORT)
@pytest.mark.parametrize("nodes", [1, 2, 3, 4])
def test_all_small_lengths_by_every_builder_and_every_judge(nodes, model):
    for lengths in product(range(4 if nodes < 4 else 3), repeat=nodes):
        for schedule in planned_by_all(f"complete:{nodes}", lengths, model):
            report = verify(schedule)
            assert report.holds, (lengths, schedule.recipe, report.violations)
            assert verify(schedule, method="expanded").holds
            assert schedule.transmissions == sum(lengths) * (nodes - 1)
            assert schedule.steps >= least(f"complete:{nodes}", lengths, model=model)
            if "combining" not in model:
                every = set(range(sum(lengths)))
                assert all(held == every for held in held_in_the_end(schedule, half="half" in model))


@pytest.mark.each(2)
@pytest.mark.parametrize(
    ("spec", "most", "ratio"),
    [("hypercube:7", 31, 1.05), ("star:5", 31, 1.05), ("torus:8x8", 301, 1.1), ("hypercube:8", 4, 1.1)],
)
def test_many_flits_of_many_nodes_go_in_streams(spec, most, ratio):
    lengths = np.random.default_rng(1).integers(0, most, network(spec).nodes)
    schedule = plan("allgatherv", spec, lengths=lengths)
    assert verify(schedule).holds
    assert (schedule.builder, schedule.steps <= ratio * least(spec, lengths)) == ("spread", True)
