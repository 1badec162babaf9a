"""Runs an example in whose job ranks are killed, and come back."""

import json
import os
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"


def run_example(name, folder, killed, *, ranks, back, pause, seconds):
    """Return what an example prints, and what it writes; ``killed``: when ranks die, ``back``: how many may come back."""
    out = folder / "out.json"
    line = [sys.executable, "-m", "treecast", "launch", "--tcp", "--respawn", str(back), "-n", str(ranks)]
    done = subprocess.run(
        [*line, "--timeout", str(seconds), "--", sys.executable, str(EXAMPLES / name), str(out), str(killed)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PAUSE": str(pause)},
        timeout=seconds + 20,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, json.loads(out.read_text())
