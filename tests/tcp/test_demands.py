"""Plans of demands over sockets: each rank gets what plain loops find, ranks that disagree all say so, and deaths are no hang."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treecast
from tests.demands.demands import FAMILIES
from tests.strategies import examples
from tests.tcp.demands import carry, lengths_of, plan_by_chance
from tests.tcp.threads import DeathError, run_ranks
from treecast import tcp
from treecast.errors import DeliveryError, PlanError, UnlikeCallsError
from treecast.running.execution.layout import digest_of

PLACES = {"complete:4": 4, "ring:5": 5, "hypercube:3": 8}


@examples(40)
@given(st.sampled_from(sorted(PLACES)), st.sampled_from(FAMILIES), st.integers(0, 99))
def test_each_rank_gets_what_it_wants(where, family, seed):
    plan = plan_by_chance(where, family, seed)
    lengths = lengths_of(plan.collective.demand, seed)
    assert run_ranks(PLACES[where], lambda comm: carry(comm, plan, lengths, None)) == [True] * PLACES[where]


OPS = {"SUM": np.add, "PROD": np.multiply, "MAX": np.maximum, "MIN": np.minimum, "BAND": np.bitwise_and}
OPS |= {"BOR": np.bitwise_or, "BXOR": np.bitwise_xor}


def test_sums_by_every_operation_on_one_plan():
    """Ranks that add, and give nothing of their own, have no neutral number: of a product, say."""
    plan = treecast.plan([([0, "+", 2, "+", 4], [1, 3], 4), (5, [0, 3], 3)], "path:6")
    lengths = lengths_of(plan.collective.demand, 5)

    def program(comm):
        return [carry(comm, plan, lengths, getattr(tcp, name), OPS[name], np.int64) for name in OPS]

    assert run_ranks(6, program) == [[True] * len(OPS)] * 6


def test_one_buffer_has_the_same_length_for_each_chunk():
    plan = treecast.plan([(0, [1, 2], 2), (0, 2, 3), ([1, "+", 2], 0, 1)], "complete:3")

    def program(comm):
        demand = plan.collective.demand
        sent = {0: np.arange(10.0), 1: np.ones(2), 2: np.full(2, 5.0)}[comm.rank]
        got = np.zeros(2 * demand.size[demand.wanted_by(comm.rank)].sum())
        comm.run(plan, sent, got)
        return got.tolist(), comm.last.way, comm.last.network

    told = plan.builder, "complete:3"
    assert run_ranks(3, program) == [([6.0, 6.0], *told), ([0.0, 1, 2, 3], *told), ([*map(float, range(10))], *told)]


def test_over_named_links_data_goes_along_them():
    plan = plan_by_chance("ring:5", "all", 3)
    lengths = lengths_of(plan.collective.demand, 3)
    assert run_ranks(5, lambda comm: carry(comm, plan, lengths, None), "ring:5") == [True] * 5


def raised(comm, call):
    """The error of a call, and whether the next one is right."""
    try:
        call()
    except Exception as error:
        return type(error), str(error), comm.allreduce(1)
    return None, "", comm.allreduce(1)


A = treecast.plan([(0, [1, 2], 2)], "complete:3")
B = treecast.plan([(0, [1, 2], 3)], "complete:3")


def test_other_plans_types_and_operations_are_refused_at_all_ranks():
    sums = treecast.plan([([0, "+", 1], 2, 2)], "complete:3")

    def data(comm, plan, dtype, length):
        held, wanted = (side(comm.rank) for side in (plan.collective.demand.given_by, plan.collective.demand.wanted_by))
        return [[np.ones(length, dtype) for _ in side] for side in (held, wanted)]

    def program(comm):
        odd = comm.rank == 1
        plan, dtype, op = (B if odd else A), ("f4" if odd else "f8"), (tcp.MAX if odd else tcp.SUM)
        return [
            raised(comm, lambda: comm.run(plan, *data(comm, plan, "f8", 6))),
            raised(comm, lambda: comm.run(sums, *data(comm, sums, "f8", 6), op)),
            raised(comm, lambda: comm.run(sums, *data(comm, sums, dtype, 6))),
            raised(comm, lambda: comm.run(A, *data(comm, A, "f8", 5 if odd else 6))),
            raised(comm, lambda: comm.Barrier() if odd else comm.run(A, *data(comm, A, "f8", 6))),
        ]

    found = run_ranks(3, program)
    for call, kind in enumerate([UnlikeCallsError] * 3 + [PlanError, UnlikeCallsError]):
        assert {each[call] for each in found} == {(kind, found[0][call][1], 3)}
    assert found[0][3][1] == "class 1 has 48 bytes at rank 0, and 40 at rank 1"
    assert f"rank 1 makes run of plan {digest_of(B)[:8]}" in found[0][0][1]


WRONG = {
    "ranks give their own data to plans of demands": lambda comm: comm.run(
        treecast.plan("alltoall", "complete:3"), [], []
    ),
    "the plan is for 4 ranks, and here are 3": lambda comm: comm.run(treecast.plan([(0, 1)], "ring:4"), [], []),
    "the plan is wrong: delivered": lambda comm: comm.run(A[:1], [], []),
    "a plan is a Schedule": lambda comm: comm.run("plan.tc", [], []),
    "are no 2 chunks of one length": lambda comm: comm.run(A, np.ones(3) if comm.rank == 0 else [], np.ones(3)),
    "and there are 0 arrays": lambda comm: comm.run(A, [], []),
}


@pytest.mark.parametrize("says", WRONG)
def test_wrong_arguments_are_an_error_at_all_ranks(says):
    found = run_ranks(3, lambda comm: raised(comm, lambda: WRONG[says](comm)))
    assert any(says in said for _, said, _ in found)
    assert all(
        kind in (PlanError, DeliveryError, UnlikeCallsError, ValueError) and after == 3 for kind, _, after in found
    )


def dies(frame, plan=None):
    """Six ranks on a path, of which rank 2 dies at a frame of the call: what the others say, and what the next call brings."""
    plan = plan or treecast.plan([([0, "+", 2, "+", 4], [1, 3], 4), (5, [0, 3], 3)], "path:6")
    lengths = [20_000, 30]

    def program(comm):
        comm.Barrier()
        if comm.rank == 2:
            send, left = comm.process.transport.send, [frame]

            def counted(*given):
                left[0] -= 1
                if left[0] == 0:
                    raise DeathError
                return send(*given)

            comm.process.transport.send = counted
        return raised(comm, lambda: carry(comm, plan, lengths, None))

    return run_ranks(6, program, survive=1)


@pytest.mark.parametrize("frame", [1, 4, 7, 10, 14])
def test_a_death_in_the_call_is_one_error_at_all_that_live_or_none(frame):
    found = dies(frame)
    assert isinstance(found[2], DeathError)
    living = found[:2] + found[3:]
    assert len(set(living)) == 1, found
    kind, said, after = living[0]
    assert after == 5
    assert kind is None or (kind is DeliveryError and "rank 2 failed" in said), found


@pytest.mark.parametrize("frame", [1, 3, 5, 7, 9, 11])
@pytest.mark.parametrize("holders", [[2, 5], [4, 5]])  # who dies holds a class, or passes it on
def test_a_plan_in_two_copies_brings_all_whoever_dies_in_the_call(holders, frame):
    plan = treecast.plan([(holders, [0, 1, 3], 3), (0, [2, 4, 5], 2)], "complete:6", model="one-port", survive=1)
    found = dies(frame, plan)
    assert isinstance(found[2], DeathError)
    assert found[:2] + found[3:] == [(None, "", 5)] * 5


def test_a_plan_in_two_copies_goes_on_without_a_rank_that_has_failed():
    plan = treecast.plan([([2, 3], [0, 1], 2), (0, [1, 2, 3], 1)], "complete:4", survive=1)

    def program(comm):
        if comm.rank == 2:
            raise DeathError
        comm.Barrier()
        return [carry(comm, plan, [8, 5], None) for _ in range(3)]

    assert [run_ranks(4, program, survive=1)[rank] for rank in (0, 1, 3)] == [[True] * 3] * 3


def test_a_plan_with_a_rank_that_has_failed_is_an_error_at_all():
    def program(comm):
        if comm.rank == 2:
            raise DeathError
        comm.Barrier()
        return raised(comm, lambda: carry(comm, A, [4], None))

    found = run_ranks(3, program, survive=1)[:2]
    assert (
        found
        == [(DeliveryError, "run: rank 2 failed, and the plan has no way without: plan again for those that live", 2)]
        * 2
    )


def test_what_the_dead_alone_held_is_not_waited_for_in_a_circle():
    """Ranks 0 and 1 pass on, each in a tree, what rank 4 was to bring: neither waits for the other one."""
    plan = treecast.plan([(0, 1, 1), (4, [0, 1, 2], 2)], "complete:5", survive=1)

    def program(comm):
        comm.Barrier()
        if comm.rank == 4:
            raise DeathError
        comm.allreduce(1)  # its death is known
        return raised(comm, lambda: carry(comm, plan, [5, 9], None))

    assert (
        run_ranks(5, program, survive=1)[:4]
        == [(DeliveryError, "run: rank 4 failed, and the plan has no way without: plan again for those that live", 4)]
        * 4
    )
