"""Each program of the page on frameworks runs, where its package is installed."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed")

PAGE = (Path(__file__).parents[3] / "docs" / "howto" / "frameworks.md").read_text()
PROGRAMS = dict(re.findall(r"^## ([^\n]+)\n(?:(?!^## )[^\n]*\n)*?```\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL))
PACKAGES = {
    "accelerate": "accelerate",
    "transformers' Trainer": "transformers",
    "Lightning": "lightning",
    "Ray Train": "ray",
    "Loops of your own, as torchtune's": "torch",
}


def test_the_page_has_a_program_for_each():
    assert list(PROGRAMS) == list(PACKAGES)


@pytest.mark.parametrize("name", PACKAGES)
def test_a_framework_runs_on_treecast(name, tmp_path):
    if importlib.util.find_spec(PACKAGES[name]) is None:
        pytest.skip(f"{PACKAGES[name]} is not installed")
    program = tmp_path / "program.py"
    program.write_text(PROGRAMS[name])
    launch = [sys.executable, "-m", "treecast", "launch", "--tcp", "-n", "2", "--timeout", "400", "--"]
    line = [*(launch if name != "Ray Train" else []), sys.executable, str(program)]
    done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=420, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(re.findall(r"\btreecast 2\b", done.stdout + done.stderr)) >= 2
