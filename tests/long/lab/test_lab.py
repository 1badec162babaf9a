"""Labs that are really built. They need root on Linux, ip and tc; elsewhere they are skipped."""

import json
import os
import subprocess
import sys

import pytest

from tests.lab.test_lab import needs_lab, needs_mpi, run
from treecast import plan
from treecast.files import formats
from treecast.running.lab.wiring import LinkCut


@needs_lab
@needs_mpi
def test_a_plan_with_two_copies_gets_past_a_link_that_is_cut(tmp_path):
    """The link of the root goes down in mid-transfer; every rank has everything, the report is whole, and all ends by itself."""
    plan_file, data = tmp_path / "plan.tc", tmp_path / "data"
    formats.save(plan("broadcast", "hypercube:3", messages=96, survive=1), plan_file)
    data.write_bytes(os.urandom(3_000_000))
    program = [sys.executable, "-m", "treecast", "run", str(plan_file), "--mpi", "--input", str(data)]
    program += ["--deadline", "2", "--json"]
    outcome, out = run("hypercube:3", 50 * 10**6, program, tmp_path, cuts=[LinkCut(0, 1, 0.05, after_mark=True)])
    found = json.loads(out)
    assert outcome.status == 0
    assert [link[:2] for link in outcome.cuts] == [(0, 1)]
    assert (found["living"], found["delivered"]) == (8, 8)
    assert {tuple(node["cut_off"]) for node in found["node_reports"][:2]} == {("0b001",), ("0b000",)}


@needs_lab
@needs_mpi
@pytest.mark.parametrize("busy", [0, 2])
def test_a_cut_in_mid_run_keeps_no_rank_from_its_data_nor_from_its_end(tmp_path, busy):
    """The example of docs/reference/mpi.md, 20 times, on a loaded machine too. Its mpirun ends by itself, or time runs out."""
    plan_file, data = tmp_path / "plan.tc", tmp_path / "data"
    formats.save(plan("broadcast", "hypercube:3", messages=384, survive=1), plan_file)
    data.write_bytes(os.urandom(12_500_000))
    program = [sys.executable, "-m", "treecast", "run", str(plan_file), "--mpi", "--input", str(data)]
    program += ["--deadline", "3", "--json"]
    loads = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(busy)]
    try:
        for _ in range(20):
            outcome, out = run("hypercube:3", 10**8, program, tmp_path, cuts=[LinkCut(0, 1, 0.2, after_mark=True)])
            found = json.loads(out)
            assert (outcome.status, found["living"], found["delivered"]) == (0, 8, 8)
            assert [link[:2] for link in outcome.cuts] == [(0, 1)]
    finally:
        for load in loads:
            load.kill()
            load.wait(60)
