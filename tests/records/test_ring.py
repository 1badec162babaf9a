"""Rings of ranks: who holds the lock of one, which rows an end may change, and what becomes of those that are broken."""

import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import pytest

import treecast
from tests.mpi.conftest import missing
from treecast.cli import main
from treecast.files.records.reading import write_dumps
from treecast.files.records.ring import HEAD, MAGIC, read_ring
from treecast.running.calls.ring import Ring
from treecast.running.groups.record import KEPT, Made
from treecast.running.groups.words import Words

READER = """
import signal, sys
from pathlib import Path
from types import SimpleNamespace
from treecast.running.calls.ring import Ring

signal.alarm(60)
ring = Ring(0, sys.argv[1])
ring.join(SimpleNamespace(groups={}, record=SimpleNamespace()), [0])
ring.file.read_bytes()
print("read", flush=True)
sys.stdin.read()
"""


def read(file):
    return read_ring(file.read_bytes(), str(file), file.stat().st_mtime)


def a_communicator(size=2):
    """Return the waits of one, as far as a ring looks at them, and what it has told of calls."""
    group = SimpleNamespace(ident=0, size=size, seats=list(range(size)), terms=SimpleNamespace(late=None))
    return SimpleNamespace(groups={0: group}, record=SimpleNamespace())


def make(folder, *, rank=0):
    """Return the ring of a job's rank, and what keeps its calls."""
    ring, waiting = Ring(rank, str(folder)), a_communicator()
    ring.join(waiting, range(2))
    return ring, waiting.record.note


def test_who_reads_its_own_ring_has_not_ended_before_it_is_killed(tmp_path):
    line = [sys.executable, "-c", READER, str(tmp_path)]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout.readline() == b"read\n"
            assert not read(tmp_path / "rank-0.ring")["treecast"]["gone"]
        finally:
            process.kill()
    assert read(tmp_path / "rank-0.ring")["treecast"]["gone"]


def test_a_late_end_is_not_that_of_the_call_which_took_the_row(tmp_path):
    (ring, note), calls = make(tmp_path), [Made(0, call, Words("Barrier")) for call in range(1, KEPT + 2)]
    for made in calls:
        note(made)
    for made in (calls[0], calls[1]):
        made.ended = 7
        note(made)
    found = {entry["collective_seq_id"]: entry["time_discovered_completed_ns"] for entry in read(ring.file)["entries"]}
    assert {call for call, ended in found.items() if ended} == {2}
    assert set(found) == set(range(2, KEPT + 2))


def entries(ring):
    found = read(ring.file)
    return [(entry["process_group"][0], entry["collective_seq_id"]) for entry in found["entries"]], found["pg_config"]


def test_communicators_of_a_process_share_its_ring_and_are_told_apart(tmp_path):
    """Ranks 0, 1 and 3 of four make communicators of [0, 1], [3, 1] and [0, 1] again, as far as they are in them."""
    made, names = {0: [(0, 1), (0, 1)], 1: [(0, 1), (3, 1), (0, 1)], 3: [(3, 1)]}, {}
    for rank, several in made.items():
        ring, parts = Ring(rank, str(tmp_path)), [a_communicator(4), *map(a_communicator, map(len, several))]
        for waiting, ranks in zip(parts, [range(4), *several], strict=True):
            ring.join(waiting, ranks, 4)
            waiting.record.note(Made(0, 7, Words("Barrier")))
        rows, config = entries(ring)
        assert [call for _, call in rows] == [7] * len(parts)
        assert rows[0] == ("0", 7)
        assert config["0"]["ranks"] == "[0, 1, 2, 3]"
        assert [config[name]["ranks"] for name, _ in rows[1:]] == [str(list(ranks)) for ranks in several]
        names[rank] = [name for name, _ in rows]
    assert len(set(names[1])) == 4
    assert names[0] == [names[1][0], names[1][1], names[1][3]]
    assert names[3] == [names[1][0], names[1][2]]
    found = treecast.why(tmp_path)
    assert [(verdict.kind, verdict.ranks) for verdict in found.verdicts] == [("ended", (2,))]  # it left no record


