import random

import pytest

from tests.plans.ways.trees.test_star import in_the_class
from treecast.networks.kernels import star_node
from treecast.plans.ways.trees import star as star_trees


def walked(symbols, tree, rule):
    """The words on the way to the root, the node's own included and the root left out."""
    n = len(symbols)
    word, identity = sum(s << 4 * j for j, s in enumerate(symbols)), sum(j << 4 * j for j in range(n))
    inverse = sum(j << 4 * s for j, s in enumerate(symbols))
    way = []
    while word != identity and len(way) < 50:
        way.append(word)
        word, inverse = star_node.swapped(word, inverse, rule(word, inverse, tree, identity))
    return way


@pytest.mark.parametrize("n", [8, 12, 14, 16])
def test_from_labels_alone_the_ways_from_near_the_class_are_disjoint_and_short(n):
    chance, deepest, papers = random.Random(n), 0, 0
    for turn in range(150):
        rest = chance.sample(range(1, n), n - 1)
        (a, m, h), symbols = rest[:3], list(range(n))
        symbols[0], symbols[a], symbols[m], symbols[h] = a, m, h, 0
        for i, j in zip(rest[3::2], rest[4::2], strict=True):
            symbols[i], symbols[j] = j, i
        assert in_the_class(symbols)
        for _ in range((0, 1, 2, 6)[turn % 4]):
            p = chance.randrange(1, n)
            symbols[0], symbols[p] = symbols[p], symbols[0]
        ways = [walked(symbols, tree, star_node.disjoint_parent) for tree in range(1, n)]
        inner = [word for way in ways for word in way[1:]]
        assert len(set(inner)) == len(inner)
        assert ways[0][0] not in inner
        deepest = max(deepest, *map(len, ways))
        papers = max(papers, *(len(walked(symbols, tree, star_node.paper_parent)) for tree in range(1, n)))
    assert (deepest, papers) == (star_trees.exact_depth(n), star_trees.exact_depth(n, paper=True))
