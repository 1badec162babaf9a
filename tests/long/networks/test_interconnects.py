"""Circulants, HyperX, dragonflies, slim flies and random regular graphs, against networkx and their definitions as sets."""

import pytest

from tests.networks.test_interconnects import test_collectives_of_one_root_on_each as check_one_root
from treecast.plans import plan


@pytest.mark.parametrize("kind", ["broadcast", "scatter", "gather", "reduce"])
def test_collectives_of_one_root_on_a_slim_fly_of_32_nodes(kind):
    check_one_root("slim-fly:4", kind)


def test_broadcasts_of_slim_flies_and_dragonflies_use_all_links():
    assert plan("broadcast", "slim-fly:5", messages=600).steps <= 90
    assert plan("broadcast", "dragonfly:8,4", messages=600).steps <= 61
