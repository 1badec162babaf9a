"""Broadcast of least total communication distance on meshes and tori, by recursive bisection.

Communication model: one-port, wormhole: in a step a node sends one message to any node, or receives one, or idles; a message
takes one step whatever its distance; ⌈log2 N⌉ steps are the fewest. The goal is a small sum of all distances (TCD).

Let B be a set of at most 2^T nodes, and s a node of it. D(B, T)[s] is the least value of

    D(part of s, T-1)[s] + min over t in the other part of (|s - t| + D(other part, T-1)[t])

over cuts of B into two parts of at most 2^(T-1) nodes. A box is cut straight where both parts are then small enough, and
along a staircase otherwise, which goes through the nodes in one of the orders by coordinates. The inner minimum is an L1
distance transform: two sweeps per axis. Source: the model and its optimum are those of Cang & Wu; the recursion is
treecast's, and its result is never above theirs.
"""

from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations, product
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treecast.collectives import Collective
from treecast.models import MODELS, WORMHOLE
from treecast.networks import Grid, Network
from treecast.networks.core import Ints
from treecast.plans.built import Built, check_memory
from treecast.progress import report
from treecast.schedule import Claims, Payloads, Rows

Shape = tuple[int, ...]
Messages = tuple[Ints, Ints, Ints]
"""Step, source and target of each, by node numbers."""
ROUTINGS = tuple(MODELS[name].routing for name in WORMHOLE)
_SHIFT = 32  # a value and the node that attains it in one integer: value << 32 | node
# Greater than any sum of distances, and far from overflow when distances are added to it.
_FAR = np.int64(2**29) << _SHIFT
_WIDE = 128  # longer lines are worth a call each
_SMALL = 512  # nodes: the tables of many such meshes are kept, they take little memory
_CELLS_AT_ONCE = 1 << 16  # of how many cells the cuts of a set are looked at together
_BYTES_PER_NODE = 200  # that a table and a schedule take, measured
_BEST_PLANES = 3  # how many planes per axis are tried of a large set
_MOST_KEPT = 512  # cells of a box whose orders are kept


class Effort(NamedTuple):
    """How many cuts are tried: numbers of nodes.

    ``small``: sets up to this size are cut along staircases even where straight cuts fit. ``many``: larger sets are cut along
    fewer staircases. ``large``: larger sets are not cut along all planes. ``narrow``: larger sets are cut along one plane per
    axis, and along the staircases across the longest axis.
    """

    small: int
    many: int
    large: int
    narrow: int = 2**62


THOROUGH, USUAL, HASTY = Effort(36, 64, 1024), Effort(0, 64, 1024), Effort(0, 4, 12)


@dataclass(frozen=True, eq=False)
class CutTable:
    """D of one set and one number of steps, for every source in it: ``least``, int64 of the shape of its bounding box.

    ``cut``: which of ``cuts`` attains it. Each cut is a mask of the low part, and where the parts lie.
    """

    mask: NDArray[np.bool_]
    steps: int
    least: Ints
    cut: NDArray[np.int16]
    cuts: tuple["Cut", ...]

    @property
    def packed(self) -> Ints:
        """D of each node with its number in the box; far where no node is."""
        numbers = np.arange(self.mask.size).reshape(self.mask.shape)
        return np.where(self.mask, (self.least << _SHIFT) | numbers, _FAR)


@dataclass(frozen=True, eq=False)
class Cut:
    """Two parts of a set, each a table, with the corner of its bounding box."""

    parts: tuple[CutTable, CutTable]
    corners: tuple[Shape, Shape]

    def inside(self, part: int, nodes: Ints) -> NDArray[np.bool_]:
        """Return which nodes, int64 (dimensions, n), lie in a part."""
        corner, mask = np.array(self.corners[part])[:, None], self.parts[part].mask
        local = nodes - corner
        within = np.logical_and.reduce((local >= 0) & (local < np.array(mask.shape)[:, None]), axis=0)
        within[within] = mask[tuple(local[:, within])]
        return within


