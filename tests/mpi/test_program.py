"""What one rank does: both ends of a link find the same messages with the same tags, without MPI."""

import numpy as np
import pytest

from treecast import plan, verify
from treecast.errors import PlanError
from treecast.execute.mpi.choose import check_survive, network_of, relayed
from treecast.execute.mpi.program import lanes_of
from treecast.faults import sweep

JOBS = [
    ("broadcast", "star:4", {"messages": 7, "survive": 2}), ("scatter", "star:4", {"messages": 2, "survive": 1}),
    ("gather", "hypercube:3", {"messages": 3, "root": 5}), ("allgather", "hypercube:3", {"messages": 2, "survive": 2}),
    ("alltoall", "torus:3x4", {}), ("allreduce", "star:4", {"messages": 2}), ("reduce", "ring:7", {"messages": 4}),
]  # fmt: skip


@pytest.mark.parametrize("tags", [2**20, 40])
@pytest.mark.parametrize("job", JOBS, ids=lambda job: f"{job[0]} {job[1]}")
def test_both_ends_agree_on_every_message(job, tags):
    kind, network, options = job
    schedule = plan(kind, network, **options)
    nodes = schedule.network.nodes
    said = {True: [], False: []}
    for rank in range(nodes):
        for lane in lanes_of(schedule.program(rank), rank, tags):
            ends = (rank, lane.peer) if lane.sends else (lane.peer, rank)
            for chunk in range(lane.first, lane.stop):
                assert 0 <= lane.tag_of(chunk) < tags
                said[lane.sends].append((*ends, lane.step_of(chunk), chunk, lane.tree, lane.tag_of(chunk)))
    assert sorted(said[True]) == sorted(said[False])
    assert len(said[True]) == schedule.transmissions
    if tags > 1000:
        assert len({(src, dst, tag) for src, dst, *_, tag in said[True]}) == len(said[True])


def test_steps_are_those_of_the_schedule():
    schedule = plan("broadcast", "hypercube:3", messages=5, survive=1)
    found = sorted(
        (lane.step_of(c), rank, lane.peer, c)
        for rank in range(8) for lane in lanes_of(schedule.program(rank), rank, 1000) if lane.sends
        for c in range(lane.first, lane.stop)
    )  # fmt: skip
    wanted = sorted(
        (sends.step, *entry) for sends in schedule.expand()
        for entry in zip(sends.src.tolist(), sends.dst.tolist(), sends.chunk.tolist(), strict=True)
    )  # fmt: skip
    assert found == wanted


def test_too_few_tags_are_refused():
    schedule = plan("scatter", "star:4", messages=2)
    with pytest.raises(PlanError, match="tags"):
        lanes_of(schedule.program(0), 0, 2)


@pytest.mark.parametrize(("ranks", "survive"), [(3, 1), (5, 2), (7, 3), (10, 1), (12, 4)])
def test_relayed_broadcasts_hold_and_survive(ranks, survive):
    schedule = relayed(ranks, ranks - 1, 9, survive)
    assert verify(schedule).holds, verify(schedule).violations
    assert sweep(schedule, survive, "nodes").failing == 0


@pytest.mark.parametrize(
    ("ranks", "spec"),
    [(1, "hypercube:0"), (2, "hypercube:1"), (3, "ring:3"), (6, "star:3"), (7, "ring:7"), (8, "hypercube:3"), (10, "ring:10"),
     (12, "torus:3x4"), (24, "star:4"), (30, "torus:5x6"), (36, "torus:3x3x4"), (64, "hypercube:6"), (120, "star:5")],
)  # fmt: skip
def test_a_network_for_every_number_of_ranks(ranks, spec):
    if ranks > 1:
        assert network_of(ranks).spec == spec
        assert network_of(ranks).nodes == ranks


def test_what_cannot_be_survived_is_said():
    check_survive("broadcast", 7, 5)
    for kind, ranks, survive in (("allgather", 7, 1), ("allreduce", 8, 1), ("scatterv", 8, 1), ("allgather", 8, 3)):
        with pytest.raises(PlanError, match="survives at most"):
            check_survive(kind, ranks, survive)
    with pytest.raises(PlanError, match="from 0"):
        check_survive("broadcast", 8, -1)


def test_random_numbers_of_ranks_have_networks():
    for ranks in np.random.default_rng(3).integers(2, 700, 60).tolist():
        assert network_of(ranks).nodes == ranks
