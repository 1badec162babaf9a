"""Lower bounds under wormhole switching: of steps, and of TCD, the sum of all distances. docs/explanation/mesh.md has proofs.

*Paths and rings.* A *gap* is a run of nodes that have not heard. A node of it that hears next has at least as many arcs to go as
it is far from the end of the gap, and divides the gap. Gaps do not depend on each other, but for one thing: in each step no more
nodes hear than have heard before. That is given a price: see ``least_distances``.

*Across a cut.* The work of n nodes in t steps, if they do anything, is this: the first message makes b of them another node's
affair, and both parts go on for t - 1 steps. Parts must be small enough for the steps they have left, and large enough for the
work that is to be done elsewhere.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from treecast.collectives import Collective, Lengths
from treecast.errors import PlanError
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
    # 1. What does not depend on the network.
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
    # 2. All hear of all.
    grid = network.grid
    if collective.all_source:
        once = "one node has heard of all after N - 1 messages at the earliest, and then all others have to hear"
        return [*found, *in_pairs(job, found), Bound("tcd", 2 * (nodes - 1), "2 (N - 1)", once), *_arriving(job)]
    if grid is None:
        return found
    # 3. Distances on a grid: a bound is listed if it is above those before.
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
        # the length of n in bits is ⌈log2 (1 + n)⌉
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
    if collective.targets or nodes > MOST_NODES or max(network.sides) < nodes:
        return []
    value = least_on_a_ring(nodes) if network.wraps else least_on_a_path(nodes, collective.root)
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
        # the side of the plane without the root
        sides.append(np.where(np.arange(1, side) <= here, below, nodes - below))
    beyond = np.concatenate(sides)
    if not _all_needed(collective):
        value = int(np.count_nonzero(beyond))
        return [Bound("tcd", value, "planes with a target beyond", "a message crosses each")]
    if few or nodes <= _MOST_HALVED:
        value = int(fewest_across(nodes, doublings)[beyond].sum())
        return [Bound("tcd", value, "Σ over planes of the fewest messages across", _PROVED)]
    # n xor 3 n has a bit for each digit of n's non-adjacent form that is not 0
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
    from treecast.lower_bounds.kernels.broadcasts import cheapest

    return cheapest(np.frombuffer(distance, np.int16).reshape(nodes, nodes), (nodes - 1).bit_length())


_FAR = 1 << 40
_PRICES = ((), (1,), (2, 1), (4, 2, 1), (8, 4, 2, 1), (16, 8, 4, 2, 1))
"""Prices that have proved good, of nodes that hear in the first step, the second …; in steps not named the price is 0."""
MOST_NODES = 256
"""Nodes of a path or ring whose gaps are counted: a tenth of a second."""


@lru_cache(16)
def least_distances(nodes: int) -> tuple[Ints, Ints, Ints]:
    """Return the least costs of gaps of 0 … N - 1 nodes in ⌈log2 N⌉ steps, at several prices, and the sums to be taken off.

    ``between[i]`` of gaps with informed nodes at both ends, ``beyond[i]`` of those at the end of a path, int64 (prices, N), and
    ``paid[i]``, at price vector i. With a price λ_j ≥ 0 for the nodes that hear in step j, less the nodes that have heard
    before, no broadcast costs more than without. A node that hears in step j adds λ_j, and takes away λ_i in all later
    steps i.
    """
    steps = (nodes - 1).bit_length()
    kinds = [(*prices, *[0] * (steps - len(prices))) for prices in _PRICES if len(prices) <= steps]
    found = [_at_prices(nodes, prices) for prices in kinds]
    between, beyond = (np.array(table) for table in zip(*found, strict=True))
    return between, beyond, np.array([sum(prices) for prices in kinds])


def _at_prices(nodes: int, prices: tuple[int, ...]) -> tuple[Ints, Ints]:
    """Return the least costs, with prices, of gaps of 0 … N - 1 nodes between informed nodes, and beyond the last."""
    between = np.full(nodes, _FAR)
    between[0] = 0
    beyond = between
    for step in reversed(range(len(prices))):
        price = prices[step] - sum(prices[step + 1 :])
        # nodes that are reached from one end now, the last of them q arcs away: with the gaps between them, later
        near = np.full(nodes, _FAR)
        near[0] = 0
        for q in range(1, nodes):
            near[q] = min(_FAR, q + price + int((near[:q] + between[q - 1 :: -1]).min()))
        beyond = _least_sums(near, beyond)
        between = _least_sums(_least_sums(near, near), between)
    return between, beyond


def _least_sums(left: Ints, right: Ints) -> Ints:
    """Return the least left[i] + right[n - i], for every n."""
    found = np.full(len(left), _FAR)
    for i in range(len(left)):
        if left[i] < _FAR:
            np.minimum(found[i:], left[i] + right[: len(left) - i], out=found[i:])
    return np.minimum(found, _FAR)


def least_on_a_ring(nodes: int) -> int:
    """Return a lower bound of the total distance of broadcasts on a ring in the fewest steps: one gap, with two ends."""
    between, _, paid = least_distances(nodes)
    return int((between[:, nodes - 1] - paid).max())


def least_on_a_path(nodes: int, root: int) -> int:
    """Return a lower bound of the total distance of broadcasts on a path in the fewest steps, from a root: two gaps."""
    _, beyond, paid = least_distances(nodes)
    return int((beyond[:, root] + beyond[:, nodes - 1 - root] - paid).max())


@lru_cache(16)
def fewest_across(nodes: int, steps: int) -> Ints:
    """Return, for i = 0 … nodes - 1, the fewest messages between any i nodes, the source not among them, and the others.

    Over all broadcasts to ``nodes`` nodes in ``steps`` steps: int64 (nodes,), not to be written. It takes 5 ms for 100 nodes,
    a tenth of a second for the worst number below 512.
    """
    slack = (1 << steps) - nodes
    # least[n, i]: messages across, of n nodes of which i lie on the far side, and the source does not
    least = np.full((nodes + 1, nodes + 1), nodes, np.int16)
    least[1, 0] = 0
    for t in range(1, steps + 1):
        half, few, many = 1 << (t - 1), max(1, (1 << t) - slack), min(nodes, 1 << t)
        wider = np.full_like(least, nodes)
        wider[few : half + 1] = least[few : half + 1]  # idle
        for b in range(max(1, few - half), min(half, many - 1) + 1):
            # the part of b nodes begins on the near side, or across with b - j of its nodes "far" seen from there
            others = np.minimum(least[b, : b + 1], 1 + least[b, b::-1])
            first, last = max(1, few - b), min(half, many - b)  # of the part that stays: all sizes at once
            stays = least[first : last + 1, :last]
            for j, other in enumerate(others):
                both = wider[first + b : last + b + 1, j : j + last]
                np.minimum(both, stays + other, out=both)
        least = wider
    fewest = least[nodes, :nodes].astype(np.int64)
    fewest.flags.writeable = False
    return fewest
