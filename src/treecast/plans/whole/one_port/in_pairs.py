"""Allgather and alltoall over one port of half duplex on complete networks: every two nodes meet once, as in a tournament.

Communication model: store-and-forward, one-port, half duplex: in a step a node sends or receives, one message of fixed length;
where messages combine, a block is one message.

Of N nodes, N odd, those meet in turn t whose numbers add up to t modulo N, and one is left out. With one node more, it meets the
one that is left out. In a turn both of a pair send their M chunks, one after the other.
"""

import numpy as np

from treecast.collectives.traits import all_to_all, each_to_each
from treecast.networks.complete import Complete
from treecast.networks.core import Ints
from treecast.plans.built import Built, Job, rows_of_blocks
from treecast.plans.registry import builder
from treecast.plans.whole.one_port.models import COMBINING_HALF, HALF, check_rows, turn
from treecast.schedule import Claims


def _claims(job: Job[Complete]) -> Claims:
    nodes, messages = job.network.nodes, job.collective.messages
    turns = nodes - 1 + nodes % 2 if nodes > 1 else 0
    return Claims(2 * turns * turn(job), messages * nodes * (nodes - 1))


@builder(
    "direct",
    all_to_all,
    each_to_each,
    on=Complete,
    under=(*HALF, *COMBINING_HALF),
    claims=_claims,
    summary="every two nodes meet once, as in a tournament, and each sends the other its block",
    orbit=False,
)
def in_pairs(job: Job[Complete]) -> Built:
    """One-port, half duplex: 2M(N - 1) steps for even N and 2MN for odd N, the fewest there can be; M N (N - 1) transmissions.

    Where messages combine, as many as for M = 1; these are not the fewest.
    """
    nodes = job.network.nodes
    check_rows(nodes, nodes - 1, job.network)
    meeting, low, high = _meetings(nodes)
    step = np.concatenate([2 * meeting, 2 * meeting + 1]) * turn(job)
    source, target = np.concatenate([low, high]), np.concatenate([high, low])
    block = source * nodes + target if job.collective.personal else source
    return Built(rows_of_blocks(job, step, source, target, block, tree=0), _claims(job))


def _meetings(nodes: int) -> tuple[Ints, Ints, Ints]:
    """Return the turn, and the two nodes, of each pair."""
    odd = nodes - 1 + nodes % 2
    low, high = np.triu_indices(nodes, 1)
    turn = np.where(high < odd, low + high, 2 * low) % max(odd, 1)
    return turn, low, high
