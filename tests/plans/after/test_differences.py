"""Differences: every row of two plans is kept, moved, new or gone, and whoever is not named has the same rows as before."""

import networkx as nx
import pytest

import treecast
from treecast.errors import PlanError
from treecast.networks import network
from treecast.plans.after.differences import difference


def parts(schedule):
    """What each node sends and receives, by label, send by send."""
    label = schedule.network.label
    found = {label(v): [] for v in schedule.network}
    for send in schedule:
        row = (send.step, label(send.src), label(send.dst), send.chunk)
        found[row[1]].append(row)
        found[row[2]].append(row)
    return {name: sorted(rows) for name, rows in found.items()}


@pytest.mark.parametrize("seed", range(6))
def test_who_is_told_has_another_part(seed):
    graph = nx.random_regular_graph(3, 12, seed=seed)
    before = treecast.plan("broadcast", network(graph), messages=3, builder="breadth-first-tree")
    after = treecast.plan("broadcast", network(graph), messages=3, builder="packed-trees")
    found = difference(before, after)
    assert found.kept + found.moved + found.new == len(after.rows)
    assert found.kept + found.moved + found.gone == len(before.rows)
    old, new = parts(before), parts(after)
    assert set(found.told) >= {name for name in new if new[name] != old[name]}
    assert difference(before, before).told == () == difference(after, after).told


def test_rows_that_only_move_are_told_from_new_ones():
    before = treecast.plan("broadcast", "path:4", messages=2)
    rows = before.rows
    later = treecast.Schedule(
        before.network,
        before.collective,
        before.model,
        treecast.Rows.of(rows.payloads, **rows.columns() | {"step": rows.step + (rows.dst == 3)}),
    )
    found = difference(before, later)
    assert (found.kept, found.moved, found.new, found.gone, found.told) == (2, 1, 0, 0, ("2", "3"))


def test_plans_of_different_collectives_are_refused():
    with pytest.raises(PlanError, match="have nothing in common"):
        difference(treecast.plan("broadcast", "ring:5"), treecast.plan("scatter", "ring:5"))


@pytest.mark.parametrize(
    ("kind", "spec", "one", "other"),
    [
        ("allgather", "hypercube:3", {}, {"builder": "orbits"}),
        ("allgather", "complete:5", {}, {"copies": 2}),
        ("alltoall", "ring:5", {}, {"messages": 2}),
        ("allgather", "star:4", {}, {}),
    ],
)
def test_who_is_told_of_an_orbit_counts_the_data_of_all_nodes(kind, spec, one, other):
    before, after = (treecast.plan(kind, spec, **asked) for asked in (one, other))
    assert before.orbit
    assert after.orbit
    old, new = parts(before.plain()), parts(after.plain())
    assert set(difference(before, after).told) == {name for name in new if new[name] != old[name]}