def test_a_process_is_closed_when_its_last_communicator_is(tmp_path):
    ring, first, second = Ring(0, str(tmp_path)), a_communicator(), a_communicator()
    parts = [ring.join(first, [0, 1], 2), ring.join(second, [0, 1], 2)]
    for part, closed in zip(parts, (False, True), strict=True):
        ring.leave(part)
        assert read(ring.file)["treecast"]["closed"] == closed


def test_a_job_that_begins_when_another_has_ended_has_the_ring_for_itself(tmp_path):
    ring, first, second = Ring(0, str(tmp_path)), a_communicator(), a_communicator(3)
    part = ring.join(first, range(2))
    first.record.note(Made(0, 1, Words("Barrier")))
    ring.leave(part)
    ring.join(second, range(3))
    second.record.note(Made(0, 2, Words("Barrier")))
    rows, config = entries(ring)
    assert (rows, config["0"]["ranks"]) == ([("0", 2)], "[0, 1, 2]")


def nest(head):
    """Return a head nested so deep that it can hardly be read, and not be written as a pickle."""
    depth = 1 << 20
    while True:
        depth = depth * 9 // 10
        with suppress(RecursionError):
            json.loads("[" * depth + "]" * depth)
            break
    depth = depth * 9 // 10
    return json.dumps(head)[:-1] + ', "deep": ' + "[" * depth + "]" * depth + "}"


def forget_rank(head):
    del head["treecast"]["rank"]
    return json.dumps(head)


def break_ring(file, change):
    """Change the head of a ring; None empties the file."""
    data = file.read_bytes()
    _, length, begin, *rows = HEAD.unpack_from(data)
    text = b"" if change is None else change(json.loads(data[HEAD.size : HEAD.size + length])).encode()
    file.write_bytes(text and HEAD.pack(MAGIC, len(text), HEAD.size + len(text), *rows) + text + data[begin:])


@pytest.mark.parametrize("change", [nest, forget_rank, None])
def test_a_broken_ring_is_named_and_the_others_are_read(tmp_path, capsys, change):
    for rank in range(3):
        make(tmp_path / "rings", rank=rank)[1](Made(0, 1, Words("Barrier")))
    break_ring(tmp_path / "rings" / "rank-1.ring", change)
    assert len(treecast.why(tmp_path / "rings").refused) == (change is not forget_rank)  # its file tells the rank
    main(["why", str(tmp_path / "rings"), "--dumps", str(tmp_path / "dumps")])
    assert "no dump of rank-1.ring: " in capsys.readouterr().err
    assert {file.name for file in (tmp_path / "dumps").iterdir()} == {"treecast_rank_0", "treecast_rank_2"}
    kept = pickle.loads((tmp_path / "dumps" / "treecast_rank_2").read_bytes())
    assert [entry["profiling_name"] for entry in kept["entries"]] == ["gloo:barrier"]


def test_a_folder_without_a_ring_that_can_be_read_is_refused(tmp_path):
    with pytest.raises(treecast.FormatError, match="name a folder of TREECAST_DUMP"):
        write_dumps(tmp_path, tmp_path / "dumps")
    (tmp_path / "rank-0.ring").touch()
    with pytest.raises(treecast.FormatError, match=r"rank-0\.ring: the ring cannot be read"):
        write_dumps(tmp_path, tmp_path / "dumps")


# A rank is killed, stops, raises or leaves a call out, in each face: what is left names it, with its last call and its line.


JOB = Path(__file__).parents[1] / "records" / "stops.py"


TOOL = shutil.which("torchfrtrace") or str(Path(sys.executable).with_name("torchfrtrace"))


