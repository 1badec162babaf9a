"""Calls while ranks die, stop, or are given wrong arguments: all living ranks see one outcome, and no later call goes wrong."""

import json
import os
import subprocess
import sys
import time

import pytest

from tests.mpi.conftest import ROOT
from tests.mpi.ways.names import SOURCES

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
