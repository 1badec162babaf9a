"""Lower bounds of what one node tells all, where each node has one port: informed nodes at most double in a step."""

from functools import lru_cache

import numpy as np

from treecast.lower_bounds.bound import Bound
from treecast.lower_bounds.job import Job, steps
from treecast.networks import Network
from treecast.networks.flows import arcs_of

_LISTED = 2**12  # nodes of a network whose arcs are looked at one by one


def broadcast(job: Job) -> list[Bound]:
    """Return the bounds of a broadcast of Mx chunks for each node over one port, messages not combined.

    After t steps at most 2^t ranks hold anything. So some rank gets its first chunk in step q - 1 or later, q = ⌈log2 N⌉,
    and from then on one of its Mx chunks a step: Mx - 1 + q. With x = 1 this is optimal on complete networks (Träff 2022).
    For one message it is q + f with f = x - 1 faults (Liestman 1985).

    With half duplex each send keeps two nodes busy: step t has at most min(2^t, ⌊N/2⌋) sends.
    """
    doublings = job.others.bit_length()
    found = [steps(job.total - 1 + doublings, "M x - 1 + ⌈log2 N⌉", "informed nodes at most double")]
    if job.model.half_port:
        found.append(_busy_halves(job))
    return found


def informing(job: Job, root: int) -> list[Bound]:
    """Return the bound by the first step before which all ranks can hold anything: each hears a chunk a step from then on.

    One message that is combined with others spreads no sooner.
    """
    network = job.network
    if job.model.ports != "one" or job.faults or network.every_pair_joined or network.nodes > _LISTED:
        return []
    late = next((t for t, count in enumerate(senders(network, root)) if count >= network.rank_count), 0)
    first = 0 if job.model.combining else job.total - 1
    formula = f"{late:,}" if job.model.combining else f"M x - 1 + {late:,}"
    return [steps(first + late, formula, "a node informs one more in a step, over each arc once")]


def _busy_halves(job: Job) -> Bound:
    """Sum min(2^t, ⌊N/2⌋) over the steps until it is all sends."""
    value = least_doubling(job.total * job.others, 1, job.room)
    return steps(value, f"least T with Σ min(2^t, {job.room:,}) ≥ M x (N - 1), t < T", "each send keeps two nodes busy")


def least_doubling(sends: int, first: int, most: int) -> int:
    """Return in how many steps there can be so many sends: ``first`` in the first step, twice as many in each next, or ``most``.

    >>> least_doubling(12, 1, 4)
    5
    """
    left, count, sending = sends, 0, first
    while sending < most and left > 0:
        left, count, sending = left - sending, count + 1, 2 * sending
    return count + -(-max(0, left) // most)


@lru_cache(64)
def senders(network: Network, root: int) -> tuple[int, ...]:
    """Return how many nodes can hold anything of the root's before step 0, 1, 2, … with one port each, until all can.

    Each node that holds something tells one more in a step while it has an arc left over which it has not, but not over the
    one that told it. Those that were told first have the most arcs, and no node is told in fewer steps than it is far.

    Examples
    --------
    >>> from treecast.networks import network
    >>> senders(network("path:5"), 0)
    (1, 2, 3, 4, 5)
    """
    arcs, far = arcs_of(network), network.distance(root, np.arange(network.nodes))
    pairs = set(zip(arcs.tail.tolist(), arcs.head.tolist(), strict=True))
    out = np.bincount(arcs.tail, minlength=network.nodes)
    told_by = np.array([all((v, u) in pairs for u in arcs.tail[arcs.head == v].tolist()) for v in range(network.nodes)])
    others = np.arange(network.nodes) != root
    most = np.sort((out - told_by)[others])[::-1]
    holding, new = [1], list[int]()
    while holding[-1] < network.nodes:
        now, index = len(new), 0
        more = int(now < out[root])
        for since, count in enumerate(new, 1):
            more += int((most[index : index + count] > now - since).sum())
            index += count
        more = min(more, int(((far >= 0) & (far <= now + 1)).sum()) - holding[-1])
        if more <= 0:
            break
        new.append(more)
        holding.append(holding[-1] + more)
    return tuple(holding)
