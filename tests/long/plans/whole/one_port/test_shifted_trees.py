"""Shifted trees: x node-disjoint paths over one port, x(M - 1) + L steps."""

import pytest

from tests.plans.whole.one_port.test_shifted_trees import check, check_all_faults


@pytest.mark.parametrize("copies", [2, 3, 4, 5])
def test_ways_share_no_node_on_up_to_128_nodes(copies):
    for nodes in range(copies + 1, 129):
        check(nodes, copies, 2)


@pytest.mark.parametrize("nodes", range(3, 13))
def test_any_faults_do_no_harm_on_up_to_12_nodes(nodes):
    for copies in range(2, min(4, nodes)):
        check_all_faults(nodes, copies)


def test_there_is_a_shape_for_any_number_of_copies_of_up_to_40_nodes():
    for nodes in range(3, 41):
        for copies in range(2, nodes):
            check(nodes, copies, 1)
