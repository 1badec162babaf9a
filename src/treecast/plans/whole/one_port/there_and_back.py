"""Allgather over one port of half duplex on complete networks where messages combine: to one node, and out again.

Communication model: store-and-forward, one-port, half duplex; messages combine.

All blocks go up a binomial tree to node 0, in which a node strips the lowest bit of its number. Then all go down another, in
which a node strips the highest bit; no node receives again a block that it has had or passed on.
"""

import numpy as np

from treecast.collectives.traits import all_to_all, of_any_length
from treecast.networks.complete import Complete
from treecast.plans.built import Built, Job, rows_between
from treecast.plans.registry import builder
from treecast.plans.whole.one_port.models import COMBINING_HALF, check_rows
from treecast.schedule import Claims, Payloads


def _claims(job: Job[Complete]) -> Claims:
    last, collective = job.network.nodes - 1, job.collective
    if not last or not collective.chunks:
        return Claims(0, 0)
    hears = last
    if collective.lengths is not None:  # who has got everything on its way up hears nothing on its way down
        holders: list[int] = np.flatnonzero(collective.lengths.flits).tolist()
        while hears and all(hears <= holder < hears + (hears & -hears) for holder in holders):
            hears -= 1
    return Claims(last.bit_length() + hears.bit_length(), collective.chunks * last)


@builder(
    "binomial",
    of_any_length(all_to_all),
    on=Complete,
    under=COMBINING_HALF,
    claims=_claims,
    summary="up a binomial tree to node 0, and down another",
    orbit=False,
)
def allgather(job: Job[Complete]) -> Built:
    """One-port, half duplex, combining: 2⌈log2 N⌉ steps, M N (N - 1) transmissions: the latter are the fewest there can be.

    Blocks may have different lengths.
    """
    nodes, lengths, chunks = job.network.nodes, job.collective.lengths, job.collective.chunks
    check_rows(1, nodes, job.network)
    begin = np.arange(nodes + 1) * job.collective.messages if lengths is None else np.append(lengths.first, chunks)
    node, depth = np.arange(1, nodes), (nodes - 1).bit_length()
    lowest = node & -node
    highest = 1 << np.array([u.bit_length() - 1 for u in node.tolist()], np.int64)
    stop = np.minimum(node + lowest, nodes)  # the blocks node … stop-1 come together at a node, on their way up
    inside: list[tuple[int, int]] = list(zip(begin[node].tolist(), begin[stop].tolist(), strict=True))
    ranges = [[each] for each in inside] + [[(0, first), (last, chunks)] for first, last in inside]
    ranges = [[(first, last) for first, last in each if first < last] for each in ranges]
    src, dst = np.concatenate([node, node - highest]), np.concatenate([node - lowest, node])
    exponent = np.concatenate([np.log2(lowest), depth + np.log2(highest)]) if nodes > 1 else np.zeros(0)
    some = np.flatnonzero([bool(each) for each in ranges])  # a block may be empty
    src, dst = src[some], dst[some]
    table, step = Payloads.of([ranges[row] for row in some.tolist()]), np.rint(exponent[some]).astype(np.int64)
    rows = rows_between(job.network, table, step, src, dst, steps=1)
    return Built(rows, _claims(job))
