"""Sizes that only work when nothing is expanded. Memory is measured in processes of their own."""

from tests.test_scale import GROWN, ONE_TREE, peak_gib


def test_broadcasts_on_large_tori_within_2_gib():
    for spec, trees, steps in (("torus:64x64", 4, 214), ("torus:16x16x16", 6, 124)):
        assert peak_gib(GROWN.format(spec=spec, trees=trees, steps=steps)) < 2


def test_one_tree_of_40320_nodes_is_no_more_than_its_arrays():
    """The compiler would take more memory than the tree does."""
    assert peak_gib(ONE_TREE.format(spec="star:8", height=12), NUMBA_DISABLE_JIT="1") < 0.05
