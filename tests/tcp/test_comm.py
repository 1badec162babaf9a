"""The communicator on sockets: mpi4py's calls and forms of arguments, their errors, and what comes of them elsewhere."""

import threading

import numpy as np
import pytest

from tests.tcp.threads import DeathError, run_ranks
from treecast import tcp
from treecast.errors import DeliveryError, Evicted, PlanError
from treecast.running.calls.collectives import OBJECTS as OBJECT_JOBS
from treecast.running.calls.collectives import ROWS
from treecast.running.transport.base import FrameKind


def test_it_has_every_collective_of_the_table_but_that_of_derived_datatypes():
    for name in ROWS.keys() - {"Alltoallw"}:
        assert getattr(tcp.Comm, name).__doc__
        assert getattr(tcp.Comm, f"I{name.lower()}")
    assert all(hasattr(tcp.Comm, name) for name in OBJECT_JOBS)


OBJECTS = {
    "bcast": (lambda comm: comm.bcast({"of": comm.rank}, root=1), lambda r: {"of": 1}),
    "allgather": (lambda comm: comm.allgather("x" * comm.rank), lambda r: ["", "x", "xx"]),
    "gather": (lambda comm: comm.gather(comm.rank, root=2), lambda r: [0, 1, 2] if r == 2 else None),
    "scatter": (lambda comm: comm.scatter([10, 11, 12] if comm.rank == 0 else None), lambda r: 10 + r),
    "alltoall": (lambda comm: comm.alltoall([(comm.rank, t) for t in range(3)]), lambda r: [(s, r) for s in range(3)]),
    "reduce": (lambda comm: comm.reduce(comm.rank, tcp.MAX, root=1), lambda r: 2 if r == 1 else None),
    "allreduce": (lambda comm: comm.allreduce([comm.rank]), lambda r: [0, 1, 2]),
    "scan": (lambda comm: comm.scan(comm.rank + 1), lambda r: [1, 3, 6][r]),
    "exscan": (lambda comm: comm.exscan(comm.rank + 1), lambda r: [None, 1, 3][r]),
    "barrier": (lambda comm: comm.barrier(), lambda r: None),
}


def test_objects_of_any_kind():
    assert OBJECTS.keys() == OBJECT_JOBS.keys()
    found = run_ranks(3, lambda comm: {name: call(comm) for name, (call, _) in OBJECTS.items()})
    assert found == [{name: wanted(r) for name, (_, wanted) in OBJECTS.items()} for r in range(3)]


def vectors(comm):
    counts = [1, 0, 3]
    out = np.zeros(4)
    comm.Allgatherv(np.full(counts[comm.rank], comm.rank + 1.0), [out, counts])
    placed = np.zeros(6)
    comm.Gatherv(np.full(counts[comm.rank], 5.0), [placed, counts, [5, 0, 1], tcp.DOUBLE] if comm.rank == 0 else None)
    sent = np.arange(9.0)
    own = np.zeros(comm.rank + 1)
    comm.Scatterv([sent, [1, 2, 3], [0, 2, 5], "d"] if comm.rank == 0 else None, own)
    return out.tolist(), placed.tolist(), own.tolist()


def test_blocks_of_different_lengths():
    found = run_ranks(3, vectors)
    assert [each[0] for each in found] == [[1, 3, 3, 3]] * 3
    assert found[0][1] == [0, 5, 5, 5, 0, 5]
    assert [each[2] for each in found] == [[0], [2, 3], [5, 6, 7]]


def memories(comm):
    columns, total = np.full((4, 3), comm.rank + 1)[:, ::2], np.zeros((4, 3), int)
    comm.Allreduce(columns, total[:, ::2])
    fortran = np.asfortranarray(np.arange(6.0).reshape(2, 3)) if comm.rank == 0 else np.zeros((2, 3), order="F")
    comm.Bcast(fortran)
    text = bytearray(b"abc" if comm.rank == 1 else b"...")
    comm.Bcast(text, 1)
    waves = np.full(3, 1 + 1j * comm.rank)
    comm.Allreduce(tcp.IN_PLACE, waves)
    nothing = np.zeros((0, 4))
    comm.Allreduce(nothing, nothing.copy())
    return total.tolist(), fortran.tolist(), bytes(text), waves.tolist()


