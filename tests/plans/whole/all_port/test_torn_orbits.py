"""Alltoalls and allgathers where cables are dead: the orbit of the whole network, and what stands alone behind it, judged."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import treecast
from tests.networks.test_alike import graph_of
from tests.strategies import examples
from treecast.errors import FormatError, PlanError, ScheduleError
from treecast.networks.arcs import arcs_of
from treecast.schedule import Rows

SMALL = [
    "fat-tree:4",
    "fat-tree:8",
    "leaf-spine:4,2,2",
    "leaf-spine:4,3,6",
    "dragonfly:4,2,2",
    "dragonfly:2,1,2",
    "slim-fly:5",
    "slim-fly:5,1",
    "rails:dgx-h100,2,4",
    "hypercube:5",
    "torus:4x5",
    "star:4",
]


@st.composite
def torn(draw, specs=tuple(SMALL)):
    """A network of a family without 1 to 3 of its links, some of them one way only, on which all ranks reach all others."""
    whole = treecast.network(draw(st.sampled_from(specs)))
    arcs = arcs_of(whole)
    some = st.integers(0, len(arcs.tail) - 1)
    sign = draw(st.sampled_from("--->"))
    ends = [(arcs.tail[arc], arcs.head[arc]) for arc in draw(st.lists(some, min_size=1, max_size=3))]
    cable = "#0" if whole.parallel_arcs else ""
    left = whole.without(links=[f"{whole.label(int(u))}{sign}{whole.label(int(v))}{cable}" for u, v in ends])
    assume(left.connected and left.symmetric is whole)
    return left


@pytest.mark.slow
@given(st.sampled_from(["alltoall", "allgather"]), torn(), st.sampled_from([1, 1, 3]))
@examples(100, deadline=None)
def test_what_is_planned_beside_dead_links_is_right(kind, where, messages):
    schedule = treecast.plan(kind, where, messages=messages, builder="orbits")
    every, report = schedule.plain(), treecast.verify(schedule)
    assert report.holds
    assert report.method == "by symmetry"
    assert treecast.verify(every).holds
    assert (every.steps, every.transmissions) == (schedule.steps, schedule.transmissions)
    assert schedule.steps >= max(bound.value for bound in report.bounds if bound.of == "steps")
    if every.transmissions < 30_000:
        assert treecast.verify(schedule, method="expanded").holds
        assert treecast.simulate(schedule).delivered == where.rank_count
    for node in {0, where.nodes // 2, where.nodes - 1}:
        assert set(iter(schedule.at(node))) == set(iter(every.at(node)))


@pytest.mark.parametrize("kind", ["alltoall", "allgather"])
@pytest.mark.parametrize(
    ("spec", "links"),
    [
        ("star:4", ["2413-1423", "1423-4123"]),
        ("hypercube:4", ["0000-0001", "0000-0010", "0000-0100"]),
        ("torus:4x5", ["0,0-0,1", "0,0-0,4", "0,0-1,0"]),
    ],
)
def test_a_node_that_is_left_one_link_still_sends_what_was_to_take_the_others(kind, spec, links):
    where = treecast.network(spec).without(links=links)
    for messages in (1, 3):
        schedule = treecast.plan(kind, where, messages=messages, builder="orbits")
        assert treecast.verify(schedule).holds
        assert treecast.verify(schedule, method="expanded").holds


@given(
    st.sampled_from(["alltoall", "allgather"]),
    torn(("fat-tree:4", "leaf-spine:4,2,2", "dragonfly:2,1,2", "hypercube:3")),
    st.integers(0, 1 << 30),
)
@example(
    "allgather", treecast.network("hypercube:3 without links 0b000>0b001"), 7600
)  # nothing is cut off, and a row stands alone
@examples(200, deadline=None)
def test_nothing_wrong_is_said_to_be_right(kind, where, seed):
    schedule, chance = treecast.plan(kind, where, builder="orbits"), np.random.default_rng(seed)
    assume(schedule.alone)
    columns = {name: column.copy() for name, column in schedule.rows.columns().items()}
    standing = np.arange(len(schedule.rows)) >= len(schedule.rows) - schedule.alone
    some = (chance.random(len(standing)) < chance.choice([0, 0.05, 0.3])) & (standing == chance.integers(2))
    some[chance.integers(len(some))] |= seed % 3 == 0
    before = schedule.base.steps
    other = np.where(
        standing, chance.integers(before, schedule.steps, len(some)), chance.integers(0, before, len(some))
    )
    columns["step"][some] = other[some]
    kept, alone = np.ones(len(some), np.bool_), schedule.alone
    if seed % 4 == 0:
        kept[chance.integers(len(some))] = False
        alone = int(np.count_nonzero(kept & standing))
    rows = Rows.of(schedule.rows.payloads, **{name: column[kept] for name, column in columns.items()})
    try:
        found = replace(schedule, rows=rows, alone=alone, claims=None)
    except ScheduleError:  # what stands alone would begin before the orbit has ended
        return
    if treecast.verify(found).holds:
        assert treecast.verify(found.plain()).holds
        assert treecast.verify(found, method="expanded").holds


@pytest.mark.parametrize("suffix", ["tc", "tcb"])
@pytest.mark.parametrize("kind", ["alltoall", "allgather"])
@pytest.mark.parametrize(
    "spec", ["fat-tree:4 without links edge-0.0-aggregation-0.0", "hypercube:4 without links 0b0000-0b0001"]
)
def test_a_file_says_what_stands_alone(kind, spec, suffix, tmp_path):
    schedule = treecast.plan(kind, spec, builder="orbits")
    assert schedule.alone
    treecast.save(schedule, tmp_path / f"plan.{suffix}")
    again = treecast.load(tmp_path / f"plan.{suffix}")
    assert again == schedule
    assert again.alone == schedule.alone
    assert treecast.verify(again).holds


def test_a_graph_holds_its_plan_and_it_is_found_again(tmp_path):
    whole = treecast.network("fat-tree:4")
    left = treecast.network(graph_of(whole.without(links=["edge-0.0-aggregation-0.0"]), 3))
    schedule = treecast.plan("alltoall", left, builder="orbits")
    treecast.save(schedule, tmp_path / "plan.tc")
    again = treecast.load(tmp_path / "plan.tc")
    assert schedule.alone
    assert treecast.verify(again).holds
    assert again.rows == schedule.rows


@pytest.mark.parametrize(
    ("word", "why"), [("alone 500", "stand alone"), ("alone 150", "stand alone"), ("alone 5", "chunk")]
)
def test_a_file_with_another_number_is_refused(word, why, tmp_path):
    schedule = treecast.plan("alltoall", "fat-tree:4 without links edge-0.0-aggregation-0.0", builder="orbits")
    treecast.save(schedule, tmp_path / "plan.tc")
    _, *lines = (tmp_path / "plan.tc").read_text().splitlines(keepends=True)
    text = "".join(["treecast 2\n", *(line for line in lines if not line.startswith("digest"))])
    (tmp_path / "other.tc").write_text(text.replace(f"alone {schedule.alone}", word))
    with pytest.raises(FormatError, match=why):
        treecast.verify(treecast.load(tmp_path / "other.tc"))


def test_rows_stand_alone_beside_an_orbit_only():
    plain = treecast.plan("alltoall", "fat-tree:4")
    for wrong in (plain, plain.plain()):
        with pytest.raises(ScheduleError, match="stand alone"):
            replace(wrong, alone=1)


def test_rows_are_not_picked_where_they_hang_together():
    schedule = treecast.plan("alltoall", "fat-tree:4 without links edge-0.0-aggregation-0.0", builder="orbits")
    with pytest.raises(ScheduleError, match=r"plain\(\)"):
        schedule.select(slice(0, 3))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["reduce-scatter", "allreduce"])
def test_sums_are_no_orbits_where_arcs_are_gone(kind):
    where = treecast.network("fat-tree:4 with relays-add yes without links edge-0.0-aggregation-0.0")
    assert treecast.verify(treecast.plan(kind, where)).holds
    with pytest.raises(PlanError, match="orbits"):
        treecast.plan(kind, where, builder="orbits")
