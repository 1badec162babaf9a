"""Multicast on meshes and tori: the first of several ways in which no two messages of a step share a channel.

Communication model: one-port, wormhole, as in ``bisection``. Nodes that are no targets take no part, but messages pass through
them. ⌈log2⌉ of the number of targets and root is the fewest steps, and no way here takes more.

The ways are tried in turn: recursive bisection, the same with other cuts, and the chain (the U-mesh of McKinley, Xu,
Esfahanian & Ni). The chain is the root and the targets sorted by coordinates, the axis that is routed first before the others;
it is halved. On a mesh with full duplex and routes axis by axis, it has no contention (docs/explanation/mesh.md has the proof).
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice, product
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treecast.collectives import Collective
from treecast.errors import PlanError
from treecast.models import Model
from treecast.networks import Grid
from treecast.networks.core import Ints, ints
from treecast.papers.mesh.builders import bisection, spreading
from treecast.papers.mesh.builders.bisection import Bisection, Effort, Messages, Shape, is_contention_free
from treecast.plans.built import Built, Job, check_memory
from treecast.plans.registry import WORMHOLE, builder

_OTHER, _MIRRORS = Effort(0, 0, 4), 8
_FEW = 16  # nodes of which all cuts are tried that bisection knows
_BYTES_PER_NODE = 60  # of the box around the nodes


class Frame(NamedTuple):
    """How coordinates are counted: from ``start``, where a torus is cut open, and along which axes backwards."""

    start: Ints
    mirrored: tuple[bool, ...]


class MulticastWay(NamedTuple):
    """A way of doing a multicast, and its name."""

    name: str
    sends: Callable[[], Messages]


@builder("bisection", "multicast", on=Grid, under=WORMHOLE, summary="recursive bisection of the set of targets")
def multicast(job: Job[Grid]) -> Built:
    """One-port wormhole: the first way that holds under the job's model, ⌈log2⌉ of root and targets steps.

    Raises PlanError when in all ways some messages of a step share a channel.
    """
    grid, collective, model = job.network, job.collective, job.model
    for way in ways(grid, collective, model):
        step, src, dst = way.sends()
        if is_contention_free(grid, step, src, dst, (model.routing,), links=model.duplex == "half"):
            return bisection.build_from_messages(grid, collective, step, src, dst, nodes=len(collective.targets) + 1)
    raise PlanError(
        f"no multicast is known here in the fewest steps without contention under {model.name}; "
        "on a mesh with full duplex, where routes go axis by axis, there is one: models wormhole and wormhole-last"
    )


def ways(grid: Grid, collective: Collective, model: Model) -> Iterator[MulticastWay]:
    """Yield the ways of a multicast in the order in which they are tried; mostly those of less total distance come first."""
    nodes = np.array(sorted((*collective.targets, collective.root)), np.int64)
    if len(nodes) == grid.nodes:
        yield MulticastWay("broadcast", partial(spreading.messages_of, grid, collective.root))
    effort, root, straight = (
        bisection.THOROUGH if len(nodes) <= _FEW else bisection.HASTY,
        collective.root,
        (False,) * len(grid.sides),
    )
    plain = Frame(np.zeros(len(grid.sides), np.int64), straight)
    frames = {"": plain}
    if grid.wraps:
        frames = {"": Frame(_where_to_open(grid, nodes), straight), ", not cut open": plain}
        made = {where: _bisect(grid, nodes, root, frames[where], effort, around=grid.sides) for where in frames}
        # not cut open it is never longer than on the mesh, since the cuts are the same
        for where in sorted(made, key=lambda where: int(grid.distance(*made[where][1:]).sum())):
            yield MulticastWay(f"bisection{where}", partial(made.__getitem__, where))
    else:
        yield MulticastWay("bisection", partial(_bisect, grid, nodes, root, plain, effort))
    for where, frame in frames.items():
        if grid.wraps:
            how = f"bisection{where}, distances of the mesh"
            yield MulticastWay(how, partial(_bisect, grid, nodes, root, frame, effort))
        yield MulticastWay(f"bisection{where}, other cuts", partial(_bisect, grid, nodes, root, frame, _OTHER))
        for mirrored in islice(product((False, True), repeat=len(grid.sides)), 1, _MIRRORS):
            seen = Frame(frame.start, mirrored)  # ties and staircases come out differently
            yield MulticastWay(f"bisection{where}, mirrored", partial(_bisect, grid, nodes, root, seen, effort))
            yield MulticastWay(f"bisection{where}, mirrored", partial(_bisect, grid, nodes, root, seen, _OTHER))
    for where, frame in frames.items():
        yield MulticastWay(f"chain{where}", partial(_halve_chain, grid, nodes, root, frame, model.routing == "last"))


def _where_to_open(torus: Grid, nodes: Ints) -> Ints:
    """Return where to cut a torus open, along each axis at the widest gap between nodes: the coordinates that become 0."""
    cut: list[int] = []
    for at, side in zip(torus.coordinates(nodes), torus.sides, strict=True):
        used = np.unique(at)
        gaps = np.diff(used, append=used[0] + side)
        cut.append(int(used[(int(np.argmax(gaps)) + 1) % len(used)]))
    return np.array(cut, np.int64)


def _coordinates(grid: Grid, nodes: Ints, frame: Frame) -> Ints:
    """Return coordinates as a frame shows them: int64 (axes, nodes)."""
    side = np.array(grid.sides)[:, None]
    at = (grid.coordinates(nodes) - frame.start[:, None]) % side
    return np.where(np.array(frame.mirrored)[:, None], side - 1 - at, at)


def _bisect(grid: Grid, nodes: Ints, root: int, frame: Frame, effort: Effort, *, around: Shape = ()) -> Messages:
    at, begin = _coordinates(grid, nodes, frame), _coordinates(grid, np.array([root]), frame)
    # Tables cover only the box around the nodes.
    corner = at.min(axis=1, keepdims=True)
    shape = tuple((at.max(axis=1, keepdims=True) - corner + 1)[:, 0].tolist())
    check_memory(_BYTES_PER_NODE * prod(shape), f"the tables of {len(nodes):,} nodes among {prod(shape):,}")
    mask: NDArray[np.bool_] = np.zeros(shape, bool)
    mask[tuple(at - corner)] = True
    tables = Bisection(effort, around)
    whole = tables.table(mask, (len(nodes) - 1).bit_length())
    first = int(np.ravel_multi_index(tuple((begin - corner)[:, 0].tolist()), shape))
    step, src, dst = bisection.sends(tables, whole, first)
    local = ints(np.ravel_multi_index(tuple(at - corner), shape))
    order = np.argsort(local)

    def number(within: Ints) -> Ints:
        return nodes[order[np.searchsorted(local[order], within)]]

    return step, number(src), number(dst)


def _halve_chain(grid: Grid, nodes: Ints, root: int, frame: Frame, last_first: bool) -> Messages:
    at = _coordinates(grid, nodes, frame)
    chain = nodes[np.lexsort(at if last_first else at[::-1])]
    sends: list[tuple[int, int, int]] = []

    def halve(low: int, high: int, holder: int, step: int) -> None:
        """Let whoever holds the message among ``chain[low … high-1]`` send it to the nearest in the other half."""
        if high - low > 1:
            middle = (low + high + 1) // 2
            below, above = (holder, middle) if holder < middle else (middle - 1, holder)
            sends.append((step, int(chain[holder]), int(chain[below + above - holder])))
            halve(low, middle, below, step + 1)
            halve(middle, high, above, step + 1)

    halve(0, len(chain), int(np.flatnonzero(chain == root)[0]), 0)
    step, src, dst = np.array(sends, np.int64).reshape(-1, 3).T
    return step, src, dst
