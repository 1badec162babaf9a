"""Rings of ranks: who holds the lock of one, which rows an end may change, and what becomes of those that are broken."""

import json
import pickle
import subprocess
import sys
from contextlib import suppress
from types import SimpleNamespace

import pytest

import treecast
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
