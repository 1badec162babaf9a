"""Rings of ranks: who holds the lock of one, and which rows an end may change."""

import subprocess
import sys
from types import SimpleNamespace

from treecast.calls.ring import Ring
from treecast.groups.record import KEPT, Made
from treecast.groups.words import Words
from treecast.records.ring import read_ring

READER = """
import signal, sys
from pathlib import Path
from types import SimpleNamespace
from treecast.calls.ring import Ring

signal.alarm(60)
ring = Ring(SimpleNamespace(groups={}), 0, sys.argv[1])
ring.file.read_bytes()
print("read", flush=True)
sys.stdin.read()
"""


def read(file):
    return read_ring(file.read_bytes(), str(file), file.stat().st_mtime)


def make(folder, *, rank=0):
    group = SimpleNamespace(ident=0, size=2, seats=[0, 1], terms=SimpleNamespace(late=None))
    return Ring(SimpleNamespace(groups={0: group}), rank, str(folder))


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
    ring, calls = make(tmp_path), [Made(0, call, Words("Barrier")) for call in range(1, KEPT + 2)]
    for made in calls:
        ring.note(made)
    for made in (calls[0], calls[1]):
        made.ended = 7
        ring.note(made)
    found = {entry["collective_seq_id"]: entry["time_discovered_completed_ns"] for entry in read(ring.file)["entries"]}
    assert {call for call, ended in found.items() if ended} == {2}
    assert set(found) == set(range(2, KEPT + 2))
