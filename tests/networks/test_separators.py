import itertools
from fractions import Fraction

import numpy as np
import pytest

from tests.networks.test_flows import random_graphs
from treecast.networks import network
from treecast.networks.arcs import arcs_of
from treecast.networks.separators import best_separator


def all_cuts(where):
    """Return the pairs and the arcs of every cut."""
    arcs, every = arcs_of(where), np.arange(where.nodes)
    for some in itertools.chain.from_iterable(
        itertools.combinations(range(where.nodes), n) for n in range(1, where.nodes)
    ):
        inside = np.isin(every, some)
        out = np.count_nonzero(inside[arcs.tail] & ~inside[arcs.head])
        yield len(some) * (where.nodes - len(some)), int(out)


def test_no_cut_is_better_than_the_best_and_most_are_found():
    found = []
    for where, _ in random_graphs(25, 8, seed=5):
        cut = best_separator(where)
        best = max(Fraction(*pair) for pair in all_cuts(where))
        assert (cut.pairs, cut.arcs) in set(all_cuts(where))
        assert Fraction(cut.pairs, cut.arcs) <= best
        found.append(Fraction(cut.pairs, cut.arcs) == best)
    assert sum(found) > 0.8 * len(found)


@pytest.mark.parametrize(
    "spec", ["mesh:2x3", "mesh:5", "torus:2x3", "torus:2x2x2", "torus:3x3", "torus:7", "torus:1x4", "mesh:2x2x2"]
)
def test_axes_of_meshes_and_tori(spec):
    where = network(spec)
    cut = best_separator(where)
    assert (cut.pairs, cut.arcs) in set(all_cuts(where))
    assert Fraction(cut.pairs, cut.arcs) == max(Fraction(*pair) for pair in all_cuts(where))


def test_no_arcs_are_listed_where_no_cut_is_looked_for():
    where = network("star:12")
    where.arc_lists = lambda: pytest.fail("479,001,600 nodes have too many")
    assert best_separator(where) is None
