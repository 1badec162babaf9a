"""Sources of a mesh that are images of one another: by reflections, and exchanges of axes of equal sides.

A mesh is planned in one shape: its sides that are longer than 1, in ascending order. Nodes are carried there and back. So a
plan made there from one of the images of a source serves them all, and meshes whose sides are the same in another order, too.
Source: treecast's own.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import permutations
from math import prod

import numpy as np

from treecast.networks import Mesh, Torus
from treecast.networks.core import Ints, ints
from treecast.plans.whole.wormhole.bisection import Shape, is_contention_free

Messages = tuple[Ints, Ints, Ints]
"""Step, source and target of each."""


def shape_of(sides: Sequence[int]) -> Shape:
    """Return the shape in which a mesh is planned."""
    return tuple(sorted(side for side in sides if side > 1)) or (1,)


def nodes_of_shape(sides: Sequence[int]) -> Ints:
    """Return the node of a mesh that each node of its shape is, when the axes are put in order: int64 (N,)."""
    return np.arange(prod(sides)).reshape(tuple(sides)).transpose(np.argsort(sides, kind="stable")).reshape(-1)


def place_in_shape(sides: Sequence[int], node: int) -> int:
    """Return the node of the shape that a node of a mesh is, when the axes are put in order."""
    return int(np.flatnonzero(nodes_of_shape(sides) == node)[0])


def images(shape: Shape, node: int) -> Ints:
    """Return the nodes of a shape that are images of a node, itself among them: int64, ascending."""
    least = least_images(shape)
    return np.flatnonzero(least == least[node])


@lru_cache(16)
def least_images(shape: Shape) -> Ints:
    """Return the least image of each node of a shape: int64 (N,)."""
    sides, at = np.array(shape)[:, None], np.indices(shape).reshape(len(shape), -1)
    near = np.minimum(at, sides - 1 - at) + sides * max(shape)  # by sides first, which ascend, and then by coordinates
    return ints(np.ravel_multi_index(tuple(np.sort(near, axis=0) - sides * max(shape)), shape))


def carry(sides: Sequence[int], image: int, root: int, nodes: Ints) -> Ints:
    """Return where nodes of the shape go by a symmetry that carries ``image``, one of them, to ``root`` of the mesh."""
    shape = shape_of(sides)
    if shape == tuple(sides) and image == root:
        return nodes
    here, there = np.unravel_index(image, shape), np.unravel_index(root, tuple(sides))

    def how_near(side: int, at: int) -> tuple[int, int]:
        return side, min(at, side - 1 - at)

    begin = sorted(range(len(shape)), key=lambda axis: how_near(shape[axis], int(here[axis])))
    longer = [axis for axis, side in enumerate(sides) if side > 1]
    end = sorted(longer, key=lambda axis: how_near(sides[axis], int(there[axis])))
    at = np.unravel_index(nodes, shape)
    moved = np.zeros((len(sides), len(nodes)), np.int64)
    for a, b in zip(begin, end, strict=bool(end)):
        moved[b] = at[a] if here[a] == there[b] else shape[a] - 1 - at[a]
    return np.ravel_multi_index(tuple(moved), tuple(sides)).astype(np.int64)


def never_meet(shape: Shape, messages: Messages, *, wraps: bool = False) -> bool:
    """Return whether no two messages of a step share a channel, on the mesh or torus with its axes in any order."""
    step, src, dst = messages
    for order in permutations(range(len(shape))):
        sides = tuple(shape[axis] for axis in order)
        number = np.arange(prod(shape)).reshape(sides).transpose(np.argsort(order)).reshape(-1)
        if not is_contention_free(Torus(sides) if wraps else Mesh(sides), step, number[src], number[dst]):
            return False
    return True
