"""Alltoall on the hypercube by exchange along one dimension after the other, as an orbit.

Communication model: store-and-forward, full duplex, messages combine; *whispering*: a node exchanges with one neighbour in a
step; *shouting*: with all.
Source: Johnsson & Ho, "Optimum Broadcasting and Personalized Communication in Hypercubes".

In each step a node sends its neighbour along a dimension all chunks that it holds for the other half of the cube. Shouting, the
chunks of each pair are divided among the dimensions: part p begins with dimension p, so that all links are busy in every step.
"""

from itertools import pairwise

import numpy as np

from treecast.networks import Hypercube, Network
from treecast.networks.core import Ints
from treecast.plans.built import Built, Job
from treecast.plans.registry import builder, every
from treecast.ragged import cut_evenly
from treecast.schedule import Claims, Payloads, Rows

_MOST_NODES = 2**14


def _too_large(network: Network) -> str:
    return "" if network.nodes <= _MOST_NODES else f"lists the chunks of at most {_MOST_NODES:,} nodes"


@builder(
    "exchange",
    "alltoall",
    on=every(Hypercube, _too_large),
    under=("whispering", "shouting"),
    what="Johnsson & Ho: along one dimension after the other, each part of the chunks beginning with another one",
)
def exchange(job: Job[Hypercube]) -> Built:
    """Combining: node 0 sends each node its messages in d steps, over as few arcs as there can be."""
    d, messages = job.network.d, job.collective.messages
    parts = cut_evenly(messages, d if job.model.ports == "all" else 1).tolist()
    columns, table = list[tuple[int, ...]](), list[list[tuple[int, int]]]()
    for part, (first, stop) in enumerate(pairwise(parts)):
        order = [(part + i) % d for i in range(d)] if first < stop else []
        for step, port in enumerate(order):
            ahead = _spanned(order[step + 1 :])
            for src in _spanned(order[:step]).tolist():
                dst = src ^ (1 << port)
                columns.append((step, src, dst, port))
                table.append([(v * messages + first, v * messages + stop) for v in np.sort(dst ^ ahead).tolist()])
    step, src, dst, port = np.array(columns, np.int64).reshape(-1, 4).T
    rows = Rows.of(Payloads.of(table), step=step, steps=1, src=src, dst=dst, port=port)
    return Built(rows, Claims(d, messages * d * job.network.nodes**2 // 2))


def _spanned(dimensions: list[int]) -> Ints:
    """Return the nodes that differ from node 0 in some of these dimensions only."""
    nodes = np.zeros(1, np.int64)
    for dimension in dimensions:
        nodes = np.concatenate([nodes, nodes ^ (1 << dimension)])
    return nodes
