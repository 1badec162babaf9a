"""Twisted tori: tori of which the way round a short side ends half a long side further on.

Source: Cámara, Moretó, Vallejo, Beivide, Miguel-Alonso, Martínez & Navaridas, "Twisted torus topologies for enhanced
interconnection networks" (2010).
"""

from math import prod
from typing import ClassVar

import numpy as np

from treecast.errors import NetworkError
from treecast.networks.cayley import Searched
from treecast.networks.coordinates import Coordinates
from treecast.networks.core import Ints

_MOST_NODES = 1 << 24


class Twisted(Coordinates, Searched):
    """A torus of sides n and 2n, n from 2, in which n steps along a short side lead n steps along every long one.

    It is the Cayley graph of the whole numbers' grid modulo those moves. An axis has two ports, up and down. TPU slices of such
    sides are wired so.

    >>> from treecast import network
    >>> twisted, torus = network("torus:4x4x8,twisted"), network("torus:4x4x8")
    >>> twisted.nodes, twisted.diameter, torus.diameter
    (128, 6, 8)
    >>> twisted.labels(twisted.neighbors(0))
    ['1,0,0', '3,0,4', '0,1,0', '0,3,4', '0,0,1', '0,0,7']
    """

    family = "twisted"
    described: ClassVar[str] = "a twisted torus"

    def __init__(self, *sides: int) -> None:
        self.sides = sides
        self._moves = [(axis, way) for axis in range(len(sides)) for way in (1, -1)]
        short = min(sides, default=0)
        spelled = f"{'x'.join(map(str, sides))},twisted"
        if short < 2 or set(sides) != {short, 2 * short} or prod(sides) > _MOST_NODES:
            raise NetworkError(
                f"torus:{spelled} is no network: write sides of n and of 2n nodes, as in torus:4x4x8,twisted, "
                f"with at most {_MOST_NODES:,} nodes"
            )
        super().__init__(f"torus:{spelled}", prod(sides), 2 * len(sides))
        self._long = np.array([side > short for side in sides])

    def _beyond(self, u: Ints, port: Ints) -> Ints:
        """Return the node one step up (even ports) or down (odd ports) an axis."""
        at, by = self.coordinates(u + 0 * port), np.where(port % 2, -1, 1)
        for axis in range(len(self.sides)):
            at[axis] += np.where(port // 2 == axis, by, 0)
        return self._number(at)

    def _moved(self, u: Ints, h: Ints, way: int) -> Ints:
        u, h = np.broadcast_arrays(u, h)
        return self._number(self.coordinates(u) + way * self.coordinates(h))

    def _number(self, at: Ints) -> Ints:
        """Return the nodes of coordinates that may lie outside: each way round a short side goes half round all long ones."""
        sides = np.array(self.sides).reshape(-1, *[1] * (at.ndim - 1))
        half = min(self.sides)
        turns = (at // sides)[~self._long].sum(axis=0)
        moved = at - np.where(self._long.reshape(sides.shape), turns * half, 0)
        return np.asarray(np.tensordot(np.array(self.strides), moved % sides, axes=1), np.int64)
