"""Tokens and groups: each token goes once to each rank of its experts; a group's demand is that of its collective."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import treecast
from tests.strategies import examples
from treecast.collectives.demands import combine, dispatch, groups
from treecast.errors import PlanError

ROUTES = arrays.arrays(np.int64, st.tuples(st.integers(1, 8), st.integers(1, 4)), elements=st.integers(0, 11))


@examples(60)
@given(ROUTES)
def test_each_token_goes_once_to_each_rank(routing):
    own = np.arange(len(routing)) * 4 // len(routing)
    due = [(int(u), set((row // 3).tolist()) - {int(u)}) for u, row in zip(own, routing, strict=True)]
    found = [(parts[0][0], set(wants)) for _, parts, wants in dispatch(routing, 4, 3).classes()]
    assert found == [each for each in due if each[1]]
    twice = dispatch(routing, 4, 3, twice=True)
    assert twice.chunks == sum(int((row // 3 != u).sum()) for u, row in zip(own, routing, strict=True))
    tokens = [np.unique(row // 3) for row in routing]
    once = dispatch(np.array([np.resize(3 * each, 4) for each in tokens]), 4, 3)  # one expert of each rank, repeated
    assert once == dispatch(routing, 4, 3)


@examples(60)
@given(ROUTES)
def test_combine_is_dispatch_backwards(routing):
    own = np.arange(len(routing)) * 4 // len(routing)
    found = [({v for (v,) in parts}, wants) for _, parts, wants in combine(routing, 4, 3).classes()]
    due = [(set((row // 3).tolist()), (int(u),)) for u, row in zip(own, routing, strict=True)]
    assert found == [each for each in due if each[0] != set(each[1])]


@pytest.mark.parametrize(
    ("routing", "why"),
    [([0, 1], "tokens x experts of each"), ([[12]], "experts from 0 to 11"), ([[0.5]], "whole numbers")],
)
def test_what_is_no_routing(routing, why):
    with pytest.raises(PlanError, match=why):
        dispatch(routing, 4, 3)


@pytest.mark.parametrize("kind", ["allreduce", "allgather", "reduce-scatter", "alltoall", "broadcast", "gather"])
def test_one_group_of_all_takes_as_many_steps_as_its_collective(kind):
    alone = treecast.plan(kind, "ring:6", messages=2)
    both = treecast.plan(groups(f"{kind} tp", "tp6", 2), "ring:6")
    assert treecast.verify(both)
    assert both.steps <= alone.steps + 2


def test_groups_along_two_axes_are_one():
    assert groups("allgather tp.dp", "tp2,dp3") == groups("allgather tp", "tp6")


@pytest.mark.parametrize(
    ("text", "mesh", "messages", "why"),
    [
        ("allreduce", "tp2", 1, "write a collective and an axis"),
        ("allreduce xp", "tp2", 1, "xp is no axis of the mesh: there is tp"),
        ("allsum tp", "tp2", 1, "'allsum' is no collective"),
        ("scatterv tp", "tp2", 1, "scatterv is no collective of groups"),
        ("allreduce tp", "tp2", [1, 2], "1 collectives of groups have as many numbers of messages"),
    ],
)
def test_what_is_no_group(text, mesh, messages, why):
    with pytest.raises(PlanError, match=why):
        groups(text, mesh, messages)
