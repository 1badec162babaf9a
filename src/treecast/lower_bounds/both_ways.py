"""What has to leave some nodes in an allreduce: something of every sum, whoever owns it.

Let X be some of the nodes, a rank among them and one outside. A sum whose owner is in X leaves it finished. Of any other sum
the contributions of X leave it. So a chunk of each of all M N sums leaves X, and these chunks are different.
"""

import numpy as np
from numpy.typing import NDArray

from treecast.lower_bounds import distances
from treecast.lower_bounds.bound import Bound, best
from treecast.lower_bounds.job import Job, steps
from treecast.networks import Network
from treecast.networks.core import Ints
from treecast.networks.flows import Arcs, arcs_of, fewest_ways

_MOST_SEARCHED = 2**10  # nodes of a network whose least cut is looked for


def past_cuts(job: Job) -> list[Bound]:
    """Return the bound of an allreduce by what leaves single ranks, and what crosses the least cut between ranks.

    Of the M N chunks that leave X the last has yet to reach some rank v outside: a finished sum does, and what was contributed is
    part of a sum that does. So an allreduce takes ⌈M N / arcs⌉ steps and the least distance to v from where the arcs lead.
    Backwards an allreduce is one with all arcs turned round, so what enters X counts in the same way.
    """
    network = job.network
    if network.rank_count == 1 or network.nodes > distances.LISTED:
        return []
    found = [_of_rank(some, v) for some in (job, job.reversed) for v in distances.looked_at(network)]
    if job.model.ports != "one" and not network.seen_alike and network.nodes <= _MOST_SEARCHED:
        found += [_of_least_cut(some) for some in (job, job.reversed)]
    return [best(found, "steps")]


def _of_rank(job: Job, v: int) -> Bound:
    """Return the bound by what leaves one rank: the last chunk has as far to go as some rank is away."""
    ports, far = job.ports(v), job.network.eccentricity(v)
    value = -(-job.messages * job.network.rank_count // ports) + far - 1
    return steps(value, "⌈M N / ports⌉ + eccentricity - 1", "of every sum something leaves, and enters, each node")


def _of_least_cut(job: Job) -> Bound:
    """Return the bound by the fewest arcs that cut some rank off from the first."""
    from treecast.kernels.cuts import least_cut

    network, root = job.network, int(job.network.ranks[0])
    arcs, found = arcs_of(network), fewest_ways(network, root, ranks=True)
    beyond = np.zeros(network.nodes, np.bool_)
    count = int(least_cut(*arcs[:5], root, found.node, beyond))
    late = _least_distance(network, arcs, beyond)
    value, formula = (
        -(-job.messages * network.rank_count // count) + late,
        f"⌈M N / {count:,}⌉" + f" + {late}" * (late > 0),
    )
    return steps(
        value, formula, f"of every sum something crosses the {count:,} arcs that cut {network.label(found.node)} off"
    )


def _least_distance(network: Network, arcs: Arcs, beyond: NDArray[np.bool_]) -> int:
    """Return how far the rank beyond a cut is that is farthest from the nearest node to which an arc of the cut leads."""
    heads = np.unique(arcs.head[~beyond[arcs.tail] & beyond[arcs.head]])
    ranks = network.ranks[beyond[network.ranks]]
    nearest: Ints = np.min([network.distance(int(head), ranks) for head in heads.tolist()], axis=0)
    return int(nearest.max())
