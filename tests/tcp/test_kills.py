"""Ranks that die, stop, or are cut off: the others say the same, with the right data, and go on."""

import subprocess
import sys

import pytest

from tests.tcp.trials import NAMES

LITTLE, MUCH = 8, 40_000  # numbers of eight bytes: a message without, and with, a grant
PROGRAM = "import sys; from tests.tcp import trials; {}; print('wrong:', *wrong, sep='\\n'); sys.exit(bool(wrong))"


def held(body, seconds=280):
    """Run trials in a process that has no threads, and return what was wrong."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(body)], capture_output=True, text=True, timeout=seconds, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


@pytest.mark.slow
@pytest.mark.parametrize("quick", [False, True])
def test_all_calls_are_right_when_nobody_fails(quick):
    calls = [(name, 1, count) for name in NAMES for count in (LITTLE, MUCH)]
    held(
        f"trials.QUICK = {quick}; calls = {calls};"
        "wrong = list(filter(None, [trials.judge(*trials.run(n, calls)) for n in (2, 3, 5)]))"
    )


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_pause_within_the_deadline_changes_nothing():
    held(
        f"wrong = list(filter(None, [trials.judge(*trials.run(3, {STOPPED}, [trials.Fault(1, k, 'pause')], deadline=20.0))"
        " for k in (1, 5, 9)]))"
    )


@pytest.mark.slow
def test_of_two_halves_that_with_the_lowest_rank_goes_on():
    held(
        f"said, hanging = trials.run(4, {STOPPED}, [trials.Fault(r, 5, 'cut', (0, 1)) for r in (2, 3)], 2, deadline=2.0);"
        "found = trials.judge(said, hanging, [2, 3]);"
        "wrong = [said] if found or any(said[r][-1][1] != 'Evicted' for r in (2, 3)) else []"
    )


@pytest.mark.slow
def test_of_two_ranks_rank_0_goes_on_without_a_silent_one_and_either_without_a_dead_one():
    held(
        "found = [trials.judge(*trials.run(2, [('Allreduce', 0, 8)] * 3, [trials.Fault(1, 2, 'cut')], deadline=1.0), [1])];"
        "found += [trials.judge(*trials.run(2, [('Allreduce', 0, 8)] * 3, [trials.Fault(v, 2)]), [v]) for v in (0, 1)];"
        "wrong = list(filter(None, found))"
    )


@pytest.mark.slow
def test_more_deaths_than_are_survived_are_an_error_at_all_and_later_calls_go_on():
    held(
        "calls = [('Barrier', 0, 1)] + [('Alltoall', 0, 8)] * 3;"
        "said, _ = trials.run(4, calls, [trials.Fault(v, 4) for v in (1, 2)], survive=1);"
        "wrong = [said] if said[0] != said[3] or 'survive=1:' not in str(said[0]) or said[0][-1] != 'end' else []"
    )


@pytest.mark.long
@pytest.mark.parametrize(("count", "quick"), [(LITTLE, False), (LITTLE, True), (MUCH, False), (MUCH, True)])
@pytest.mark.parametrize("name", NAMES)
def test_every_rank_dies_at_every_step_of_every_collective(name, count, quick):
    held(
        f"trials.QUICK = {quick}; n, wrong = trials.every_step(4, [{name!r}], {count}, ('die', 'half')); assert n > 1, n"
    )


@pytest.mark.long
def test_three_of_eight_die_at_once():
    held(
        "wrong = list(filter(None, [trials.judge(*trials.run(8, [(name, 0, count) for name in trials.NAMES] * 2,"
        "[trials.Fault(v, frame + v) for v in (2, 5, 7)], survive=3), (2, 5, 7))"
        " for count in (8, 40_000) for frame in range(1, 60, 7)]))"
    )
