"""Gossip on the hypercube that one node starts.

Communication model: store-and-forward, full duplex, messages combine; *whispering*: a node exchanges with one neighbour in
a step; *shouting*: with all.
Source: Chau & Fu, "An Optimal (d-1)-Fault-Tolerant All-to-All Broadcasting Scheme for d-Dimensional Hypercubes".
"""

from collections.abc import Callable

import numpy as np

from treecast.networks import Hypercube
from treecast.plans.built import Built, Job
from treecast.plans.order import ORDER
from treecast.plans.registry import Option, builder
from treecast.plans.whole.combining.dimension_order import CUBE, FAULT_FREE, claimed, shouting, whispering
from treecast.schedule import Claims, Payloads, Rows

INITIATOR = Option(
    name="initiator",
    summary="The node that starts the others, instead of all starting at once.",
    read=lambda text, network: network.node(text),
    write=lambda node, network: network.label(node),
)


@builder(
    "four-phases",
    "allgather",
    sparing=True,
    orbit=False,
    baseline=True,
    options=(ORDER, FAULT_FREE, INITIATOR),
    summary="Chau & Fu: one node starts the others",
    **CUBE,
)
def four_phases(job: Job[Hypercube]) -> Built:
    """Combining: gossip that one node starts: its broadcast tells the others, and then they all broadcast at once.

    Twice as many steps as gossip that all start at once, n (nd - n + 1) messages in all for k = d-1 when whispering.
    Not an orbit. A node that was not started sends nothing. So the schedule survives any k faults other than the initiator's.
    """
    return start_by_initiator(whispering if job.model.ports == "one" else shouting, job)


def start_by_initiator(build: Callable[[Job[Hypercube]], Built], job: Job[Hypercube]) -> Built:
    """Return the gossip of a job that the initiator's broadcast starts, every broadcast as ``build`` makes it."""
    cube, collective = job.network, job.collective
    initiator = cube.check_node(job.options.get("initiator", 0))
    rows, claims, *_ = build(job.doing("broadcast"))
    source = np.repeat(np.arange(cube.nodes), len(rows))
    again = np.tile(np.arange(len(rows)), cube.nodes)
    first = np.arange(cube.nodes) * collective.messages
    table = Payloads.of_ranges(first, first + collective.messages)
    columns = {name: column[again] for name, column in rows.columns().items()}
    columns |= {"src": columns["src"] ^ source, "dst": columns["dst"] ^ source, "payload": source}
    moved = Rows.of(table, **columns | {"step": columns["step"] + claims.steps * (source != initiator)})
    twice = claims.steps * (2 if cube.nodes > 1 else 1)
    return Built(moved, Claims(twice, claims.transmissions * cube.nodes), copies=claimed(job), initiator=initiator)
