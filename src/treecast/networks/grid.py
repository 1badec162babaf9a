"""Nodes that have coordinates, and grids of them: meshes and tori of any number of dimensions, and twisted tori.

Nodes are numbered with the last coordinate fastest (numpy's order), and labelled 3,0,2. A path is a mesh, and a ring a torus,
of one dimension.

Source of twisted tori: Cámara, Moretó, Vallejo, Beivide, Miguel-Alonso, Martínez & Navaridas, "Twisted torus topologies for
enhanced interconnection networks" (2010).
"""

import operator
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from treecast.errors import NetworkError
from treecast.networks.cayley import Cayley, Searched
from treecast.networks.core import Ints, Network, ints
from treecast.networks.family import any_from, family, sides
from treecast.ragged import places


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
        here = u // stride % side  # its coordinate along that axis
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


_MOST_NODES = 2**40
_MOST_SIDES = 64
_MOST_TWISTED = 1 << 24  # nodes of a twisted torus
_MOST_COUNTED = 1 << 27  # coordinates whose distances are counted one by one


@dataclass(frozen=True, eq=False, repr=False)
class Grid(Coordinates):
    """Nodes at integer coordinates, numbered with the last coordinate fastest (numpy's order)."""

    sides: tuple[int, ...]
    family: str
    _families: ClassVar[tuple[str, str]]  # the names of such networks: of any number of dimensions, and of one
    wraps: ClassVar[bool]
    """Whether the ends of an axis are joined."""
    described: ClassVar[str] = "a mesh or torus"
    routed: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.family not in self._families:
            raise NetworkError(f"{self.family!r} is no such network: write {' or '.join(self._families)}")
        try:
            sides = tuple(operator.index(side) for side in self.sides)
        except TypeError:
            sides = ()
        if not sides or min(sides) < 1 or (len(sides) > 1 and self.family == self._families[1]):
            wanted = "the sides, each at least 1", "the number of nodes, at least 1"
            alone = self.family == self._families[1]
            example = f"{self.family}:{'9' if alone else '8x8x8'}"
            raise NetworkError(f"no {self.family} has such sides: write {wanted[alone]}, as in {example}")
        if len(sides) > _MOST_SIDES or prod(sides) > _MOST_NODES:
            raise NetworkError(f"a {self.family} of more than 64 sides or 2^40 nodes is out of reach: choose fewer")
        object.__setattr__(self, "sides", sides)
        ways = [min(side - 1, 2) if self.wraps else 2 for side in sides]  # a side of 2 has one way, one of 1 none
        object.__setattr__(self, "_moves", [(a, way) for a, number in enumerate(ways) for way in (1, -1)[:number]])
        nodes, longest = prod(sides), [side // 2 if self.wraps else side - 1 for side in sides]
        at_node = sum(min(side - 1, 2) for side in sides)
        # of each line along an axis: a ring has as many cables as nodes, a path one less
        cables = sum((side if self.wraps and side > 2 else side - 1) * (nodes // side) for side in sides)
        known = {"degree": at_node, "diameter": sum(longest), "arcs": 2 * cables}
        spec = f"{self.family}:{'x'.join(map(str, sides))}"
        Network.__init__(self, spec, nodes, at_node if self.wraps else 2 * len(sides), **known, both_ways=True)

    @property
    def grid(self) -> "Grid":
        """The network itself: its nodes have coordinates."""
        return self

    def distance(self, u: ArrayLike, v: ArrayLike) -> Ints:
        """Return the number of arcs on a shortest path from ``u`` to ``v``: int64 (arrays that broadcast)."""
        axes = zip(self.coordinates(u), self.coordinates(v), self.sides, strict=True)
        gaps = ((np.abs(here - there), side) for here, there, side in axes)
        return np.asarray(sum(np.minimum(gap, side - gap) if self.wraps else gap for gap, side in gaps))

    def levels(self, u: int) -> tuple[int, ...]:
        """Return how many nodes are 0, 1, 2 … arcs away from ``u``: coordinates are independent, and their distances add up."""
        if sum(self.sides) > _MOST_COUNTED:
            raise NetworkError(f"{self.spec} has too many nodes to count how far each of them is")
        counts = np.ones(1, np.int64)
        for here, side in zip(self.coordinates(self.check_node(u)).tolist(), self.sides, strict=True):
            gap = np.abs(np.arange(side) - here)
            # distances along axes add up
            counts = np.convolve(counts, np.bincount(np.minimum(gap, side - gap) if self.wraps else gap))
        return tuple(counts.tolist())

    def routes(self, u: Ints, v: Ints, order: str = "first") -> tuple[Ints, Ints, Ints]:
        """Return the arcs of the routes from each u to the v beside it: (which route, node, port).

        int64 arrays, one entry per arc, as many as the distances add up to, those of a route in no order that means anything.
        ``order``: one axis after the other, the ``first`` axis first or the ``last``; or ``diagonal``, by turns: of n moves
        along an axis the k-th is due at (k + 1/2)/n, moves due at once go by axis. Halfway round a torus they go up.
        """
        here, there = self.coordinates(u), self.coordinates(v)
        gaps = there - here
        if self.wraps:
            for gap, side in zip(gaps, self.sides, strict=True):
                gap[:] = (gap + (side - 1) // 2) % side - (side - 1) // 2  # the shorter way round, halfway up
        port_of = {move: port for port, move in enumerate(self._moves)}
        parts: list[tuple[Ints, Ints, Ints]] = []
        for axis, way in product(range(len(self.sides)), (1, -1)):
            mine = np.flatnonzero(gaps[axis] * way > 0)
            length = gaps[axis, mine] * way
            route = np.repeat(mine, length)
            place = places(length)
            ahead, node = gaps[:, route], np.zeros_like(route)
            for other, (side, stride) in enumerate(zip(self.sides, self.strides, strict=True)):
                # how far along each axis the route is by then
                gone = way * place if other == axis else _moves_made(order, axis, other, place, ahead)
                at = here[other, route] + gone
                node += (at % side if self.wraps else at) * stride
            # a side of 2 has no port down: up leads there, too
            port = port_of.get((axis, way), port_of.get((axis, 1), -1))
            parts.append((route, node, np.full(len(route), port)))
        route, node, port = (np.concatenate(column) for column in zip(*parts, strict=True))
        return route, node, port

    def channels(self, u: Ints, v: Ints, order: str = "first", links: bool = False) -> tuple[Ints, Ints]:
        """Return the channels of the ``routes`` from each u to the v beside it: (which route, channel), int64.

        A channel is an arc, by its number; with ``links``, where both ways share one, the lower of the numbers of its arcs.
        """
        route, node, port = self.routes(u, v, order)
        channel = self.arc(node, port)
        if links:
            there = self.neighbor(node, port)
            channel = np.minimum(channel, self.arc(there, self.port_between(there, node)))
        return route, channel


def _moves_made(order: str, axis: int, other: int, place: Ints, gaps: Ints) -> Ints:
    """Return how far a route has gone along another axis when it makes its move number ``place`` along ``axis``."""
    gap, earlier = gaps[other], other < axis
    if order != "diagonal":
        return gap if earlier == (order == "first") else np.zeros_like(gap)
    # moves j with (2j + 1)/(2 |gap|) < (2 place + 1)/(2 |moves|), or no later where the other axis goes first
    due = ((2 * place + 1) * np.abs(gap) - (not earlier)) // np.abs(gaps[axis])
    return np.sign(gap) * ((due + 1) // 2)


@dataclass(frozen=True, eq=False, repr=False)
class Mesh(Grid):
    """A mesh with the given sides: port 2a leads up axis a, port 2a + 1 down; past the border, nowhere.

    It has at most 64 axes and 2^40 nodes. ``family``: ``mesh``, or ``path`` for one of one axis.

    >>> from treecast import network
    >>> mesh = network("mesh:3x4")
    >>> mesh.labels(mesh.neighbors(mesh.node("0,0")))
    ['1,0', '0,1']
    """

    described: ClassVar[str] = "a mesh or path"

    family: str = "mesh"
    _families: ClassVar[tuple[str, str]] = ("mesh", "path")
    wraps: ClassVar[bool] = False

    def _beyond(self, u: Ints, port: Ints) -> Ints:
        """Return ``u`` moved along the axis of ``port``; -1 past the border."""
        by, stride, side = self._port_columns[:, port]
        there = u // stride % side + by
        return np.where((there >= 0) & (there < side), u + by * stride, -1)

    def eccentricity(self, root: int) -> int:
        """Return the distance from ``root`` to the corner farthest from it. Raises NetworkError."""
        here = self.coordinates(self.check_node(root)).tolist()
        return sum(max(at, side - 1 - at) for at, side in zip(here, self.sides, strict=True))


@dataclass(frozen=True, eq=False, repr=False)
class Torus(Grid, Cayley):
    """A torus with the given sides: the Cayley graph of coordinate-wise addition modulo the sides.

    An axis has two ports, up and down, but one where its side is 2 and none where it is 1: no two arcs join
    the same two nodes one way, and none leads to its own source. It has at most 64 axes and 2^40 nodes. ``family``: ``torus``, or
    ``ring`` for one of one axis.

    >>> from treecast import network
    >>> torus = network("torus:3x4")
    >>> torus.labels(torus.neighbors(torus.node("0,0")))
    ['1,0', '2,0', '0,1', '0,3']
    """

    described: ClassVar[str] = "a torus or ring"

    family: str = "torus"
    _families: ClassVar[tuple[str, str]] = ("torus", "ring")
    wraps: ClassVar[bool] = True

    @property
    def gray(self) -> int | None:
        """The lower bit of each side of 4, where all sides are 1, 2 or 4: 00, 01, 11 and 10 lie around it."""
        lower = sum(stride for side, stride in zip(self.sides, self.strides, strict=True) if side == 4)
        return lower if {*self.sides} <= {1, 2, 4} else None

    def types(self) -> dict[int, int]:
        """Return nodes of all distances along the axes, in any order where sides are equal: axes turn round and change places."""
        sides = np.array(self.sides)
        here = self.coordinates(np.arange(1, self.nodes))
        # up or down is all the same
        here = np.minimum(here, sides[:, None] - here)
        for side in set(self.sides):
            here[sides == side] = np.sort(here[sides == side], axis=0)
        node, count = np.unique(np.array(self.strides) @ here, return_counts=True)
        return dict(zip(node.tolist(), count.tolist(), strict=True))


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
        if short < 2 or set(sides) != {short, 2 * short} or prod(sides) > _MOST_TWISTED:
            raise NetworkError(
                f"torus:{spelled} is no network: write sides of n and of 2n nodes, as in torus:4x4x8,twisted, "
                f"with at most {_MOST_TWISTED:,} nodes"
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
        sides = np.array(self.sides).reshape(-1, *[1] * (at.ndim - 1))  # a column, which broadcasts
        half = min(self.sides)
        turns = (at // sides)[~self._long].sum(axis=0)  # how often round each short side
        moved = at - np.where(self._long.reshape(sides.shape), turns * half, 0)
        return np.asarray(np.tensordot(np.array(self.strides), moved % sides, axes=1), np.int64)


@family(
    "mesh",
    "AxBx…",
    example="mesh:8x8x8",
    summary="grid without wrap-around",
    nodes="A B …",
    degree="2 per side",
    diameter="A - 1 + B - 1 + …",
    members=sides(2),
)
def mesh(*sides: int) -> Mesh:
    """Return the mesh of some sides."""
    return Mesh(sides)


@family(
    "torus",
    "AxBx…",
    example="torus:4x4x4",
    summary="grid with wrap-around; torus:4x4x8,twisted is twisted",
    nodes="A B …",
    degree="2 per side",
    diameter="⌊A/2⌋ + ⌊B/2⌋ + …",
    members=sides(3),
    variants={"twisted": Twisted},
)
def torus(*sides: int) -> Torus:
    """Return the torus of some sides."""
    return Torus(sides)


@family(
    "path",
    "N",
    example="path:9",
    summary="mesh of one dimension",
    nodes="N",
    degree="2",
    diameter="N - 1",
    members=any_from(2),
)
def path(nodes: int) -> Mesh:
    """Return the path of so many nodes."""
    return Mesh((nodes,), "path")


@family(
    "ring",
    "N",
    example="ring:8",
    summary="torus of one dimension",
    nodes="N",
    degree="2",
    diameter="⌊N/2⌋",
    members=any_from(3),
)
def ring(nodes: int) -> Torus:
    """Return the ring of so many nodes."""
    return Torus((nodes,), "ring")
