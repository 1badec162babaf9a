"""The shouting broadcast and gossip of Chau & Fu as the paper has them: nodes answer the messages they receive.

Communication model: shouting: store-and-forward, full duplex, all ports, messages combine.
Source: Chau & Fu, "An Optimal (d-1)-Fault-Tolerant All-to-All Broadcasting Scheme for d-Dimensional Hypercubes", section 2.
"""

from typing import Any

import numpy as np

from treecast.networks import Hypercube
from treecast.papers.hypercube.builders.four_phases import INITIATOR, start_by_initiator
from treecast.plans.built import Built, Job
from treecast.plans.order import ORDER, check_order
from treecast.plans.registry import builder
from treecast.plans.whole.combining.dimension_order import CUBE, FAULT_FREE, claimed, count_messages, last_of, shouted
from treecast.schedule import Claims, Rows

SHOUTED: dict[str, Any] = CUBE | {"under": ("shouting",), "sparing": True, "baseline": True}


@builder(
    "answering",
    "broadcast",
    "allgather",
    options=(ORDER, FAULT_FREE),
    summary="Chau & Fu, shouting as in the paper: nodes answer messages in the second phase",
    **SHOUTED,
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
    place = np.argsort(dims)
    seen = rows.src.astype(np.int64) ^ job.collective.root
    apart = ((seen[:, None] >> dims & 1) << np.arange(d)).sum(axis=1)  # bit i: differs in the i-th dimension
    at, last = place[rows.port.astype(np.int64)], last_of(apart)
    rows = Rows.of(rows.payloads, **rows.columns() | {"tree": np.where(at == last - 1, -1, 0)})
    sends = count_messages(d, units)
    if steps == d > 0:  # the node farthest away hears in the last step, and says no more
        sends -= min(units, d - 1)
    sources = cube.nodes if job.collective.all_source else 1
    return Built(
        rows, Claims(steps if len(rows) else 0, sends * sources * job.collective.messages), copies=claimed(job)
    )


@builder(
    "answering-four-phases",
    "allgather",
    options=(ORDER, FAULT_FREE, INITIATOR),
    orbit=False,
    summary="Chau & Fu, shouting as in the paper: one node starts the others, and nodes answer",
    **SHOUTED,
)
def answering_four_phases(job: Job[Hypercube]) -> Built:
    """Shouting: gossip that one node starts, all as in the paper: n (nd - n + 1) messages in all for k = d-1.

    A node that was not started sends nothing. Not an orbit.
    """
    return start_by_initiator(answering, job)
