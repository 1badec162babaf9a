"""Whoever runs a job can see it: events by their sinks, and the record of the last calls."""

import json
import logging
import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tests.tcp.threads import DeathError, run_ranks
from treecast.running.transport.events import NAMES


def die_in_the_third_call(comm):
    told = []
    comm.process.transport.events.sinks.append(told.append)
    comm.Barrier()
    comm.Allreduce(np.ones(4, "f4"), np.zeros(4, "f4"))
    if comm.rank == 2:
        raise DeathError
    comm.allgather(comm.rank)
    return told, comm.stats, comm.calls()


def test_a_death_is_one_event_with_its_proof_at_each_that_lives():
    first, second, _ = run_ranks(3, die_in_the_third_call)
    for told, stats, _ in (first, second):
        lost = [event for event in told if event.name == "lost"]
        assert [(event.ranks, "eof" in event.text) for event in lost] == [((2,), True)]
        assert stats["lost"] == 1
        assert all(event.name in NAMES for event in told)


def test_the_record_has_the_form_of_a_flight_record():
    (_, _, calls), _, _ = run_ranks(3, die_in_the_third_call)
    assert [call["profiling_name"] for call in calls] == ["gloo:barrier", "gloo:all_reduce", "gloo:all_gather"]
    summed = calls[1]
    assert (summed["input_sizes"], summed["input_dtypes"], summed["state"]) == ([[4]], ["Float"], "completed")
    assert summed["treecast"] | {"waited": []} == {
        "name": "Allreduce",
        "op": "SUM",
        "root": None,
        "error": "",
        "waited": [],
    }
    assert all(call["time_created_ns"] <= call["time_discovered_completed_ns"] for call in calls)


def test_events_go_to_the_logger_of_python_and_to_files(tmp_path, monkeypatch, caplog):
    monkeypatch.setenv("TREECAST_LOG", str(tmp_path / "logs"))
    monkeypatch.setenv("TREECAST_DUMP", str(tmp_path / "records"))
    with caplog.at_level(logging.DEBUG, logger="treecast.jobs"):
        run_ranks(3, die_in_the_third_call)
    assert any("lost" in record.message and record.name == "treecast.jobs" for record in caplog.records)
    lines = [json.loads(line) for line in Path(tmp_path, "logs", "rank-0.jsonl").read_text().splitlines()]
    names = [line["name"] for line in lines]
    assert names[0] == "joined"
    assert "over TCP" in lines[0]["text"]
    assert "lost" in names
    assert all(line["rank"] == 0 for line in lines)
    record = pickle.loads(Path(tmp_path, "records", "treecast_rank_0").read_bytes())
    assert record["version"] == "2.10"
    assert record["pg_config"]["0"]["ranks"] == "[0, 1, 2]"


@pytest.mark.skipif(not hasattr(signal, "SIGUSR2"), reason="the system has no SIGUSR2")
def test_a_signal_has_a_rank_keep_all_its_records_while_it_waits(tmp_path):
    program = """
import os, time
from treecast import tcp
comms = []
for name in ("a", "b"):  # two rings
    os.environ["TREECAST_DUMP"] = os.path.join(os.environ["HOME"], name)
    comms.append(tcp.init(0, 1))
    comms[-1].Barrier()
print("ready", flush=True)
time.sleep(60)
"""
    environment = {**os.environ, "HOME": str(tmp_path)}
    child = subprocess.Popen([sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE)
    try:
        assert child.stdout.readline() == b"ready\n"
        child.send_signal(signal.SIGUSR2)
        until = time.monotonic() + 30
        for file in (tmp_path / name / "treecast_rank_0" for name in "ab"):
            while not file.exists() and time.monotonic() < until:
                time.sleep(0.01)
            entries = pickle.loads(file.read_bytes())["entries"]
            assert [entry["profiling_name"] for entry in entries] == ["gloo:barrier"]
    finally:
        child.kill()
        child.communicate(timeout=30)
