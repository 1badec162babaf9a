"""Sizes that only work when nothing is expanded. Memory is measured in processes of their own."""

import os
import subprocess
import sys


def peak_gib(code: str, **environment: str) -> float:
    script = code + "\nfrom tests.memory import peak_kib\nprint(peak_kib() / 2**20)\n"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, env=os.environ | environment
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


def test_broadcasts_on_large_tori_within_2_gib():
    for spec, trees, steps in (("torus:64x64", 4, 214), ("torus:16x16x16", 6, 124)):
        assert peak_gib(GROWN.format(spec=spec, trees=trees, steps=steps)) < 2


ONE_TREE = """
from treecast import network
from treecast.plans.ways.trees.star import disjoint_tree
tree = disjoint_tree(network("{spec}"), 4)
assert tree.height == {height}
"""


def test_one_tree_of_40320_nodes_is_no_more_than_its_arrays():
    """The compiler would take more memory than the tree does."""
    assert peak_gib(ONE_TREE.format(spec="star:8", height=12), NUMBA_DISABLE_JIT="1") < 0.05
