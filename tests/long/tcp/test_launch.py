"""``treecast launch --tcp``: real processes that meet, die, and end with the status of the job."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tcp.test_launch import ROOT, joins


def test_the_demo_prints_what_its_page_says():
    folder = Path(sys.executable).parent
    done = subprocess.run(
        ["sh", "examples/demo-tcp.sh"], capture_output=True, text=True, timeout=120, check=False, cwd=ROOT,
        env={**os.environ, "BIN": str(folder)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    shown = re.search(
        r"prints, after a few seconds:\n\n```\n(.*?)```", (ROOT / "docs/reference/tcp.md").read_text(), re.DOTALL
    )
    assert done.stdout.splitlines()[1:] == shown[1].splitlines()


@pytest.mark.parametrize("seed", range(3))
def test_many_die_and_come_back(seed):
    said = joins(str(seed), "300", "50", ranks=5, respawn=200)
    assert len(said) >= 2
    assert all(same == "True" for same, _ in said)


def test_a_thousand_die_and_come_back():
    said = joins("7", "6000", "1000", ranks=5, respawn=4000)
    assert len(said) >= 3
    assert all(same == "True" and int(fewer) >= 1000 for same, fewer in said)
