"""Folded Clos networks: hosts below two levels of switches (leaf-spine), as most clusters have, or three (fat trees).

A fat tree has as many links up as down at each switch. Source: Leiserson, "Fat-trees: universal networks for hardware-efficient
supercomputing" (1985), in the form of Al-Fares, Loukissas & Vahdat, "A scalable, commodity data center network architecture"
(2008), which has two levels, too.
"""

from functools import cached_property
from itertools import product
from math import gcd
from typing import ClassVar

import numpy as np

from treecast.errors import NetworkError
from treecast.networks.family import counted, family
from treecast.networks.graph import Graph
from treecast.networks.symmetry import AbelianSymmetry, turns_of

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
    def symmetry(self) -> AbelianSymmetry:
        """Pods turn; switches of hosts, with core switches; hosts, and which aggregation switches go with them."""
        pods, half = self.ports, self.ports // 2
        host, leaf = {"P": pods, "E": half, "H": half}, {"P": pods, "E": half}
        above = {"P": pods, "A": half}, {"A": half, "C": half}
        return turns_of(self, [host, leaf, *above], ["P"], ["E", "C"], ["H", "A"])


_MOST_NODES = 1 << 20
_MOST_ARCS = 1 << 24


@family(
    "leaf-spine",
    "L,S,H",
    example="leaf-spine:4,2,2",
    summary="L leaf switches with H hosts each, joined to each of S spine switches; switches are relays",
    nodes="L H + L + S",
    degree="the larger of H + S and L",
    diameter="4",
    members=counted(lambda n: 2 * n * n, lambda n: f"{2 * n},{n},{n}"),
)
class LeafSpine(Graph):
    """The leaf-spine network of some leaves, spines, and hosts at each leaf: hosts, numbered first, and switches, relays.

    Host l.h hangs below the switch ``leaf-l``, which is joined to each ``spine-s``. With more hosts a leaf than spines it is
    tapered, or oversubscribed: 64 hosts and 16 spines are 4:1.

    >>> from treecast import network
    >>> where = network("leaf-spine:4,2,3")
    >>> where.nodes, len(where.ranks), where.labels(where.neighbors(where.node("leaf-1")))
    (18, 12, ['1.0', '1.1', '1.2', 'spine-0', 'spine-1'])
    >>> network("leaf-spine:4,2,4").symmetry.representatives.tolist()
    [0, 2]
    """

    described: ClassVar[str] = "a leaf-spine network"

    def __init__(self, leaves: int, spines: int, hosts: int) -> None:
        spec = f"leaf-spine:{leaves},{spines},{hosts}"
        if min(leaves, spines, hosts) < 1:
            raise NetworkError(
                f"{spec} is no network: write leaf-spine:L,S,H with each at least 1, as in leaf-spine:4,2,2"
            )
        nodes, links = leaves * (hosts + 1) + spines, leaves * (hosts + spines)
        if nodes > _MOST_NODES or 2 * links > _MOST_ARCS:
            raise NetworkError(f"{spec} has {nodes:,} nodes: at most {_MOST_NODES:,}, with {_MOST_ARCS:,} arcs")
        ranks = leaves * hosts
        names = [f"{leaf}.{host}" for leaf in range(leaves) for host in range(hosts)]
        names += [*(f"leaf-{leaf}" for leaf in range(leaves)), *(f"spine-{spine}" for spine in range(spines))]
        host, (leaf, spine) = np.arange(ranks), np.divmod(np.arange(leaves * spines), spines)
        below = np.stack([host, ranks + host // hosts], axis=1)  # of hosts and their leaves: int64 (hosts, 2)
        above = np.stack([ranks + leaf, ranks + leaves + spine], axis=1)
        pairs = np.concatenate([below, above])
        super().__init__(spec, names, np.concatenate([pairs, pairs[:, ::-1]]), np.arange(nodes) >= ranks)
        self._shape = leaves, spines, hosts

    @cached_property
    def symmetry(self) -> AbelianSymmetry:
        """Leaves turn; hosts, and spines with them, as many at a time as divide both."""
        leaves, spines, hosts = self._shape
        together = gcd(spines, hosts)
        host, spine = {"B": hosts // together, "H": together}, {"A": spines // together, "H": together}
        return turns_of(self, [{"L": leaves} | host, {"L": leaves}, spine], ["L"], ["H"])
