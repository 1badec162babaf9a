"""The schemes of Chau & Fu as the paper has them: one node starts the gossip of all, and under shouting nodes answer messages.

Communication model: store-and-forward, full duplex, messages combine; *whispering*: a node exchanges with one neighbour in
a step; *shouting*: with all.
Source: Chau & Fu, "An Optimal (d-1)-Fault-Tolerant All-to-All Broadcasting Scheme for d-Dimensional Hypercubes", section 2.
"""

from typing import Any

import numpy as np

from treecast.networks import Hypercube
from treecast.papers.hypercube.builders.dimension_order import (
    CUBE,
    FAULT_FREE,
    claimed,
    count_messages,
    last_of,
    shouted,
    shouting,
    whispering,
)
from treecast.plans.built import Built, Job
from treecast.plans.order import ORDER, check_order
from treecast.plans.registry import Option, builder
from treecast.schedule import Claims, Payloads, Rows

INITIATOR = Option(
    name="initiator",
    summary="The node that starts the others, instead of all starting at once.",
    read=lambda text, network: network.node(text),
    write=lambda node, network: network.label(node),
)
_SHOUTING: dict[str, Any] = CUBE | {"under": ("shouting",)}
ANSWERING = Option(
    name="answering",
    summary="Under shouting nodes answer messages, as in the paper.",
    flag=True,
)


def _fits(job: Job[Hypercube]) -> str:
    return "answers under shouting alone" if job.model.room and "answering" in job.options else ""


@builder(
    "four-phases",
    "allgather",
    sparing=True,
    backwards=False,
    orbit=False,
    baseline=True,
    fits=_fits,
    options=(ORDER, FAULT_FREE, INITIATOR, ANSWERING),
    summary="Chau & Fu: one node starts the others",
    **CUBE,
)
def four_phases(job: Job[Hypercube]) -> Built:
    """Combining: gossip that one node starts: its broadcast tells the others, and then they all broadcast at once.

    Twice as many steps as gossip that all start at once, n (nd - n + 1) messages in all for k = d-1 when whispering, or where
    nodes answer. Not an orbit. A node that was not started sends nothing. So the schedule survives any k faults other than the
    initiator's.
    """
    cube, collective = job.network, job.collective
    initiator = cube.check_node(job.options.get("initiator", 0))
    build = whispering if job.model.room else answering if "answering" in job.options else shouting
    rows, claims, *_ = build(job.doing("broadcast"))
    # The broadcast of node s is that of node 0 with every label XOR s. All but the initiator's begin after it.
    source = np.repeat(np.arange(cube.nodes), len(rows))
    again = np.tile(np.arange(len(rows)), cube.nodes)
    first = np.arange(cube.nodes) * collective.messages
    table = Payloads.of_ranges(first, first + collective.messages)
    columns = {name: column[again] for name, column in rows.columns().items()}
    columns |= {"src": columns["src"] ^ source, "dst": columns["dst"] ^ source, "payload": source}
    moved = Rows.of(table, **columns | {"step": columns["step"] + claims.steps * (source != initiator)})
    twice = claims.steps * (2 if cube.nodes > 1 else 1)
    return Built(moved, Claims(twice, claims.transmissions * cube.nodes), copies=claimed(job), initiator=initiator)


@builder(
    "answering",
    "broadcast",
    "allgather",
    options=(ORDER, FAULT_FREE),
    summary="Chau & Fu, shouting as in the paper: nodes answer messages in the second phase",
    sparing=True,
    baseline=True,
    backwards=False,
    **_SHOUTING,
)
def answering(job: Job[Hypercube]) -> Built:
    """Shouting: broadcast or gossip that survives k = ``copies`` - 1 faults, in d + 1 steps; d when ``fault_free``.

    As dimension-order, but a node leaves out only the chunks that it has sent over a link, or received over it in the
    first phase. In the first phase it receives from the node without its last bit. Its rows back to there name no tree; all
    others name tree 0, and answer. n - 1 messages in the first phase, nd - n + 1 in all for k = d-1.
    """
    cube, d, units = job.network, job.network.d, min(job.copies, job.network.d)
    steps = d if job.options.get("fault_free") else d + (d > 0)
    rows = shouted(job, steps, units)
    dims = np.array(check_order(d, job.options.get("order")), np.int64)
    place = np.argsort(dims)  # the turn of each port
    seen = rows.src.astype(np.int64) ^ job.collective.root
    apart = ((seen[:, None] >> dims & 1) << np.arange(d)).sum(axis=1)  # bit i: differs in the i-th dimension
    at, last = place[rows.port.astype(np.int64)], last_of(apart)
    # over its last dimension, back to whom it heard from in the first phase
    rows = Rows.of(rows.payloads, **rows.columns() | {"tree": np.where(at == last - 1, -1, 0)})
    sends = count_messages(d, units)
    if steps == d > 0:  # the node farthest away hears in the last step, and says no more
        sends -= min(units, d - 1)
    sources = cube.nodes if job.collective.all_source else 1
    return Built(
        rows, Claims(steps if len(rows) else 0, sends * sources * job.collective.messages), copies=claimed(job)
    )
