"""An allgather over one port around a cycle through all nodes: the fewest steps there can be, on any network that has one.

Communication model: store-and-forward, one-port, full or half duplex, one message of fixed length per arc and step.

Each node sends on the chunk it got last, along a Hamiltonian cycle. So it hears something new in every step. With half duplex,
and an even number of nodes, every other one sends in turn.
"""

import numpy as np

from treecast.networks import Network
from treecast.plans.built import Built, Job, rows_of_blocks
from treecast.plans.registry import any_machine
from treecast.plans.whole.one_port.chain import path_through_all
from treecast.schedule import Claims

_MOST_NODES = 2**10


def _fits(job: Job[Network]) -> str:
    network, model = job.network, job.model
    if model.ports != "one" or model.combining or (model.partner == "same" and not model.half_port):
        return "is for one port, where a message is one chunk, and a node may have two partners"
    if network.relays is not None or not 3 <= network.nodes <= _MOST_NODES:
        return f"is for 3 to {_MOST_NODES:,} nodes, none of them a relay"
    if model.half_port and network.nodes % 2:
        return "is for an even number of nodes, of which every other one sends"
    return "" if path_through_all(network, 0, closed=True) else "finds no cycle through all nodes"


def _claims(job: Job[Network]) -> Claims:
    others, messages = job.network.nodes - 1, job.collective.messages
    return Claims((1 + job.model.half_port) * messages * others, messages * others * job.network.nodes)


@any_machine(
    "hamiltonian-cycle",
    "allgather",
    fits=_fits,
    claims=_claims,
    summary="each node sends on the chunk it got last, around a cycle through all nodes",
)
def hamiltonian_cycle(job: Job[Network]) -> Built:
    """One-port: M (N - 1) steps, the fewest; of half duplex 2 M (N - 1), the fewest. M N (N - 1) transmissions, the fewest."""
    cycle, nodes = np.array(path_through_all(job.network, 0, closed=True)), job.network.nodes
    messages, half = job.collective.messages, int(job.model.half_port)
    place, turn = (each.ravel() for each in np.indices((nodes, nodes - 1)))
    src, dst, step = cycle[place], cycle[(place + 1) % nodes], ((1 + half) * turn + half * (place % 2)) * messages
    return Built(rows_of_blocks(job, step, src, dst, cycle[(place - turn) % nodes]), _claims(job))