def start(folder, face, how):
    if face == "mpi" and missing():
        pytest.skip(missing())
    if face == "torch" and find_spec("torch") is None:
        pytest.skip("PyTorch is not installed")
    over = [] if face == "mpi" else ["--tcp"]
    line = [sys.executable, "-m", "treecast", "launch", *over, "-n", "4", "--", sys.executable, str(JOB), face, how]
    environment = {**os.environ, "TREECAST_DUMP": str(folder), "TREECAST_SITES": "1", "OMP_NUM_THREADS": "1"}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen(line, env=environment, start_new_session=True, **quiet)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["killed", "aborted", "raised", "skipped"])
@pytest.mark.parametrize("face", ["tcp", "mpi", "torch"])
def test_what_ended_is_named(tmp_path, face, how):
    job = start(tmp_path, face, how)
    try:
        job.wait(90)
    finally:
        if job.poll() is None:
            os.killpg(job.pid, signal.SIGKILL)
            job.wait(30)
    found = treecast.why(tmp_path)
    first = found.verdicts[0]
    if (face, how) == ("mpi", "raised"):  # mpirun kills all others, in a call that takes no time to begin
        assert first.kind in ("ended", "cannot")
        return
    assert (first.kind, first.ranks) == ("unlike" if how == "skipped" else "ended", (2,)), found.verdicts
    assert "stops.py:" in first.text


@pytest.mark.slow
def test_a_call_of_a_second_communicator_of_a_process_is_in_its_ring(tmp_path):
    job = start(tmp_path, "mpi", "of two")
    try:
        job.wait(90)
    finally:
        if job.poll() is None:
            os.killpg(job.pid, signal.SIGKILL)
            job.wait(30)
    found = {file.name: read_ring(file.read_bytes(), str(file), 0.0) for file in tmp_path.glob("*.ring")}
    assert len(found) == 4
    for name, record in found.items():
        half = "[2, 3]" if name in ("rank-2.ring", "rank-3.ring") else "[0, 1]"
        members = {record["pg_config"][entry["process_group"][0]]["ranks"] for entry in record["entries"]}
        assert members == {"[0, 1, 2, 3]", half}
    first = treecast.why(tmp_path).verdicts[0]
    assert (first.kind, first.ranks) == ("ended", (2,))


@pytest.mark.slow
@pytest.mark.skipif(not Path(TOOL).exists(), reason="PyTorch's tool is not here")
def test_the_tool_of_pytorch_reads_what_ranks_left(tmp_path, capsys):
    job = start(tmp_path / "rings", "tcp", "skipped")
    job.wait(90)
    assert main(["why", str(tmp_path / "rings"), "--dumps", str(tmp_path / "dumps")]) == 1
    line = [TOOL, str(tmp_path / "dumps"), "--prefix", "treecast_rank_"]
    said = subprocess.run(line, capture_output=True, text=True, check=False, timeout=120)
    assert said.returncode == 0, said.stderr
    assert "mismatch" in (said.stdout + said.stderr).lower()


def stands_still(found):
    """Whether a job hangs at a line of the program: before that a rank that starts late has made no call."""
    return found is not None and not found and "stops.py:" in found.verdicts[0].text


@pytest.mark.slow
@pytest.mark.parametrize("how", ["stopped", "asleep"])
@pytest.mark.parametrize("face", ["tcp", "mpi", "torch"])
def test_who_stands_still_is_named_while_the_job_is_there(tmp_path, face, how):
    job = start(tmp_path, face, how)
    try:
        until, found = time.monotonic() + 60, None
        while time.monotonic() < until and not stands_still(found):
            time.sleep(1)
            found = treecast.why(tmp_path) if len(list(tmp_path.glob("*.ring"))) == 4 else None
        assert found is not None
        assert (found.verdicts[0].kind, found.verdicts[0].ranks) == ("absent", (2,)), found.verdicts
        assert "stops.py:" in found.verdicts[0].text
    finally:
        os.killpg(job.pid, signal.SIGKILL)
        job.wait(30)
        for file in tmp_path.glob("*.ring"):
            data = read_ring(file.read_bytes(), str(file), 0)
            with suppress(ProcessLookupError):
                os.kill(data["treecast"]["pid"], signal.SIGKILL)
