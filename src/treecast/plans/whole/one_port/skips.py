"""Circulant broadcasts: to whom nodes send in each step, and which chunk, from a node's label alone.

Communication model: one-port; in step t every node sends to the node so many labels on, and receives from the node so many back.
Source: Träff, "(Poly)logarithmic time construction of round-optimal n-block broadcast schedules" (arXiv 2205.10072), and its
sequels 2312.11236 and 2407.18004.

The skips are p halved again and again, rounded up, down to 1. There are q = ⌈log2 p⌉ below p, and they repeat every q steps. In
each *period* of q steps a node receives one new chunk and q - 1 of periods before, each once in all.
"""

import numpy as np

from treecast.networks.core import Ints


def skips(nodes: int) -> list[int]:
    """Return how far nodes send in the steps of a period, ascending, and the number of nodes behind them.

    >>> skips(9)
    [1, 2, 3, 5, 9]
    """
    found = [nodes]
    while found[-1] > 1:
        found.append(-(-found[-1] // 2))
    return found[::-1]


def receive_lists(nodes: int, which: Ints | list[int]) -> Ints:
    """Return the chunk of a period that some nodes, counted from the root, receive in each of its steps: int64 (nodes asked
    for, q).

    An entry e ≥ 0 is chunk e of the period, and e - q chunk e of the period before it. Those of node 0 mean nothing. There
    are up to 2^61 ``nodes``.

    >>> receive_lists(9, [1, 2, 5, 8]).tolist()
    [[0, -2, -3, -1], [-4, 1, -2, -1], [-4, -2, -3, 3], [-3, -4, -1, 2]]
    """
    from treecast.plans.kernels.circulant import receive_lists as fill_in

    every = np.array(skips(nodes), np.int64)
    found = np.zeros((len(which), len(every) - 1), np.int64)
    fill_in(np.asarray(which, np.int64), every, found)
    return found
