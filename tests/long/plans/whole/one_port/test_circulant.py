"""Circulant broadcasts: right in M - 1 + ⌈log2 N⌉ steps for every N and M, and each node's part from its label alone."""

import numpy as np
import pytest

from tests.plans.whole.one_port.test_circulant import check, right


@pytest.mark.parametrize("nodes", range(2, 201))
def test_broadcasts_take_the_fewest_steps_on_up_to_200_nodes(nodes):
    for messages in range(1, 21):
        check(nodes, messages)


def test_two_conditions_of_all_nodes():
    for nodes in range(2, 2050):
        assert right(nodes, np.arange(1, nodes)).all(), nodes
