"""Alltoall on the hypercube by exchange along one dimension after the other, as an orbit.

Communication model: store-and-forward, full duplex, messages combine; *whispering*: a node exchanges with one neighbour in a
step; *shouting*: with all.
Source: Johnsson & Ho, "Optimum Broadcasting and Personalized Communication in Hypercubes".

In each step a node sends its neighbour along a dimension all chunks that it holds for the other half of the cube. Shouting, the
chunks of each pair are divided among the dimensions: part p begins with dimension p, so that all links are busy in every step.
"""

from itertools import pairwise

import numpy as np

from treecast.collectives.traits import each_to_each
from treecast.networks import Cayley, Hypercube, Network
from treecast.networks.core import Ints
from treecast.plans.built import Built, Job, rows_between
from treecast.plans.registry import builder
from treecast.ragged import cut_evenly
from treecast.schedule import Claims, Payloads, Rows

_MOST_NODES = 2**14


def too_large(network: Network) -> str:
    """Return why nobody lists the chunks of each send on a network, or an empty text."""
    return "" if network.nodes <= _MOST_NODES else f"lists the chunks of at most {_MOST_NODES:,} nodes"


@builder(
    "recursive-doubling",
    each_to_each,
    on=(Hypercube, too_large),
    under=("whispering", "shouting"),
    summary="Johnsson & Ho: along one dimension after the other, each part of the chunks beginning with another one",
)
def exchange(job: Job[Hypercube]) -> Built:
    """Combining: node 0 sends each node its messages in d steps, over as few arcs as there can be."""
    d = job.network.d
    orders = [[(part + i) % d for i in range(d)] for part in range(d if job.model.ports == "all" else 1)]
    return Built(by_bits(job, orders), Claims(d, job.collective.messages * d * job.network.nodes**2 // 2))


def by_bits(job: Job[Cayley], orders: list[list[int]], **columns: int) -> Rows:
    """Return rows by which each block goes on by one bit of its node's number a step, each part of it in an order of bits.

    Numbers count from the root. ``columns``: others of ``Rows.of``.
    """
    network, messages, root = job.network, job.collective.messages, job.collective.root
    found, table = list[tuple[int, int, int]](), list[list[tuple[int, int]]]()
    for order, (first, stop) in zip(orders, pairwise(cut_evenly(messages, len(orders)).tolist()), strict=True):
        for step, bit in enumerate(order if first < stop else ()):
            ahead = _spanned(order[step + 1 :])
            for src in _spanned(order[:step]).tolist():
                dst = src | 1 << bit
                blocks = dst | ahead
                blocks = np.sort(network.translate(root, blocks[blocks < network.nodes])).tolist()
                if blocks:
                    found.append((step, src, dst))
                    table.append([(v * messages + first, v * messages + stop) for v in blocks])
    step, src, dst = np.array(found, np.int64).reshape(-1, 3).T
    src, dst = (network.translate(root, ends) for ends in (src, dst))
    return rows_between(network, Payloads.of(table), step, src, dst, steps=1, **columns)


def _spanned(bits: list[int]) -> Ints:
    """Return the numbers that have some of these bits only."""
    numbers = np.zeros(1, np.int64)
    for bit in bits:
        numbers = np.concatenate([numbers, numbers | 1 << bit])
    return numbers
