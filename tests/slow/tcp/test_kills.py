"""Ranks that die, stop, or are cut off: the others say the same, with the right data, and go on."""

import pytest

from tests.tcp.test_kills import LITTLE, MUCH, held
from tests.tcp.trials import NAMES


@pytest.mark.parametrize("quick", [False, True])
def test_all_calls_are_right_when_nobody_fails(quick):
    calls = [(name, 1, count) for name in NAMES for count in (LITTLE, MUCH)]
    held(
        f"trials.QUICK = {quick}; calls = {calls};"
        "wrong = list(filter(None, [trials.judge(*trials.run(n, calls)) for n in (2, 3, 5)]))"
    )


@pytest.mark.parametrize(
    ("name", "count", "quick"),
    [
        ("Bcast", LITTLE, False),
        ("Allreduce", MUCH, True),
        pytest.param("Allreduce", MUCH, False, marks=pytest.mark.long),
        pytest.param("Allreduce", LITTLE, True, marks=pytest.mark.long),
    ],
)
def test_a_rank_that_dies_at_any_step_changes_nothing_for_the_others(name, count, quick):
    held(f"trials.QUICK = {quick}; n, wrong = trials.every_step(3, [{name!r}], {count}); assert n > 1, n")


STOPPED = [(name, 1, LITTLE) for name in ("Allgather", "Allreduce", "Bcast", "Alltoall", "Barrier")]


LONG = [("Allreduce", 1, MUCH)] * 2


@pytest.mark.parametrize(
    ("calls", "fate", "frame", "quick"),
    [
        (STOPPED, "stop", 4, False),
        (STOPPED, "cut", 4, False),
        (LONG, "stop", 4, False),
        (LONG, "stop", 4, True),
        (LONG, "stop", 5, True),
    ],
)
def test_who_is_silent_for_too_long_is_out_and_is_told_so(calls, fate, frame, quick):
    held(
        f"trials.QUICK = {quick}; said, hanging = trials.run(3, {calls}, [trials.Fault(2, {frame}, {fate!r})], deadline=2.0);"
        "found = trials.judge(said, hanging, [2]); wrong = [found] if found else [];"
        "wrong += [] if said[2][-1][1] == 'Evicted' else [said[2]]",
    )


def test_a_pause_within_the_deadline_changes_nothing():
    held(
        f"wrong = list(filter(None, [trials.judge(*trials.run(3, {STOPPED}, [trials.Fault(1, k, 'pause')], deadline=20.0))"
        " for k in (1, 5, 9)]))"
    )


def test_of_two_halves_that_with_the_lowest_rank_goes_on():
    held(
        f"said, hanging = trials.run(4, {STOPPED}, [trials.Fault(r, 5, 'cut', (0, 1)) for r in (2, 3)], 2, deadline=2.0);"
        "found = trials.judge(said, hanging, [2, 3]);"
        "wrong = [said] if found or any(said[r][-1][1] != 'Evicted' for r in (2, 3)) else []"
    )


def test_of_two_ranks_rank_0_goes_on_without_a_silent_one_and_either_without_a_dead_one():
    held(
        "found = [trials.judge(*trials.run(2, [('Allreduce', 0, 8)] * 3, [trials.Fault(1, 2, 'cut')], deadline=1.0), [1])];"
        "found += [trials.judge(*trials.run(2, [('Allreduce', 0, 8)] * 3, [trials.Fault(v, 2)]), [v]) for v in (0, 1)];"
        "wrong = list(filter(None, found))"
    )


def test_more_deaths_than_are_survived_are_an_error_at_all_and_later_calls_go_on():
    held(
        "calls = [('Barrier', 0, 1)] + [('Alltoall', 0, 8)] * 3;"
        "said, _ = trials.run(4, calls, [trials.Fault(v, 4) for v in (1, 2)], survive=1);"
        "wrong = [said] if said[0] != said[3] or 'survive=1:' not in str(said[0]) or said[0][-1] != 'end' else []"
    )
