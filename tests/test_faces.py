"""The faces for calls: a rank loads no planner and no network, which most jobs never use."""

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
NEEDS = {"mpi": "mpi4py", "torch": "torch"}


@pytest.mark.parametrize("face", CALLS)
def test_a_face_loads_no_planner(face):
    if find_spec(NEEDS.get(face, "treecast")) is None:
        pytest.skip(f"{NEEDS[face]} is not installed")
    told = "import sys\nprint(*(name for name in sys.modules if name.startswith('treecast.')))"
    done = subprocess.run(
        [sys.executable, "-c", f"{CALLS[face]}\n{told}"], capture_output=True, text=True, check=True, timeout=100
    )
    loaded = {name.split(".")[1] for name in done.stdout.split()}
    assert "calls" in loaded
    assert not loaded & PLANNERS
