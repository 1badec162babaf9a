"""What one rank does: both ends of a link find the same messages with the same tags, without MPI."""

import pickle
import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treecast import plan, verify
from treecast.errors import PlanError
from treecast.mpi.job import run
from treecast.mpi.job.data import find_source
from treecast.networks import network
from treecast.running.engine.choose import (
    ONE_PORT,
    Operation,
    between_hosts,
    broadcast_role,
    check_survive,
    messages_of,
    most_survived,
    role_of,
    trees_of,
)
from treecast.running.engine.transfers import Expected, Transfer, transfers_of
from treecast.running.execution.layout import file_layout

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


@pytest.mark.parametrize("kind", ["broadcast", "allgather", "reduce"])
def test_a_chunk_is_the_same_bytes_as_in_this_process(kind, tmp_path):
    schedule = plan(kind, "ring:5", bytes=100_005, latency="1us", rate="1GB/s", messages=7)
    data = tmp_path / "data"
    data.write_bytes(bytes(schedule.sizes.total(schedule.collective)))
    here = file_layout(schedule.collective, data.stat().st_size, schedule.sizes)
    cut_evenly = file_layout(schedule.collective, data.stat().st_size)
    for program in (schedule, schedule.at(3)):
        found = find_source(program, str(data), 0).layout.bounds.tolist()
        assert found == here.bounds.tolist()
        assert (found == cut_evenly.bounds.tolist()) == (kind == "reduce")  # a sum is cut into numbers


def test_the_plan_is_read_once_and_each_rank_is_dealt_its_own_rows(tmp_path):
    schedule, reads = plan("scatter", "ring:5"), []
    asked = run.RunRequest("", "", 1, {}, 1.0)
    what, programs = run.deal_out(lambda: reads.append(1) or (schedule, asked), 5)
    assert (what, reads) == (asked, [1])
    assert programs == [schedule.at(rank) for rank in range(5)]
    assert pickle.loads(pickle.dumps(programs[3])) == programs[3]
    with pytest.raises(PlanError, match="mpirun started 6 ranks: start it with -n 5"):
        run.deal_out(lambda: (schedule, asked), 6)


def test_starting_ranks_needs_neither_numpy_nor_mpi4py():
    code = "import sys, treecast.mpi.job.launch; print(sorted({'numpy', 'mpi4py'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=100)
    assert done.stdout == "[]\n"


def test_too_few_tags_are_refused():
    schedule = plan("scatter", "star:4", messages=2)
    with pytest.raises(PlanError, match="tags"):
        transfers_of(schedule.at(0), 0, 2)


def test_what_cannot_be_survived_is_said():
    for kind, ranks, survive in (("allgather", 7, 6), ("allreduce", 8, 1), ("scatterv", 8, 1), ("broadcast", 2, 1)):
        for model in ("all-port", ONE_PORT):
            with pytest.raises(PlanError, match="survives at most"):
                check_survive(kind, network(f"complete:{ranks}"), survive, model)
    with pytest.raises(PlanError, match="complete:9 survives 7"):
        check_survive("broadcast", network("torus:3x3"), 4)
    with pytest.raises(PlanError, match="from 0"):
        check_survive("broadcast", network("ring:8"), -1)


@pytest.mark.parametrize("kind", ["broadcast", "allgather", "alltoall", "scatter", "gather"])
@pytest.mark.parametrize("ranks", [4, 13])
def test_over_one_port_as_many_failures_as_ranks_allow_are_survived(kind, ranks):
    where = network(f"complete:{ranks}")
    for survive in (1, ranks - 2):
        check_survive(kind, where, survive, ONE_PORT)
        assert verify(plan(kind, where, survive=survive, model=ONE_PORT)).holds


HOSTS = st.integers(2, 9).flatmap(lambda n: st.lists(st.integers(0, n - 1), min_size=n, max_size=n))


@given(HOSTS, st.integers(0, 8), st.integers(1, 20), st.sampled_from([20, 1000]), st.sampled_from(["complete", "path"]))
def test_a_broadcast_between_hosts_brings_one_copy_to_each(names, root, messages, tags, family):
    """Replayed by hand: who holds what, in the order of the steps; ports and ends as the machine has them."""
    ranks = range(len(names))
    hosts, root = [names.index(name) for name in names], root % len(names)
    where = network(f"{family}:{len(set(hosts))}")
    what = Operation("broadcast", where, sorted(set(hosts)).index(hosts[root]), messages, model=ONE_PORT)
    programs = [broadcast_role(what, hosts, root, rank, tags) for rank in ranks]
    said = [(each.peer, rank, each._replace(peer=0, sends=False))
            for rank in ranks for each in programs[rank].transfers if not each.sends]  # fmt: skip
    assert Counter(said) == Counter(
        (rank, each.peer, each._replace(peer=0, sends=False))
        for rank in ranks for each in programs[rank].transfers if each.sends
    )  # fmt: skip
    assert {int(programs[0].collective.source_of(0))} == {root}
    sends = sorted((each.step_of(c), src, dst, c) for src, dst, each in said for c in range(each.first, each.stop))
    came, ports = {(root, chunk): -1 for chunk in range(messages)}, Counter()
    for step, src, dst, chunk in sends:
        assert came[src, chunk] < step
        assert (dst, chunk) not in came
        came[dst, chunk] = step
        if hosts[src] != hosts[dst]:
            ports["out", hosts[src], step] += 1
            ports["in", hosts[dst], step] += 1
    assert max(ports.values(), default=1) == 1
    assert set(came) == {(rank, chunk) for rank in ranks for chunk in range(messages)}


def test_a_broadcast_between_hosts_goes_down_a_chain_where_its_arcs_cost_little():
    def spec(hosts, size, rate):
        return between_hosts(
            Operation("broadcast", network("complete:2"), 0, model=ONE_PORT), hosts, 0, size, rate
        ).network

    assert spec(17, 25_000_000, 2.5e6).family == spec(1000, 10**10, 1.25e8).family == "path"
    assert spec(1000, 10**7, 1.25e8).family == spec(17, 10**5, 1.25e9).family == "complete"


def test_speakers_know_their_part_from_their_number_alone():
    role = role_of(Operation("broadcast", network("complete:30000"), 3, 5, model=ONE_PORT), 77, 2**20)
    assert sum(each.stop - each.first for each in role.transfers if not each.sends) == 5


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
