"""Sizes that only work when nothing is expanded. Memory is measured in processes of their own."""

import os
import subprocess
import sys


def peak_gib(code: str, **environment: str) -> float:
    script = code + "\nfrom tests.memory import peak_kib\nprint(peak_kib() / 2**20)\n"
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | environment,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    return float(done.stdout.split()[-1])


GROWN = """
from treecast import plan, verify
schedule = plan("broadcast", "{spec}", messages=600)
report = verify(schedule)
assert report.holds and schedule.trees == {trees}
assert report.steps <= {steps} and len(schedule) == {trees} * (schedule.network.nodes - 1)
"""


ONE_TREE = """
from treecast import network
from treecast.plans.ways.trees.star import disjoint_tree
tree = disjoint_tree(network("{spec}"), 4)
assert tree.height == {height}
"""
