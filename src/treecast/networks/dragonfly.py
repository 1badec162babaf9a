"""Dragonflies: groups of routers that are all joined to one another, and one link between any two groups.

Source: Kim, Dally, Scott & Abts, at the 35th International Symposium on Computer Architecture (2008).
"""

from functools import cached_property
from itertools import permutations
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from treecast.errors import NetworkError
from treecast.networks.core import Ints
from treecast.networks.family import counted, family
from treecast.networks.graph import Graph, circle
from treecast.networks.symmetry import AbelianSymmetry, turns_of

_MOST_NODES = 1 << 20
_MOST_ARCS = 1 << 24


@family(
    "dragonfly",
    "A,H[,P]",
    example="dragonfly:4,2",
    summary="AH + 1 groups of A routers, joined by H links a router; with P hosts a router, routers are relays",
    nodes="A (A H + 1) (1 + P)",
    degree="A - 1 + H + P",
    diameter="3, between hosts 5",
    members=counted(lambda h: 2 * h * (2 * h * h + 1), lambda h: f"{2 * h},{h}"),
)
class Dragonfly(Graph):
    """The dragonfly of a routers a group and h links of each router to other groups: a h + 1 groups.

    The links of a group to others, counted over its routers, lead to the next group, the one after it, and so on around.
    A router is labelled group.router. With p hosts a router, hosts are labelled group.router.host and numbered first; routers
    are relays then. Without hosts routers take part themselves.

    >>> from treecast import network
    >>> where = network("dragonfly:4,2")
    >>> where.nodes, where.degree, where.diameter
    (36, 5, 3)
    >>> where.labels(where.neighbors(where.node("0.1")))
    ['0.0', '0.2', '0.3', '3.2', '4.2']
    >>> hosted = network("dragonfly:4,2,2")
    >>> hosted.nodes, len(hosted.ranks), hosted.labels(hosted.neighbors(hosted.node("0.1.1")))
    (108, 72, ['0.1'])
    """

    described: ClassVar[str] = "a dragonfly"

    def __init__(self, routers: int, links: int, hosts: int = 0) -> None:
        spec = f"dragonfly:{routers},{links}" + (f",{hosts}" if hosts else "")
        if routers < 1 or links < 1:
            raise NetworkError(f"{spec} is no network: write dragonfly:A,H with both at least 1, as in dragonfly:4,2")
        groups = routers * links + 1
        own = groups * routers
        if own * (1 + hosts) > _MOST_NODES or own * (routers + links + 2 * hosts) > _MOST_ARCS:
            raise NetworkError(f"{spec} has {own:,} routers: at most {_MOST_NODES:,} nodes, with {_MOST_ARCS:,} arcs")
        names = [f"{group}.{router}" for group in range(groups) for router in range(routers)]
        arcs, relays = _arcs(routers, links), None
        if hosts:
            count = own * hosts
            host = np.arange(count)
            wires = np.stack([host, count + host // hosts], axis=1)
            arcs = np.concatenate([wires, wires[:, ::-1], arcs + count])
            relays = np.arange(count + own) >= count
            names = [f"{router}.{host}" for router in names for host in range(hosts)] + names
        super().__init__(spec, names, arcs, relays)
        self._shape = groups, routers, hosts

    @cached_property
    def symmetry(self) -> AbelianSymmetry:
        """Groups turn."""
        groups, routers, hosts = self._shape
        router = {"G": groups, "R": routers}
        return turns_of(self, [router | {"H": hosts}, router] if hosts else [router], ["G"])

    @property
    def drawn_at(self) -> NDArray[np.float64]:
        """Groups on a circle, the routers of each on a smaller one, and hosts outside their routers."""
        groups, routers, hosts = self._shape
        far = 1.9 if hosts else 1.0
        centre = circle(groups) * (1.5 * far / np.sin(np.pi / groups))
        router = np.tile(circle(routers), (groups, 1))
        fan = (np.arange(hosts) - (hosts - 1) / 2) * np.pi / max(routers * hosts, 1)
        turn = np.array([[np.cos(fan), np.sin(fan)], [-np.sin(fan), np.cos(fan)]]).transpose(2, 0, 1)
        host = far * np.einsum("ri,hij->rhj", router, turn).reshape(-1, 2)
        return np.concatenate(
            [host + np.repeat(centre, routers * hosts, axis=0), router + np.repeat(centre, routers, axis=0)]
        )


def _arcs(routers: int, links: int) -> Ints:
    """Return the arcs between routers, by their ends: int64, shape (arcs, 2)."""
    groups = routers * links + 1
    inside = np.array([*permutations(range(routers), 2)], np.int64).reshape(-1, 2)
    local = np.arange(groups)[:, None, None] * routers + inside
    group, turn = np.meshgrid(np.arange(groups), np.arange(groups - 1), indexing="ij")
    there = (group + turn + 1) % groups
    tail = group * routers + turn // links
    # seen from there this group is turn groups - 2 - turn
    head = there * routers + (groups - 2 - turn) // links
    return np.concatenate([local.reshape(-1, 2), np.stack([tail.ravel(), head.ravel()], axis=1)])
