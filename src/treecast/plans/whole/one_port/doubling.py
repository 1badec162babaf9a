"""Collectives over one port on complete networks in ⌈log2 N⌉ turns: where messages combine, these are the fewest steps.

Communication model: store-and-forward, one-port, full duplex, messages combine; the broadcast also where they do not.
Sources: binomial trees; Bruck, Ho, Kipnis, Upfal & Weathersby (1997) for allgather and alltoall; Träff (arXiv 2410.14234) for
reduce-scatter, which is that allgather backwards. Its sums are commutative. Even & Monien (1989) for half duplex.

*In pairs*: over one port of half duplex the two nodes of a pair tell each other what they have. Then all even nodes tell odd
ones, all odd nodes even ones, and so on by turns. Who hears knows the blocks of some pairs from its own on, and hears from the
first pair beyond: it then knows what both knew. So knowledge grows as Fibonacci's numbers do, by 1.618 a step. An odd node out
tells node 0 first, and hears last.

*On the hypercube* an alltoall exchanges along one dimension after the other, as an orbit (Johnsson & Ho): in each step a node
sends its neighbour along a dimension all chunks that it holds for the other half of the cube. Where it exchanges with all
neighbours in a step (`shouting`), the chunks of each pair are divided among the dimensions: part p begins with dimension p, so
that all links are busy in every step.
"""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from treecast.collectives.traits import all_to_all, each_to_each, one_to_all, one_to_each
from treecast.networks import Cayley, Hypercube, Network
from treecast.networks.complete import Complete
from treecast.networks.core import Ints
from treecast.plans.built import Built, Job, rows_between, rows_of_blocks
from treecast.plans.registry import builder
from treecast.plans.whole.one_port.models import COMBINING, COMBINING_HALF, EITHER, check_rows, depth, turn
from treecast.plans.whole.one_port.skips import skips
from treecast.ragged import cut_evenly, places
from treecast.schedule import Claims, Payloads, Rows

_MOST_NODES = 2**14


def too_large(network: Network) -> str:
    """Return why nobody lists the chunks of each send on a network, or an empty text."""
    return "" if network.nodes <= _MOST_NODES else f"lists the chunks of at most {_MOST_NODES:,} nodes"


def _claims(job: Job[Complete]) -> Claims:
    others = job.network.nodes - 1
    sources = job.network.nodes if job.collective.all_source else 1
    return Claims(depth(job) * turn(job), job.collective.messages * others * sources)


@builder(
    "binomial",
    one_to_all,
    on=Complete,
    under=(*EITHER, *COMBINING_HALF),
    claims=_claims,
    summary="down a binomial tree: in each turn every informed node informs one more",
)
def broadcast(job: Job[Complete]) -> Built:
    """One-port: all M chunks down a binomial tree: ⌈log2 N⌉ turns, M (N - 1) transmissions.

    A turn is a step where messages combine, which makes these the fewest steps, also of half duplex: who knows never hears again.
    Else it is M steps.
    """
    nodes, root = job.network.nodes, job.collective.root
    step, source, skip = _spread([min(2**step, nodes) for step in range(depth(job) + 1)])
    src = job.network.translate(root, source)
    dst = job.network.translate(src, skip)
    return Built(_one_block(job, step, src, dst), _claims(job))


@builder(
    "recursive-doubling",
    all_to_all,
    on=Complete,
    under=COMBINING,
    claims=_claims,
    summary="Bruck et al.: in each step a node gets nearly as much again as it has, from one node",
)
def allgather(job: Job[Complete]) -> Built:
    """One-port, combining: ⌈log2 N⌉ steps and M (N - 1) N transmissions, the fewest there can be. An orbit.

    Before step k a node has the blocks of as many nodes from itself on as skip k says; it gets those beyond from the node so many
    labels on.
    """
    nodes = job.network.nodes
    step, source, skip = _spread(skips(nodes))
    return Built(_one_block(job, step, -source % nodes, -(source + skip) % nodes), _claims(job))


def _spread(known: list[int]) -> tuple[Ints, Ints, Ints]:
    """Return the step, source and skip of each send if the first known[k] nodes know before step k, and tell the next ones."""
    count = np.diff(np.array(known, np.int64))
    step = np.repeat(np.arange(len(count)), count)
    return step, places(count), np.array([*known, 0], np.int64)[step]


def _one_block(job: Job[Complete], step: Ints, src: Ints, dst: Ints) -> Rows:
    return rows_of_blocks(job, step * turn(job), src, dst, step * 0, tree=0)


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
    "recursive-doubling",
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


def _popcounts(nodes: int) -> int:
    """Return how many bits are set in 1 … N - 1 together.

    >>> _popcounts(64)
    192
    """
    return sum((nodes >> bit + 1 << bit) + max(0, nodes % (2 << bit) - (1 << bit)) for bit in range(nodes.bit_length()))


def _claims_by_bits(job: Job[Complete]) -> Claims:
    sources = job.network.nodes if job.collective.all_source else 1
    return Claims(depth(job), job.collective.messages * _popcounts(job.network.nodes) * sources)


@builder(
    "binomial",
    one_to_each,
    on=(Complete, too_large),
    under=(*COMBINING, *COMBINING_HALF),
    claims=_claims_by_bits,
    summary="down a binomial tree: half of the blocks that a node has for others in each step",
)
def scatter(job: Job[Complete]) -> Built:
    """One-port, combining: ⌈log2 N⌉ steps, the fewest; a block goes as many arcs as its node's number has bits set.

    Numbers count from the root. The highest bit comes first, so each step halves the blocks left to be sent.
    """
    return Built(by_bits(job, [[*range(depth(job))][::-1]], tree=0), _claims_by_bits(job))


@builder(
    "recursive-doubling",
    each_to_each,
    on=(Complete, too_large),
    under=COMBINING,
    claims=_claims_by_bits,
    summary="Bruck et al.: in step k all whose distance has bit k set go 2^k labels on",
)
def alltoall(job: Job[Complete]) -> Built:
    """One-port, combining: ⌈log2 N⌉ steps, the fewest; a block goes as many arcs as its distance has bits set. An orbit."""
    return Built(by_bits(job, [[*range(depth(job))]], tree=0), _claims_by_bits(job))


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
