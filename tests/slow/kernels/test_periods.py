"""Colours of bipartite multigraphs, and sends placed modulo a period."""

import networkx as nx
import numpy as np

from tests.kernels.test_periods import coloured


def test_a_thousand_multigraphs_have_as_many_colours_as_their_greatest_degree():
    chance = np.random.default_rng(1)
    for _ in range(1000):
        nodes, links = int(chance.integers(1, 9)), int(chance.integers(1, 40))
        out, into = chance.integers(nodes, size=links), chance.integers(nodes, size=links)
        wanted, found, most = coloured(out, into, nodes)
        assert found.min() >= 0
        assert len(set(found.tolist())) == most == max(dict(nx.MultiGraph(wanted.tolist()).degree()).values())
        for column in range(2):
            assert len(set(zip(wanted[:, column].tolist(), found.tolist(), strict=True))) == links