def test_memory_in_any_order_of_any_type():
    for total, fortran, text, waves in run_ranks(3, memories):
        assert total == [[6, 0, 6]] * 4
        assert fortran == [[0, 1, 2], [3, 4, 5]]
        assert text == b"abc"
        assert waves == [3 + 3j] * 3


def operations(comm):
    mine, out = np.array([comm.rank + 1, 6]), np.zeros(2, int)
    found = []
    for op in (tcp.SUM, tcp.PROD, tcp.MIN, tcp.MAX, tcp.BAND, tcp.BXOR, tcp.LAND):
        comm.Allreduce(mine, out, op)
        found.append(out.tolist())
    last = tcp.Op.Create(lambda one, other, datatype: None, commute=False)
    comm.Allreduce(mine, out, last)
    return [*found, out.tolist()]


def test_operations_and_the_order_of_ranks():
    wanted = [[6, 18], [6, 216], [1, 6], [3, 6], [0, 6], [0, 6], [1, 1], [3, 6]]
    assert run_ranks(3, operations) == [wanted] * 3


def nonblocking(comm):
    small, big = np.full(3, comm.rank), np.full(50_000, float(comm.rank))
    total, whole = np.zeros(3, int), np.zeros(50_000)
    requests = [comm.Iallreduce(small, total), comm.Iallreduce(big, whole), comm.Ibarrier()]
    comm.Barrier()  # which waits for those before it
    done = all(request.Test() for request in requests)
    tcp.Request.Waitall(requests)
    return done, total.tolist(), float(whole.sum())


def test_nonblocking_calls_are_carried_out_in_order():
    assert run_ranks(3, nonblocking) == [(True, [3, 3, 3], 150_000.0)] * 3


def parts(comm):
    half = comm.Split(comm.rank % 2, -comm.rank)
    found = half.allgather(comm.rank)
    none = comm.Split(tcp.UNDEFINED if comm.rank else 0)
    copy, total = comm.Dup(), none.allreduce(7) if none else none == tcp.COMM_NULL
    return found, half.rank, total, copy.allreduce(1), half.Dup().allreduce(comm.rank)


def test_parts_of_a_communicator():
    assert run_ranks(5, parts) == [
        ([4, 2, 0], 2, 7, 5, 6),
        ([3, 1], 1, True, 5, 4),
        ([4, 2, 0], 1, True, 5, 6),
        ([3, 1], 0, True, 5, 4),
        ([4, 2, 0], 0, True, 5, 6),
    ]


