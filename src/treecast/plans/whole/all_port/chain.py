"""Allreduce in the order of ranks: each adds its own to the sum of those before it; the last has the whole, which comes back.

Communication model: all-port. All chunks are added along one chain, rank 0 first. So the bits of a sum of floats depend neither
on the chunk, the size of the message nor the place in it: the sum is ((x0 + x1) + x2) + … in each. A chunk passes each link of
the chain once in each direction. So for many messages a ring takes N / (N - 1) of the fewest steps that any plan of it takes.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from treecast.collectives.traits import blocks_of_sums_for_all
from treecast.networks import Network
from treecast.plans.built import Built, Job, rows_between
from treecast.plans.registry import Option, builder
from treecast.schedule import Claims, Payloads

_ASKED = Option(
    name="by-rank",
    summary="Sums are added in the order of ranks: their bits do not depend on the chunk, the size or the place in the message.",
    flag=True,
)
_MOST_NODES = 2**20


def _lacks_chain(network: Network) -> str:
    if network.relays is not None or network.nodes < 2:
        return "is for two ranks or more without relays"
    if network.nodes > _MOST_NODES:
        return f"looks at each link of up to {_MOST_NODES:,} nodes"
    before, after = np.arange(network.nodes - 1), np.arange(1, network.nodes)
    joined = np.append(network.port_between(before, after), network.port_between(after, before)) >= 0
    return "" if joined.all() else "needs links from each rank to the next"


def _claims(job: Job[Any]) -> Claims:
    hops, sums = 2 * (job.network.nodes - 1), job.collective.sums
    return Claims(sums + hops - 1, sums * hops)


@builder(
    "hamiltonian",
    blocks_of_sums_for_all,
    on=_lacks_chain,
    claims=_claims,
    orbit=False,
    options=(_ASKED,),
    needs=_ASKED.keyword,
    summary="each rank adds to the sum of the ranks before it; the last has the whole, which comes back the same way",
)
def chain(job: Job[Network]) -> Built:
    """All-port: M N + 2 N - 3 steps, 2 M N (N - 1) transmissions, the fewest there can be."""
    last, sums = job.network.nodes - 1, job.collective.sums
    up = np.arange(last)
    hop, near, back = (
        np.arange(2 * last),
        np.append(up, up[::-1]),
        np.repeat([False, True], last),
    )  # near: of a link's ranks
    rows = rows_between(
        job.network,
        Payloads.of_ranges([0, sums], [sums, 2 * sums]),
        hop,
        near + back,
        near + ~back,
        steps=sums,
        tree=0,
        payload=back.astype(np.int64),
    )
    return Built(rows, _claims(job), replace(job.collective, owners=((0, last),)))
