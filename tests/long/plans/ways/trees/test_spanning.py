""""""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.plans.ways.trees.test_spanning import NAMES, check, found, graphs
from tests.strategies import examples
from treecast.plans.times.certificates import certificates


@given(graphs(), st.integers(0, 2), st.lists(st.integers(0, 9), min_size=24, max_size=24))
@examples(150)
def test_trees_of_random_graphs(drawn, slack, lengths):
    where, root = drawn
    flits = np.array(lengths[: where.nodes])
    flits[root] = 0
    for name in NAMES:
        tree = found(where, root, name, flits, slack=slack)
        check(tree, where, root)
        if name == "depth-bounded":
            assert tree.height <= where.eccentricity(root) + slack
        assert certificates(found(where, root, "best", flits), flits).steps <= certificates(tree, flits).steps
