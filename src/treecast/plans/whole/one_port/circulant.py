"""Broadcast over one port on complete networks in M - 1 + ⌈log2 N⌉ steps, the fewest there can be, for every N and M.

Communication model: store-and-forward, one-port, full duplex, one message of fixed length per arc and step.
Source: Träff, arXiv 2205.10072, 2312.11236 and 2407.18004; see ``skips``.

All nodes that have something to send it do so to the node as many labels on as the step's skip says. Run backwards it is a
reduction: every node but the root receives every chunk once.
"""

import numpy as np

from treecast.collectives.traits import one_to_all
from treecast.networks.complete import Complete
from treecast.networks.core import Ints
from treecast.plans.built import Built, Job
from treecast.plans.registry import builder
from treecast.plans.whole.one_port.models import EITHER
from treecast.plans.whole.one_port.periodic import Periodic
from treecast.plans.whole.one_port.skips import receive_lists, skips
from treecast.schedule import Claims


def claims(job: Job[Complete]) -> Claims:
    """Return M - 1 + ⌈log2 N⌉ steps and M (N - 1) transmissions."""
    others, messages = job.network.nodes - 1, job.collective.messages
    return Claims(messages - 1 + others.bit_length() if others else 0, messages * others)


def at(job: Job[Complete], node: int) -> Built:
    """One-port: the rows of one node in ``broadcast``, from its label alone."""
    node = int(job.network.untranslate(job.collective.root, node))
    return Built(periodic(job.network.nodes).rows(job, np.asarray, node), claims(job))


@builder(
    "circulant",
    one_to_all,
    on=Complete,
    under=EITHER,
    claims=claims,
    at=at,
    summary="all send as many labels on, in turns of ⌈log2 N⌉ skips (Träff)",
)
def broadcast(job: Job[Complete]) -> Built:
    """One-port: M - 1 + ⌈log2 N⌉ steps, M (N - 1) transmissions: both are the fewest there can be."""
    return Built(periodic(job.network.nodes).rows(job, np.asarray), claims(job))


def periodic(nodes: int) -> Periodic:
    """Return who sends to whom in each of q steps, and which chunk of a period arrives.

    >>> for stream in zip(*periodic(3).streams(2, 2, node=1)):
    ...     print(*stream)
    2 2 1 0 1
    1 0 1 1 1
    """
    skip = np.array(skips(nodes)[:-1], np.int64)

    def ahead(u: Ints, index: Ints) -> Ints:
        return (u + skip[index]) % nodes

    def behind(u: Ints, index: Ints) -> Ints:
        return (u - skip[index]) % nodes

    return Periodic(nodes, len(skip), ahead, behind, lambda which: receive_lists(nodes, which))
