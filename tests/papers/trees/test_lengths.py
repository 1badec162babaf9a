"""Lengths of messages as plans take them, and what is said of those that are none."""

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest

from treecast.errors import PlanError
from treecast.plans import plan
from treecast.verification.verifier import verify


@pytest.mark.parametrize(
    "lengths",
    [2, np.int64(2), [0, 2, 2], (9, 2, 2), np.array([0, 2, 2], np.uint8), {0: 0, 1: 2, 2: 2}, {"1": 2, "2": 2}],
)
def test_lengths_in_every_form(lengths):
    schedule = plan("scatterv", "path:3", lengths=lengths)
    assert schedule.collective.lengths.flits.tolist() == [0, 2, 2]
    assert verify(schedule)


@pytest.mark.parametrize(
    ("lengths", "said"),
    [
        ([0, 1], "3 nodes"), ([0, 1.5, 2], "whole numbers"), ("abc", "whole numbers"), ([0, -1, 2], "from 0"),
        ([-5, 1, 1], "from 0"), ([2**62] * 3, "too large"),
        ({1: 2}, "node 2 has no length"), ({1: 2, "1": 3, 2: 0}, "two lengths"), ({1: -1, 2: 0}, "no length"),
        ([0, 2**30, 2**30], "together"), (None, "needs lengths"), (np.array([0, 1, 2**63], np.uint64), "too large"),
    ],
)  # fmt: skip
def test_lengths_that_are_none(lengths, said):
    with pytest.raises(PlanError, match=said):
        plan("scatterv", "path:3", lengths=lengths)


def test_names_that_are_numbers():
    graph = nx.Graph([(5, 3), (3, 4)])
    schedule = plan("scatterv", graph, root=5, lengths={5: 0, 3: 1, 4: 2})
    assert schedule.network.label(schedule.collective.root) == "5"
    assert schedule.collective.lengths.flits.tolist() == [0, 1, 2]
    mixed = nx.Graph([(2, 1), (1, 0)])
    for job in ({"root": 2, "lengths": 1}, {"root": "1", "lengths": {2: 9, 1: 1, 0: 4}}):
        with pytest.raises(PlanError, match="the number of another"):
            plan("scatterv", mixed, **job)
    assert plan("scatterv", mixed, root="2", lengths={"2": 0, "1": 1, "0": 4}).collective.lengths.flits.tolist() == [
        0,
        1,
        4,
    ]


def test_targets_in_every_form():
    for targets in ([3, 4], np.array([3, 4]), ("1,0", "1,1"), iter([3, 4])):
        assert plan("multicast", "mesh:3x3", targets=targets, model="wormhole").collective.targets == (3, 4)
    for targets in (4, "4", "12"):
        with pytest.raises(PlanError, match="several nodes"):
            plan("multicast", "mesh:3x3", targets=targets, model="wormhole")


def test_a_message_that_is_not_divided_has_one_copy():
    schedule = replace(plan("scatterv", "path:4", lengths=2), copies=2)
    for method in ("fast", "expanded"):
        assert verify(schedule, method=method).counts["copies"]
