"""Colours of bipartite multigraphs, and sends placed modulo a period."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import examples
from treecast.plans.kernels.periods import colours, place


def coloured(out, into, nodes):
    """The colours of links between two sides of so many nodes, and their number: the greatest degree, counted one by one."""
    wanted = np.stack([out, into + nodes], axis=1).astype(np.int64)
    most = max((np.count_nonzero(wanted == v) for v in range(2 * nodes)), default=0)
    found = np.empty(len(out), np.int64)
    colours(wanted, most, 2 * nodes, found)
    return wanted, found, most


@examples(200)
@given(st.integers(1, 6), st.integers(1, 5), st.data())
def test_regular_multigraphs_are_made_of_matchings(nodes, degree, data):
    parts = [data.draw(st.permutations(range(nodes))) for _ in range(degree)]
    out, into = np.tile(np.arange(nodes), degree), np.array(parts).ravel()
    order = np.array(data.draw(st.permutations(range(len(out)))))
    _, found, most = coloured(out[order], into[order], nodes)
    assert most == degree
    for colour in range(degree):
        assert sorted(out[order][found == colour].tolist()) == list(range(nodes))
        assert sorted(into[order][found == colour].tolist()) == list(range(nodes))


@examples(200)
@given(st.data())
def test_sends_are_placed_where_their_resources_are_free(data):
    """Sends that wait for earlier ones and take some of a few resources, in a period that may be too short."""
    sends, resources, width = data.draw(st.integers(1, 20)), data.draw(st.integers(2, 6)), data.draw(st.integers(1, 2))
    wanted = np.array([data.draw(st.permutations(range(resources)))[:width] for _ in range(sends)], np.int64)
    pairs = sorted({(a, i) for i in range(1, sends) for a in data.draw(st.sets(st.integers(0, i - 1), max_size=2))})
    before, after = np.array(pairs, np.int64).reshape(-1, 2).T
    least = int(np.bincount(wanted.ravel()).max())
    period = least + data.draw(st.integers(0, 2 * least))

    def grouped(key, value):
        return np.searchsorted(np.sort(key), np.arange(sends + 1)), value[np.argsort(key, kind="stable")]

    began = np.empty(sends, np.int64)
    free, order = np.full(sends, -1), np.array(data.draw(st.permutations(range(sends))), np.int64)
    columns = (
        *grouped(before, after),
        *grouped(after, before),
        wanted,
        order,
        free,
        period,
        np.arange(resources + 1),
        1,
        60 * sends,
        began,
    )
    left = place(*columns)
    assert left == np.count_nonzero(began < 0)
    if period >= 2 * least and width < 3 and order.tolist() == sorted(order.tolist()):
        assert left == 0  # earlier ones of two resources take less than a period of its steps
    if left == 0:
        assert (began[after] > began[before]).all()
        taken = [(r, int(step) % period) for row, step in zip(wanted.tolist(), began, strict=True) for r in row]
        assert len(set(taken)) == len(taken)


@pytest.mark.slow
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
