"""Plans that processes carry out, and processes that are killed while they do. Each test starts mpirun with a time limit."""

import json
import random
import subprocess
import sys

import pytest

from tests.mpi.conftest import ROOT
from tests.mpi.test_runs import data as data
from tests.mpi.test_runs import kill_twice
from tests.mpi.test_runs import planned as planned

NETWORKS = [("star:4", 24), ("hypercube:3", 8)]


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


@pytest.mark.parametrize(
    ("ranks", "sizes"),
    [(6, "0,1,777,65536"), *(pytest.param(n, "0,1,777,65536,3000000", marks=pytest.mark.long) for n in (6, 8))],
)
def test_every_collective_agrees_with_mpi(treecast, ranks, sizes):
    agrees_with_mpi(treecast, ranks, sizes)


@pytest.mark.parametrize("ranks", [6, 7, 8, 12, 16, 23, 24, 64])
def test_every_root(treecast, ranks):
    agrees_with_mpi(treecast, ranks, "0,777,70001" if ranks < 64 else "0,777", "all", limit=900)


@pytest.mark.parametrize(("ranks", "sizes"), [(8, "16777213,67108864"), (24, "3000001,67108864"), (64, "1,3000001")])
def test_much_data(treecast, ranks, sizes):
    agrees_with_mpi(treecast, ranks, sizes, ranks - 1, limit=900)


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


def test_a_run_joins_an_mpirun_that_is_there(treecast, planned, data):
    plan = planned("broadcast", "hypercube:2", 8, "--survive", 1)
    program = [sys.executable, "-m", "treecast", "run", plan, "--mpi", "--input", data, "--dead-nodes", "2@3", "--json"]
    done = treecast("launch", "-n", 4, "--timeout", 200, "--", *program)
    found = json.loads(done.stdout)  # one rank alone reports
    assert (done.returncode, found["delivered"], found["killed"]) == (0, 3, ["0b10"])


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
