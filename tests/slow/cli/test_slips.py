"""What people type by mistake: each slip is one line that says what is wrong and what would be right."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.test_slips import folder as folder


@pytest.mark.each(2)
@pytest.mark.parametrize(
    ("command", "status"),
    [("--help", 0), ("plan --help", 0), ("show p.tc", 0), ("run p.tc --input p.tc --dead-nodes 123@1", 1)],
)
def test_a_reader_that_leaves_early_changes_no_verdict(command: str, status: int, folder: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "treecast", *command.split()],
        cwd=folder,
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
        timeout=300,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (status, b"")
