"""Broadcast and scatter on meshes and tori by recursive bisection, and local search where that gains something.

Communication model: one-port, wormhole, as in ``bisection``. A mesh is planned in one shape and from one source of all that are
images of one another (``symmetry``), a torus from the best source of all. So the total distance is the same from images of a
source, and no torus takes more than the mesh of the same sides. Source: treecast's own.
"""

from functools import lru_cache
from math import prod
from typing import cast

import numpy as np

from treecast.collectives import Collective
from treecast.networks import Grid, Mesh, Torus
from treecast.networks.core import Ints
from treecast.plans.built import Built, Job
from treecast.plans.registry import WORMHOLE, builder
from treecast.plans.whole.wormhole import local_search, symmetry
from treecast.plans.whole.wormhole.bisection import build_from_messages, minimum, sends
from treecast.plans.whole.wormhole.symmetry import Messages, Shape
from treecast.schedule import Claims, Payloads, Rows

_MOST_SOURCES = 4  # best ones from which local search is tried: it takes a fifth of a second from each
_METHOD = "recursive bisection: least total distance"


@builder(
    "bisection",
    "broadcast",
    on=Mesh,
    under=WORMHOLE,
    summary=f"{_METHOD}; off powers of two, up to 256 nodes, local search",
)
def broadcast(job: Job[Mesh]) -> Built:
    """One-port wormhole: broadcast by recursive bisection, ⌈log2 N⌉ steps, N - 1 messages of all M chunks each.

    Its total distance is the least for sides that are powers of two (checked, see docs/mesh.md). For other sides it is an upper
    bound, which local search reduces where nodes are few. It is the same from sources that are images of one another.
    """
    return build_from_messages(job.network, job.collective, *messages_on_mesh(job.network, job.collective.root))


@builder("bisection", "broadcast", on=Torus, under=WORMHOLE, summary=f"{_METHOD}; from the mesh's best node")
def broadcast_on_torus(job: Job[Torus]) -> Built:
    """One-port wormhole: the best broadcast of the mesh of the same sides, moved so that it begins at the root."""
    return build_from_messages(job.network, job.collective, *messages_on_torus(job.network, job.collective.root))


def messages_of(grid: Grid, root: int) -> Messages:
    """Return (step, source, target) of every message of a broadcast."""
    return messages_on_torus(cast(Torus, grid), root) if grid.wraps else messages_on_mesh(cast(Mesh, grid), root)


def messages_on_mesh(mesh: Mesh, root: int) -> Messages:
    """Return (step, source, target) of every message of a broadcast, planned from the best image of the root."""
    shape, own = symmetry.shape_of(mesh.sides), symmetry.place_in_shape(mesh.sides, root)
    least, alike = minimum(shape)[1].least.reshape(-1), symmetry.images(shape, own)
    source = int(alike[np.argmin(least[alike])])
    if least[own] == least[source] and not local_search.fits(shape):
        source = own  # as short, and nothing has to be carried
    step, src, dst = _messages_in_shape(shape, source)
    return step, symmetry.carry(mesh.sides, source, root, src), symmetry.carry(mesh.sides, source, root, dst)


def messages_on_torus(torus: Torus, root: int) -> Messages:
    """Return (step, source, target) of every message of a broadcast, never longer than on the mesh."""
    source, (step, src, dst) = _shortest_in_shape(symmetry.shape_of(torus.sides))
    number = symmetry.nodes_of_shape(torus.sides)
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
    return shorter if enough and symmetry.never_meet(shape, shorter) else found


def _best_sources(shape: Shape) -> list[int]:
    """Return sources of the least table value that are no images of one another, at most a few."""
    least = minimum(shape)[1].least.reshape(-1)
    sources = np.flatnonzero(least == least.min())
    first = np.unique(symmetry.least_images(shape)[sources], return_index=True)[1]
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
        if length < least and symmetry.never_meet(shape, messages, wraps=True):
            least, best = length, (source, messages)
    return best


def least_by_source(sides: Shape) -> Ints:
    """Return the table value of the best image of each node: int64 of the shape of the mesh."""
    shape = symmetry.shape_of(sides)
    best, images = minimum(shape)[1].least.reshape(-1).copy(), symmetry.least_images(shape)
    np.minimum.at(best, images, best.copy())
    return best[images][np.argsort(symmetry.nodes_of_shape(sides))].reshape(sides)


@builder("bisection", "scatter", on=Grid, under=WORMHOLE, summary=_METHOD)
def scatter(job: Job[Grid]) -> Built:
    """One-port wormhole: scatter along the messages of a broadcast, each with the blocks of the nodes behind it."""
    messages = messages_of(job.network, job.collective.root)
    return _with_blocks(build_from_messages(job.network, job.collective, *messages), job.collective)


def _with_blocks(spread: Built, collective: Collective) -> Built:
    """Return the same messages, each with the blocks of the nodes that hear through it, its target included."""
    rows, messages = spread.rows, collective.messages
    behind: list[list[Ints]] = [[np.array([v])] for v in range(collective.nodes)]
    payloads: list[list[tuple[int, int]]] = [[] for _ in range(len(rows))]
    sends = 0
    for row in range(len(rows) - 1, -1, -1):  # the last first: the nodes behind a node are then known
        src, dst = int(rows.src[row]), int(rows.dst[row])
        nodes = np.sort(np.concatenate(behind[dst]))
        behind[dst] = []
        behind[src].append(nodes)
        ends = np.flatnonzero(np.diff(nodes) > 1)
        first, last = nodes[np.concatenate(([0], ends + 1))], nodes[np.concatenate((ends, [len(nodes) - 1]))]
        payloads[row] = list(zip((first * messages).tolist(), ((last + 1) * messages).tolist(), strict=True))
        sends += len(nodes) * messages
    columns = rows.columns() | {"payload": np.arange(len(rows))}
    return Built(Rows.of(Payloads.of(payloads), **columns), Claims(spread.claims.steps, sends))
