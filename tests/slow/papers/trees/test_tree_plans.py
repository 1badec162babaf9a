"""Scatters and gathers without buffers: optimal where the paper says so, and right by a simulator that moves single flits."""

from dataclasses import replace
from itertools import product
from pathlib import Path

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles.bufferless import faults
from tests.papers.trees.test_tree_plans import (
    assert_in_time,
    assert_no_earlier,
    data_steps,
)
from tests.strategies import examples
from tests.tree_cases import MODELS, ON_PATHS, WAYS, cases, changed, network_of, on_path, schedules, with_rows
from treecast import plan, verify
from treecast.cli.lengths import parse_lengths
from treecast.errors import ScheduleError
from treecast.networks import network
from treecast.networks.wired import graph_from
from treecast.papers.trees.builders import one_tree
from treecast.plans.ways.trees.spanning import breadth_first
from treecast.schedule.kernels.streams import shoulder_taps


@pytest.mark.parametrize(("count", "longest"), [(1, 4), (2, 4), (3, 3), (4, 2)])
def test_shoulder_tap_is_optimal(count, longest):
    for lengths in product(range(longest + 1), repeat=count):
        assert_no_earlier(lengths)


@given(st.lists(st.one_of(st.just(0), st.integers(0, 9)), min_size=1, max_size=39))
def test_shoulder_tap_on_any_path(lengths):
    for _, model, _ in ON_PATHS:
        schedule = on_path(lengths, model)
        path, flits = breadth_first(schedule.network, 0), schedule.collective.lengths.flits
        start = shoulder_taps(path.order, flits, int(schedule.model.ports == "one"))
        assert one_tree._count_runs(path, start, flits) == int((~schedule.rows.control).sum())
        assert verify(schedule)
        assert not faults(schedule)
    if sum(lengths):  # certificates take twice the path more, or a step less where the last have nothing
        told = on_path(lengths, builder="transmission-certificate")
        assert told.steps - data_steps(on_path(lengths)) in (2 * len(lengths), 2 * len(lengths) - 1)


@examples(80)
@given(cases())
def test_every_way_is_right_and_in_time(case):
    steps = assert_in_time(case)
    for schedule in schedules(case):
        report = verify(schedule)
        assert report, report.violations
        assert not faults(schedule)
    assert next(schedules(case, [("gatherv", MODELS[0], {"collect": "slots"})])).steps == steps


def test_the_table_of_spanning_trees_in_the_docs():
    """B and the steps of a gather of lengths ``random:3``, by the tree."""
    networks = [
        "complete:64",
        graph_from(nx.wheel_graph(20)),
        graph_from(nx.barabasi_albert_graph(200, 3, seed=0)),
        "star:5",
        "hypercube:8",
    ]
    page = (Path(__file__).parents[4] / "docs/explanation/trees.md").read_text()
    begin = page.index("| network | breadth-first | broadcast-time | best |")
    rows = [line.strip("| ").split(" | ") for line in page[begin:].splitlines()[2 : 2 + len(networks)]]
    for where, row in zip(map(network, networks), rows, strict=True):
        found = [
            _b_and_steps(where, parse_lengths(where, "random:3", 0), tree)
            for tree in ("breadth-first", "broadcast-time", "best")
        ]
        assert found == row[1:], row[0]


def _b_and_steps(where, lengths, tree):
    schedule = plan("gatherv", where, lengths=lengths, model="bufferless", tree=tree)
    rows = schedule.rows
    first = {}  # in which step each node hears first: that is its token
    for step, dst in zip(rows.step[rows.control].tolist(), rows.dst[rows.control].tolist(), strict=True):
        first[dst] = min(step, first.get(dst, step))
    del first[schedule.collective.root]
    return f"{max(first.values()) + 1} / {schedule.steps}"


MUTATED = [
    (WAYS[0], [0, 0, 1, 1], [0, 2, 1, 0, 3]),
    (WAYS[1], [0, 0, 1, 1], [0, 2, 1, 0, 3]),
    (WAYS[2], [0, 0, 1], [0, 2, 1, 3]),
    (WAYS[3], [0, 0, 1, 1], [0, 1, 0, 2, 2]),
    (WAYS[4], [0, 0, 1, 1], [0, 0, 1, 2, 2]),
    (WAYS[6], [0, 0, 1, 1, 2], [0, 2, 1, 0, 3, 2]),
    (WAYS[7], [0, 0, 1, 1, 2], [0, 2, 1, 0, 3, 2]),
    (ON_PATHS[0], [0, 1, 2], [0, 2, 0, 3]),
    (ON_PATHS[1], [0, 1, 2], [0, 1, 2, 2]),
]


@pytest.mark.each(7)
@pytest.mark.parametrize("claimed", [True, False])
@pytest.mark.parametrize(
    "way", MUTATED, ids=lambda way: " ".join(map(str, [way[0][0], way[0][1], *way[0][2].values()]))
)
def test_the_verifier_says_what_the_simulator_says(way, claimed):
    (kind, model, options), parents, lengths = way
    schedule = plan(kind, network_of(parents), lengths=lengths, model=model, **options)
    assert verify(schedule)
    assert not faults(schedule)
    refused = right = 0
    for name, rows in changed(schedule):
        try:
            other = with_rows(schedule if claimed else replace(schedule, claims=None), rows)
        except ScheduleError:
            refused += 1
            continue
        said = faults(other)
        assert bool(verify(other)) == (not said), (name, rows, said)
        refused += bool(said)
        right += not said
    assert refused > 4 * right
