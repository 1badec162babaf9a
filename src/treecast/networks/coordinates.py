"""Nodes that have coordinates: numbered with the last coordinate fastest (numpy's order), and labelled 3,0,2."""

import operator
import re
from collections.abc import Sequence
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import ArrayLike

from treecast.networks.core import Ints, Network, ints


class Coordinates(Network):
    """A network whose nodes are the points of a box with some ``sides``.

    >>> from treecast.networks import network
    >>> where = network("hyperx:3x4")
    >>> where.strides, where.coordinates(7).tolist(), where.label(7)
    ((4, 1), [1, 3], '1,3')
    """

    sides: tuple[int, ...]
    """The number of nodes along each axis."""

    _moves: Sequence[tuple[int, int]]
    """The axis of every port, and how far the port leads along it: up or down, in a circle where axes have no end."""

    @cached_property
    def strides(self) -> tuple[int, ...]:
        """By how much the node number grows with each coordinate."""
        return tuple(prod(self.sides[axis + 1 :]) for axis in range(len(self.sides)))

    @cached_property
    def _port_columns(self) -> Ints:
        """How far every port leads, and the stride and side of its axis, in rows; a last column keeps look-ups inside."""
        moves = [*self._moves, (0, 0)]
        columns = np.array([(by, self.strides[axis], self.sides[axis]) for axis, by in moves], np.int64).T
        columns.flags.writeable = False
        return columns

    def _beyond(self, u: Ints, port: Ints) -> Ints:
        """Return ``u`` moved along the axis of ``port``."""
        by, stride, side = self._port_columns[:, port]
        here = u // stride % side
        return u + ((here + by) % side - here) * stride

    def port_name(self, port: int) -> str:
        """Return ``port`` as way and axis, as in +0. Raises NetworkError when there is no such port."""
        axis, way = self._moves[self.check_port(port)]
        return f"{'+' if way > 0 else '-'}{axis}"

    def coordinates(self, u: ArrayLike) -> Ints:
        """Return the coordinates of the nodes ``u``: int64, shape (dimensions, *shape of u)."""
        u = ints(u)
        return np.stack([u // stride % side for side, stride in zip(self.sides, self.strides, strict=True)])

    def _moved(self, u: Ints, h: Ints, way: int) -> Ints:
        """Return ``u`` moved by the coordinates of ``h``, or with way -1 back, modulo the sides."""
        axes = zip(self.coordinates(u), self.coordinates(h), self.sides, self.strides, strict=True)
        return np.asarray(sum((here + way * by) % side * stride for here, by, side, stride in axes))

    def label(self, u: int) -> str:
        """Return the coordinates of node ``u``, as in 3,0,2. Raises NetworkError when ``u`` is no node."""
        node = self.check_node(u)
        return ",".join([str(node // stride % side) for side, stride in zip(self.sides, self.strides, strict=True)])

    def _labels(self, nodes: Ints) -> list[str]:
        along = [list(map(str, places)) for places in self.coordinates(nodes).tolist()]
        return list(map(",".join, zip(*along, strict=True)))

    def why_no_label(self, text: str) -> str:
        """Return how far the coordinates go, for a text of as many numbers."""
        alike = re.fullmatch(" *[0-9]+ *(, *[0-9]+ *)+", text) and text.count(",") == len(self.sides) - 1
        return f"coordinates go from {self.label(0)} to {self.label(self.nodes - 1)}" if alike else ""

    def _parse_label(self, text: str) -> int | None:
        inner = text[1:-1] if text.startswith("(") and text.endswith(")") else text
        parts = [part.strip() for part in inner.split(",")]
        if len(parts) != len(self.sides) or not all(re.fullmatch("[0-9]{1,19}", part) for part in parts):
            return None
        here = [int(part) for part in parts]
        inside = all(map(operator.lt, here, self.sides))
        return sum(map(operator.mul, here, self.strides)) if inside else None
