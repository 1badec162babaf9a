"""Allgather over one port of half duplex on complete networks where messages combine: to one node and out again, or in pairs.

Communication model: store-and-forward, one-port, half duplex; messages combine.
Source: Even & Monien (1989) for pairs.

*To one node.* All blocks go up a binomial tree to node 0, in which a node strips the lowest bit of its number. Then all go down
another, in which a node strips the highest bit; no node receives again a block that it has had or passed on.

*In pairs.* The two nodes of a pair tell each other what they have. Then all even nodes tell odd ones, all odd nodes even ones,
and so on by turns. Who hears knows the blocks of some pairs from its own on, and hears from the first pair beyond: what it knows
then is what both knew. So knowledge grows as Fibonacci's numbers do, by 1.618 a step. An odd node out tells node 0 first, and
hears last.
"""

from collections.abc import Iterator

import numpy as np

from treecast.collectives.traits import all_to_all, of_any_length
from treecast.networks.complete import Complete
from treecast.plans.built import Built, Job, rows_between
from treecast.plans.registry import builder
from treecast.plans.whole.one_port.models import COMBINING_HALF, check_rows
from treecast.schedule import Claims, Payloads


def _claims(job: Job[Complete]) -> Claims:
    last, collective = job.network.nodes - 1, job.collective
    if not last or not collective.chunks:
        return Claims(0, 0)
    hears = last
    if collective.lengths is not None:  # who has got everything on its way up hears nothing on its way down
        holders: list[int] = np.flatnonzero(collective.lengths.flits).tolist()
        while hears and all(hears <= holder < hears + (hears & -hears) for holder in holders):
            hears -= 1
    return Claims(last.bit_length() + hears.bit_length(), collective.chunks * last)


@builder(
    "binomial",
    of_any_length(all_to_all),
    on=Complete,
    under=COMBINING_HALF,
    claims=_claims,
    summary="up a binomial tree to node 0, and down another",
    orbit=False,
)
def allgather(job: Job[Complete]) -> Built:
    """One-port, half duplex, combining: 2⌈log2 N⌉ steps, M N (N - 1) transmissions: the latter are the fewest there can be.

    Blocks may have different lengths.
    """
    nodes, lengths, chunks = job.network.nodes, job.collective.lengths, job.collective.chunks
    check_rows(1, nodes, job.network)
    begin = np.arange(nodes + 1) * job.collective.messages if lengths is None else np.append(lengths.first, chunks)
    node, depth = np.arange(1, nodes), (nodes - 1).bit_length()
    lowest = node & -node
    highest = 1 << np.array([u.bit_length() - 1 for u in node.tolist()], np.int64)
    stop = np.minimum(node + lowest, nodes)  # the blocks node … stop-1 come together at a node, on their way up
    inside: list[tuple[int, int]] = list(zip(begin[node].tolist(), begin[stop].tolist(), strict=True))
    ranges = [[each] for each in inside] + [[(0, first), (last, chunks)] for first, last in inside]
    ranges = [[(first, last) for first, last in each if first < last] for each in ranges]
    src, dst = np.concatenate([node, node - highest]), np.concatenate([node - lowest, node])
    exponent = np.concatenate([np.log2(lowest), depth + np.log2(highest)]) if nodes > 1 else np.zeros(0)
    some = np.flatnonzero([bool(each) for each in ranges])  # a block may be empty
    src, dst = src[some], dst[some]
    table, step = Payloads.of([ranges[row] for row in some.tolist()]), np.rint(exponent[some]).astype(np.int64)
    rows = rows_between(job.network, table, step, src, dst, steps=1)
    return Built(rows, _claims(job))


def _turns(pairs: int) -> Iterator[tuple[int, int, int]]:
    """Yield who tells, 0 for even nodes, how many pairs those know who hear, and of how many more; until all is told.

    >>> list(_turns(4))
    [(0, 1, 1), (1, 1, 2), (0, 2, 2), (1, 3, 1)]
    """
    known, side = [1, 1], 0
    while min(known) < pairs:
        heard = min(known[side], pairs - known[1 - side])
        yield side, known[1 - side], heard
        known[1 - side] += heard
        side = 1 - side


def _claims_in_pairs(job: Job[Complete]) -> Claims:
    nodes = job.network.nodes
    steps = 2 + 2 * (nodes % 2) + sum(1 for _ in _turns(nodes // 2)) if nodes > 1 else 0
    return Claims(steps, job.collective.chunks * (nodes - 1))


@builder(
    "even-and-odd",
    all_to_all,
    on=Complete,
    under=COMBINING_HALF,
    claims=_claims_in_pairs,
    summary="in pairs, and then even and odd nodes tell each other by turns (Even & Monien)",
    orbit=False,
)
def allgather_in_pairs(job: Job[Complete]) -> Built:
    """One-port, half duplex, combining: about 1.44 log2 N steps, M N (N - 1) transmissions: these are the fewest there can be."""
    nodes, messages = job.network.nodes, job.collective.messages
    check_rows(1, nodes, job.network)
    pairs, odd = nodes // 2, nodes % 2
    rows, table = list[tuple[int, int, int]](), list[list[tuple[int, int]]]()

    def tell(step: int, src: int, dst: int, *blocks: tuple[int, int]) -> None:
        rows.append((step, src, dst))
        table.append([(first * messages, stop * messages) for first, stop in blocks if first < stop])

    last = (nodes - 1, nodes) if odd else (0, 0)  # the odd block goes with that of node 0
    if odd and pairs:
        tell(0, nodes - 1, 0, last)
    for pair in range(pairs):
        own = 2 * pair
        tell(odd, own, own + 1, (own, own + 1), last if not pair else (0, 0))
        tell(odd + 1, own + 1, own, (own + 1, own + 2))
    step = odd + 2
    for side, known, heard in _turns(pairs):
        for pair in range(pairs):
            begin = (pair + known) % pairs
            stop, beyond = min(begin + heard, pairs), max(0, begin + heard - pairs)
            tell(
                step,
                2 * begin + side,
                2 * pair + 1 - side,
                (0, 2 * beyond),
                (2 * begin, 2 * stop),
                last if beyond or not begin else (0, 0),
            )
        step += 1
    if odd and pairs:
        tell(step, 0, nodes - 1, (0, nodes - 1))
    columns = np.array(rows, np.int64).reshape(-1, 3).T
    return Built(rows_between(job.network, Payloads.of(table), *columns, steps=1), _claims_in_pairs(job))
