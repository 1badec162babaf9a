"""Lower bounds of scatters and gathers of messages of different lengths."""

import numpy as np

from treecast.collectives import Collective, Lengths
from treecast.errors import PlanError
from treecast.lower_bounds.bound import Bound
from treecast.machine import Model
from treecast.networks import Network
from treecast.networks.core import Ints


def of_lengths(collective: Collective, lengths: Lengths, network: Network, copies: int, model: Model) -> list[Bound]:
    """Return the bounds of messages of different lengths, from or to one root.

    Take the flits for nodes at distance D or more. The last one leaves the root after the others, and has D arcs to go. With a
    port for each arc, k arcs carry k flits a step. A message that is not split goes over one arc of the root.
    """
    if copies > 1:
        raise PlanError("a message of any length goes one way: take 1 copy")
    if model.routing:
        return _wormhole(lengths)
    there = network if collective.direction == "from" else network.reversed()
    far = there.distance(collective.root, np.arange(network.nodes))
    ports = 1 if model.ports == "one" else there.degree_at(collective.root)
    sends = Bound("transmissions", int((lengths.flits * far).sum()), "Σ length x distance", "shortest ways")
    if model.combining:  # any number of flits go in a step
        farthest = int(far[lengths.flits > 0].max(initial=0))
        return [Bound("steps", farthest, "distance of the farthest message", "a flit goes one arc a step"), sends]
    value = _far_flits(lengths.flits, far, np.zeros_like(far), np.array([ports]))
    formula = "⌈flits for distance ≥ D / ports⌉ + D - 1, for the worst D"
    found = [
        Bound("steps", value, formula, "Bhatt et al., Theorem 1: the root's ports"),
        sends,
    ]
    if ports > 1 and (part := _parts(there, collective.root)) is not None:
        arcs = np.bincount(part[there.neighbors(collective.root)], minlength=network.nodes)
        value = _far_flits(lengths.flits, far, part, arcs)
        found.append(
            Bound("steps", value, "the same of each part of the network behind the root", "its arcs to that part")
        )
    if not model.buffered and lengths.total:
        longest = int((lengths.flits + far - 1)[lengths.flits > 0].max())
        found.append(
            Bound("steps", longest, "length + distance - 1, of the worst message", "a message goes one way, in order")
        )
    return found


def _wormhole(lengths: Lengths) -> list[Bound]:
    """Return the bounds where every node is one step away: each message that is not null takes at least one step."""
    some = int(np.count_nonzero(lengths.flits))
    return [
        Bound(
            "steps",
            some.bit_length(),
            "⌈log2 (1 + messages)⌉",
            "nodes that have heard, or are heard of, at most double",
        ),
        Bound("transmissions", lengths.total, "all flits", "each goes once at least"),
        Bound("tcd", some, "messages", "each goes over one arc at least"),
    ]


def _far_flits(flits: Ints, far: Ints, part: Ints, arcs: Ints) -> int:
    """Return the greatest ⌈flits for distance D or more / arcs⌉ + D - 1 of any D and part: the root has ``arcs`` to each."""
    some = np.flatnonzero(flits)
    order = some[np.lexsort((-far[some], part[some]))]
    total = np.cumsum(flits[order])
    new = np.diff(part[order], prepend=-1) != 0
    sent = total - np.maximum.accumulate(np.where(new, total - flits[order], 0))
    return int((-(-sent // arcs[part[order]]) + far[order] - 1).max(initial=0))


def _parts(network: Network, root: int) -> Ints | None:
    """Return the components of a network without its root, or None if there is one component or if an arc has no arc back."""
    from treecast.kernels.streams import components

    if network.seen_alike or not network.both_ways:
        return None  # no single node takes a Cayley network apart
    first, target, _ = network.arc_lists()
    part = components(first, target, root)
    part[root] = part[target[first[root]]]
    return part
