"""Random regular graphs, as networkx draws them: with high probability they have as many disjoint paths as links at a node.

Source: Steger & Wormald, "Generating random regular graphs quickly" (1999).
"""

from random import Random
from typing import Any, ClassVar

import numpy as np

from treecast.errors import NetworkError
from treecast.networks.family import family
from treecast.networks.graph import Graph

_MOST_LINKS = 1 << 22
_DRAWS = 64  # of a graph that is connected, before there is said to be none


@family(
    "random-regular",
    "N,D,SEED",
    example="random-regular:24,4,1",
    summary="a random graph whose nodes have D links each",
    nodes="N",
    degree="D",
    members=lambda ranks: [f"{ranks},{d},1" for d in (3, 4, 6) if ranks * d % 2 == 0 and ranks > d + 1],
)
class RandomRegular(Graph):
    """A random graph of N nodes, all of degree D, drawn with a seed; drawn again until it is connected.

    The first draw is ``networkx.random_regular_graph(degree, nodes, seed)``.

    >>> from treecast import network
    >>> where = network("random-regular:23,4,1")
    >>> where.nodes, where.degree, where.arcs
    (23, 4, 92)
    """

    described: ClassVar[str] = "a random regular graph"

    def __init__(self, nodes: int, degree: int, seed: int) -> None:
        spec = f"random-regular:{nodes},{degree},{seed}"
        if nodes * degree % 2 or not (0 < degree < nodes or (nodes, degree) == (1, 0)):
            raise NetworkError(f"{spec} is no network: write N,D,SEED with 0 < D < N, and N or D even")
        if nodes * degree > 2 * _MOST_LINKS:
            raise NetworkError(f"{spec} has too many links: at most {_MOST_LINKS:,}")
        if degree < 2 < nodes:
            raise NetworkError(f"{spec} is not connected: with one link a node there are two nodes")
        super().__init__(spec, [str(u) for u in range(nodes)], _draw(spec, nodes, degree, seed))


def _draw(spec: str, nodes: int, degree: int, seed: int) -> Any:
    """Return the arcs of the first connected draw, int64 (arcs, 2)."""
    import networkx

    nx: Any = networkx
    chance = Random(seed)
    for _ in range(_DRAWS):
        graph = nx.random_regular_graph(degree, nodes, chance)
        if nx.is_connected(graph):
            links = np.array(graph.edges, np.int64).reshape(-1, 2)
            return np.concatenate([links, links[:, ::-1]])
    raise NetworkError(f"{spec}: none of {_DRAWS} draws is connected: try another seed, or a higher degree")
