"""Petersen's graph: ten nodes of degree 3, any two of which are joined or have one neighbour in common.

It looks the same from every node, but no group of ten translations keeps its ports: it is no Cayley network.
Source: Petersen, "Sur le théorème de Tait" (1898); Holton & Sheehan, "The Petersen Graph" (1993).
"""

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from treecast.networks.family import family
from treecast.networks.graph import Graph, circle


@family(
    "petersen",
    "",
    example="petersen",
    summary="Petersen's graph: ten nodes, three links each",
    nodes="10",
    degree="3",
    diameter="2",
    members=lambda ranks: [""] if ranks == 10 else [],
)
class Petersen(Graph):
    """Petersen's graph: a ring 0 … 4, a star 5 … 9 inside it, where i is joined to i ± 2, and spokes from i to i + 5.

    >>> from treecast import network
    >>> network("petersen").neighbors(0), network("petersen").neighbors(5)
    ([1, 4, 5], [0, 7, 8])
    """

    described: ClassVar[str] = "Petersen's graph"

    def __init__(self) -> None:
        links = [link for i in range(5) for link in ((i, (i + 1) % 5), (i, i + 5), (i + 5, (i + 2) % 5 + 5))]
        super().__init__("petersen", [str(u) for u in range(10)], [*links, *((v, u) for u, v in links)])

    @property
    def drawn_at(self) -> NDArray[np.float64]:
        """A pentagon around a pentagram."""
        return np.concatenate([2 * circle(5), circle(5)])
