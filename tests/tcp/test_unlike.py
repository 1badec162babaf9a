"""Ranks that make unlike calls over sockets all raise one error that names both, and the next call is right."""

import random
import time

import numpy as np
import pytest

from tests.tcp.threads import run_ranks
from tests.tcp.unlike import check_pair, make, random_program, table
from treecast.errors import UnlikeCallsError
from treecast.running.groups import record


@pytest.mark.parametrize("survive", [0, 1])
@pytest.mark.parametrize("seed", range(10))
def test_pairs_of_unlike_calls_are_errors_at_all_ranks_and_equal_ones_are_not(seed, survive):
    rng, calls = random.Random(seed), table(3)
    for _ in range(4):
        one, other = (*rng.sample(sorted(calls), 2),) if rng.random() < 0.9 else (rng.choice(sorted(calls)),) * 2

        def program(comm, one=one, other=other):
            ends = [lambda c: c.allreduce(1)] * 2
            return make(comm, [calls[one if comm.rank == 0 else other], *ends])

        assert check_pair(run_ranks(3, program, survive=survive), one != other) == "", (one, other)


@pytest.mark.parametrize("size", [2, 3, 4])
def test_the_error_names_the_odd_rank_and_both_calls(size):
    def program(comm):
        with pytest.raises(UnlikeCallsError) as raised:
            comm.Bcast(np.ones(4), 0) if comm.rank == 1 else comm.Allreduce(np.ones(4, "f4"), np.ones(4, "f4"))
        return str(raised.value)

    found = run_ranks(size, program)
    assert len(set(found)) == 1
    others = {2: "rank 0 makes", 3: "ranks 0, 2 make", 4: "ranks 0, 2, 3 make"}[size]
    assert "rank 1 makes Bcast(32 bytes of float64, root 0)" in found[0]
    assert f"{others} Allreduce(16 bytes of float32, SUM)" in found[0]


def test_the_error_has_the_lines_of_the_program_where_it_asks_for_them(monkeypatch):
    monkeypatch.setattr(record, "_SITES", True)

    def program(comm):
        with pytest.raises(UnlikeCallsError, match=r"Barrier\(\) at \S*:\d+, .* Scan\(.*\) at \S*:\d+: all ranks"):
            comm.Barrier() if comm.rank == 0 else comm.Scan(np.ones(1), np.ones(1))

    assert run_ranks(3, program) == [None] * 3


def test_what_makes_a_communicator_is_no_gather_of_objects():
    def program(comm):
        with pytest.raises(UnlikeCallsError, match=r"rank 0 makes Split\(\), ranks 1, 2 make allgather"):
            comm.Split(0) if comm.rank == 0 else comm.allgather((0, comm.rank))
        return comm.allreduce(1)

    assert run_ranks(3, program) == [3, 3, 3]


def test_a_rank_that_has_returned_raises_in_its_next_call_whose_result_is_right():
    def program(comm):
        if comm.rank == 0:
            comm.Bcast(np.ones(1), 0)  # a root of little data does not wait
            out = np.zeros(1)
            with pytest.raises(UnlikeCallsError, match="call 1:"):
                comm.Allreduce(np.ones(1), out)
            return out[0], comm.allreduce(1)
        with pytest.raises(UnlikeCallsError, match="call 1:"):
            comm.Allgather(np.ones(1), np.ones(3))
        out = np.zeros(1)
        comm.Allreduce(np.ones(1), out)
        return out[0], comm.allreduce(1)

    assert run_ranks(3, program) == [(3, 3)] * 3


def wait_in_a_circle(comm):
    """Have two ranks wait for one another, each in a communicator of its own, and both raise."""
    comm.process.waiting.slow = 0.1
    groups = [comm.Dup(), comm.Dup()]
    with pytest.raises(UnlikeCallsError, match="wait for one another"):
        groups[comm.rank].allreduce(1)


def test_ranks_that_wait_for_one_another_in_two_communicators_raise_and_go_on():
    def program(comm):
        wait_in_a_circle(comm)
        return comm.allreduce(1)

    assert run_ranks(2, program) == [2, 2]


def test_a_goodbye_in_one_communicator_takes_nothing_of_another():
    def program(comm):
        wait_in_a_circle(comm)
        comm.Barrier()  # both have left the calls that waited
        if comm.rank == 1:
            time.sleep(0.5)  # the root has said goodbye meanwhile, in the communicator of this rank's last call too
        return comm.bcast("said before the goodbye" if comm.rank == 0 else None, 0)

    assert run_ranks(2, program) == ["said before the goodbye"] * 2


def test_who_is_slow_is_named_with_the_call_that_it_has_not_made():
    def program(comm):
        told = []
        comm.process.waiting.slow = 0.1
        comm.process.transport.events.sinks.append(told.append)
        comm.allreduce(1)
        if comm.rank == 1:
            time.sleep(0.5)
        comm.Barrier()
        return [event.text for event in told if event.name == "slow"]

    first, slow, third = run_ranks(3, program)
    assert slow == []
    for said in (first, third):
        assert len(said) == 1
        assert "call 2, Barrier(): rank 1 is in no call" in said[0]
        assert "after call 1, allreduce(SUM)" in said[0]


def test_what_may_differ_is_no_error():
    def program(comm):
        n, mine = comm.size, np.full(comm.rank + 1, comm.rank, "i8")
        comm.Gatherv(mine, [np.zeros(6, "i8"), [1, 2, 3]] if comm.rank == 0 else None, 0)
        sent = np.arange(n * (comm.rank + 1))
        comm.Alltoallv([sent, [comm.rank + 1] * n], [np.zeros(6, "i8"), [1, 2, 3]])
        comm.bcast("a" * (comm.rank + 1), 0)
        comm.allgather(list(range(comm.rank)))
        comm.Bcast(np.zeros(2) if comm.rank else bytearray(16), 0)
        comm.Barrier() if comm.rank else comm.barrier()
        return True

    assert run_ranks(3, program) == [True] * 3


# Many pairs of unlike calls over sockets, over links and with several sizes, and programs of which one call is altered.


def pairs(seed, count, size):
    rng, names = random.Random(seed), sorted(table(size))
    return [tuple(rng.sample(names, 2)) for _ in range(count)]


def run_pair(one, other, size, **terms):
    calls = table(size)

    def program(comm):
        ends = [lambda c: c.allreduce(1)] * 2
        return make(comm, [calls[one if comm.rank == 0 else other], *ends])

    return check_pair(run_ranks(size, program, **terms), one != other)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_pairs_of_unlike_calls(seed):
    size, survive = 3 + seed % 2, seed // 2 % 2
    for one, other in pairs(seed, 30, size):
        assert run_pair(one, other, size, survive=survive) == "", (one, other)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_pairs_over_the_links_of_a_network(seed):
    for one, other in pairs(seed, 12, 4):
        assert run_pair(one, other, 4, spec="ring:4") == "", (one, other)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(0, 240, 40))
def test_a_program_of_which_one_call_is_altered_left_out_or_doubled_is_never_silent(seed, capfd):
    for each in range(seed, seed + 40):
        size = 2 + each % 3
        calls, (program, odd, how, rank) = table(size), random_program(each, size)

        def run(comm, program=program, odd=odd, rank=rank, calls=calls):
            names = odd if comm.rank == rank else program
            return make(comm, [calls[name] for name in names]), len(comm.members)

        found = run_ranks(size, run, on_failed="warn")
        errors = [result for results, _ in found for result in results if not result[0]]
        told = capfd.readouterr().err
        assert (not errors and not told) if odd == program else (errors or told), (each, how, program, odd, found)
