"""Lower bounds where any f unannounced faults of nodes or links are to do no harm to data that goes one way without them.

This is asked where messages combine, and of sparing schedules. A chunk that has crossed a link need not cross it again, in either
direction: so a link counts once, and x = f + 1 ways need not be x transmissions to every node.
"""

from treecast.lower_bounds.bound import Bound
from treecast.lower_bounds.job import Job, steps, transmissions


def heard(job: Job, sources: int = 1) -> Bound:
    """Return the bound of transmissions by which every node hears M messages of each of some sources.

    With faults to survive each chunk crosses f + 1 links of every node, as all can be cut if there are fewer. Two nodes share a
    link. Faults only delay: a chunk that crosses a link when something fails crosses it without faults, too.
    """
    nodes, each = job.network.rank_count, "M" if sources == 1 else "M N"
    if not job.faults:
        said = "every node receives N - 1 times M x chunks"
        if sources == 1:
            said = "each node but the root receives M messages x times"
        said += ", and so do some relays" * (job.hearers > job.others)
        formula = f"{each.replace('M', 'M x')} {job.spelled_hearers}"
        return transmissions(job.total * sources * job.hearers, formula, said)
    links = -(-(job.faults + 1) * nodes // 2)
    said = "a message crosses f + 1 links of every node, or all can be cut"
    return transmissions(job.messages * sources * links, f"{each} ⌈(f + 1) N / 2⌉", said)


def delays(job: Job, root: int) -> list[Bound]:
    """Return the bounds of steps in which ``root`` is heard by all, whatever f faults there are.

    *One port*: cut the first f links that the root calls over. Nothing leaves it before step f, nor over more than g =
    degree - f links. Its i-th call of the t steps left informs 2^(t - i) nodes at most. So on the hypercube f ≥ 1 faults take
    d + f + 1 steps (Fraigniaud 1992).
    *All ports*, f = degree - 1, on a network that looks alike from all nodes: cut all links of the root but one. From the
    neighbour behind it some node other than the root is as far as the diameter.
    """
    network, f = job.network, job.faults
    if not f or network.rank_count < 3:
        return []
    if job.model.ports == "one":
        left = network.degree_at(root) - f
        informing = 1
        while 1 + (1 << informing) - (1 << max(0, informing - left)) < network.rank_count:
            informing += 1
        said = "the first f links that the root calls over are cut"
        return [
            steps(f + informing, "f + least t with 1 + 2^t - 2^(t - degree + f) ≥ N", said),
            steps(f + network.eccentricity(root), "f + eccentricity", said),
        ]
    if network.seen_alike and f + 1 == network.ports:
        said = "all links of the root but one are cut"
        return [steps(1 + network.diameter, "1 + diameter, for f = degree - 1", said)]
    return []
