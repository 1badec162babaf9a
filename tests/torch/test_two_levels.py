"""The example of two levels: a replica dies, the other goes on, and both ranks come back."""

import pytest

from tests.torch.examples import run_example

pytestmark = pytest.mark.slow

pytest.importorskip("torch", reason="PyTorch is not installed")


def test_a_replica_dies_and_comes_back(tmp_path):
    said, rounds = run_example("torch_two_levels.py", tmp_path, 4, ranks=4, back=2, pause=5, seconds=400)
    assert [number for number, _, _ in rounds] == list(range(24))
    alive = [count for _, _, count in rounds]
    assert (alive[3], alive[4], alive[23]) == (2, 1, 2)
    assert "4 ranks, of which 4 live" in said
    assert rounds[23][1] < 0.1 * rounds[0][1]
