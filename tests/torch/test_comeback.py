"""The example of the tutorial: a rank is killed, and a new process takes its seat with the state of the others."""

import pytest

from tests.torch.examples import run_example

pytest.importorskip("torch", reason="PyTorch is not installed")


def test_a_rank_is_killed_and_comes_back(tmp_path):
    said, losses = run_example("torch_comeback.py", tmp_path, 40, ranks=3, back=1, pause=0.6, seconds=100)
    assert [step for step, _, _ in losses] == list(range(120))
    alive = [count for _, _, count in losses]
    assert (alive[39], alive[40], alive[119]) == (3, 2, 3)
    assert "3 ranks, of which 3 live" in said
    assert losses[119][1] < 0.6
