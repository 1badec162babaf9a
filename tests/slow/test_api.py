"""The public functions and objects as a person meets them at a prompt, in a notebook, in a script."""

import pytest

import treecast
from treecast.errors import PlanError


def test_plans_networks_and_paths_are_compared(tmp_path):
    whole, broken = treecast.plan("broadcast", "ring:6"), treecast.plan("broadcast", "path:6")
    treecast.save(whole, tmp_path / "whole.tc")
    assert treecast.diff(tmp_path / "whole.tc", broken).told
    assert len(treecast.paths("star:4", "2134", "1234").ways) == 3
    costs = {"size": "1MiB", "latency": "1us", "rate": "12.5GB/s"}
    assert {option.ranks for option in treecast.advise("broadcast", range(7, 9), **costs).options} == {7, 8}
    assert treecast.advise("allgather", 5, ports=2, **costs).proved
    for sizes in (0, [], range(1, 2000)):
        with pytest.raises(PlanError, match="1 to 1,000 sizes"):
            treecast.advise("broadcast", sizes, **costs)
