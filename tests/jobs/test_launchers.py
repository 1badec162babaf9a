"""One set of rules for both launchers: whole lines of ranks, and the ends of jobs whose ranks are stopped, hang or raise."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.mpi.conftest import missing

pytestmark = pytest.mark.slow

MPI = pytest.param([], marks=pytest.mark.skipif(bool(missing()), reason=missing() or "MPI is there"), id="mpi")
BOTH = pytest.mark.parametrize("launcher", [pytest.param(["--tcp", "--tie"], id="tcp"), MPI])
LINES = 120

PRINT = f"""
import os, sys
rank = int(os.environ.get("TREECAST_RANK") or os.environ["OMPI_COMM_WORLD_RANK"])
for k in range({LINES}):
    print("R", rank, k, "x" * (k * 977 % 70_000))
    print("E", rank, k, file=sys.stderr)
sys.stdout.buffer.write(b"R %d {LINES} \\xff\\0end" % rank)
sys.stdout.flush()
if rank == 1: os.kill(os.getpid(), 9)
"""


def launch(launcher, *words, program, ranks=3, limit=60, **environment):
    """Launch a program; return the status, what was printed and what was said, in bytes."""
    line = [
        sys.executable,
        "-m",
        "treecast",
        "launch",
        *launcher,
        "-n",
        str(ranks),
        "--timeout",
        str(limit),
        *words,
        "--",
    ]
    done = subprocess.run(
        [*line, *program], capture_output=True, timeout=120, check=False, env={**os.environ, **environment}
    )
    return done.returncode, done.stdout, done.stderr


def check_lines(text, ranks, tag=False):
    """Check that each line of each rank is whole, there once, and behind those that the rank printed before."""
    found = {rank: [] for rank in ranks}
    for line in text.removesuffix(b"\n").split(b"\n"):
        said, _, rest = line.partition(b" ") if tag else (b"", b"", line)
        word, rank, number, data = rest.split(b" ", 3)
        assert (word, said) == (b"R", b"[%s]" % rank if tag else b"")
        assert data == (b"x" * (int(number) * 977 % 70_000) if int(number) < LINES else b"\xff\0end")
        found[int(rank)].append(int(number))
    assert all(numbers == list(range(LINES + 1)) for numbers in found.values())


@BOTH
@pytest.mark.parametrize("tag", [False, True])
def test_lines_of_ranks_never_mix(launcher, tag, tmp_path):
    words = [*["--tag"] * tag, "--logs", str(tmp_path / "logs")]
    status, out, err = launch(launcher, *words, program=[sys.executable, "-c", PRINT], ranks=4)
    check_lines(out, range(4), tag)
    wanted = {f"{f'[{rank}] ' * tag}E {rank} {k}" for rank in range(4) for k in range(LINES)}
    said = "treecast: rank 1 was killed (signal 9); 3 of 4 ended with 0"
    assert (status, sorted(err.decode().splitlines())) == (0, sorted({*wanted, said}))
    for rank in range(4):
        lines = (tmp_path / "logs" / f"rank-{rank}.log").read_bytes().splitlines(keepends=True)
        check_lines(b"".join(line for line in lines if line[:1] == b"R"), [rank])
        assert len(lines) == 2 * LINES + 1


IF_1 = "test ${TREECAST_RANK:-$OMPI_COMM_WORLD_RANK} != 1 || "


@BOTH
def test_a_rank_that_stays_stopped_is_ended(launcher):
    status, out, err = launch(launcher, program=["sh", "-c", f"printf half; {IF_1}kill -STOP $$; echo"])
    assert (status, sorted(out.split())) == (0, [b"half"] * 3)
    assert err == b"treecast: 2 of 3 ended with 0; rank 1 was stopped, and was ended\n"
    assert launch(launcher, "--intact", program=["sh", "-c", f"{IF_1}kill -STOP $$"])[0] == 137


@BOTH
def test_stopped_ranks_that_nobody_outlives_are_a_failure(launcher):
    script = f"{IF_1}kill -STOP $$; kill -9 $$"
    status, _, err = launch(launcher, program=["sh", "-c", script])
    assert status == 137
    assert err.endswith(b"were killed (signal 9); 0 of 3 ended with 0; rank 1 was stopped, and was ended\n")


JOIN = {
    "tcp": "import treecast; comm = treecast.connect(survive=1, deadline=2)\n",
    "mpi": "import treecast.mpi\nfrom mpi4py import MPI\ncomm = treecast.mpi.wrap(MPI.COMM_WORLD, survive=1, deadline=2)\n",
}
HANG = """
import os, re, signal, sys
comm.barrier()
if comm.rank == 2: {end}
sys.stdout.write(f"{{comm.allreduce(1)}}\\n")
"""


@BOTH
@pytest.mark.parametrize(
    ("end", "how"),
    [("os.kill(os.getpid(), signal.SIGSTOP)", b"stopped"), ('re.match("(a+)+$", "a" * 60 + "b")', b"silent")],
    ids=["stopped", "holds Python's lock"],
)
def test_a_rank_that_the_others_have_put_out_is_ended_after_them(launcher, end, how):
    program = JOIN["tcp" if launcher else "mpi"] + HANG.format(end=end)
    status, out, err = launch(launcher, program=[sys.executable, "-c", program])
    assert (status, out) == (0, b"2\n2\n")
    assert err.splitlines()[-1] == b"treecast: 2 of 3 ended with 0; rank 2 was %s, and was ended" % how


@BOTH
@pytest.mark.parametrize(
    ("end", "how"), [("raise ValueError('on\\npurpose')", "raised ValueError: on"), ("sys.exit(3)", "ended with 3")]
)
@pytest.mark.parametrize("wrapped", [False, True])
def test_a_rank_that_raised_was_not_killed(launcher, end, how, wrapped):
    program = JOIN["tcp" if launcher else "mpi"].replace("survive=1", "survive=1, on_error='die'")
    program = (
        (program + HANG.format(end=end))
        .replace("treecast.connect(", "treecast.tcp.init(")
        .replace("import treecast;", "import treecast.tcp;")
    )
    words = ["sh", "-c", 'exec "$@"', "sh"] if wrapped else []
    status, out, err = launch(launcher, program=[*words, sys.executable, "-c", program])
    assert (status, out) == (0, b"2\n2\n")
    assert err.splitlines()[-1] == f"treecast: rank 2 {how}; 2 of 3 ended with 0".encode()


@BOTH
@pytest.mark.parametrize(("end", "ends"), [("raise ValueError('bad lr')", 1), ("sys.exit(3)", 3)])
def test_ranks_that_all_die_of_their_own_errors_end_the_job_with_the_status_of_the_first(launcher, end, ends):
    """It was 137, as if somebody had killed them."""
    join = "import sys\n" + JOIN["tcp" if launcher else "mpi"].replace("survive=1", "survive=2, on_error='die'")
    for ranks, words, status in (("012", [], ends), ("2", [], 0), ("2", ["--intact"], ends)):
        program = f"{join}comm.barrier()\nif str(comm.rank) in '{ranks}': {end}"
        assert launch(launcher, *words, program=[sys.executable, "-c", program])[0] == status


@BOTH
@pytest.mark.parametrize("to", ["all", "launcher"])
def test_a_signal_for_records_ends_nothing(launcher, to, tmp_path):
    """Sent as pkill -f does, it ended the launcher, whose command line names the program, too."""
    program, folder, begun, go = (tmp_path / name for name in ("train.py", "records", "begun", "go"))
    program.write_text(
        f"import os, time\n{JOIN['tcp' if launcher else 'mpi']}comm.barrier()\n"
        f"open('{begun}', 'a').write('x')\n"
        f"while comm.rank == 1 and not os.path.exists('{go}'): time.sleep(0.02)\n"
        "comm.barrier()\n"
    )
    line = [sys.executable, "-m", "treecast", "launch", *launcher, "-n", "3", "--timeout", "60", "--"]
    with subprocess.Popen(
        [*line, sys.executable, str(program)], stderr=subprocess.PIPE, env={**os.environ, "TREECAST_DUMP": str(folder)}
    ) as job:
        wait_for(lambda: begun.exists() and begun.stat().st_size == 3)
        named = [int(each.parent.name) for each in Path("/proc").glob("[0-9]*/cmdline") if names(each, program)]
        assert len(named) == (7 if launcher else 8)  # the launcher, mpirun, watchers and ranks
        for pid in named if to == "all" else [job.pid]:
            os.kill(pid, signal.SIGUSR2)
        wait_for(lambda: len(list(folder.glob("treecast_rank_*"))) == 3)
        go.touch()
        assert (job.communicate(timeout=60), job.returncode) == ((None, b""), 0)


@pytest.mark.parametrize("folder", ["", "records"])
def test_the_time_limit_says_what_tells_who_waited(folder, tmp_path):
    dump = str(tmp_path / folder) if folder else ""
    status, _, err = launch(["--tcp"], program=["sleep", "100"], ranks=2, limit=1, TREECAST_DUMP=dump)
    kept = f"treecast why {dump} says" if dump else "with TREECAST_DUMP=records, treecast why records says"
    line = f"treecast: the time limit of 1 s was up ({kept} who waited for whom); 0 of 2 ended with 0; ranks 0, 1 had not ended"
    assert (status, err.decode()) == (124, f"{line}\n")


def wait_for(holds):
    """Wait until something holds."""
    until = time.monotonic() + 30
    while not holds() and time.monotonic() < until:
        time.sleep(0.02)
    assert holds()


def names(line, program):
    """Return whether the command line of a process names a program."""
    try:
        return str(program).encode() in line.read_bytes()
    except OSError:
        return False


@BOTH
def test_a_rank_in_its_exit_has_ended(launcher):
    """It was counted among those that had not."""
    if launcher:
        program = f"{JOIN['tcp']}comm.barrier()\nif comm.rank: comm.recv(source=0)"
        said = "rank 1 raised DeliveryError: recv: rank 0 has ended, and the message is lost; 1 of 2 ended with 0"
    else:
        program = f"{JOIN['mpi'].replace(', deadline=2', '')}comm.barrier()\nif comm.rank: comm.barrier()"
        said = "rank 1 waits in call 2 for rank 0, which has ended; 1 of 2 ended with 0; rank 1 had not ended"
    status, _, err = launch(launcher, program=[sys.executable, "-c", program], ranks=2)
    assert (status, err.decode().splitlines()[-1]) == (1, f"treecast: {said}")


@BOTH
def test_a_long_error_is_cut_between_words(launcher):
    raises = f"raise ValueError('{'1234567 ' * 40}')"
    status, _, err = launch(launcher, program=[sys.executable, "-c", raises], ranks=1)
    line = err.decode().splitlines()[-1]
    assert (status, line) == (1, f"treecast: rank 0 raised ValueError: {'1234567 ' * 28}…; 0 of 1 ended with 0")


@BOTH
def test_files_that_cannot_be_written_are_refused_in_one_line(launcher, tmp_path):
    (tmp_path / "file").touch()
    status, out, err = launch(launcher, "--logs", str(tmp_path / "file"), program=["true"])
    assert (status, out) == (2, b"")
    assert err == f"error: --logs {tmp_path / 'file'} is no folder that can be written: File exists\n".encode()


SURVIVE = """
import os, sys
if sys.argv[1] == "tcp":
    import treecast
    comm = treecast.connect(survive=1)
else:
    import treecast.mpi
    from mpi4py import MPI
    comm = treecast.mpi.wrap(MPI.COMM_WORLD, survive=1)
comm.Barrier()
if comm.rank == 1: os.kill(os.getpid(), 9)
comm.allreduce(1)
"""


@BOTH
def test_the_last_line_counts_the_events_that_ranks_have_told(launcher, tmp_path):
    program = [sys.executable, "-c", SURVIVE, "tcp" if launcher else "mpi"]
    status, _, err = launch(launcher, program=program, TREECAST_LOG=str(tmp_path / "events"))
    ended, _, told = err.decode().splitlines()[-1].partition("; events: ")
    assert (status, ended) == (0, "treecast: rank 1 was killed (signal 9); 2 of 3 ended with 0")
    counts = {name: int(count) for count, name in map(str.split, told.split(", "))}
    assert counts["joined"] == counts["ended"] == 1
    assert counts["decided"] >= 1
