"""How a mesh or torus lies in the plane of a picture.

The first of two axes goes down, the second to the right. One axis is a line; of three, the first numbers slices, which stand
side by side.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treecast.networks import Grid
from treecast.networks.core import Ints
from treecast.papers.mesh.builders.eyes import eyes, fits, level

MOST_NODES, MOST_AXES = 2000, 3
"""The largest mesh that can be drawn."""
WIDEST = 15.0
"""Inches of panels side by side."""
_TALLEST = 4.2  # inches of a panel of two axes, of a large mesh
Floats = NDArray[np.float64]


class Plane(NamedTuple):
    """How a mesh lies in a plane, in steps of one node: its rows and columns, and how many slices (0: no third axis)."""

    rows: int
    columns: int
    slices: int
    edge: float
    """From the outermost nodes to the end of the picture: more on a torus, for the ends of links that go round."""
    bow: float = 0.0
    """The room above a line, for its arrows."""

    @staticmethod
    def of(sides: tuple[int, ...], wraps: bool = False) -> "Plane":
        """Return how a mesh of these sides lies; ``wraps``: whether it is a torus."""
        rows, columns = (1, 1, *sides)[-2:]
        return Plane(rows, columns, sides[0] if len(sides) == 3 else 0, 0.8 if wraps else 0.5)

    @property
    def line(self) -> bool:
        """Whether all nodes lie on one line."""
        return self.rows == 1 and not self.slices

    @property
    def across(self) -> float:
        """The width of a slice; to the next one it is one more."""
        return self.columns - 1 + 2 * self.edge

    @property
    def starts(self) -> list[float]:
        """Where each slice begins, from left to right."""
        return [(self.across + 1) * i for i in range(self.slices or 1)]

    @property
    def width(self) -> float:
        """The width of everything."""
        return self.starts[-1] + self.across

    @property
    def height(self) -> float:
        """The height of everything."""
        return self.rows - 1 + 2 * self.edge + self.bow

    def unit(self) -> float:
        """Return how many inches are between two nodes."""
        wide = WIDEST - 1 if self.slices or self.rows == 1 else _TALLEST
        return max(0.02 if self.rows > 1 else 0.0, min(0.36, wide / self.width, _TALLEST * 2 / self.rows))

    def places(self, grid: Grid) -> Floats:
        """Return where the nodes lie, right and down: (nodes, 2)."""
        at = grid.coordinates(np.arange(grid.nodes))
        down = at[-2] if len(at) > 1 else np.zeros(grid.nodes, np.int64)
        right = at[-1] + (at[0] * (self.across + 1) if self.slices else 0)
        return np.column_stack([right + self.edge, down + self.edge + self.bow]).astype(np.float64)

    def periods(self, axes: int) -> Floats:
        """Return how far, right and down, one comes on each axis by going round a torus once: (axes, 2)."""
        detours = [((self.across + 1) * self.slices, 0), (0, self.rows), (self.columns, 0)]
        return np.array(detours[-axes:], np.float64)

    def box(self, piece: int) -> tuple[tuple[float, float], float, float]:
        """Return corner, width and height of a slice; of -1, those of everything."""
        if piece < 0:
            return (0, 0), self.width, self.height
        return (self.starts[piece], 0), self.across, self.height


def label_every(count: int, unit: float) -> int:
    """Return of how many coordinates one is written, so that they do not touch."""
    room = 0.05 + 0.06 * max(2, len(str(count - 1)))
    return next(n for power in range(9) for n in (10**power, 2 * 10**power, 5 * 10**power) if n * unit >= room)


def eyes_of(grid: Grid) -> Ints:
    """Return the numbers of the eyes of a mesh whose sides are the same power of two; of other networks, none."""
    if grid.wraps or not fits(grid):
        return np.empty(0, np.int64)
    return np.unique(eyes(level(grid), len(grid.sides)) @ np.array(grid.strides, np.int64))
