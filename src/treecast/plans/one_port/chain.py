"""A broadcast over one port from each node to the next, as along a ring: the baseline.

Communication model: store-and-forward, one-port, full duplex, one message of fixed length per arc and step.
"""

import numpy as np

from treecast.networks.complete import Complete
from treecast.plans.built import Built
from treecast.plans.one_port.models import ONE_PORT
from treecast.plans.registry import builder
from treecast.schedule import Claims, Payloads, Rows
from treecast.schedule.recipe import Job


def _claims(job: Job[Complete]) -> Claims:
    others, messages = job.network.nodes - 1, job.collective.messages
    return Claims(messages + others - 1 if others else 0, messages * others)


@builder(
    "chain",
    "broadcast",
    on=Complete,
    under=ONE_PORT,
    claims=_claims,
    baseline=True,
    what="from each node to the next, as along a ring",
    rank=60,
)
def chain(job: Job[Complete]) -> Built:
    """One-port: M + N - 2 steps, M (N - 1) transmissions: a pipeline along the nodes in order."""
    place = np.arange(job.network.nodes - 1)
    src = job.network.translate(job.collective.root, place)
    rows = Rows.of(
        Payloads.of([[(0, job.collective.messages)]] if len(place) else []),
        step=place,
        steps=place * 0 + job.collective.messages,
        src=src,
        dst=job.network.translate(src, 1),
        port=place * 0,
        tree=place * 0,
        payload=place * 0,
    )
    return Built(rows, _claims(job))
