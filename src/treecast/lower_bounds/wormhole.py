"""Lower bounds under wormhole switching: of steps, and of TCD, the sum of all distances. docs/explanation/mesh.md has proofs."""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from treecast.collectives import Collective, Lengths
from treecast.errors import PlanError
from treecast.lower_bounds import lines
from treecast.lower_bounds.across import fewest_across
from treecast.lower_bounds.bound import Bound, best
from treecast.lower_bounds.job import Problem
from treecast.lower_bounds.spreads import in_pairs
from treecast.networks import Grid, Network
from treecast.networks.core import Ints


def wormhole(job: Problem, known: Sequence[Bound]) -> list[Bound]:
    """Return the bounds under wormhole switching, where every other node is one step away, at a price of its distance.

    Every other node receives a message of its own (in a gather: sends one), so there are N - 1 messages over at least one arc.
    Where all hear of all it takes twice as many messages, and the steps of one-way calls. With one root, the first message that a
    node receives comes from the root or from a node that has received one. These first messages are a broadcast in as many steps.
    So the bounds of broadcasts in the fewest steps hold for scatters and, backwards, for gathers and reductions. They hold for
    each half of a reduce-broadcast, whose root has no finished sum to send before ⌈log2 N⌉ steps. The proofs are in
    docs/explanation/mesh.md.
    """
    collective, network = job.collective, job.network
    if collective.lengths is not None:
        return _of_lengths(job, collective.lengths)
    if job.copies > 1:
        raise PlanError("no use is known for several copies where every node is one step away: take 1 copy")
    nodes = len(collective.targets) + 1 if collective.targets else network.nodes
    doublings = (nodes - 1).bit_length()
    found = [
        Bound("steps", doublings, "⌈log2 N⌉", "nodes that have heard, or that are heard of, at most double"),
        Bound("transmissions", nodes - 1, "N - 1", "every other node receives or sends a message"),
        Bound("tcd", nodes - 1, "N - 1", "every other node receives or sends a message, over one arc at least"),
    ]
    grid = network.grid
    if collective.all_source:
        once = "one node has heard of all after N - 1 messages at the earliest, and then all others have to hear"
        return [*found, *in_pairs(job, found), Bound("tcd", 2 * (nodes - 1), "2 (N - 1)", once), *_arriving(job)]
    if grid is None:
        return found
    degree = grid.degree
    if not collective.targets and nodes == 1 << doublings and doublings >= degree:
        value = nodes - 1 + 2 * ((1 << (doublings - degree)) - 1)
        found.append(Bound("tcd", value, "N - 1 + 2 (N / 2^degree - 1)", f"N a power of two; {_PROVED}"))
    others = [*_by_degree(grid, collective), *_in_line(grid, collective)]
    for bound in [*others, *_joined(grid, collective), *_across(grid, collective)]:
        if bound.value > best(found, "tcd").value:
            found.append(bound)
    found += _searched(grid, collective)
    if collective.results:
        return [
            replace(b, value=2 * b.value, formula=f"2 ({b.formula})", source=f"each half: {b.source}") for b in found
        ]
    return found


def _arriving(job: Problem) -> list[Bound]:
    """Return the bound of transmissions where no sums will do: a chunk arrives wherever it is wanted."""
    if job.kind.adds:
        return []
    value = job.collective.messages * job.network.nodes * (job.network.nodes - 1)
    return [Bound("transmissions", value, "M N (N - 1)", "who wants a chunk receives it")]


def _of_lengths(job: Problem, lengths: Lengths) -> list[Bound]:
    """Return the bounds of messages of different lengths: each that is not null takes at least one step."""
    if not job.kind.one_way or job.copies > 1:
        raise PlanError(f"no lower bounds of {job.kind.name} under wormhole switching are known")
    some, doubles = int(np.count_nonzero(lengths.flits)), "nodes that have heard, or are heard of, at most double"
    return [
        Bound("steps", some.bit_length(), "⌈log2 (1 + messages)⌉", doubles),
        Bound("transmissions", lengths.total, "all flits", "each goes once at least"),
        Bound("tcd", some, "messages", "each goes over one arc at least"),
    ]