class Bisection:
    """The tables of all sets that occur, each made once.

    ``around``: how long each axis is where its ends are joined, as in a torus, else 0 or nothing.
    """

    def __init__(self, effort: Effort, around: Shape = ()) -> None:
        self.effort, self.around = effort, around
        self.tables: dict[tuple[Shape, bytes, int], CutTable] = {}

    def table(self, mask: NDArray[np.bool_], steps: int) -> CutTable:
        """Return the table of a set, given by a mask of its bounding box."""
        key = mask.shape, mask.tobytes(), steps
        if key not in self.tables:
            self.tables[key] = self._make_table(mask, steps)
            if len(self.tables) % 32 == 0:
                report(len(self.tables), 0, "sets of nodes divided")
        return self.tables[key]

    def _make_table(self, mask: NDArray[np.bool_], steps: int) -> CutTable:
        least, which = np.full(mask.shape, _FAR >> _SHIFT), np.zeros(mask.shape, np.int16)
        if mask.size == 1:  # a box of one node
            least[mask] = 0
            return CutTable(mask, steps, least, which, ())
        lows = divisions(mask, 1 << (steps - 1), self.effort)
        sides = np.concatenate((lows, mask & ~lows))
        corners, stops = _boxes(sides)
        parts = [
            self.table(np.ascontiguousarray(side[tuple(map(slice, corner, stop))]), steps - 1)
            for side, corner, stop in zip(sides, corners, stops, strict=True)
        ]
        count = len(lows)
        cuts = [Cut((parts[i], parts[i + count]), (corners[i], corners[i + count])) for i in range(count)]
        at_once = max(1, _CELLS_AT_ONCE // mask.size)
        for first in range(0, count, at_once):
            total = self._totals(mask.shape, cuts[first : first + at_once])
            value = total.min(axis=-1)
            better = mask & (value < least)
            least[better] = value[better]
            which[better] = total[better].argmin(axis=-1) + first
        return CutTable(mask, steps, least, which, tuple(cuts))

    def _totals(self, shape: Shape, cuts: list[Cut]) -> Ints:
        """Return D by each of several cuts, int64 (*shape, cuts), for each node of the set that they divide."""
        field = np.full((*shape, 2, len(cuts)), _FAR)
        if len(cuts) == 1:  # a large set: cells side by side
            field = np.moveaxis(np.full((2, 1, *shape), _FAR), (0, 1), (-2, -1))
        for number, cut in enumerate(cuts):
            for part in (0, 1):
                field[(*_window(cut, part), part, number)] = cut.parts[part].packed
        own = field >> _SHIFT
        transform(field, self.around, len(shape))
        field >>= _SHIFT
        # One end keeps the message, the other end gets a copy: its D, and the nearest node of the other part with its
        # own D.
        own += field[..., ::-1, :]
        return np.minimum(own[..., 0, :], own[..., 1, :])

    def reach(self, shape: Shape, cut: Cut, there: int) -> Ints:
        """Return, for each node of a set that is cut, the least distance + D over all nodes of a part, and which attains it."""
        field = np.full(shape, _FAR)
        field[_window(cut, there)] = cut.parts[there].packed
        transform(field, self.around)
        return field


def transform(field: Ints, around: Shape = (), axes: int | None = None) -> None:
    """Replace each entry by the least of entry + L1 distance over all entries: two sweeps per axis, in place.

    ``around``: how long each axis is where its ends are joined, else 0; the field may be a window of it. ``axes``: how many
    axes distances are along, by default all; along others lie fields of their own.
    """
    for axis, side in enumerate(field.shape[:axes]):
        lines, wide = field.swapaxes(0, axis), axis < (axes or field.ndim) - 1 and field.size > _WIDE * side
        _sweep(lines, wide)
        if around and around[axis]:
            gap, ends = around[axis] - side + 1 << _SHIFT, lines[[0, -1]]
            np.minimum(ends, ends[::-1] + gap, out=ends)
            # Where ends are joined, a distance may come round: over the gap, and then along the line once more.
            lines[0], lines[-1] = ends  # both, where there is one line
            _sweep(lines, wide)  # distances that came round go on


def _sweep(lines: Ints, wide: bool) -> None:
    """Replace each entry by the least of entry + distance along the first axis; line by line where lines are wide."""
    if wide:
        for way in (lines, lines[::-1]):
            for i in range(1, len(way)):
                np.minimum(way[i], way[i - 1] + (1 << _SHIFT), out=way[i])
        return
    # Without a loop: less i·slope each entry only has to beat those before it.
    slope = (np.arange(len(lines)) << _SHIFT).reshape(-1, *[1] * (lines.ndim - 1))
    lines -= slope
    np.minimum.accumulate(lines, 0, out=lines)
    lines += 2 * slope
    np.minimum.accumulate(lines[::-1], 0, out=lines[::-1])
    lines -= slope


def _window(cut: Cut, part: int) -> tuple[slice, ...]:
    shape = cut.parts[part].mask.shape
    return tuple(slice(c, c + s) for c, s in zip(cut.corners[part], shape, strict=True))


def divisions(mask: NDArray[np.bool_], most: int, effort: Effort) -> NDArray[np.bool_]:
    """Return the low parts of the cuts that leave both parts at most ``most`` nodes: bool (cuts, *shape), each once.

    They are straight cuts; and staircases if there is none, and in small sets that are not to be halved exactly.
    """
    size = int(np.count_nonzero(mask))
    lows = _straight(mask, size, most, effort)
    # Straight cuts do, unless the set is so small that staircases cost little.
    if lows and (size > effort.small or size == 2 * most):
        return np.array(lows)
    few = size > (effort.many if mask.ndim <= 3 else effort.many // 2)
    counts = sorted({size - min(most, size - 1), min(most, size - 1)})
    lows += _staircases(mask, counts, few=few, longest=size > effort.narrow)
    return np.array(list({low.tobytes(): low for low in lows}.values()))


def _straight(mask: NDArray[np.bool_], size: int, most: int, effort: Effort) -> list[NDArray[np.bool_]]:
    lows: list[NDArray[np.bool_]] = []
    for axis in range(mask.ndim):
        below = np.cumsum(mask.sum(axis=tuple(a for a in range(mask.ndim) if a != axis)))
        planes = np.flatnonzero((below <= most) & (size - below <= most) & (below < size) & (below > 0))
        if size > min(effort.large, effort.narrow):  # there may be many: take those that halve best
            order = np.argsort(np.abs(2 * below[planes] - size), kind="stable")
            planes = planes[order[: 1 if size > effort.narrow else _BEST_PLANES]]
        for plane in planes.tolist():
            low = mask.copy()
            low[tuple(slice(None) if a != axis else slice(plane + 1, None) for a in range(mask.ndim))] = False
            lows.append(low)
    return lows


def _staircases(mask: NDArray[np.bool_], counts: list[int], *, few: bool, longest: bool) -> list[NDArray[np.bool_]]:
    """Return the first nodes of a set, as many as each of ``counts`` says, in each of several orders by coordinates."""
    find = _orders if mask.size <= _MOST_KEPT else _orders.__wrapped__
    orders = find(mask.shape, few, longest)
    inside = mask.reshape(-1)[orders]
    number = np.cumsum(inside, axis=1)
    chosen = inside[:, None] & (number[:, None] <= np.array(counts)[:, None])  # (orders, counts, cells)
    lows = np.empty_like(chosen)
    np.put_along_axis(lows, orders[:, None], chosen, axis=-1)
    return list(lows.reshape(-1, *mask.shape))


@lru_cache(256)
def _orders(shape: Shape, few: bool, longest: bool) -> Ints:
    """Return the cells of a box in each of several orders by coordinates: int64 (orders, cells).

    The axes in any order, and counted backwards, all but the first; if ``few``, none backwards; if ``longest``, the longest
    axis comes first, the others by length.
    """
    cells = np.indices(shape).reshape(len(shape), -1)
    axes = permutations(range(len(shape)))
    if longest:
        axes = [tuple(np.argsort([-side for side in shape], kind="stable").tolist())]
    flips = [(1,) * (len(shape) - 1)] if few else list(product((1, -1), repeat=len(shape) - 1))
    return np.array(
        [
            np.lexsort([cells[a] * f for a, f in zip(order, (1, *flip), strict=True)][::-1])
            for order in axes
            for flip in flips
        ]
    )


def _boxes(parts: NDArray[np.bool_]) -> tuple[list[Shape], list[Shape]]:
    """Return the corners of the bounding boxes of several parts, bool (parts, *shape), and where the boxes stop."""
    low, high = list[list[int]](), list[list[int]]()
    for axis in range(1, parts.ndim):
        layers: NDArray[np.bool_] = np.asarray(parts.any(axis=tuple(a for a in range(1, parts.ndim) if a != axis)))
        low.append(layers.argmax(axis=1).tolist())
        high.append((layers.shape[1] - layers[:, ::-1].argmax(axis=1)).tolist())
    return list(zip(*low, strict=True)), list(zip(*high, strict=True))


def effort(shape: Shape) -> Effort:
    """Return how many cuts of a mesh are tried: fewer in larger ones, so that it takes seconds."""
    nodes, flat = prod(shape), sum(side > 1 for side in shape) < 3
    if nodes <= (256 if flat else 64):
        return THOROUGH
    return USUAL if flat or nodes <= 128 else Effort(0, 12, 1024, 72)


def minimum(shape: Shape) -> tuple[Bisection, CutTable]:
    """Return the table of a whole mesh, in the fewest steps, and the tables that it was made from.

    One table serves every source: many of small meshes are kept, and some of large ones.
    """
    return _of_small(shape) if prod(shape) <= _SMALL else _of_large(shape)


def divide(shape: Shape) -> tuple[Bisection, CutTable]:
    """Return the tables of a shape, as ``minimum`` does, but made anew."""
    check_memory(_BYTES_PER_NODE * prod(shape), f"the tables of {'x'.join(map(str, shape))} nodes")
    tables = Bisection(effort(shape))
    return tables, tables.table(np.ones(shape, bool), (prod(shape) - 1).bit_length())


_of_small, _of_large = lru_cache(maxsize=64)(divide), lru_cache(maxsize=4)(divide)


def sends(tables: Bisection, whole: CutTable, source: int) -> Messages:
    """Return the messages of a broadcast of least distance from ``source``, by levels.

    Node numbers are those of the whole mesh. All sets of one kind are divided at once.
    """
    shape = whole.mask.shape
    strides = np.array([prod(shape[axis + 1 :]) for axis in range(len(shape))], np.int64)
    at = np.array(np.unravel_index(source, shape), np.int64)[:, None]
    # By the table's id, so that equal sets are divided together, wherever they lie. Tables live as long as `tables`,
    # so no id comes twice.
    active: dict[int, tuple[CutTable, list[tuple[Ints, Ints]]]] = {id(whole): (whole, [(np.zeros_like(at), at)])}
    found = [np.zeros((3, 0), np.int64)]
    for step in range(whole.steps):
        after: dict[int, tuple[CutTable, list[tuple[Ints, Ints]]]] = {}
        for table, places in active.values():
            corner, here = (np.concatenate(parts, axis=1) for parts in zip(*places, strict=True))
            which = table.cut[tuple(here)] if table.cuts else np.zeros(0, np.int16)
            for number, cut in enumerate(table.cuts):
                chosen = np.flatnonzero(which == number)
                low = cut.inside(0, here[:, chosen])
                for part, mine in ((0, chosen[low]), (1, chosen[~low])):
                    if len(mine):
                        local = here[:, mine] - np.array(cut.corners[part])[:, None]
                        field = tables.reach(table.mask.shape, cut, 1 - part)
                        # The low bits name the node of the other part that attains the least.
                        reached = field[tuple(here[:, mine])] & ((1 << _SHIFT) - 1)
                        target = np.array(np.unravel_index(reached, cut.parts[1 - part].mask.shape), np.int64)
                        for side, place in ((part, local), (1 - part, target)):
                            offset = corner[:, mine] + np.array(cut.corners[side])[:, None]
                            kept = after.setdefault(id(cut.parts[side]), (cut.parts[side], []))
                            kept[1].append((offset, place))
                        there = corner[:, mine] + np.array(cut.corners[1 - part])[:, None] + target
                        here_all = corner[:, mine] + here[:, mine]
                        found.append(np.stack([np.full(len(mine), step), strides @ here_all, strides @ there]))
        active = after
    step, src, dst = np.concatenate(found, axis=1)
    return step, src, dst


def is_contention_free(
    grid: Grid, step: Ints, src: Ints, dst: Ints, routings: tuple[str, ...] = ROUTINGS, *, links: bool = True
) -> bool:
    """Return whether no two messages of a step share a channel, under each of the routings.

    A message holds all channels of its route while it is sent. With ``links`` the two directions of a link count as one channel
    (half duplex).
    """
    for routing in routings:
        route, channel = grid.channels(src, dst, routing, links)
        order = np.lexsort((channel, step[route]))
        when, used = step[route][order], channel[order]
        if bool(((when[1:] == when[:-1]) & (used[1:] == used[:-1])).any()):
            return False
    return True


def build_from_messages(
    network: Network, collective: Collective, step: Ints, src: Ints, dst: Ints, *, nodes: int | None = None
) -> Built:
    """Return the schedule of messages that each carry everything. They name no port, because the model determines routes."""
    rows = Rows.of(Payloads.of([[(0, collective.messages)]]), step=step, steps=1, src=src, dst=dst, port=-1, payload=0)
    nodes = network.nodes if nodes is None else nodes
    return Built(rows, Claims((nodes - 1).bit_length(), (nodes - 1) * collective.messages))
