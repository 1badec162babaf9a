"""Scatters and gathers without buffers: optimal where the paper says so, and right by a simulator that moves single flits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles.bufferless import faults
from tests.strategies import examples
from tests.tree_cases import MODELS, SHAPES, cases, network_of, on_path, schedules
from treecast import plan, verify
from treecast.errors import PlanError
from treecast.papers.trees.builders import one_tree
from treecast.plans.times.certificates import certificates
from treecast.plans.ways.trees.spanning import breadth_first

# --- Theorem 1 ---


@examples(50)
@given(cases(most=12), st.sampled_from(one_tree.ORDERS), st.sampled_from(MODELS))
def test_no_order_is_faster_and_all_are_right(case, first, model):
    parents, root, lengths = case
    where = network_of(parents)
    best, other = (
        plan("scatterv", where, root=root, lengths=lengths, model=model, first=which) for which in ("farthest", first)
    )
    assert verify(other)
    assert not faults(other)
    assert best.steps <= other.steps


@examples(50)
@given(cases(most=12), st.sampled_from(MODELS))
def test_the_ideal_gather_takes_as_long_as_the_scatter(case, model):
    parents, root, lengths = case
    where = network_of(parents)
    there, back = (
        plan(kind, where, root=root, lengths=lengths, model=model, builder=builder)
        for kind, builder in (("scatterv", "farthest-first"), ("gatherv", "nearest-first"))
    )
    assert there.steps == back.steps


# --- Theorem 2 ---


def least_gather(lengths, steps, one_port=True):
    """Whether start times exist by which all data of a path is at its end in fewer steps; a set of taken ports and steps.

    Node i is woken in step i-1, and unless it is the last its one port is taken by passing that on in step i.
    """
    count = len(lengths)
    taken = {(i, i) for i in range(1, count)} if one_port else set()

    def fits(i, used):
        if i == 0:
            return True
        earliest = i if i == count or not one_port else i + 1
        if not lengths[i - 1]:
            return fits(i - 1, used)
        for begin in range(earliest, steps - lengths[i - 1] - i + 1):
            mine = {(v, begin + i - v + c) for v in range(1, i + 1) for c in range(lengths[i - 1])}
            if not mine & used and fits(i - 1, used | mine):
                return True
        return False

    return sum(lengths) > 0 and fits(count, taken)


def data_steps(schedule):
    rows = schedule.rows
    return int((rows.step + rows.steps)[rows.chunks_sent > 0].max(initial=0))


def assert_no_earlier(lengths):
    for model in MODELS:
        schedule = on_path(lengths, model)
        steps, one_port = data_steps(schedule), model == "bufferless"
        assert not faults(schedule)
        assert not least_gather(lengths, steps, one_port)
        assert steps == 0 or least_gather(lengths, steps + 1, one_port)  # the search does find what is there


# --- Theorem 3 ---


def assert_in_time(case):
    """The bounds of phases, of both ways to collect, and over many ports."""
    parents, root, lengths = case
    tree, flits = breadth_first(network_of(parents), root), np.array(lengths)
    flits[root] = 0
    total, height, count = int(flits.sum()), tree.height, len(lengths)
    slots, walk, multiport = (
        certificates(tree, flits, ports, collect)
        for ports, collect in (("one", "slots"), ("one", "walk"), ("all", "slots"))
    )
    assert slots.rest == walk.rest <= max(0, total + slots.tokens + height - 1) if total else slots.rest == 0
    assert slots.done + 1 == slots.tokens + slots.collection <= walk.done + 1 == 2 * (count - 1)
    assert slots.tokens >= height
    branch = np.bincount(tree.branch, flits).max(initial=0)
    assert (multiport.tokens, multiport.collection) == (height, height)
    assert multiport.rest <= (branch + 2 * height - 1 if total else 0)
    assert multiport.done + multiport.rest <= slots.done + slots.rest
    return slots.done + 1 + slots.rest


@pytest.mark.each(7)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("length", [0, pytest.param(1, marks=pytest.mark.long), 7])
def test_shapes(shape, length):
    parents = SHAPES[shape]
    for root in {0, len(parents), len(parents) // 2}:
        for only in (None, len(parents)):
            lengths = [length if only in (None, v) else 0 for v in range(len(parents) + 1)]
            assert_in_time((parents, root, lengths))
            for schedule in schedules((parents, root, lengths)):
                assert verify(schedule)
                assert not faults(schedule)


def test_a_path_has_no_ends_in_its_middle():
    with pytest.raises(PlanError, match="path"):
        plan("gatherv", "path:5", root=2, lengths=1, model="bufferless", builder="shoulder-tap")


@pytest.mark.parametrize("nodes", [1000, pytest.param(100_000, marks=pytest.mark.long)])
def test_shoulder_tap_on_a_very_long_path(nodes):
    """Behind messages of one flit there are gaps, too many to write down; behind longer ones there are none."""
    with pytest.raises(PlanError, match="4,999,850,002 runs of flits on the arcs of path:100000 are too many"):
        plan("gatherv", "path:100000", lengths=1, model="bufferless", builder="shoulder-tap")
    schedule = plan("gatherv", f"path:{nodes}", lengths=2, model="bufferless", builder="shoulder-tap")
    assert schedule.steps == 2 * nodes


# --- wrong ones ---
