"""Calls while ranks die, stop, or are given wrong arguments: all living ranks see one outcome, and no later call goes wrong."""

import json
import os
import random
import subprocess
import sys
import time

import pytest

from tests.mpi.conftest import ROOT
from tests.mpi.ways.names import ALL, SOURCES

LITTLE, MUCH = 3001, 700_000  # bytes: calls of 64 KiB in all go to all ranks at once


@pytest.fixture
def run(treecast, tmp_path, monkeypatch):
    """Run cases side by side, a group of ranks each; return, for each case, what each rank that ended saw of each call."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "src"), str(ROOT)]))

    def run(ranks, cases, timeout=200):
        folder = tmp_path / str(time.monotonic_ns())
        folder.mkdir()
        program = [sys.executable, "-m", "tests.mpi.ways.program", folder, json.dumps(cases)]
        done = treecast("launch", "-n", ranks * len(cases), "--timeout", timeout, "--", *program)
        assert done.returncode != 124, (cases, done.stderr[-2000:])
        wait_until_gone(str(folder))
        found = [{} for _ in cases]
        for place in folder.iterdir():
            group, rank = map(int, place.name.split("-"))
            found[group][rank] = json.loads(place.read_text())
        assert all(found), done.stderr[-2000:]
        return found

    return run


def wait_until_gone(word):
    """Fail when a process that was started with this word is there 5 seconds later."""
    for _ in range(50):
        if (
            word
            not in subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True, timeout=100).stdout
        ):
            return
        time.sleep(0.1)
    pytest.fail("a process is left")


def check(case, found, ranks=4):
    """Hold what the ranks saw against what every call promises; return how many calls ended in an error."""
    mortal = {rank for asked in case["calls"] for rank, *_ in asked.get("kills", [])}
    assert set(range(ranks)) - mortal <= set(found), (case, found)
    doomed, errors = set(), 0
    for place, asked in enumerate(case["calls"]):
        ended = {rank: calls[place] for rank, calls in found.items()}
        told = (case, place, ended)
        before = doomed - set(found)
        doomed = doomed | {rank for rank, *_ in asked.get("kills", [])}
        refused = set(asked.get("refused", []))
        others = [seen for rank, seen in ended.items() if rank not in refused]
        assert len({str(seen.get("failed", "error")) for seen in others}) == 1, told
        assert len({seen.get("out") for seen in others}) == 1, told
        assert not any(seen.get("wrong") for seen in others), told
        if refused:
            assert all("refused" in seen["error"] for seen in others), told
        elif "error" in others[0] and len(doomed) > case["survive"]:
            errors += 1  # more than was promised: only that all say the same
        elif "error" in others[0]:
            assert asked["collective"] in SOURCES, told
            assert asked["root"] in doomed, told
            assert "lost with its root" in others[0]["error"], told
            errors += 1
        else:
            failed = set(others[0]["failed"])
            assert failed <= doomed, told
            if asked["collective"] in SOURCES:
                assert not failed, told
            elif asked["collective"] != "barrier":
                assert before <= failed or failed == {asked.get("root")}, told
    return errors


def calls(collective, size, kills, later=("broadcast", "allgather"), ranks=4):
    """Return a call without failures, one with, and others afterwards, from a root that lives."""
    living = min(set(range(ranks)) - {rank for rank, *_ in kills})
    return [
        {"collective": "broadcast", "size": 100},
        {"collective": collective, "size": size, "root": 1, "kills": kills},
        *({"collective": name, "size": size, "root": living} for name in later),
    ]


@pytest.mark.slow
def test_ranks_are_killed_in_mid_call(run):
    """Three groups at once: a root in mid-send, a contributor, and one to a sum that is folded in blocks."""
    cases = [
        {"survive": 2, "calls": calls("broadcast", MUCH, [[1, 1, True]], ["gather", "allreduce"])},
        {"survive": 2, "calls": calls("allgather", MUCH, [[2, 4, True]], ["broadcast", "alltoall"])},
        {"survive": 2, "calls": calls("allreduce", MUCH, [[0, 6, False], [3, 9, True]], ["scan", "scatter"])},
    ]
    for case, found in zip(cases, run(4, cases), strict=True):
        check(case, found)


@pytest.mark.slow
def test_all_collectives_do_what_they_say(run):
    """Of the same ranks, one after the other; with failures to survive, which do not come, and without."""
    asked = [
        {"collective": name, "size": size, "root": root, "survive": survive}
        for size, root in ((0, 0), (8, 3), (LITTLE, 1), (MUCH, 2)) for name in ALL for survive in (0, 2)
    ]  # fmt: skip
    case = {"survive": 2, "calls": asked}
    [found] = run(4, [case])
    assert check(case, found) == 0


@pytest.mark.long
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


@pytest.mark.long
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


@pytest.mark.long
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


@pytest.mark.long
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


@pytest.mark.long
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


@pytest.mark.long
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


@pytest.mark.long
def test_much_data_to_all_takes_no_memory_beside_the_buffers(run):
    """8 MiB out and 8 MiB in on each of 24 ranks, with two deaths to survive: at most as much again as both."""
    case = {"survive": 2, "calls": [{"collective": "alltoall", "size": (8 << 20) // 24, "kills": kills}
                                    for kills in ([], [[5, 30, True], [11, 20, True]])]}  # fmt: skip
    [found] = run(24, [case], 280)
    check(case, found, 24)
    assert max(calls[place]["grew"] for calls in found.values() for place in (0, 1)) <= 2 * (16 << 20)
