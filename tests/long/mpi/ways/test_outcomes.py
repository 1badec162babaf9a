"""Calls while ranks die, stop, or are given wrong arguments: all living ranks see one outcome, and no later call goes wrong."""

import random

import pytest

from tests.mpi.ways.names import ALL
from tests.mpi.ways.test_outcomes import LITTLE, MUCH, calls, check
from tests.mpi.ways.test_outcomes import run as run


def test_a_rank_is_stopped_and_others_are_refused(run):
    """A stopped rank is put out after the deadline. A refusal on one rank is an error at all, and the next call is right.

    What a rank lacks of a transfer that others carried out is an error at all, too.
    """
    stop = {"collective": "broadcast", "size": MUCH, "root": 1, "kills": [[2, 1, True]], "stop": True}
    cases = [
        {"survive": 1, "deadline": 0.7, "calls": [{"collective": "allgather", "size": 90}, stop, {**stop, "kills": []}]},
        {"survive": 1, "calls": [{"collective": name, "size": size, "root": 1, "refused": refused}
                                 for name in ALL for size, refused in ((MUCH, [2]), (LITTLE, []), (LITTLE, [1]), (MUCH, []))]},
    ]  # fmt: skip
    settled = {
        "survive": 1,
        "calls": [{"collective": name, "size": 1, "root": 1} for name in ("barrier", "transfer", "barrier")],
    }
    *others, found = run(4, [*cases, settled])
    for case, seen in zip(cases, others, strict=True):
        assert check(case, seen) == 0
    for told in found.values():
        assert [seen.get("failed") for seen in told] == [[], None, []]
        assert told[1]["error"] == "transfer: the data of rank 1 did not come"


def steps_of(run, name, size):
    """Return kills for every step of every rank: after each message, before the first, and before the last."""
    [found] = run(4, [{"survive": 2, "calls": [{"collective": name, "size": size, "root": 1, "count": True}]}])
    assert all(calls[0]["count"] for calls in found.values())
    return [
        kill
        for rank, calls in found.items()
        for kill in [[rank, 0, False], [rank, calls[0]["count"] - 1, False]]
        + [[rank, message, True] for message in range(calls[0]["count"])]
    ]


@pytest.mark.parametrize("size", [LITTLE, MUCH])
@pytest.mark.parametrize("name", ALL)
def test_every_rank_is_killed_at_every_step(run, name, size):
    """Of a call on four ranks, one death in each; calls afterwards are right, and lack the dead alone. Three groups at once."""
    cases = [
        {"survive": 2, "calls": calls(name, size, [kill], [name, "allgather"])} for kill in steps_of(run, name, size)
    ]
    for first in range(0, len(cases), 3):
        for case, found in zip(cases[first : first + 3], run(4, cases[first : first + 3]), strict=True):
            check(case, found)


@pytest.mark.parametrize("name", ALL)
def test_three_of_eight_ranks_are_killed(run, name):
    """At any steps of one call, also while the others bring each other what is missing."""
    draw = random.Random(name)
    for _ in range(4):
        kills = [[rank, draw.randrange(22), draw.random() < 0.5] for rank in draw.sample(range(8), 3)]
        case = {
            "survive": draw.choice([1, 3]),
            "calls": calls(name, draw.choice([LITTLE, MUCH]), kills, ["alltoall", "allreduce"], 8),
        }
        [found] = run(8, [case])
        check(case, found, 8)


@pytest.mark.parametrize("name", ALL)
def test_ranks_are_killed_while_others_keep_a_deadline(run, name):
    """MPI tells of the deaths, so nobody waits for the deadline."""
    draw, cases = random.Random(name), []
    for victims in (1, 1, 2):
        kills = [[rank, draw.randrange(8), draw.random() < 0.5] for rank in draw.sample(range(4), victims)]
        cases.append({"survive": 2, "deadline": 3.0, "calls": calls(name, draw.choice([LITTLE, MUCH]), kills, [name])})
    for case, found in zip(cases, run(4, cases), strict=True):
        check(case, found)
        assert all(seen["seconds"] < 3 for calls in found.values() for seen in calls)


@pytest.mark.parametrize("name", ALL)
def test_a_cut_link_puts_one_of_its_ranks_out(run, name):
    """It learns so; the others have one outcome, then and afterwards."""
    calls = [
        {"collective": name, "size": MUCH, "root": 1, "cut": [[1, 2]]},
        {"collective": "allgather", "size": LITTLE},
        {"collective": "allreduce", "size": MUCH},
    ]
    [found] = run(4, [{"survive": 1, "deadline": 1.0, "calls": calls}])
    rest = [found[rank] for rank in (0, 1, 3)]
    for place in range(3):
        assert len({str(calls[place].get("failed", "error")) for calls in rest}) == 1, rest
        assert not any(calls[place].get("wrong") for calls in rest), rest
    assert all(calls[1]["failed"] == calls[2]["failed"] == [2] for calls in rest), rest
    assert all("cut off" in seen["error"] for seen in found[2][1:]), found[2]


@pytest.mark.parametrize("go_on", [False, True])
@pytest.mark.parametrize("name", ALL)
def test_a_stopped_rank_keeps_nobody(run, name, go_on):
    """What it had to say is missing at all others alike; when it goes on, it ends, too, and knows that it was cut off."""
    case = {
        "survive": 1,
        "deadline": 1.0,
        "go_on": go_on,
        "calls": [
            {"collective": "allgather", "size": 90},
            {"collective": name, "size": MUCH, "root": 1, "kills": [[2, 1, True]], "stop": True},
            {"collective": "broadcast", "size": MUCH, "root": 3},
            {"collective": "allgather", "size": 90},
        ],
    }
    [found] = run(4, [case])
    living = [found[rank] for rank in (0, 1, 3)]
    for place in range(4):
        assert len({str(calls[place].get("failed", "error")) for calls in living}) == 1, living
        assert not any(calls[place].get("wrong") for calls in living), living
    assert all(calls[3]["failed"] == [2] for calls in living), living
    assert all(calls[2] == {**calls[2], "failed": [], "wrong": []} for calls in living), living
    if go_on:
        assert all("error" in seen for seen in found[2][1:]), found[2]


def test_much_data_to_all_takes_no_memory_beside_the_buffers(run):
    """8 MiB out and 8 MiB in on each of 24 ranks, with two deaths to survive: at most as much again as both."""
    case = {"survive": 2, "calls": [{"collective": "alltoall", "size": (8 << 20) // 24, "kills": kills}
                                    for kills in ([], [[5, 30, True], [11, 20, True]])]}  # fmt: skip
    [found] = run(24, [case], 280)
    check(case, found, 24)
    assert max(calls[place]["grew"] for calls in found.values() for place in (0, 1)) <= 2 * (16 << 20)
