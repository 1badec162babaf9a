"""Networks less their broken parts, against networkx's removal of nodes and edges."""

import pytest

from treecast.files import formats
from treecast.plans import plan
from treecast.simulation.sweeps import sweep
from treecast.verification.verifier import verify


@pytest.mark.parametrize(
    "spec", ["hypercube:4 without links 0-1", "torus:3x4 without nodes 1,1", "petersen without nodes 3"]
)
def test_plans_on_what_is_left_stand_in_files(spec, tmp_path):
    for kind in ("broadcast", "scatter", "gather", "reduce"):
        schedule = plan(kind, spec, messages=3)
        assert verify(schedule).holds
        for name in ("plan.tc", "plan.tcb"):
            formats.save(schedule, tmp_path / name)
            assert formats.load(tmp_path / name) == schedule
    schedule = plan("broadcast", spec, messages=3, survive=1)
    assert sweep(schedule, 1, "nodes").failing == sweep(schedule, 1, "links").failing == 0
