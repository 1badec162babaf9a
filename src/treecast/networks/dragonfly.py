"""Dragonflies: groups of routers that are all joined to one another, and one link between any two groups.

Source: Kim, Dally, Scott & Abts, at the 35th International Symposium on Computer Architecture (2008).
"""

from itertools import permutations
from typing import ClassVar

import numpy as np

from treecast.errors import NetworkError
from treecast.networks.core import Ints
from treecast.networks.family import family
from treecast.networks.graph import Graph

_MOST_NODES = 1 << 20
_MOST_ARCS = 1 << 24


class Dragonfly(Graph):
    """The dragonfly of a routers a group and h links of each router to other groups: a h + 1 groups.

    The links of a group to others, counted over its routers, lead to the next group, the one after it, and so on around.
    A router is labelled group.router.

    Parameters
    ----------
    routers : int
        The number of routers a group, a.
    links : int
        The number of links of each router to other groups, h.

    Raises
    ------
    NetworkError
        When there is no such network.

    Examples
    --------
    >>> from treecast import network
    >>> where = network("dragonfly:4,2")
    >>> where.nodes, where.degree, where.diameter
    (36, 5, 3)
    >>> where.labels(where.neighbors(where.node("0.1")))
    ['0.0', '0.2', '0.3', '3.2', '4.2']
    """

    described: ClassVar[str] = "a dragonfly"

    def __init__(self, routers: int, links: int) -> None:
        spec = f"dragonfly:{routers},{links}"
        if routers < 1 or links < 1:
            raise NetworkError(f"{spec} is no network: write dragonfly:A,H with both at least 1, as in dragonfly:4,2")
        groups = routers * links + 1
        nodes = groups * routers
        if nodes > _MOST_NODES or nodes * (routers + links) > _MOST_ARCS:
            raise NetworkError(f"{spec} has {nodes:,} routers: at most {_MOST_NODES:,}, with {_MOST_ARCS:,} arcs")
        names = [f"{group}.{router}" for group in range(groups) for router in range(routers)]
        super().__init__(spec, names, _arcs(routers, links))


def _arcs(routers: int, links: int) -> Ints:
    """Return the arcs between routers, by their ends: int64, shape (arcs, 2)."""
    groups = routers * links + 1
    inside = np.array([*permutations(range(routers), 2)], np.int64).reshape(-1, 2)
    local = np.arange(groups)[:, None, None] * routers + inside
    group, turn = np.meshgrid(np.arange(groups), np.arange(groups - 1), indexing="ij")
    there = (group + turn + 1) % groups
    tail = group * routers + turn // links
    head = there * routers + (groups - 2 - turn) // links
    return np.concatenate([local.reshape(-1, 2), np.stack([tail.ravel(), head.ravel()], axis=1)])


@family(
    "dragonfly",
    "A,H",
    example="dragonfly:4,2",
    what="AH + 1 groups of A routers, joined by H links a router",
    nodes="A (A H + 1)",
    degree="A - 1 + H",
    diameter="3",
)
def dragonfly(routers: int, links: int) -> Dragonfly:
    """Return the dragonfly of so many routers a group and links of each to other groups."""
    return Dragonfly(routers, links)
