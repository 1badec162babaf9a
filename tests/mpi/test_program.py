"""What one rank does: both ends of a link find the same messages with the same tags, without MPI."""

import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treecast
from treecast import plan, verify
from treecast.errors import PlanError
from treecast.mpi.engine.choose import check_survive, messages_of, most_survived, network_of, paper_network, trees_of
from treecast.mpi.engine.transfers import Expected, Transfer, transfers_of
from treecast.mpi.job import run
from treecast.networks import network

JOBS = [
    ("broadcast", "star:4", {"messages": 7, "survive": 2}), ("scatter", "star:4", {"messages": 2, "survive": 1}),
    ("gather", "hypercube:3", {"messages": 3, "root": 5}), ("allgather", "hypercube:3", {"messages": 2, "survive": 2}),
    ("alltoall", "torus:3x4", {}), ("allreduce", "star:4", {"messages": 2}), ("reduce", "ring:7", {"messages": 4}),
]  # fmt: skip


@pytest.mark.parametrize("tags", [2**20, 40])
@pytest.mark.parametrize("job", JOBS, ids=lambda job: f"{job[0]} {job[1]}")
def test_both_ends_agree_on_every_message(job, tags):
    kind, spec, options = job
    schedule = plan(kind, spec, **options)
    nodes = schedule.network.nodes
    said = {True: [], False: []}
    for rank in range(nodes):
        for transfer in transfers_of(schedule.at(rank), rank, tags):
            ends = (rank, transfer.peer) if transfer.sends else (transfer.peer, rank)
            for chunk in range(transfer.first, transfer.stop):
                assert 0 <= transfer.tag_of(chunk) < tags
                said[transfer.sends].append(
                    (*ends, transfer.step_of(chunk), chunk, transfer.tree, transfer.tag_of(chunk))
                )
    assert sorted(said[True]) == sorted(said[False])
    assert len(said[True]) == schedule.transmissions
    if tags > 1000:
        assert len({(src, dst, tag) for src, dst, *_, tag in said[True]}) == len(said[True])


def test_steps_are_those_of_the_schedule():
    schedule = plan("broadcast", "hypercube:3", messages=5, survive=1)
    found = sorted(
        (transfer.step_of(c), rank, transfer.peer, c)
        for rank in range(8) for transfer in transfers_of(schedule.at(rank), rank, 1000) if transfer.sends
        for c in range(transfer.first, transfer.stop)
    )  # fmt: skip
    wanted = sorted(
        (sends.step, *entry) for sends in schedule.expand()
        for entry in zip(sends.src.tolist(), sends.dst.tolist(), sends.chunk.tolist(), strict=True)
    )  # fmt: skip
    assert found == wanted


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(1, 5), st.integers(-1, 2)), max_size=8),
    st.lists(st.tuples(st.integers(0, 12), st.integers(-1, 2)), max_size=9),
)
def test_what_may_still_come_is_counted_as_by_chunk_and_tree(received, voids):
    transfers = [Transfer(False, 1, first, first + length, 0, 1, tree, 0, 1) for first, length, tree in received]
    count = Counter((c, t.tree) for t in transfers for c in range(t.first, t.stop))
    expected, gone = Expected(transfers), Counter(voids)
    for chunk, tree in voids:
        expected.note_void(chunk, tree)
    for chunk in range(15):
        for tree in range(-1, 3):
            assert expected.planned(chunk, tree) == count[chunk, tree]
            assert expected.left(chunk, tree) == count[chunk, tree] - gone[chunk, tree]
        assert expected.planned(chunk) == sum(count[chunk, tree] for tree in range(-1, 3))
        assert expected.left(chunk) == sum(count[chunk, tree] - gone[chunk, tree] for tree in range(-1, 3))


def test_each_rank_reads_the_plan_once(tmp_path, monkeypatch):
    path = tmp_path / "plan.tc"
    treecast.save(plan("scatter", "ring:5"), path)
    reads, read = [], run.formats.read
    monkeypatch.setattr(run.formats, "read", lambda name: reads.append(name) or read(name))
    asked = run.Request(str(path), "", 1, {}, 1.0, None)
    assert len(run.own_program(asked, 3, 5)) > 0
    assert reads == [str(path)]
    with pytest.raises(PlanError, match="mpirun started 6 ranks: start it with -n 5"):
        run.own_program(asked, 3, 6)


