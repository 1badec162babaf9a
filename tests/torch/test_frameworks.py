"""Each program of the page on frameworks runs, where its package is installed, and goes on after a death."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

pytest.importorskip("torch", reason="PyTorch is not installed")

PAGE = (Path(__file__).parents[2] / "docs" / "howto" / "frameworks.md").read_text()
PROGRAMS = dict(re.findall(r"^## ([^\n]+)\n(?:(?!^## )[^\n]*\n)*?```\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL))
PACKAGES = {
    "accelerate": "accelerate",
    "transformers' Trainer": "transformers",
    "Lightning": "lightning",
    "Ray Train": "ray",
    "Loops of your own, as torchtune's": "torch",
}
RAY = "Ray Train"  # which starts the ranks itself, and all again
DIES = """
import os, signal
from torch.optim.optimizer import register_optimizer_step_post_hook
if os.environ["RANK"] == "1":  # dies at the end of its second step
    steps = []
    register_optimizer_step_post_hook(lambda *_: steps.append(1) or len(steps) < 2 or os.kill(os.getpid(), signal.SIGKILL))
"""


def test_the_page_has_a_program_for_each():
    assert list(PROGRAMS) == list(PACKAGES)


def run(name, folder, ranks, before=""):
    if importlib.util.find_spec(PACKAGES[name]) is None:
        pytest.skip(f"{PACKAGES[name]} is not installed")
    program = folder / "program.py"
    program.write_text(before + PROGRAMS[name])
    launch = [sys.executable, "-m", "treecast", "launch", "--tcp", "-n", str(ranks), "--timeout", "400", "--"]
    line = [*(launch if name != RAY else []), sys.executable, str(program)]
    done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=420, cwd=folder)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("name", PACKAGES)
def test_a_framework_runs_on_treecast(name, tmp_path):
    status, said = run(name, tmp_path, 2)
    assert status == 0, said
    assert len(re.findall(r"\btreecast 2\b", said)) >= 2


@pytest.mark.parametrize("name", [name for name in PACKAGES if name != RAY])
def test_the_others_go_on_after_a_death(name, tmp_path):
    status, said = run(name, tmp_path, 3, DIES)
    assert (status, "rank 1 was killed (signal 9); 2 of 3 ended with 0" in said) == (0, True), said
    assert len(re.findall(r"\btreecast 3\b", said)) >= 2
