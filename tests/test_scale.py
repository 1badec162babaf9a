"""Sizes that only work when nothing is expanded. Memory is measured in processes of their own."""

import os
import subprocess
import sys

import pytest


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


@pytest.mark.slow
def test_broadcasts_on_large_tori_within_2_gib():
    for spec, trees, steps in (("torus:64x64", 4, 214), ("torus:16x16x16", 6, 124)):
        assert peak_gib(GROWN.format(spec=spec, trees=trees, steps=steps)) < 2


@pytest.mark.slow
def test_one_tree_of_40320_nodes_is_no_more_than_its_arrays():
    """The compiler would take more memory than the tree does."""
    assert peak_gib(ONE_TREE.format(spec="star:8", height=12), NUMBA_DISABLE_JIT="1") < 0.05


@pytest.mark.long
@pytest.mark.parametrize("copies", [(8,), pytest.param((1, 3), marks=pytest.mark.long)], ids=str)
def test_broadcast_on_362880_nodes_is_planned_and_verified_within_2_gib(copies):
    """One process for several numbers of copies: their trees are the same."""
    assert (
        peak_gib(f"""
from treecast import plan, verify
for copies in {copies}:
    schedule = plan("broadcast", "star:9", messages=1_000_000, copies=copies)
    assert len(schedule) == 8 * 362_879
    report = verify(schedule)
    assert report.holds and report.method == "by streams" and report.depth == 14
    assert report.steps == -(-1_000_000 * copies // 8) + 13
    del schedule, report
""")
        < 2
    )


@pytest.mark.long
def test_a_broadcast_on_a_random_graph_of_10000_nodes_within_2_gib():
    assert peak_gib(GROWN.format(spec="random-regular:10000,4,1", trees=4, steps=162)) < 2


@pytest.mark.long
def test_one_tree_of_3628800_nodes_is_no_more_than_its_arrays():
    assert peak_gib(ONE_TREE.format(spec="star:10", height=15)) < 0.6


@pytest.mark.long
def test_all_trees_of_s_11_one_by_one_within_8_gib():
    assert (
        peak_gib("""
from treecast import network
from treecast.plans.ways.trees.star import disjoint_tree
star = network("star:11")
for t in range(10):
    assert disjoint_tree(star, t).height == 17
""")
        < 8
    )


@pytest.mark.long
def test_every_node_of_every_tree_of_s_11():
    from treecast.papers.theorems import check_theorems

    found = {f.name: f for f in check_theorems("star", up_to=11)}
    assert all(f.holds for f in found.values())
    assert found["Lemma 6.4"].checked == "n = 3 … 11"
