"""The faces for calls: a rank loads no planner and no network, which most jobs never use, and a host of a cast no planner."""

import subprocess
import sys
from importlib.util import find_spec

import pytest

from tests.tcp.test_meeting import free_port

PLANNERS = {"plans", "networks", "schedule", "verification", "kernels", "graphs", "lower_bounds"}
CALLS = {
    "tcp": f"import treecast.tcp\ncomm = treecast.tcp.init(0, 1, '127.0.0.1:{free_port()}')\ncomm.allreduce(1)",
    "mpi": "import treecast.mpi\nfrom mpi4py import MPI\ncomm = treecast.mpi.wrap(MPI.COMM_WORLD)\ncomm.allreduce(1)",
    "torch": "import treecast.torch\nimport treecast.torch.group",
}
CAST = """
import numpy, sys, treecast.running.cast.job
from treecast.running.engine.choose import Operation, between_hosts, broadcast_role
from treecast.networks import network
chain = between_hosts(Operation("broadcast", network("complete:5"), 0, 9, model="one-port"), 5, 0, 10**7, 1e6)
print(len(broadcast_role(chain, range(5), 0, 2, 100).transfers))
"""
NEEDS = {"mpi": "mpi4py", "torch": "torch"}


@pytest.mark.parametrize("face", CALLS)
def test_a_face_loads_no_planner(face):
    if find_spec(NEEDS.get(face, "treecast")) is None:
        pytest.skip(f"{NEEDS[face]} is not installed")
    assert "calls" in loaded_by(CALLS[face])
    assert not loaded_by(CALLS[face]) & PLANNERS


def test_a_cast_loads_no_planner_for_its_chain():
    loaded = loaded_by(CAST)
    assert "engine" in loaded
    assert not loaded & (PLANNERS - {"networks"})
    # nor what starts hosts, nor families that nobody has named
    assert not loaded & {"launch", "slimfly", "header", "cli"}


def loaded_by(program):
    told = "import sys\nprint(*(name for name in sys.modules if name.startswith('treecast.')))"
    done = subprocess.run(
        [sys.executable, "-c", f"{program}\n{told}"], capture_output=True, text=True, check=True, timeout=100
    )
    return {part for name in done.stdout.split() for part in name.split(".")[1:]}
