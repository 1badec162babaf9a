"""Allgather over one port of half duplex on complete networks where messages combine: to one node, and out again.

Communication model: store-and-forward, one-port, half duplex; messages combine.

All blocks go up a binomial tree to node 0, in which a node strips the lowest bit of its number. Then all go down another, in
which a node strips the highest bit; no node hears again what it has had or passed on.
"""

import numpy as np

from treecast.networks.complete import Complete
from treecast.plans.built import Built
from treecast.plans.one_port.models import COMBINING_HALF, check_rows
from treecast.plans.registry import builder
from treecast.schedule import Claims, Payloads, Rows
from treecast.schedule.recipe import Job


def _claims(job: Job[Complete]) -> Claims:
    others, messages = job.network.nodes - 1, job.collective.messages
    return Claims(2 * others.bit_length(), messages * others * (others + 1))


@builder(
    "there-and-back",
    "allgather",
    on=Complete,
    under=COMBINING_HALF,
    claims=_claims,
    what="up a binomial tree to node 0, and down another",
    orbit=False,
    rank=15,
)
def allgather(job: Job[Complete]) -> Built:
    """One-port, half duplex, combining: 2⌈log2 N⌉ steps, M N (N - 1) transmissions: the latter are the fewest there can be."""
    nodes, messages = job.network.nodes, job.collective.messages
    check_rows(1, nodes, job.network)
    node, depth = np.arange(1, nodes), (nodes - 1).bit_length()
    lowest = node & -node
    highest = 1 << np.array([u.bit_length() - 1 for u in node.tolist()], np.int64)
    stop = np.minimum(node + lowest, nodes)  # the blocks node … stop-1 come together at a node, on their way up
    up = [[(int(a) * messages, int(b) * messages)] for a, b in zip(node, stop, strict=True)]
    down = [
        [(0, int(a) * messages), *([(int(b) * messages, nodes * messages)] if b < nodes else [])]
        for a, b in zip(node, stop, strict=True)
    ]
    src, dst = np.concatenate([node, node - highest]), np.concatenate([node - lowest, node])
    exponent = np.concatenate([np.log2(lowest), depth + np.log2(highest)]) if nodes > 1 else np.zeros(0)
    rows = Rows.of(
        Payloads.of([*up, *down]),
        step=np.rint(exponent).astype(np.int64),
        steps=np.ones_like(src),
        src=src,
        dst=dst,
        port=job.network.port_between(src, dst),
        tree=np.full(len(src), -1),
        payload=np.arange(len(src)),
    )
    return Built(rows, _claims(job))
