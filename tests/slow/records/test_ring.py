"""A rank is killed, stops, raises or leaves a call out, in each face: what is left names it, with its last call and its line."""

import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import pytest

import treecast
from tests.mpi.conftest import missing
from treecast.cli import main
from treecast.files.records.ring import read_ring

JOB = Path(__file__).parents[2] / "records" / "stops.py"
TOOL = shutil.which("torchfrtrace") or str(Path(sys.executable).with_name("torchfrtrace"))


def start(folder, face, how):
    if face == "mpi" and missing():
        pytest.skip(missing())
    if face == "torch" and find_spec("torch") is None:
        pytest.skip("PyTorch is not installed")
    over = [] if face == "mpi" else ["--tcp"]
    line = [sys.executable, "-m", "treecast", "launch", *over, "-n", "4", "--", sys.executable, str(JOB), face, how]
    environment = {**os.environ, "TREECAST_DUMP": str(folder), "TREECAST_SITES": "1", "OMP_NUM_THREADS": "1"}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen(line, env=environment, start_new_session=True, **quiet)


@pytest.mark.parametrize("how", ["killed", "aborted", "raised", "skipped"])
@pytest.mark.parametrize("face", ["tcp", "mpi", "torch"])
def test_what_ended_is_named(tmp_path, face, how):
    job = start(tmp_path, face, how)
    try:
        job.wait(90)
    finally:
        if job.poll() is None:
            os.killpg(job.pid, signal.SIGKILL)
            job.wait(30)
    found = treecast.why(tmp_path)
    first = found.verdicts[0]
    if (face, how) == ("mpi", "raised"):  # mpirun kills all others, in a call that takes no time to begin
        assert first.kind in ("ended", "cannot")
        return
    assert (first.kind, first.ranks) == ("unlike" if how == "skipped" else "ended", (2,)), found.verdicts
    assert "stops.py:" in first.text


def test_a_call_of_a_second_communicator_of_a_process_is_in_its_ring(tmp_path):
    job = start(tmp_path, "mpi", "of two")
    try:
        job.wait(90)
    finally:
        if job.poll() is None:
            os.killpg(job.pid, signal.SIGKILL)
            job.wait(30)
    found = {file.name: read_ring(file.read_bytes(), str(file), 0.0) for file in tmp_path.glob("*.ring")}
    assert len(found) == 4
    for name, record in found.items():
        half = "[2, 3]" if name in ("rank-2.ring", "rank-3.ring") else "[0, 1]"
        members = {record["pg_config"][entry["process_group"][0]]["ranks"] for entry in record["entries"]}
        assert members == {"[0, 1, 2, 3]", half}
    first = treecast.why(tmp_path).verdicts[0]
    assert (first.kind, first.ranks) == ("ended", (2,))


@pytest.mark.skipif(not Path(TOOL).exists(), reason="PyTorch's tool is not here")
def test_the_tool_of_pytorch_reads_what_ranks_left(tmp_path, capsys):
    job = start(tmp_path / "rings", "tcp", "skipped")
    job.wait(90)
    assert main(["why", str(tmp_path / "rings"), "--dumps", str(tmp_path / "dumps")]) == 1
    line = [TOOL, str(tmp_path / "dumps"), "--prefix", "treecast_rank_"]
    said = subprocess.run(line, capture_output=True, text=True, check=False, timeout=120)
    assert said.returncode == 0, said.stderr
    assert "mismatch" in (said.stdout + said.stderr).lower()


def stands_still(found):
    """Whether a job hangs at a line of the program: before that a rank that starts late has made no call."""
    return found is not None and not found and "stops.py:" in found.verdicts[0].text


@pytest.mark.parametrize("how", ["stopped", "asleep"])
@pytest.mark.parametrize("face", ["tcp", "mpi", "torch"])
def test_who_stands_still_is_named_while_the_job_is_there(tmp_path, face, how):
    job = start(tmp_path, face, how)
    try:
        until, found = time.monotonic() + 60, None
        while time.monotonic() < until and not stands_still(found):
            time.sleep(1)
            found = treecast.why(tmp_path) if len(list(tmp_path.glob("*.ring"))) == 4 else None
        assert found is not None
        assert (found.verdicts[0].kind, found.verdicts[0].ranks) == ("absent", (2,)), found.verdicts
        assert "stops.py:" in found.verdicts[0].text
    finally:
        os.killpg(job.pid, signal.SIGKILL)
        job.wait(30)
        for file in tmp_path.glob("*.ring"):
            data = read_ring(file.read_bytes(), str(file), 0)
            with suppress(ProcessLookupError):
                os.kill(data["treecast"]["pid"], signal.SIGKILL)
