"""Patches: right on what is left of the network, and nothing that still arrives is moved."""

import itertools
import random
from dataclasses import replace

import pytest

import treecast
from treecast.collectives import Collective
from treecast.description import describe
from treecast.plans.after.differences import difference
from treecast.plans.after.patching import patched
from treecast.schedule import Schedule
from treecast.simulation.faults import parse_faults

JOBS = {
    "all-port": ("broadcast", "star:4", {"messages": 12}),
    "shouting": ("broadcast", "star:4", {"messages": 3, "model": "shouting", "builder": "disjoint-trees"}),
    "allgather": ("allgather", "star:4", {}),
    "many": ("broadcast", "complete:12", {"messages": 8}),
    "one-port": ("broadcast", "complete:12", {"messages": 8, "model": "one-port"}),
    "half": ("broadcast", "complete:12", {"messages": 3, "model": "one-port,half"}),
    "in turns": ("allgather", "complete:12", {"messages": 2, "model": "one-port"}),
    "doubling": ("allgather", "complete:12", {"model": "one-port,combining"}),
    "relays": ("broadcast", "fat-tree:4", {"messages": 4}),
    "scatter": ("scatter", "star:4", {"messages": 3}),
    "gather": ("gather", "torus:4x4", {"messages": 3}),
    "alltoall": ("alltoall", "star:4", {}),
    "scatter one by one": ("scatter", "complete:12", {"messages": 2, "model": "one-port"}),
    "exchange": ("alltoall", "hypercube:4", {"model": "shouting"}),
    "scatter past relays": ("scatter", "fat-tree:4", {}),
    "one partner": ("broadcast", "complete:8", {"messages": 4, "model": "one-port,partner"}),
    "whispering": ("allgather", "torus:4x4", {"model": "whispering"}),
    "whispering scatter": ("scatter", "torus:4x4", {"messages": 3, "model": "whispering"}),
    "all at once": ("alltoall", "torus:4x4", {"model": "shouting"}),
    "half links": ("alltoall", "mesh:3x3", {"model": "all-port,half"}),
    "one way": ("broadcast", "debruijn:2,4", {"messages": 4}),
}


def planned(name: str) -> Schedule:
    kind, spec, how = JOBS[name]
    return treecast.plan(kind, spec, **how)


def sets_of_faults(schedule: Schedule, most: int) -> list[tuple[list[int], list[str]]]:
    """Return all sets of so many dead nodes and cut links, without the root."""
    where = schedule.network
    root = -1 if schedule.collective.all_source else schedule.collective.root
    nodes = [v for v in range(where.nodes) if v != root]
    links = [f"{where.label(u)}-{where.label(v)}" for u in range(where.nodes) for v in where.neighbors(u) if u < v]
    every = [(v, None) for v in nodes] + [(None, link) for link in links]
    return [
        ([v for v, _ in some if v is not None], [link for _, link in some if link is not None])
        for count in range(1, most + 1)
        for some in itertools.combinations(every, count)
    ]


@pytest.mark.parametrize("name", ["all-port", "shouting", "allgather", "one-port", "doubling"])
def test_what_arrives_without_help_is_kept_and_only_the_rest_is_sent_anew(name: str) -> None:
    before = planned(name)
    where = before.network
    for dead in range(1, where.nodes, 5):
        trace = treecast.simulate(before, parse_faults(where, [where.label(dead)]))
        found = patched(before, where.without(nodes=[dead]))
        assert found is not None
        missing = sum(stop - first for _, first, stop in trace.lost)
        assert missing
        assert set(found.schedule.network.labels(found.hearing)) == {where.label(node) for node, _, _ in trace.lost}
        ranks, messages = found.schedule.network.nodes, before.collective.messages
        sources = ranks if before.collective.all_source else 1
        assert found.schedule.transmissions == sources * messages * (ranks - 1)  # nobody gets anything twice


@pytest.mark.slow
def test_a_patch_is_as_good_as_was_measured() -> None:
    """Every single dead node of star:5, 12 messages: 10 steps become 11 at most."""
    before = treecast.plan("broadcast", "star:5", messages=12, builder="disjoint-trees")
    where = before.network
    steps = [patched(before, where.without(nodes=[dead])).schedule.steps for dead in range(1, 120, 3)]
    assert (before.steps, max(steps)) == (10, 11)
    assert sum(steps) / len(steps) < 10.4


