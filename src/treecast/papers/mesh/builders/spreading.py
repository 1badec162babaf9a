"""Spreading on meshes and tori by recursive bisection, and local search where that gains something; there and back for all.

Communication model: one-port, wormhole, as in ``bisection``. A mesh is planned in one shape: its sides that are longer than 1, in
ascending order. Nodes are carried there and back. Sources are images of one another by reflections, and exchanges of axes of
equal sides, and a plan made from the best image serves them all, and meshes whose sides are the same in another order, too. A
torus is planned from the best source of all. So the total distance is the same from images of a source, and no torus takes more
than the mesh of the same sides. Source: treecast's own.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import permutations
from math import prod
from typing import cast

import numpy as np

from treecast.networks import Grid, Mesh, Torus
from treecast.networks.core import Ints, ints
from treecast.papers.mesh.builders import bisection, local_search
from treecast.papers.mesh.builders.bisection import Messages, Shape, build_from_messages, minimum, sends
from treecast.plans.built import Built, Job
from treecast.plans.registry import WORMHOLE, builder
from treecast.schedule import Claims, Payloads, Rows

_MOST_LISTED = 2**10  # nodes of which every chunk of every message is listed
_MOST_SOURCES = 4  # best ones from which local search is tried: it takes a fifth of a second from each
_METHOD = "recursive bisection: least total distance"


@builder(
    "bisection",
    "broadcast",
    on=Grid,
    under=WORMHOLE,
    summary=f"{_METHOD}; off powers of two, up to 256 nodes, local search; on a torus from the mesh's best node",
)
def broadcast(job: Job[Grid]) -> Built:
    """One-port wormhole: broadcast by recursive bisection, ⌈log2 N⌉ steps, N - 1 messages of all M chunks each.

    Its total distance is the least for sides that are powers of two (checked: docs/explanation/mesh.md). For other sides it is an
    upper bound, which local search reduces where nodes are few. It is the same from sources that are images of one another. On a
    torus it is the best broadcast of the mesh of the same sides, moved so that it begins at the root.
    """
    return build_from_messages(job.network, job.collective, *messages_of(job.network, job.collective.root))


def messages_of(grid: Grid, root: int) -> Messages:
    """Return (step, source, target) of every message of a broadcast."""
    return messages_on_torus(cast(Torus, grid), root) if grid.wraps else messages_on_mesh(cast(Mesh, grid), root)


def messages_on_mesh(mesh: Mesh, root: int) -> Messages:
    """Return (step, source, target) of every message of a broadcast, planned from the best image of the root."""
    shape, own = shape_of(mesh.sides), place_in_shape(mesh.sides, root)
    least, alike = minimum(shape)[1].least.reshape(-1), images(shape, own)
    source = int(alike[np.argmin(least[alike])])
    if least[own] == least[source] and not local_search.fits(shape):
        source = own  # as short, and nothing has to be carried
    step, src, dst = _messages_in_shape(shape, source)
    return step, carry(mesh.sides, source, root, src), carry(mesh.sides, source, root, dst)


def messages_on_torus(torus: Torus, root: int) -> Messages:
    """Return (step, source, target) of every message of a broadcast, never longer than on the mesh."""
    source, (step, src, dst) = _shortest_in_shape(shape_of(torus.sides))
    number = nodes_of_shape(torus.sides)
    # the translation that carries the source to the root
    shift = torus.untranslate(int(number[source]), root)
    return step, torus.translate(shift, number[src]), torus.translate(shift, number[dst])


@lru_cache(maxsize=64)
def _messages_in_shape(shape: Shape, source: int) -> Messages:
    """Return the messages from a source, improved by local search where that may gain something and none meet.

    From a source that is not one of the best the search goes no further than the best one's table value. So a torus, which
    is planned from the best ones, is never longer.
    """
    found, table = sends(*minimum(shape), source), minimum(shape)[1].least.reshape(-1)
    best = table[source] == table.min()  # of the best few are tried, so that a torus, which has them all, tries no more
    if not local_search.fits(shape) or (best and source not in _best_sources(shape)):
        return found
    floor = prod(shape) - 1 if best else int(table.min())
    shorter = local_search.shorten(shape, source, found, floor)
    enough = int(Mesh(shape).distance(*shorter[1:]).sum()) >= floor
    return shorter if enough and never_meet(shape, shorter) else found


def _best_sources(shape: Shape) -> list[int]:
    """Return sources of the least table value that are no images of one another, at most a few."""
    least = minimum(shape)[1].least.reshape(-1)
    sources = np.flatnonzero(least == least.min())
    first = np.unique(least_images(shape)[sources], return_index=True)[1]
    return sources[np.sort(first)[:_MOST_SOURCES]].tolist()


@lru_cache(maxsize=64)
def _shortest_in_shape(shape: Shape) -> tuple[int, Messages]:
    """Return the best source of a mesh and its messages: of those of the least table value one that local search makes shortest.

    Messages from other sources are no shorter than that value, so none of them is looked at.
    """
    sources = _best_sources(shape)
    torus, best = Torus(shape), (sources[0], sends(*minimum(shape), sources[0]))
    least = int(torus.distance(*best[1][1:]).sum())
    for source in sources if local_search.fits(shape) else []:
        messages = _messages_in_shape(shape, source)
        length = int(torus.distance(*messages[1:]).sum())
        if length < least and never_meet(shape, messages, wraps=True):
            least, best = length, (source, messages)
    return best


def least_by_source(sides: Shape) -> Ints:
    """Return the table value of the best image of each node: int64 of the shape of the mesh."""
    shape = shape_of(sides)
    best, images = minimum(shape)[1].least.reshape(-1).copy(), least_images(shape)
    # into the entry of the least image of each
    np.minimum.at(best, images, best.copy())
    return best[images][np.argsort(nodes_of_shape(sides))].reshape(sides)


@builder("bisection", "scatter", on=Grid, under=WORMHOLE, summary=_METHOD)
def scatter(job: Job[Grid]) -> Built:
    """One-port wormhole: scatter along the messages of a broadcast, each with the blocks of the nodes behind it."""
    messages, size = messages_of(job.network, job.collective.root), job.collective.messages
    behind = _behind(job.network.nodes, messages)
    return _told(job, messages, [_ranges(inside, size) for inside in behind], sum(map(len, behind)))


def _too_many(job: Job[Grid]) -> str:
    return "" if job.network.nodes <= _MOST_LISTED else f"lists the chunks of at most {_MOST_LISTED:,} nodes"


@builder(
    "bisection",
    "allgather",
    "alltoall",
    on=Grid,
    under=WORMHOLE,
    fits=_too_many,
    orbit=False,
    summary=f"{_METHOD}: backwards to a node in the middle, then forwards, each message with all that is known on its side",
)
def there_and_back(job: Job[Grid]) -> Built:
    """One-port wormhole: the messages of a broadcast backwards, then forwards: 2 ⌈log2 N⌉ steps, 2 (N - 1) messages.

    A message that goes up holds what the nodes behind it have for others, one that goes down what others have for them. A block
    for a node on the same side turns round where the two ways part.
    """
    grid, size, nodes = job.network, job.collective.messages, job.network.nodes
    # On a torus all nodes are alike.
    root = 0 if grid.wraps else int(least_by_source(grid.sides).argmin())
    step, src, dst = messages_of(grid, root)
    up, down, sends = list[_Ranges](), list[_Ranges](), 0
    for inside in _behind(nodes, (step, src, dst)):
        outside = np.delete(np.arange(nodes), inside)
        ways = (inside, outside), (outside, inside)
        if job.collective.personal:
            blocks = [np.add.outer(sources * nodes, targets).reshape(-1) for sources, targets in ways]
        else:
            blocks = [sources for sources, _ in ways]
        up.append(_ranges(blocks[0], size))
        down.append(_ranges(blocks[1], size))
        sends += sum(map(len, blocks))
    # The last step of the broadcast is the first on the way up: a node has heard all behind it before it sends.
    last = int(step.max(initial=-1))
    both = np.append(last - step, last + 1 + step), np.append(dst, src), np.append(src, dst)
    return _told(job, both, [*up, *down], sends)


_Ranges = list[tuple[int, int]]


def _behind(nodes: int, messages: Messages) -> list[Ints]:
    """Return of each message of a broadcast the nodes that hear through it, its target included, ascending."""
    step, src, dst = messages
    behind: list[list[Ints]] = [[np.array([v])] for v in range(nodes)]
    found: list[Ints] = [np.zeros(0, np.int64)] * len(step)
    order: list[int] = np.argsort(-step, kind="stable").tolist()
    for row in order:  # the last first: the nodes behind a node are then known
        found[row] = np.sort(np.concatenate(behind[int(dst[row])]))
        behind[int(src[row])].append(found[row])
        behind[dst[row]] = []
    return found


def _ranges(blocks: Ints, size: int) -> _Ranges:
    """Return the ranges of chunks of some blocks, ascending, each of ``size`` chunks."""
    ends = np.flatnonzero(np.diff(blocks) > 1)
    first, last = blocks[np.concatenate(([0], ends + 1))], blocks[np.concatenate((ends, [len(blocks) - 1]))]
    return list(zip((first * size).tolist(), ((last + 1) * size).tolist(), strict=True))


def _told(job: Job[Grid], messages: Messages, payloads: list[_Ranges], blocks: int) -> Built:
    """Return the schedule of messages, each with chunks of its own, ``blocks`` blocks in all."""
    step, src, dst = messages
    rows = Rows.of(Payloads.of(payloads), step=step, steps=1, src=src, dst=dst, port=-1, payload=np.arange(len(step)))
    return Built(rows, Claims(int(step.max(initial=-1)) + 1, blocks * job.collective.messages))


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
    # a mesh of one node has no axis that is longer than 1, its shape has one of 1
    for a, b in zip(begin, end, strict=bool(end)):
        moved[b] = at[a] if here[a] == there[b] else shape[a] - 1 - at[a]
    return np.ravel_multi_index(tuple(moved), tuple(sides)).astype(np.int64)


def never_meet(shape: Shape, messages: Messages, *, wraps: bool = False) -> bool:
    """Return whether no two messages of a step share a channel, on the mesh or torus with its axes in any order."""
    step, src, dst = messages
    for order in permutations(range(len(shape))):
        sides = tuple(shape[axis] for axis in order)
        number = np.arange(prod(shape)).reshape(sides).transpose(np.argsort(order)).reshape(-1)
        if not bisection.is_contention_free(Torus(sides) if wraps else Mesh(sides), step, number[src], number[dst]):
            return False
    return True
