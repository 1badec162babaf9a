"""Alltoall by any matrix of demands over one port on complete networks: one matching of senders and receivers after the other.

Communication model: store-and-forward, one-port, full duplex; where messages combine, all chunks from one node to another are
one message.

A matrix whose rows and columns all add up to T is a sum of matchings whose lengths add up to T (Birkhoff 1946, von Neumann
1953), as a bipartite multigraph of degree T has T colours (König 1916). Any matrix of sums up to T can be filled up. Each time
the matching is taken whose least entry is greatest, so there are few of them.
"""

import numpy as np

from treecast.collectives.traits import each_to_each, of_unequal_lengths
from treecast.networks.complete import Complete
from treecast.networks.core import Ints
from treecast.plans.built import Built, Job, rows_between
from treecast.plans.registry import builder
from treecast.plans.whole.one_port.models import EITHER
from treecast.ragged import starts
from treecast.schedule import Claims, Payloads

_MOST_WORK = 2**32  # demands, times all pairs


def _demands(job: Job[Complete]) -> Ints:
    """Return how many steps each pair needs: int64 (N, N)."""
    found = job.collective.demands()
    return (found > 0).astype(np.int64) if job.model.combining else found


def _claims(job: Job[Complete]) -> Claims:
    needed = _demands(job)
    steps = max(int(needed.sum(axis=axis).max()) for axis in (0, 1))
    return Claims(steps, int(job.collective.demands().sum()))


def _fits(job: Job[Complete]) -> str:
    nodes = job.network.nodes
    if nodes**4 > _MOST_WORK and np.count_nonzero(job.collective.demands()) * nodes**2 > _MOST_WORK:
        return f"looks at all pairs of nodes for each demand, {_MOST_WORK:,} times at most"
    return ""


@builder(
    "direct",
    of_unequal_lengths(each_to_each),
    on=Complete,
    under=EITHER,
    claims=_claims,
    fits=_fits,
    orbit=False,
    summary="one matching of senders and receivers after the other, each as long as can be",
)
def over_matchings(job: Job[Complete]) -> Built:
    """One-port: as many steps as flits leave, or reach, the busiest node: the fewest there can be; each flit is sent once.

    Where messages combine, as many as nodes that the busiest node sends to, or hears from; relays might do with fewer.
    """
    needed = _demands(job)
    pair, step, steps = _runs(needed)
    source, target = np.divmod(pair, job.network.nodes)
    done = starts(steps)[:-1]
    first = np.searchsorted(pair, pair)  # of each pair: where its runs begin
    begin = job.collective.begins()[pair] + done - done[first]
    size = job.collective.sizes()[pair] if job.model.combining else steps
    rows = rows_between(job.network, Payloads.of_ranges(begin, begin + size), step, source, target, steps=steps)
    return Built(rows, _claims(job))


def _runs(needed: Ints) -> tuple[Ints, Ints, Ints]:
    """Return runs of sends, sorted by pairs and steps: the pair of nodes of each, its first step, and its number of steps."""
    from treecast.plans.kernels.bottleneck import widest_matching

    nodes, rest = len(needed), needed.copy()
    left = _filled(needed)
    least = total = most = int(left[0].sum())
    row_of, column_of = np.full((2, nodes), -1)
    every, parts = np.arange(nodes), [(row_of[:0],) * 3]
    while total:
        least = int(widest_matching(left, least, row_of, column_of))
        sent = np.minimum(rest[every, column_of], least)
        some = np.flatnonzero(sent)
        parts.append((some * nodes + column_of[some], np.full_like(some, most - total), sent[some]))
        left[every, column_of] -= least
        rest[every, column_of] -= sent
        total -= least
    pair, step, steps = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.lexsort((step, pair))
    pair, step, steps = pair[order], step[order], steps[order]
    fresh = np.ones(len(pair), np.bool_)  # those of a pair that follow each other at once are one
    fresh[1:] = (np.diff(pair) != 0) | (step[1:] != (step + steps)[:-1])
    begins = np.flatnonzero(fresh)
    return pair[begins], step[begins], np.add.reduceat(steps, begins)


def _filled(needed: Ints) -> Ints:
    """Return a matrix that is nowhere less, and whose rows and columns all have the greatest sum.

    The deficits of rows and columns are lengths on two lines; where pieces of both lie side by side, they share them.
    """
    most = max(int(needed.sum(axis=axis).max()) for axis in (0, 1))
    rows, columns = (starts(most - needed.sum(axis=axis)) for axis in (1, 0))
    shared = np.minimum(rows[1:, None], columns[1:]) - np.maximum(rows[:-1, None], columns[:-1])
    return needed + np.maximum(shared, 0)
