"""Gathers by certificates over covers, and scatters and gathers over trees that share arcs: the paper's section 4."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.plans.ways.trees.test_spanning import graphs
from tests.strategies import examples
from treecast import plan
from treecast.errors import PlanError
from treecast.lower_bounds import best
from treecast.networks import network
from treecast.papers.trees.builders.overlapping import _first_gap
from treecast.verification.verifier import verify

MANY = "bufferless-multiport"
SPECS = [
    "mesh:2x3",
    "mesh:4x4",
    "torus:3x3",
    "hypercube:3",
    "hypercube:4",
    "petersen",
    "star:4",
    "complete:5",
    "tree:2,3",
    "path:4",
]


def judged(schedule):
    for method in ("fast", "expanded"):
        report = verify(schedule, method=method)
        assert report.holds, report.violations
    assert schedule.steps >= best(list(report.bounds), "steps").value
    return schedule.steps


@examples(60)
@given(st.sampled_from(SPECS), st.randoms(use_true_random=False))
def test_both_judges_take_them_and_no_bound_is_above(spec, chance):
    where = network(spec)
    root = chance.randrange(where.nodes)
    flits = [chance.choice([0, 1, 1, 3, 9]) * (v != root) for v in range(where.nodes)]
    how = {"lengths": flits, "root": root, "model": MANY}
    for collect in ("slots", "walk"):
        judged(plan("gatherv", where, builder="certified-cover", collect=collect, **how))
    there = judged(plan("scatterv", where, builder="overlapping-trees", **how))
    assert there == judged(plan("gatherv", where, builder="overlapping-trees", **how))
    assert there <= sum(flits) + where.diameter  # one after the other would do


@examples(30)
@given(graphs(), st.lists(st.integers(0, 12), min_size=24, max_size=24))
def test_on_random_graphs(drawn, lengths):
    where, root = drawn
    flits = [length * (v != root) for v, length in enumerate(lengths[: where.nodes])]
    for kind, builder in (
        ("gatherv", "certified-cover"),
        ("scatterv", "overlapping-trees"),
        ("gatherv", "overlapping-trees"),
    ):
        judged(plan(kind, where, root=root, lengths=flits, model=MANY, builder=builder))


def test_certificates_over_two_trees_are_faster_than_over_one():
    """45 flits come in by two links of the root, not one."""
    one, two = (
        plan("gatherv", "mesh:4x4", lengths=3, model=MANY, builder=builder)
        for builder in ("transmission-certificate", "certified-cover")
    )
    assert (one.steps, two.steps) == (49, 37)
    assert plan("gatherv", "mesh:4x4", lengths=3, model=MANY).steps == 37


def test_who_is_told_on_one_tree_may_not_begin_on_the_other():
    """Without the orders of tree 1 its data leaves too early for both judges."""
    schedule = plan("gatherv", "mesh:4x4", lengths=3, model=MANY, builder="certified-cover")
    rows = schedule.rows
    last = max(np.flatnonzero(rows.control & (rows.tree == 1)), key=lambda row: rows.step[row])
    for keep in (np.arange(len(rows)) != last, ~(rows.control & (rows.tree == 1))):
        wrong = replace(schedule, rows=rows.take(np.flatnonzero(keep)), claims=None)
        for method in ("fast", "expanded"):
            assert verify(wrong, method=method).counts["told"]


def test_trees_that_share_arcs_can_be_faster_than_a_cover():
    """On the Petersen graph: a cover takes two steps more than the bound, which trees that share arcs meet."""
    lengths = [0, 2, 9, 1, 4, 1, 7, 7, 7, 6]
    steps = {
        b: plan("scatterv", "petersen", lengths=lengths, model=MANY, builder=b).steps
        for b in ("cover", "overlapping-trees")
    }
    assert steps == {"cover": 17, "overlapping-trees": 15}
    assert plan("scatterv", "petersen", lengths=lengths, model=MANY).steps == 15


@given(st.integers(0, 2**40), st.integers(1, 12))
def test_the_first_gap(taken, length):
    bits = [taken >> i & 1 for i in range(64)]
    assert _first_gap(taken, length) == next(i for i in range(64) if not any(bits[i : i + length]))


def test_relays_are_refused():
    with pytest.raises(PlanError, match="networks without relays"):
        plan("scatterv", "fat-tree:4", lengths=1, model=MANY, builder="overlapping-trees")
