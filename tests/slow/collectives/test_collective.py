"""Collectives against MPI's definitions, for all small numbers of nodes, messages and roots."""

from itertools import permutations, product

import numpy as np
import pytest

from tests.collectives.test_collective import OF_LENGTHS, check
from treecast.collectives import COLLECTIVES, Collective, Lengths


@pytest.mark.parametrize("kind", OF_LENGTHS)
def test_kinds_with_lengths(kind):
    rooted = not COLLECTIVES[kind].all_source
    for nodes, root in ((n, r) for n in range(1, 5) for r in range(n if rooted else 1)):
        for flits in product(range(3), repeat=nodes):
            if flits[root] == 0 or not rooted:
                for order in permutations(range(nodes)):
                    lengths = Lengths(np.array(flits), np.array(order))
                    collective = Collective(kind, nodes, 1, root, lengths=lengths)
                    check(collective, OF_LENGTHS[kind](nodes, flits, root, order))
