"""DTensor.redistribute on a square of ranks: every pair of placements."""

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed")

from tests.torch.test_redistribute import check, pairs_of


def test_every_pair_of_placements_of_a_square_of_ranks():
    check((2, 2), pairs_of((2, 2)))