WRONG = {
    "no buffer": lambda comm, out: comm.Allreduce(object(), out),
    "counts": lambda comm, out: comm.Allgather([np.ones(2), 5], np.zeros(6)),
    "a type that cannot be added so": lambda comm, out: comm.Allreduce(np.ones(2), out, tcp.BAND),
    "no operation": lambda comm, out: comm.Allreduce(np.ones(2), out, "SUM"),
    "read only": lambda comm, out: comm.Allreduce(np.ones(2), b"\0" * 16),
    "too few arguments": lambda comm, out: comm.Allreduce(),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_one_rank_refuses_is_an_error_at_all_and_the_next_call_is_right(name):
    def program(comm):
        out, found = np.zeros(2), None
        try:
            if comm.rank == 1:
                WRONG[name](comm, out)
            elif name == "counts":
                comm.Allgather(np.ones(2), np.zeros(6))
            else:
                comm.Allreduce(np.ones(2), out)
        except Exception as error:
            found = error
        return found, comm.allreduce(1)

    found = run_ranks(3, program)
    assert [total for _, total in found] == [3, 3, 3]
    assert all(isinstance(found[r][0], DeliveryError) for r in (0, 2)), found
    assert isinstance(found[1][0], TypeError | ValueError)
    assert not isinstance(found[1][0], DeliveryError)
    assert "\n" not in str(found[1][0])


def test_lengths_that_differ_are_an_error_at_all_and_the_next_call_is_right():
    def program(comm):
        try:
            comm.Allreduce(np.ones(2 + comm.rank), np.zeros(2 + comm.rank))
        except PlanError as error:
            return str(error), comm.allreduce(1)
        return "", 0

    first, second = run_ranks(2, program)
    assert first == second
    assert first[1] == 2
    assert "rank 1 makes Allreduce(24 bytes of float64, SUM)" in first[0]


def test_a_root_that_is_none_is_an_error_at_the_rank_that_names_it():
    found = run_ranks(2, lambda comm: comm.Bcast(np.ones(2), 7))
    assert all("root" in str(error) for error in found)


@pytest.mark.parametrize("name", ["Allreduce", "Bcast", "Alltoall"])
def test_who_is_alive_but_late_counts_as_silent(name):
    others_are_done = threading.Barrier(3)

    def program(comm):
        mine, out = np.full(comm.size, 1.0), np.zeros(comm.size)
        if comm.rank == 2:
            others_are_done.wait(60)  # it computes
        getattr(comm, name)(*((mine, 0) if name == "Bcast" else (mine, out)))
        comm.barrier()
        if comm.rank == 2:
            comm.barrier()  # in the last of its calls it may not know yet
        else:
            others_are_done.wait(60)
        return comm.members

    *others, late = run_ranks(3, program, late=0.5)
    assert others == [(0, 1)] * 2
    assert isinstance(late, Evicted)


def test_calls_on_two_communicators_are_under_way_at_once():
    def program(comm):
        other, found = comm.Dup(), [np.zeros(20_000), np.zeros(20_000)]
        order = [(comm, 0), (other, 1)][:: 1 if comm.rank else -1]
        begun = [each.Iallreduce(np.full(20_000, comm.rank + 10.0 * k), found[k]) for each, k in order]
        for request in begun:
            request.Wait()
        threads = [threading.Thread(target=each.Allreduce, args=(tcp.IN_PLACE, found[k])) for each, k in order]
        for thread in threads:
            thread.start()
            thread.join(0.01)  # by then it waits for a rank that has begun the other
        for thread in threads:
            thread.join(60)
        return [set(each.tolist()) for each in found]

    assert run_ranks(3, program) == [[{9.0}, {99.0}]] * 3


def test_a_rank_alone_needs_nobody():
    def program(comm):
        mine, out = np.arange(3.0), np.zeros(3)
        comm.Allreduce(mine, out)
        return out.tolist(), comm.allgather(5), comm.bcast("x"), comm.members

    assert run_ranks(1, program) == [([0, 1, 2], [5], "x", (0,))]


def test_calls_after_the_end_say_so():
    def program(comm):
        comm.process.finish()
        comm.barrier()

    assert all(isinstance(error, PlanError) for error in run_ranks(2, program))


@pytest.mark.parametrize("sure", [False, True])
def test_little_data_costs_a_state_to_the_first_rank_only_where_that_is_asked_for(sure):
    def program(comm):
        transport, kinds = comm.process.transport, []
        send = transport.send
        transport.send = lambda to, key, *given: kinds.append(key.kind) or send(to, key, *given)
        comm.Allgather(np.ones(1), np.zeros(3))
        return kinds.count(FrameKind.DATA), kinds.count(FrameKind.STATE), comm.Dup().terms.sure

    assert run_ranks(3, program, sure=sure) == [(2, sure * (rank > 0), sure) for rank in range(3)]


def test_work_beside_the_program_may_make_calls_of_its_own():
    def program(comm):
        return comm.worker.begin(lambda: comm.allgather(comm.rank)).result(60)

    assert run_ranks(3, program) == [[0, 1, 2]] * 3


def test_a_death_is_told_once_and_again_when_a_part_has_it(capsys):
    def program(comm):
        part = comm.Dup()
        if comm.rank == 2:
            raise DeathError
        for _ in range(3):
            comm.allreduce(1)
        return part.allreduce(1)

    assert run_ranks(3, program, on_failed="warn")[:2] == [2, 2]
    lines = capsys.readouterr().err.splitlines()
    why = "rank 2 has died, and the result leaves out its data, now and in later calls without it"
    assert lines == [f"treecast: allreduce, call {number} of its communicator: {why}" for number in (2, 1)]
