"""``treecast launch --tcp``: real processes that meet, die, and end with the status of the job."""

import subprocess
import sys
from pathlib import Path

HEAD = "import os, sys, signal, numpy as np, treecast.tcp as tcp; comm = tcp.init(survive=1, deadline=20); "


def launch(*words, program, ranks=3, deadline=20, head=HEAD):
    line = [sys.executable, "-m", "treecast", "launch", "--tcp", "--tie", "-n", str(ranks), *words, "--"]
    line += [sys.executable, "-c", head.replace("deadline=20", f"deadline={deadline}") + program]
    done = subprocess.run(line, capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, sorted(done.stdout.splitlines()), done.stderr


ROOT = Path(__file__).parents[2]


def joins(*words, ranks, respawn):
    program = str(Path(__file__).with_name("joins.py"))
    words = ["-n", str(ranks), "--respawn", str(respawn), "--", sys.executable, program, *words]
    line = [sys.executable, "-m", "treecast", "launch", "--tcp", "--tie", *words]
    done = subprocess.run(line, capture_output=True, text=True, timeout=580, check=False)
    assert done.returncode == 0, done.stderr
    return [line.split() for line in done.stdout.splitlines()]
