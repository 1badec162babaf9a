"""Local search: small changes that reduce the total distance of a broadcast on a mesh whose nodes are no power of two.

Communication model: one-port, wormhole: in a step a node sends one message to any node, or receives one, or idles; ⌈log2 N⌉
steps are the fewest, and TCD, the sum of all distances, should be small. Off powers of two some nodes have steps to spare, and
the recursion of ``bisection`` gives only an upper bound. Simulated annealing at one temperature (papers/kernels/annealing.py)
changes which node has which role, and which role hears from which, and when. No two messages may meet, whatever the order of the
axes. The seeds are fixed, so the result is always the same. Source: treecast's own.
"""

from itertools import permutations
from math import prod

import numpy as np

from treecast.networks.core import Ints
from treecast.papers.mesh.builders.bisection import Messages, Shape

_FEWEST, _MOST, _MOST_AXES = 17, 256, 3  # nodes; up to 16 and on paths the recursion finds as short ones
_SEEDS, _CHANGES = (2, 4, 16), 50_000  # of the tries; the seeds that gain most between them on meshes up to 12x12
_HEAT = 0.25  # by how much a change may make it longer, on average


def fits(sides: Shape) -> bool:
    """Return whether local search may gain something in about a quarter of a second."""
    nodes = prod(sides)
    return _FEWEST <= nodes <= _MOST and nodes & (nodes - 1) > 0 and 1 < sum(side > 1 for side in sides) <= _MOST_AXES


def shorten(sides: Shape, root: int, messages: Messages, least: int) -> Messages:
    """Return a broadcast of the same steps whose TCD is less, if the search finds one, else the same; no TCD is below ``least``.

    Every try begins from the broadcast given, and the first best one counts.
    """
    from treecast.papers.kernels.annealing import anneal

    axes = [axis for axis, side in enumerate(sides) if side > 1]
    strides = np.array([prod(sides[axis + 1 :]) for axis in axes], np.int64)
    orders = np.array(list(permutations(range(len(axes)))), np.int64)
    coordinate = np.indices(sides).reshape(len(sides), -1)[axes]
    distance = np.abs(coordinate[:, :, None] - coordinate[:, None, :]).sum(axis=0)
    begin = _roles(root, messages)
    steps = int(messages[0].max()) + 1
    best = int(distance[messages[1], messages[2]].sum())
    for seed in _SEEDS:
        if best == least:
            break
        now, found = tuple(column.copy() for column in begin), tuple(np.empty_like(column) for column in begin)
        mesh = (coordinate, strides, orders)
        total: int = anneal(_changes(distance, seed), distance, mesh, now, found, steps, least)
        if 0 <= total < best:
            parent, step, place = found
            best, messages = total, (step[1:], place[parent[1:]], place[1:])
    return messages


def _changes(distance: Ints, seed: int) -> tuple[Ints, Ints, Ints, Ints]:
    """Return the moves to try, as ``anneal`` wants them: a node, a neighbour, which change, how much longer it may get.

    Drawn from the bits of a generator, which are the same in every version of NumPy.
    """
    drawn = np.random.PCG64(seed).random_raw(4 * _CHANGES).reshape(4, _CHANGES)
    of, near = np.nonzero(distance == 1)
    first = np.searchsorted(of, np.arange(len(distance) + 1))
    node, dice = (drawn[:2] >> np.uint64(32)).astype(np.int64)
    node %= len(distance)
    which = (drawn[2] >> np.uint64(32)).astype(np.int64) % np.diff(first)[node]
    chance = ((drawn[3] >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    return node, near[first[node] + which], dice, np.floor(-_HEAT * np.log(chance)).astype(np.int64)


def _roles(root: int, messages: Messages) -> Messages:
    """Return the parent, the step and the node of each role; the root is role 0, its parent and step -1."""
    step, src, dst = messages
    place = np.concatenate([[root], dst])
    role = np.empty(len(place), np.int64)
    role[place] = np.arange(len(place))
    return np.concatenate([[-1], role[src]]), np.concatenate([[-1], step]), place