def _by_degree(network: Grid, collective: Collective) -> list[Bound]:
    """Return the bound by the neighbours that informed nodes have, whatever the number of nodes."""
    if collective.targets or network.nodes > _MOST_INFORMED:
        return []
    value = network.nodes - 1 + _beyond_neighbors(network.nodes, network.degree)
    return [Bound("tcd", value, "N - 1 + sends of informed nodes beyond their neighbours", f"by degree; {_PROVED}")]


@lru_cache(64)
def _beyond_neighbors(nodes: int, degree: int) -> int:
    """Bound TCD - (N - 1) from below: n informed nodes have at most (degree - 2) n + 2 uninformed neighbours.

    They have more only at the price of longer messages before. After t steps there are n of them, as many as is best. They send
    as early as they can, so that few of their sends inform all others: a send hands on twice as much as one a step later.
    Their messages beyond their neighbours are one arc longer. The greatest result of any t counts.
    """
    steps, most = (nodes - 1).bit_length(), 0
    for t in range(steps):
        informed = np.arange(-(-nodes // (1 << (steps - t))), (1 << t) + 1)
        rest, sends = nodes - informed, np.zeros_like(informed)
        for left in reversed(range(steps - t)):
            now = np.minimum(informed, -(-rest // (1 << left)))
            sends += now
            rest = np.maximum(0, rest - (now << left))
        most = max(most, int((sends - (degree - 2) * informed).min()) - 2)
    return most


_PROVED = "in the fewest steps; proved in docs/explanation/mesh.md"
_MOST_INFORMED = 2**16  # nodes of a broadcast whose informed nodes are counted step by step
_MOST_SPANNED = 4096  # targets that a shortest tree joins
# nodes of a broadcast of which all ways to divide them, or halve them, are gone through
_MOST_DIVIDED, _MOST_HALVED = 512, 4096
_MOST_PLANES = 2**20
LEAST_OF_ALL = "least of all"
"""The formula of the bound that is the minimum."""
MOST_SEARCHED = 16
"""Nodes among which all broadcasts are searched: 20 ms for 16, 1.6 s for 17, 7 s for 18."""


def _joined(network: Grid, collective: Collective) -> list[Bound]:
    """Return the bounds by the least length of a tree that joins root and targets.

    If root and targets are a power of two and the steps the fewest, no other node takes part, and the tree is a shortest tree
    on them. Otherwise other nodes may pass on messages: a tree through other nodes has at least half that length, and 2/3 of it
    in a plane with Manhattan distances (Hwang 1976).
    """
    if not 0 < len(collective.targets) <= _MOST_SPANNED:
        return []
    tree, name = _shortest_tree(network, collective.root, collective.targets), "shortest tree on root and targets"
    if _all_needed(collective):
        return [Bound("tcd", tree, name, f"as many as a power of two; {_PROVED}")]
    if not network.wraps and sum(side > 1 for side in network.sides) <= 2:
        return [Bound("tcd", -(-2 * tree // 3), f"⌈2/3 {name}⌉", "messages join them; by other nodes: Hwang (1976)")]
    return [Bound("tcd", -(-tree // 2), f"⌈1/2 {name}⌉", "messages join them, perhaps by other nodes")]


def _in_line(network: Grid, collective: Collective) -> list[Bound]:
    """Return the bound by gaps between informed nodes, on paths and rings."""
    nodes = network.nodes
    if collective.targets or nodes > lines.MOST_NODES or max(network.sides) < nodes:
        return []
    value = lines.least_on_a_ring(nodes) if network.wraps else lines.least_on_a_path(nodes, collective.root)
    return [Bound("tcd", value, "least over all ways to divide gaps between informed nodes", _PROVED)]


def _all_needed(collective: Collective) -> bool:
    """Whether all who can hear in the fewest steps are needed as targets, so that no other node takes part."""
    nodes = len(collective.targets) + 1
    return not collective.targets or nodes & (nodes - 1) == 0


def _shortest_tree(network: Network, root: int, targets: Sequence[int]) -> int:
    """Return the length of a shortest tree on some nodes, by Prim's algorithm."""
    left, last, total = np.array(targets), root, 0
    far = np.full(len(left), network.nodes)
    while len(left):
        far = np.minimum(far, network.distance(last, left))
        at = int(np.argmin(far))
        total, last = total + int(far[at]), int(left[at])
        left, far = np.delete(left, at), np.delete(far, at)
    return total


def _across(network: Grid, collective: Collective) -> list[Bound]:
    """Return the bounds by planes between neighbouring coordinates of a mesh: the fewest messages that can cross each plane.

    This number depends on how many nodes lie on the side without the root. For a large power of two of nodes it is the fewest
    signed powers of two with that sum: the number of nonzero digits of its non-adjacent form.
    """
    nodes = len(collective.targets) + 1 if collective.targets else network.nodes
    doublings = (nodes - 1).bit_length()
    exact, few = nodes == 1 << doublings, nodes <= _MOST_DIVIDED
    if network.wraps or not (exact or few or collective.targets) or sum(network.sides) > _MOST_PLANES:
        return []
    sides: list[Ints] = []
    for axis, (side, here) in enumerate(zip(network.sides, network.coordinates(collective.root).tolist(), strict=True)):
        counts = np.full(side, nodes // side)
        if collective.targets:
            at = network.coordinates(np.array([*collective.targets, collective.root]))[axis]
            counts = np.bincount(at, minlength=side)
        below = np.cumsum(counts)[:-1]
        sides.append(np.where(np.arange(1, side) <= here, below, nodes - below))
    beyond = np.concatenate(sides)
    if not _all_needed(collective):
        value = int(np.count_nonzero(beyond))
        return [Bound("tcd", value, "planes with a target beyond", "a message crosses each")]
    if few or nodes <= _MOST_HALVED:
        value = int(fewest_across(nodes, doublings)[beyond].sum())
        return [Bound("tcd", value, "Σ over planes of the fewest messages across", _PROVED)]
    value = int(np.bitwise_count(beyond ^ 3 * beyond).sum())
    return [Bound("tcd", value, "Σ over planes of the fewest signed powers of two", f"N a power of two; {_PROVED}")]


def _searched(network: Grid, collective: Collective) -> list[Bound]:
    """Return the least of all broadcasts in the fewest steps, contention or not, where the nodes are few."""
    nodes = taking_part(network, collective)
    if len(nodes) > MOST_SEARCHED or not _all_needed(collective):
        return []
    value = int(search(network, nodes)[0][-1, -1, nodes.index(collective.root)])
    return [Bound("tcd", value, LEAST_OF_ALL, "search of all broadcasts in the fewest steps")]


def taking_part(network: Network, collective: Collective) -> Sequence[int]:
    """Return the root and the targets in ascending order, or all nodes."""
    return tuple(sorted((*collective.targets, collective.root))) if collective.targets else range(network.nodes)


def search(network: Network, nodes: Sequence[int]) -> tuple[NDArray[np.int16], NDArray[np.int16]]:
    """Return the least distances of all broadcasts within each set of some nodes: kernels.broadcasts.cheapest."""
    at = np.array(nodes)
    return _search(network.distance(at[:, None], at).astype(np.int16).tobytes(), len(nodes))


@lru_cache(4)
def _search(distance: bytes, nodes: int) -> tuple[NDArray[np.int16], NDArray[np.int16]]:
    from treecast.kernels.lower_bounds.broadcasts import cheapest

    return cheapest(np.frombuffer(distance, np.int16).reshape(nodes, nodes), (nodes - 1).bit_length())
