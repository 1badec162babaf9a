import hashlib

import numpy as np
import pytest

from treecast.errors import FaultError, PlanError
from treecast.plans import plan
from treecast.running.execution.local import run
from treecast.simulation.faults import Faults


@pytest.mark.parametrize(
    "spec",
    ["star:3", "star:4", "star:5", *(f"hypercube:{d}" for d in range(1, 6)), "torus:3x3", "torus:4x4x4", "ring:5"],
)
def test_an_allreduce_is_exact(spec):
    schedule = plan("allreduce", spec, messages=1 if spec == "star:5" else 2)
    nodes = schedule.network.nodes
    length = 2 * schedule.collective.sums + 1
    data = np.full(nodes * length - 1, 255, np.uint8)  # the greatest sums there are, and a padded end
    data[: nodes * length // 2] = np.random.default_rng(3).integers(256, size=nodes * length // 2)
    done = run(schedule, data.tobytes())
    total = np.append(data, np.uint8(0)).reshape(nodes, length).sum(axis=0, dtype=np.int64)
    assert set(done.digests) == {hashlib.sha256(total.tobytes()).hexdigest()}
    assert len(done.intact) == nodes


def test_what_cannot_be_run_is_refused():
    schedule = plan("broadcast", "star:4", messages=3)
    with pytest.raises(FaultError, match="cannot be dead from the start"):
        run(schedule, b"x", Faults({0: 0}))
    with pytest.raises(PlanError, match=r"^24 buffers of [^\n]* do not fit"):
        run(schedule, memoryview(np.zeros(2**29, np.uint8)))
    with pytest.raises(PlanError, match=r"^24 buffers of [^\n]* do not fit"):  # numbers take eight bytes each
        run(plan("reduce", "star:4"), memoryview(np.zeros(2**30, np.uint8)))
    with pytest.raises(PlanError, match=r"^720 buffers of 1 bytes and 5,184,000 chunks do not fit"):
        run(plan("alltoall", "star:6", messages=10), b"x")
    with pytest.raises(PlanError, match=r"^10,000,001 chunks take too long"):
        run(plan("broadcast", "hypercube:1", messages=10**7 + 1), b"x")
