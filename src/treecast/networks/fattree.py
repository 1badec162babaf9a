"""Fat trees: hosts below three levels of equal switches, as many links up as down at each.

Source: Leiserson, "Fat-trees: universal networks for hardware-efficient supercomputing" (1985), in the form of Al-Fares,
Loukissas & Vahdat, "A scalable, commodity data center network architecture" (2008).
"""

from functools import cached_property
from itertools import product
from typing import ClassVar

import numpy as np

from treecast.errors import NetworkError
from treecast.networks.family import counted, family
from treecast.networks.graph import Graph
from treecast.networks.symmetry import Turns, turns_of

_MOST = 64


@family(
    "fat-tree",
    "K",
    example="fat-tree:4",
    summary="hosts below three levels of switches of K ports; switches are relays",
    nodes="K^3/4 + 5K^2/4",
    degree="K",
    diameter="6",
    members=counted(lambda half: 2 * half**3, lambda half: str(2 * half)),
)
class FatTree(Graph):
    """The fat tree of switches with k ports, k even, from 2 to 64: k³/4 hosts, numbered first, and 5k²/4 switches, relays.

    There are k pods. Host p.e.h hangs below the edge switch ``edge-p.e`` of pod p. Each edge switch is joined to the k/2 switches
    ``aggregation-p.a`` of its pod, and these, each to k/2 others, to the switches ``core-a.c``.

    >>> from treecast import network
    >>> where = network("fat-tree:4")
    >>> where.nodes, len(where.ranks), where.diameter
    (36, 16, 6)
    >>> where.labels(where.neighbors(where.node("0.1.0"))), where.labels(where.neighbors(where.node("edge-0.1")))
    (['edge-0.1'], ['0.1.0', '0.1.1', 'aggregation-0.0', 'aggregation-0.1'])
    """

    described: ClassVar[str] = "a fat tree"

    def __init__(self, ports: int) -> None:
        if not 2 <= ports <= _MOST or ports % 2:
            raise NetworkError(f"fat-tree:{ports} is no network: write fat-tree:K with K even, from 2 to {_MOST}")
        half = range(ports // 2)
        hosts = [f"{p}.{e}.{h}" for p, e, h in product(range(ports), half, half)]
        within = [*product(range(ports), half)]
        switches = [*(f"edge-{p}.{e}" for p, e in within), *(f"aggregation-{p}.{a}" for p, a in within)]
        switches += [f"core-{a}.{c}" for a, c in product(half, half)]
        names = [*hosts, *switches]
        place = {name: u for u, name in enumerate(names)}
        links = [(host, f"edge-{host.rpartition('.')[0]}") for host in hosts]
        links += [(f"edge-{p}.{e}", f"aggregation-{p}.{a}") for p, e in within for a in half]
        links += [(f"aggregation-{p}.{a}", f"core-{a}.{c}") for p, a in within for c in half]
        pairs = np.array([(place[u], place[v]) for u, v in links], np.int64)
        relays = np.arange(len(names)) >= len(hosts)
        super().__init__(f"fat-tree:{ports}", names, np.concatenate([pairs, pairs[:, ::-1]]), relays)

    @cached_property
    def symmetry(self) -> Turns:
        """Pods turn; switches of hosts, with core switches; hosts, and which aggregation switches go with them."""
        pods, half = self.ports, self.ports // 2
        host, leaf = {"P": pods, "E": half, "H": half}, {"P": pods, "E": half}
        above = {"P": pods, "A": half}, {"A": half, "C": half}
        return turns_of(self, [host, leaf, *above], ["P"], ["E", "C"], ["H", "A"])
