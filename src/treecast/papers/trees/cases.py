"""Trees, small ones all and larger ones at random, with messages: the cases for which statements are checked."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from treecast.networks import Graph
from treecast.networks.core import Ints, ints
from treecast.plans import plan
from treecast.plans.ways.trees.spanning import breadth_first
from treecast.schedule import Schedule
from treecast.schedule.trees import Tree


class WeightedTree(NamedTuple):
    """A tree, and the length of each node's message."""

    tree: Tree
    flits: Ints

    @property
    def total(self) -> int:
        """M: all flits."""
        return int(self.flits.sum())

    def planned(self, kind: str, model: str = "bufferless", **options: Any) -> Schedule:
        """Return a schedule of this case."""
        return plan(kind, self.tree.network, root=self.tree.root, lengths=self.flits.tolist(), model=model, **options)


@lru_cache(8)
def rooted_trees(n: int) -> tuple[tuple[int, ...], ...]:
    """Return all rooted trees of n nodes up to isomorphism, as parents; node 0 is the root."""
    found: dict[object, tuple[int, ...]] = {}
    for parents in product(*(range(v) for v in range(1, n))):
        found.setdefault(_form((-1, *parents), 0), (-1, *parents))
    return tuple(found.values())


def _form(parents: Sequence[int], v: int) -> object:
    return tuple(sorted((_form(parents, w) for w, above in enumerate(parents) if above == v), key=str))


def tree_of(parents: Sequence[int]) -> Tree:
    """Return a tree of parents; node 0 is the root."""
    return breadth_first(network_of(parents), 0)


def network_of(parents: Sequence[int]) -> Graph:
    """Return a tree as a graph, its nodes named by their numbers."""
    links = [(v, above) for v, above in enumerate(parents) if above >= 0]
    arcs = ints(links + [(b, a) for a, b in links]).reshape(-1, 2)
    return Graph(f"graph:{len(parents)}", [str(v) for v in range(len(parents))], arcs)


def random_cases(n: int, tries: int) -> Iterator[WeightedTree]:
    """Yield random trees, bushy and lean ones, at random roots, with messages of which some are null."""
    rng = np.random.default_rng(n)
    for _ in range(tries):
        # Parents among the last `reach` nodes: 1 makes a path, n any tree.
        reach = int(rng.integers(1, n + 1))
        tree = network_of([-1, *(int(rng.integers(max(0, v - reach), v)) for v in range(1, n))])
        flits = rng.integers(0, 10, n) * (rng.random(n) < rng.choice([0.2, 0.6, 1.0]))
        root = int(rng.integers(n))
        flits[root] = 0
        yield WeightedTree(breadth_first(tree, root), flits)
