"""The folder for SimGrid: the traces deliver, routes are shortest, and SimGrid takes the time of the steps."""

import pytest

from tests.formats.test_simgrid import replayed, with_simgrid
from treecast import formats
from treecast.plans import plan


@with_simgrid
@pytest.mark.parametrize("spec", ["hypercube:4", "torus:3x3"])
@pytest.mark.parametrize(
    ("kind", "messages"), [("broadcast", 24), ("scatter", 3), ("allgather", 3), ("alltoall", 2), ("allreduce", 3)]
)
def test_simgrid_takes_the_time_of_the_steps(kind, messages, spec, tmp_path):
    schedule = plan(kind, spec, messages=messages)
    formats.save(schedule, tmp_path / "out", to="simgrid", rate="100MB/s")
    seconds = replayed(tmp_path / "out", schedule.network.nodes)
    assert seconds == pytest.approx(schedule.steps * 65_536 / 1e8, rel=0.01)
