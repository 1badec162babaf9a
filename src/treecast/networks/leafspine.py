"""Leaf-spine networks: hosts below leaves, and each leaf joined to every spine: two levels of switches, as most clusters have.

Source: Al-Fares, Loukissas & Vahdat, "A scalable, commodity data center network architecture" (2008), of two levels.
"""

from functools import cached_property
from math import gcd
from typing import ClassVar

import numpy as np

from treecast.errors import NetworkError
from treecast.networks.family import counted, family
from treecast.networks.graph import Graph
from treecast.networks.symmetry import Turns, turns_of

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
        below = np.stack([host, ranks + host // hosts], axis=1)
        above = np.stack([ranks + leaf, ranks + leaves + spine], axis=1)
        pairs = np.concatenate([below, above])
        super().__init__(spec, names, np.concatenate([pairs, pairs[:, ::-1]]), np.arange(nodes) >= ranks)
        self._shape = leaves, spines, hosts

    @cached_property
    def symmetry(self) -> Turns:
        """Leaves turn; hosts, and spines with them, as many at a time as divide both."""
        leaves, spines, hosts = self._shape
        together = gcd(spines, hosts)
        host, spine = {"B": hosts // together, "H": together}, {"A": spines // together, "H": together}
        return turns_of(self, [{"L": leaves} | host, {"L": leaves}, spine], ["L"], ["H"])