def test_targets_alone_get_what_they_want() -> None:
    """Of a multicast, what nobody wants and nobody sends on is not sent; other nodes pass on what targets lack."""
    ring = treecast.plan("broadcast", "ring:6", messages=2, builder="breadth-first-tree")
    around = replace(ring, collective=Collective("multicast", 6, 2, targets=(2,)), claims=None)
    found = patched(around, around.network.without(nodes=[1]))
    assert found is not None
    assert treecast.verify(found.schedule)
    assert set(found.schedule.network.labels(found.hearing)) <= {"2", "3"}


@pytest.mark.parametrize("kind", ["reduce", "reduce-broadcast", "allreduce"])
def test_sums_are_not_patched(kind: str) -> None:
    before = treecast.plan(kind, "star:4")
    assert patched(before, before.network.without(nodes=[3])) is None


def test_lost_chunks_of_a_scatter_come_as_early_as_they_can() -> None:
    """On a ring without a link, what went over it takes the three arcs the other way round, behind two chunks that go there."""
    before = treecast.plan("scatter", "ring:5")
    found = patched(before, before.network.without(links=["1-2"]))
    assert found is not None
    assert treecast.verify(found.schedule)
    assert (before.steps, found.schedule.steps, found.hearing.tolist()) == (2, 5, [2, 3, 4])


def test_copies_are_not_patched() -> None:
    before = treecast.plan("broadcast", "star:4", survive=1)
    assert patched(before, before.network.without(nodes=[3])) is None


def test_a_patch_is_taken_unless_a_new_plan_takes_fewer_steps() -> None:
    before = planned("one-port")
    found = treecast.repair(before, dead_nodes=[3], cut_links=["1-2"])
    patch = patched(before, before.network.without(nodes=["3"], links=["1-2"]))
    assert patch is not None
    assert found.schedule.steps <= patch.schedule.steps
    assert found.patched == (found.schedule.steps == patch.schedule.steps)
    assert treecast.verify(found.schedule)
    said = describe(found)
    assert said.lines["kept"] == f"{found.difference.kept} of {len(before.rows)} rows"
    assert sum(said.figures[name] for name in ("kept", "moved", "new")) == len(found.schedule)


def test_sizes_stay_through_a_repair() -> None:
    before = treecast.plan("broadcast", "star:4", bytes="1MiB", latency="1us", rate="1GB/s")
    for faults in ({"dead_nodes": [5]}, {"cut_links": ["1234-2134"]}):
        assert treecast.repair(before, **faults).schedule.sizes == before.sizes is not None


SWEPT = ["all-port", "allgather", "many", "one-port", "scatter"]


@pytest.mark.slow
@pytest.mark.each(5)
@pytest.mark.parametrize("name", JOBS)
def test_patches_are_right_and_keep_rows(name: str) -> None:
    before = planned(name)
    where, rng = before.network, random.Random(name)
    for dead in rng.sample([int(v) for v in where.ranks[1:]], 5):
        left = where.without(nodes=[dead])
        found = patched(before, left)
        assert found is not None
        assert treecast.verify(found.schedule)
        assert difference(before, found.schedule).kept > 0


@pytest.mark.slow
@pytest.mark.parametrize("name", SWEPT)
def test_repairs_of_some_sets_of_two_faults_verify(name: str) -> None:
    before = planned(name)
    for nodes, links in random.Random(1).sample(sets_of_faults(before, 2), 3):
        assert treecast.verify(treecast.repair(before, dead_nodes=nodes, cut_links=links).schedule)


@pytest.mark.long
@pytest.mark.parametrize("name", SWEPT)
def test_repairs_of_all_sets_of_two_faults_verify(name: str) -> None:
    before = planned(name)
    for nodes, links in sets_of_faults(before, 2):
        assert treecast.verify(treecast.repair(before, dead_nodes=nodes, cut_links=links).schedule), (nodes, links)
