"""A lower bound of an alltoall by the time that chunks are under way: last arrivals cannot all be late, nor first sends early.

**Theorem.** Let δ arcs leave each of R ranks and as many lead to it, and let d̄ be the mean distance of a rank from another. Where
messages do not combine, an alltoall of M messages takes ⌈M (R - 1) / δ + d̄ - 1⌉ steps or more. *Proof.* A chunk for a rank d
arcs away that is first sent in step t is last sent in step t + d - 1 or later. A rank first sends δ chunks a step at most, so
the steps of its n = M (R - 1) first sends add up to F = 0 δ + 1 δ + 2 δ + … at least, over n terms. Those of the last sends to
it add up to n (T - 1) - F at most. So over all chunks Σ (d - 1) ≤ R n (T - 1) - 2 R F, and F ≥ n (n / δ - 1) / 2. ∎

It is 132 on fat-tree:8, where the cut at one host says 128.
"""

from collections.abc import Sequence

import numpy as np

from treecast.lower_bounds import distances
from treecast.lower_bounds.bound import Bound
from treecast.lower_bounds.job import Problem, steps


def flight(job: Problem, known: Sequence[Bound]) -> list[Bound]:
    """Return the bound of an alltoall over one way or several, each of which begins and ends with an arc of its own.

    It holds where messages do not combine. It looks at all ranks, or at those that stand for all; at none where these are many.

    >>> from treecast.collectives import Collective
    >>> from treecast.models import model
    >>> from treecast.networks import network
    >>> tree = network("fat-tree:8")
    >>> flight(Problem(Collective.over(tree, "alltoall"), tree, 1, model("all-port")), [])
    [<Bound: steps at least 132 = ⌈1 + (Σ (distance - 1) + 2 Σ steps of first sends) / (M N (N - 1))⌉>]
    """
    network, views = job.network, job.network.views
    if job.model.combining or len(views) > distances.LOOKED_AT or network.rank_count == 1:
        return []
    each, far, early, ranks = job.total * job.others, 0, 0, np.array(views)
    rooms = [job.room_at(ranks, inwards=inwards).tolist() for inwards in (False, True)]
    for rank, out, into in zip(views, *rooms, strict=True):
        far += job.total * (sum(d * count for d, count in enumerate(distances.levels(network, rank))) - job.others)
        early += _earliest(each, out) + _earliest(each, into)
    value = 1 - (-(far + early) // (each * len(views)))
    formula = "⌈1 + (Σ (distance - 1) + 2 Σ steps of first sends) / (M N (N - 1))⌉"
    return [steps(value, formula, "first sends are not all early, nor are last ones all late")]


def _earliest(chunks: int, ports: int) -> int:
    """Return the least sum of the steps in which so many chunks are sent over so many ports."""
    full, rest = divmod(chunks, ports)
    return ports * (full * (full - 1) // 2) + rest * full
