"""Allreduce and reduce-broadcast whose halves overlap: right on any network, near the bound past weak links."""

from tests.plans.whole.all_port.test_balanced_trees import fat_tree
from tests.plans.whole.all_port.test_overlapping_sums import least
from treecast import network, plan


def test_halves_of_many_messages_overlap_past_relays():
    where = network(fat_tree()).adding()
    assert (plan("allreduce", where, messages=64).steps, least(where, 64)) == (1029, 1029)
