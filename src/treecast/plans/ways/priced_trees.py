"""Trees by price, for any demand on any machine: the more is asked of a resource, the dearer it is.

A class of chunks goes down a tree from all that hold it to all that want it, and whoever hears it passes it on, also nodes
that do not want it. A sum for one node goes to it down a tree of its own, backwards; a sum for several is completed at one node,
its *owner*, and goes out from there. Each tree takes the ways that are cheapest beside all others (Garg & Könemann 2007). With
many chunks a class has several trees. Which holder gives a chunk to whom follows from the prices.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treecast.collectives import Collective, Demand
from treecast.errors import PlanError
from treecast.lower_bounds.rates import times_apart
from treecast.models import Model
from treecast.networks import Network
from treecast.networks.arcs import arcs_of, far_apart
from treecast.networks.core import Ints
from treecast.plans.ways.ways import Ways, pairs_of
from treecast.ragged import explode, places, starts
from treecast.schedule import Payloads
from treecast.takes import takes

_MOST_HOPS = 20_000
_PASSES = 2
LATER = (0.02, 0.3, 2.0)
"""The cost of a step later, beside that of a full resource: little where many chunks go, more where few do."""


Mask = NDArray[np.bool_]


class ClassShares(NamedTuple):
    """Parts of classes that each go down a tree of their own: class, first chunk and size of each, int64 (shares,)."""

    of: Ints
    first: Ints
    size: Ints


def shares_of(demand: Demand, begins: Ints, most: int = _MOST_HOPS) -> ClassShares:
    """Return the classes of a demand, of which the first chunks are given, in shares as short as so many hops allow.

    >>> shares_of(Demand.of("5: 0 > 1\\n2: 1 > 0"), np.array([0, 5]), most=4)
    ClassShares(of=array([0, 0, 0, 1]), first=array([0, 2, 4, 5]), size=array([2, 2, 1, 2]))
    """
    parts, wants = np.diff(demand.part), np.diff(demand.wants)
    hops = demand.size * (wants + np.where(parts > 1, parts, 0))
    # blocks so long that all have few hops together
    block = np.minimum(max(1, -(-int(hops.sum()) // most)), demand.size)
    count = -(-demand.size // block)
    of, place = np.repeat(np.arange(len(demand)), count), places(count)
    done = place * block[of]
    return ClassShares(of, begins[of] + done, np.minimum(block[of], demand.size[of] - done))


def owners_of(collective: Collective, network: Network, seed: int = 0, machine: Model | None = None) -> Ints:
    """Return a node for each class of sums that completes it: the root, the wanter, or one near all that has not many yet."""
    demand, _ = collective.classes
    if collective.results and not collective.all_source:
        return np.full(demand.sums, collective.root)
    owners = demand.want[demand.wants[: demand.sums]].astype(np.int64)
    several = np.flatnonzero(np.diff(demand.wants[: demand.sums + 1]) > 1)
    if not len(several):
        return owners
    every, load, far = np.arange(network.nodes), np.zeros(network.nodes), _far(network, machine)
    ties = 1e-3 * np.random.default_rng(seed).random((demand.sums, network.nodes))
    for k in several:
        wants = demand.want[demand.wants[k] : demand.wants[k + 1]]
        gives = demand.holder[demand.holders[demand.part[k] : demand.part[k + 1]]]
        reach = far[gives].max(axis=0) + far[:, wants].max(axis=1)
        aside = ~np.isin(every, wants)  # a wanter, if others are no nearer
        # what it has to add already, and the way to it and from it
        owners[k] = int(np.argmin(load / demand.size[k] + 2 * reach + aside + ties[k]))
        load[owners[k]] += demand.size[k]
    return owners


def _far(network: Network, machine: Model | None) -> NDArray[np.float64]:
    """Return how far nodes are from each other, in arcs; or in the shortest gaps, where sends take unlike times."""
    if machine is None or not machine.arcs:
        far = far_apart(network)
        return np.where(far < 0, 2 * network.nodes, far).astype(np.float64)
    return times_apart(network, machine) / takes(machine, network).delay.min()


def trees_by_price(
    collective: Collective, network: Network, machine: Model, *, room: int, later: float, seed: int = 0
) -> tuple[Collective, Ways]:
    """Return the ways of a demand by trees that grow by price, and the collective with the owners of its sums.

    ``room``: the load at which a resource with room for one send is full. ``later``: see ``LATER``. ``seed``: of the order of
    trees, and of owners. Raises PlanError where someone has no way.
    """
    from treecast.plans.kernels.priced_trees import grow

    (demand, first), arcs = collective.classes, arcs_of(network)
    # 1. the trees: of each share one, of sums for several one in and one out
    shares, owners = shares_of(demand, first), owners_of(collective, network, seed, machine)
    is_sum = shares.of < demand.sums
    several = np.zeros(len(demand), np.bool_)
    several[: demand.sums] = np.diff(demand.wants)[: demand.sums] > 1
    share = np.concatenate([np.arange(len(shares.of)), np.flatnonzero(several[shares.of])])
    out = np.arange(len(share)) >= len(shares.of)
    back = is_sum[share] & ~out
    of = shares.of[share]
    roots, root, targets, target = _ends(demand, owners, of, back, out)
    # 2. grow them
    rng, trees = np.random.default_rng(seed), len(share)
    order = np.stack([np.arange(trees) if not (turn or seed) else rng.permutation(trees) for turn in range(_PASSES)])
    by = np.full((trees, network.nodes), -1, np.int32)
    wanted = takes(machine, network)
    sides = (arcs.first.astype(np.int64), arcs.into.astype(np.int64))
    every = np.arange(len(arcs.tail), dtype=np.int64)
    leaving = (every, arcs.entering.astype(np.int64))
    ends = (arcs.tail.astype(np.int64), arcs.head.astype(np.int64))
    weight = shares.size[share] * (0.0 if machine.combining else 1.0)  # combined, another chunk costs nothing
    columns = (wanted.resource, roots, root, targets, target, back, weight)
    telling, full = (wanted.ports, wanted.gap, wanted.delay), float(room) * wanted.room
    if grow(sides, leaving, ends, *columns, _PASSES, later, telling, full, order, by) < trees:
        raise PlanError(f"some node of {network.spec} that wants data has no way from it")
    # 3. their hops
    owned = owned_by(collective, owners)
    return owned, ways_of_trees(owned, network, shares, (share, out, by))


def _ends(demand: Demand, owners: Ints, of: Ints, back: Mask, out: Mask) -> tuple[Ints, Ints, Ints, Ints]:
    """Return where each tree begins, and the nodes that it leads to, or from: starts and nodes of both."""
    # one table: the givers of each class, then its wanters, then the owner of each sum
    begins = np.cumsum([0, len(demand.holder), len(demand.want)])
    rows = demand.holders[demand.part][:-1], demand.wants[:-1], np.arange(len(owners) + 1)
    start = np.concatenate([row + begin for row, begin in zip(rows, begins, strict=True)])
    node = np.concatenate([demand.holder, demand.want, owners])

    def nodes_of(row: Ints) -> tuple[Ints, Ints]:
        which, entry = explode(start, row)
        return starts(np.bincount(which, minlength=len(row))), node[entry]

    roots, root = nodes_of(of + 2 * len(demand) * (back | out))
    targets, target = nodes_of(of + len(demand) * ~back)
    return roots, root, targets, target


def owned_by(collective: Collective, owners: Ints) -> Collective:
    """Return the collective in which some nodes complete its sums: int64 (classes of sums,); others have theirs already."""
    if not (collective.results and collective.all_source):
        return collective
    first, new = collective.classes[1].copy(), np.flatnonzero(np.diff(owners, prepend=-1))
    first[:1] = 0  # a relay's block may come before
    return replace(collective, owners=tuple(zip(first[new].tolist(), owners[new].tolist(), strict=True)))


def ways_of_trees(
    collective: Collective, network: Network, shares: ClassShares, trees: tuple[Ints, Mask, NDArray[np.int32]]
) -> Ways:
    """Return the hops of trees: a send waits for those that bring its chunk, or at its owner for all contributions."""
    arcs, count, sums, (share, out, by) = arcs_of(network), len(shares.of), collective.sums, trees
    tree, node = np.nonzero(by >= 0)
    arc = by[tree, node].astype(np.int64)
    finished, own = out[tree], share[tree]
    payload = own + count * finished  # finished sums are numbered behind their shares
    owner = collective.source_of(shares.first[own]) if sums else np.full(len(own), -1)
    # payload and node in one number
    key, leaves = payload * network.nodes, finished & (arcs.tail[arc] == owner)
    # a finished sum leaves its owner when all contributions are there
    needs: Ints = np.where(leaves, own * network.nodes, key) + arcs.tail[arc].astype(np.int64)
    before, after = pairs_of(key + arcs.head[arc], needs)
    first = np.concatenate([shares.first, shares.first + sums])
    payloads = Payloads.of_ranges(first, first + np.tile(shares.size, 2))
    turn = places(np.bincount(shares.of))[own]
    return Ways(network, arc, payload, payloads, np.full(len(arc), -1), turn, before, after)
