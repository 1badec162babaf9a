"""Unlike calls of a process group, and the record of its calls, as PyTorch's own tools read it."""

import io
import pickle
import subprocess
import sys
from contextlib import redirect_stderr

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import torch.distributed as dist  # noqa: E402

import treecast.torch  # noqa: E402
from tests.torch.ranks import run  # noqa: E402


def differ(rank, one, other, folder):
    """Make one call at rank 0, another one at the others; return the error, and a sum behind."""
    calls = {
        "sum": lambda x: dist.all_reduce(x),
        "max": lambda x: dist.all_reduce(x, dist.ReduceOp.MAX),
        "double": lambda x: dist.all_reduce(x.double()),
        "two": lambda x: dist.all_reduce(torch.ones(2)),
        "broadcast": lambda x: dist.broadcast(x, 1),
        "gather": lambda x: dist.all_gather([torch.zeros(1) for _ in range(3)], x),
        "barrier": lambda x: dist.barrier(),
    }
    with redirect_stderr(io.StringIO()):
        try:
            calls[one if rank == 0 else other](torch.ones(1))
            error = ""
        except RuntimeError as raised:
            error = str(raised)
        total = torch.ones(1)
        try:
            dist.all_reduce(total)
        except RuntimeError as raised:  # a root that had returned
            error = error or str(raised)
    if folder:
        dist.group.WORLD.comm.dump(folder)
    return error, total.item(), [call["profiling_name"] for call in treecast.torch.calls()]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("sum", "max"),
        ("double", "sum"),
        ("two", "sum"),
        ("broadcast", "sum"),
        ("sum", "gather"),
        ("barrier", "broadcast"),
    ],
)
def test_unlike_calls_are_one_error_at_all(one, other):
    found = run(3, differ, one, other, "")
    assert len({error for error, *_ in found}) == 1
    assert "all ranks make the same calls" in found[0][0]
    assert [total for _, total, _ in found] == [3, 3, 3]


def test_torchs_own_tool_reads_the_record_and_names_the_odd_rank(tmp_path):
    found = run(3, differ, "barrier", "sum", str(tmp_path))
    assert found[1][2] == ["gloo:all_reduce"] * 2
    for rank in range(3):
        assert pickle.loads((tmp_path / f"treecast_rank_{rank}").read_bytes())["version"] == "2.10"
    tool = [sys.executable, "-m", "torch.distributed.flight_recorder.fr_trace"]
    said = subprocess.run(
        [*tool, str(tmp_path), "--prefix", "treecast_rank_"], capture_output=True, text=True, timeout=100
    )
    text = said.stdout + said.stderr
    assert "Collective sequence number: 1 has errors" in text, text
    assert "COLLECTIVE_TYPE_MISMATCH" in text, text
