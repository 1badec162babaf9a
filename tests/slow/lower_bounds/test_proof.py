"""What a report proves: its prices, by algorithms that did not find them."""

import networkx as nx
import pytest

from tests.lower_bounds.test_proof import MACHINES, are_proven


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("where", ["tree:2,2", nx.lollipop_graph(4, 3)], ids=["tree", "lollipop"])
def test_bounds_by_prices_are_proven_by_other_algorithms(where, machine):
    are_proven(where, machine)