def test_starting_ranks_needs_neither_numpy_nor_mpi4py():
    code = "import sys, treecast.mpi.job.launch; print(sorted({'numpy', 'mpi4py'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_too_few_tags_are_refused():
    schedule = plan("scatter", "star:4", messages=2)
    with pytest.raises(PlanError, match="tags"):
        transfers_of(schedule.at(0), 0, 2)


@pytest.mark.parametrize(
    ("ranks", "spec"),
    [(1, "hypercube:0"), (2, "hypercube:1"), (3, "ring:3"), (6, "star:3"), (7, "ring:7"), (8, "hypercube:3"), (10, "ring:10"),
     (12, "torus:3x4"), (24, "star:4"), (30, "torus:5x6"), (36, "torus:3x3x4"), (64, "hypercube:6"), (120, "star:5")],
)  # fmt: skip
def test_a_network_for_every_number_of_ranks(ranks, spec):
    assert network_of("broadcast", ranks, 0, near=False).spec == spec
    assert network_of("broadcast", ranks, 0, near=True).spec == f"complete:{ranks}"


@pytest.mark.parametrize(
    ("kind", "ranks", "survive", "spec"),
    [
        ("broadcast", 8, 2, "hypercube:3"),
        ("broadcast", 8, 3, "complete:8"),
        ("allgather", 23, 1, "ring:23"),  # both ways round
        ("allgather", 23, 2, "complete:23"),
        ("alltoall", 24, 2, "star:4"),
        ("scatter", 24, 5, "complete:24"),
        ("gather", 13, 2, "complete:13"),
    ],
)
def test_where_the_papers_networks_do_not_survive_it_a_complete_one_does(kind, ranks, survive, spec):
    where = network_of(kind, ranks, survive, near=False)
    assert where.spec == spec
    assert verify(plan(kind, where, survive=survive)).holds


def test_what_cannot_be_survived_is_said():
    assert network_of("broadcast", 7, 5, near=False).spec == "complete:7"
    for kind, ranks, survive in (("allgather", 7, 6), ("allreduce", 8, 1), ("scatterv", 8, 1), ("broadcast", 2, 1)):
        with pytest.raises(PlanError, match="survives at most"):
            network_of(kind, ranks, survive, near=False)
    with pytest.raises(PlanError, match="complete:9 survives 7"):
        check_survive("broadcast", network("torus:3x3"), 4)
    with pytest.raises(PlanError, match="from 0"):
        check_survive("broadcast", network("ring:8"), -1)


def test_random_numbers_of_ranks_have_networks():
    for ranks in np.random.default_rng(3).integers(2, 700, 60).tolist():
        assert paper_network(ranks).nodes == ranks


@pytest.mark.parametrize("spec", ["hypercube:3", "star:4", "ring:7", "complete:9"])
@pytest.mark.parametrize("survive", [0, 1])
def test_chunks_grow_with_the_data_and_with_the_rate_of_links(spec, survive):
    where = network(spec)
    for kind in ("broadcast", "allgather"):
        if survive > most_survived(kind, where):
            continue
        for rate in (2.5e6, 1.25e7, 1.25e9):
            counts = [messages_of(kind, where, size, survive, rate) for size in (0, 1000, 10**6, 10**7, 10**8)]
            assert counts[:2] == [1, 1]
            assert counts == sorted(counts)
            faster = [messages_of(kind, where, size, survive, 4 * rate) for size in (10**6, 10**7, 10**8)]
            assert all(a >= b for a, b in zip(counts[2:], faster, strict=True))
    straight = network("complete:8")
    assert messages_of("broadcast", straight, 10**9, 0) == 1
    assert messages_of("broadcast", straight, 3 * 2**30, 0) == 3


@pytest.mark.parametrize(
    ("spec", "survive", "trees"),
    [
        ("torus:3x4", 1, 4),
        ("torus:3x4", 0, 4),
        ("mesh:3x4", 1, 2),
        ("petersen", 1, 3),
        ("complete:6", 0, 1),
        ("complete:6", 1, 5),
    ],
)
def test_trees_are_as_many_as_builders_have(spec, survive, trees):
    assert trees_of(network(spec), survive) == trees
