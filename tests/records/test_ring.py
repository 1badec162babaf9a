"""Rings of ranks: who holds the lock of one."""

import subprocess
import sys

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


def test_who_reads_its_own_ring_has_not_ended_before_it_is_killed(tmp_path):
    line = [sys.executable, "-c", READER, str(tmp_path)]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout.readline() == b"read\n"
            assert not read(tmp_path / "rank-0.ring")["treecast"]["gone"]
        finally:
            process.kill()
    assert read(tmp_path / "rank-0.ring")["treecast"]["gone"]
