"""When kernels are compiled, where compiled code is kept, and what happens where it cannot be."""

import os
import pty
import subprocess
import sys

from tests.kernels.test_compiled import SUM, python


def test_a_cache_cut_short(tmp_path):
    assert python(SUM, NUMBA_CACHE_DIR=str(tmp_path)) == "[0, 1, 2, 3]\n"
    kept = [file for file in tmp_path.rglob("*.nb?") if file.name.startswith("trees.depths")]
    assert {file.suffix for file in kept} == {".nbi", ".nbc"}
    for file in kept:
        file.write_bytes(file.read_bytes()[:40])
        assert python(SUM, NUMBA_CACHE_DIR=str(tmp_path)) == "[0, 1, 2, 3]\n"


def test_a_terminal_is_told_once_what_takes_so_long(tmp_path):
    leader, follower = pty.openpty()
    code = SUM + "from treecast.schedule.kernels import streams\nwith policy('compile'): streams.depths(depth, depth)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=follower,
        check=True,
        env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
        timeout=3000,
    )
    os.close(follower)
    assert done.stdout == b"[0, 1, 2, 3]\n"
    assert os.read(leader, 1000).decode().splitlines() == ["compiling kernels for large work (once per machine) …"]
    os.close(leader)
