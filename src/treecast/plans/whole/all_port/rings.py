"""Allgather on rings: one copy of everything goes round each way."""

import numpy as np

from treecast.networks import Network, Torus
from treecast.networks.core import Ints
from treecast.plans.built import Built, Job
from treecast.plans.registry import builder, every_port
from treecast.schedule import Claims, Payloads, Rows


def _goes_round(network: Network) -> str:
    """Return why a torus is no ring, or an empty text: one of its axes alone has more than one node, and more than two."""
    longer = [side for side in network.grid.sides if side > 1] if network.grid else []
    return "" if len(longer) == 1 and longer[0] > 2 else "needs a ring of three or more nodes"


def _claims(job: Job[Torus]) -> Claims:
    total = job.collective.messages * job.copies * (job.network.nodes - 1)
    return Claims(-(-total // 2), total * job.network.nodes)


@builder(
    "both-ways",
    "allgather",
    on=(Torus, _goes_round),
    most_copies=every_port,
    claims=_claims,
    summary="round the ring both ways",
)
def both_ways(job: Job[Torus]) -> Built:
    """All-port: everything goes round the ring both ways, one arc after the other: ⌈Mx(N-1)/2⌉ steps, the fewest there can be.

    Two copies go all the way. One copy goes half way each; of the node opposite, half of the messages do. An orbit.
    """
    nodes, messages = job.network.nodes, job.collective.messages
    far, odd = (nodes - 1, 0) if job.copies == 2 else divmod(nodes - 1, 2)
    place = np.arange(far)
    columns: list[tuple[Ints, ...]] = [(place * messages, place, place + 1, place * 0, place * 0)]
    columns += [(place * messages, -place % nodes, nodes - 1 - place, place * 0 + 1, place * 0)]
    table, half = [[(0, messages)]], (messages + 1) // 2
    for way, (low, high) in enumerate([(0, half), (half, messages)] if odd else []):
        if low < high:
            source = far if way == 0 else nodes - far
            columns.append(tuple(np.array([c]) for c in (far * messages, source, nodes // 2, way, len(table))))
            table.append([(low, high)])
    step, source, target, way, payload = (np.concatenate(column) for column in zip(*columns, strict=True))
    rows = Rows.of(Payloads.of(table), step=step, src=source, dst=target, port=way, tree=way, payload=payload)
    return Built(rows, _claims(job))
