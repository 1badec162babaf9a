"""Who is new is asked of the job: real torchruns, whose agents start all their workers anew."""

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

pytest.importorskip("torch", reason="PyTorch is not installed")

PROGRAM = Path(__file__).parents[1] / "torch" / "restarted.py"
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--max-restarts", "1"]


def run_all(lines):
    """Start programs side by side; return what ranks say, by their numbers."""
    started = [
        subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=ENVIRONMENT)
        for line in lines
    ]
    try:
        said = "".join(each.communicate(timeout=400)[0] for each in started)
    finally:
        for each in started:
            each.kill()
    assert [each.returncode for each in started] == [0] * len(started), said
    return dict(sorted(re.findall(r"rank (\d) (new \w+ sum \d+)", said)))


@pytest.mark.parametrize("init", ["treecast://", "env://"])
def test_one_agent_of_all_workers_begins_the_job_again(init, tmp_path):
    line = [*TORCHRUN, "--standalone", "--nproc-per-node", "3", str(PROGRAM), init, str(tmp_path / "mark")]
    assert run_all([line]) == {str(rank): "new False sum 3" for rank in range(3)}


def test_groups_of_gloo_begin_again_with_it(tmp_path):
    line = [
        *TORCHRUN,
        "--standalone",
        "--nproc-per-node",
        "3",
        str(PROGRAM),
        "treecast://",
        str(tmp_path / "mark"),
        "sub",
    ]
    assert run_all([line]) == {str(rank): "new False sum 3" for rank in range(3)}


@pytest.mark.parametrize("init", ["treecast://", "env://"])
def test_a_worker_with_an_agent_of_its_own_comes_in_as_a_newcomer(init, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    many = ["--nnodes", "3", "--nproc-per-node", "1", "--master-addr", "127.0.0.1", "--master-port", str(port)]
    lines = [[*TORCHRUN, *many, "--node-rank", str(k), str(PROGRAM), init, str(tmp_path / "mark")] for k in range(3)]
    assert run_all(lines) == {str(rank): f"new {rank == 2} sum 3" for rank in range(3)}
