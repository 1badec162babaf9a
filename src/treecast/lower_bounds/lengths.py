"""Lower bounds of scatters and gathers of messages of different lengths."""

import numpy as np

from treecast.collectives import Collective, Lengths
from treecast.graphs.flows import away
from treecast.lower_bounds.bound import Bound
from treecast.lower_bounds.job import Job
from treecast.lower_bounds.one_port import in_turns
from treecast.models import Model
from treecast.networks import Network
from treecast.networks.arcs import arcs_of
from treecast.networks.core import Ints


def of_lengths(collective: Collective, lengths: Lengths, network: Network, model: Model) -> list[Bound]:
    """Return the bounds of messages of different lengths, each over one way from or to one root.

    Take the flits for nodes at distance D or more. The last one leaves the root after the others, and has D arcs to go. With a
    port for each arc, k arcs carry k flits a step. A message that is not split goes over one arc of the root.

    A gather has two clocks. In the ideal one every node knows when to begin, and it is a scatter backwards. In the other one,
    ``told``, the root alone knows: a node that is δ arcs from the root cannot begin before step δ.
    """
    if model.routing:
        return _wormhole(lengths)
    there = network if collective.direction == "from" else network.reversed()
    every = np.arange(network.nodes)
    far = np.maximum(there.distance(collective.root, every), 0)  # nobody sends to relays that are not reached
    job, root, flits = Job(there, 1, 1, model), collective.root, lengths.flits
    sends = Bound("transmissions", int((flits * far).sum()), "Σ length x distance", "shortest ways")
    found = [*_clock(job, root, flits, far, of="steps", word="distance"), sends]
    if collective.direction == "to":
        found += _clock(job, root, flits, network.distance(root, every) + far, of="told", word="there and back")
        if (value := _calls(job, root, flits, far)) is not None:
            said = "each node calls its children one after the other, in the best order"
            found.append(Bound("told", value, "calls + length + distance - 1, of the worst message", said))
    return found


def _clock(job: Job, root: int, flits: Ints, far: Ints, *, of: str, word: str) -> list[Bound]:
    """Return the bounds of steps where the last flit of a message of l flits arrives after l + ``far`` - 1 steps at least."""
    if job.model.combining:  # any number of flits go in a step
        farthest = int(far[flits > 0].max(initial=0))
        return [Bound(of, farthest, f"{word} of the farthest message", "a flit goes one arc a step")]
    ports = job.ports(root)
    value = _far_flits(flits, far, np.zeros_like(far), np.array([ports]))
    words = "for distance ≥ D" if of == "steps" else "D or more arcs there and back"
    found = [Bound(of, value, f"⌈flits {words} / ports⌉ + D - 1, for the worst D", _SOURCES[of])]
    if ports > 1 and (part := _parts(job.network, root)) is not None:
        arcs = np.bincount(part[job.network.neighbors(root)], minlength=job.network.nodes)
        value = _far_flits(flits, far, part, arcs)
        found.append(Bound(of, value, "the same of each part of the network behind the root", "its arcs to that part"))
    if not job.model.buffered and flits.any():
        longest = int((flits + far - 1)[flits > 0].max())
        formula = f"length + {word} - 1, of the worst message"
        found.append(Bound(of, longest, formula, "a message goes one way, in order"))
    return found


_SOURCES = {
    "steps": "Bhatt et al., Theorem 1: the root's ports",
    "told": "the root's ports; a node waits for a word of the root",
}
_MOST_CALLED = 2**14  # nodes of a tree whose calls are put in order


def _calls(job: Job, root: int, flits: Ints, far: Ints) -> int | None:
    """Return the fewest steps in which a tree of one-port nodes is told to begin and its last flits come up; None elsewhere.

    A node's word comes from its parent, which calls its children one after the other; who needs longest comes first. That is
    B, the steps of a broadcast, with the steps after each call. Flits that meet are left out of account.
    """
    network, nodes = job.network, job.network.nodes
    if job.model.ports == "all" or nodes > _MOST_CALLED or not network.both_ways or network.arcs != 2 * (nodes - 1):
        return None
    last = far if job.model.combining else flits + far - 1
    return in_turns(network, root, tuple(np.where(flits > 0, last, 0).tolist()))


def _wormhole(lengths: Lengths) -> list[Bound]:
    """Return the bounds where every node is one step away: each message that is not null takes at least one step."""
    some, doubles = int(np.count_nonzero(lengths.flits)), "nodes that have heard, or are heard of, at most double"
    return [
        Bound("steps", some.bit_length(), "⌈log2 (1 + messages)⌉", doubles),
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
    if network.seen_alike or not network.both_ways:
        return None  # no single node takes a Cayley network apart
    arcs, part, near = arcs_of(network), np.full(network.nodes, -1), network.neighbors(root)
    for start in near:
        if part[start] < 0:
            part[away(arcs, [start], avoided=root) >= 0] = start
    part[root] = near[0]
    return part
