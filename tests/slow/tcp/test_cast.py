"""A file to all hosts: it comes whole, whoever dies; what is there already is not sent again; errors are one line."""

import os
import subprocess
import sys

from tests.slow.tcp.test_hosts import SSH
from tests.tcp.test_cast import file as file
from tests.tcp.test_cast import held
from tests.tcp.test_cast import small as small


def test_to_the_hosts_of_a_file(tmp_path, file):
    (tmp_path / "hosts").write_text("localhost\n127.0.0.1\n")
    (tmp_path / "ssh").write_text(SSH)
    (tmp_path / "ssh").chmod(0o755)
    words = ["cast", str(file), "--hosts", str(tmp_path / "hosts"), "--as", f"{tmp_path}/to{{rank}}/file"]
    done = subprocess.run(
        [sys.executable, "-m", "treecast", *words],
        capture_output=True, text=True, timeout=120, check=False,
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "SEEN": str(tmp_path / "seen")},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    first, _, last = done.stdout.splitlines()
    assert first.startswith("rank 1 on ")
    assert "whole, 655,377 bytes came" in first
    assert last.startswith("655,377 bytes to 2 of 2 hosts in ")
    assert held(tmp_path, 3) == [file.read_bytes()] * 2
