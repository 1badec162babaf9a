"""Allgather on any network: in each step every node hears over as many arcs as it can, each arc bringing a chunk that it lacks.

Each node takes a maximum matching of its arcs with chunks that it lacks and that their tails hold (Kuhn's augmenting ways): those
first that no other node has chosen in this step, and that few nodes hold. Random numbers break ties; the plan is made again with
others until it takes as few steps as a lower bound, or the work allowed is done.
"""

from collections.abc import Iterator
from math import gcd
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treecast.collectives import Collective, Lengths
from treecast.collectives.traits import all_to_all, of_any_length
from treecast.errors import PlanError
from treecast.lower_bounds import is_least
from treecast.models import model
from treecast.networks import Network
from treecast.networks.arcs import arcs_of
from treecast.networks.core import Ints
from treecast.networks.kept import kept
from treecast.plans.built import NOTHING, Built, Job, joined, rows_over
from treecast.plans.lengths import Streams, in_streams
from treecast.plans.registry import builder
from treecast.plans.search import affordable, best_of
from treecast.plans.ways.trees.packed import number_of_seed
from treecast.ragged import places
from treecast.schedule import Claims, Payloads, Rows

_MOST_SENDS = 2**22  # of one message for each node
_MOST_MATCHED = 2**20  # sends that are matched one by one, where some would do for several messages
_TRIES = 16
_LOOK = 4  # units of work for two chunks of which one is looked at


class _Plan(NamedTuple):
    """An allgather of some chunks; its sends: int32 (3, sends), step, arc as in ``arcs_of``, chunk, numbered node by node."""

    steps: int
    sends: NDArray[np.int32]


def _lacks_need(job: Job[Network]) -> str:
    """Return why a network has relays, or is too large; empty when it will do."""
    if job.network.relays is not None:
        return f"is for networks without relays, and {job.network.spec} has some: builder priced-trees passes them"
    if job.network.nodes * (job.network.nodes - 1) > _MOST_SENDS:
        return f"matches up to {_MOST_SENDS:,} pairs of nodes, and {job.network.spec} has more"
    return ""


@builder(
    "spread",
    of_any_length(all_to_all),
    fits=_lacks_need,
    orbit=False,
    summary="each step joins the arcs into each node with chunks that it lacks, by a maximum matching",
)
def over_node_matchings(job: Job[Network]) -> Built:
    """All-port: each step joins the arcs into each node with chunks that it lacks, by a maximum matching; x = 1, anywhere.

    In most cases it takes max(diameter, ⌈M (N-1) / least in-degree⌉) steps, a lower bound. This is not proved; each schedule
    shows it. Of many messages several go together, in streams, over the plan for a few: the rows do not grow with M.
    Blocks may have different lengths.
    """
    network, collective = job.network, job.collective
    sends = int(collective.sizes().sum()) * (network.nodes - 1)
    if not sends:
        return NOTHING
    tried = (
        [(matched(network, tuple(some.counts.tolist())), some) for some in streams]
        for streams in (_unequal(job) if collective.lengths is not None else _equal(job))
    )

    def steps(parts: list[tuple[_Plan, Streams]]) -> tuple[int]:
        return (sum(part.steps * some.size for part, some in parts),)

    parts = best_of(tried, steps, lambda found: is_least(found, collective, network, model("all-port")))
    return Built(_rows(job, parts), Claims(*steps(parts), sends))


def _equal(job: Job[Network]) -> Iterator[list[Streams]]:
    """Yield ways to carry M messages of each node: so many at once, again and again, and the rest with the last of them."""
    messages, one = job.collective.messages, np.ones(job.network.nodes, np.int64)
    for each in _numbers(job.network, messages):
        times, rest = divmod(messages, each)
        if rest:  # goes with the last of the others: chunks sent together fill the arcs better
            times, rest = times - 1, rest + each
        parts = [Streams(one * each, times, 0 * one)] if times else []
        yield parts + ([Streams(one * rest, 1, each * times * one)] if rest else [])


def _unequal(job: Job[Network]) -> Iterator[list[Streams]]:
    """Yield ways to carry blocks of different lengths: a plan of as many flits as are matched one by one, then of those left.

    All flits at once where they are few enough. Else each stands for a stream of s, and the rest of each block follows.
    """
    for most in (_MOST_MATCHED // 16, _MOST_MATCHED // 256):
        yield list(in_streams(job.collective.sizes(), most // max(1, job.network.nodes - 1)))


def _numbers(network: Network, messages: int) -> list[int]:
    """Return of how many messages at once a plan is worth trying: all of them if that is little; else few that fill all arcs."""
    pairs = network.nodes * (network.nodes - 1)
    degree = int(np.diff(arcs_of(network).into).min())
    period = degree // gcd(degree, network.nodes - 1)  # of so many messages a node of least degree hears all arcs full
    found = [messages] if messages * pairs <= _MOST_MATCHED // 16 else []
    while period < messages and 2 * period * pairs <= _MOST_MATCHED:
        found.append(period)
        period *= 2
    return list(dict.fromkeys(found)) or [1]


def _is_least(steps: int, network: Network, counts: Ints) -> bool:
    """Return whether so many chunks of each node cannot reach all in fewer steps."""
    if counts.min() == counts.max():
        collective = Collective.over(network, "allgather", int(counts[0]))
    else:
        collective = Collective.over(network, "allgatherv", lengths=Lengths.of(counts))
    return is_least(steps, collective, network, model("all-port"))


@kept(8)
def matched(network: Network, chunks: tuple[int, ...]) -> _Plan:
    """Return the best plan that was found for so few chunks of each node. Raises PlanError."""
    from treecast.kernels.plans.node_matching import hear

    arcs, nodes, counts = arcs_of(network), network.nodes, np.array(chunks)
    tail, head = arcs.tail[arcs.entering], arcs.head[arcs.entering]
    owner = np.repeat(np.arange(nodes), counts)

    def tried(turn: int) -> _Plan:
        sends = np.empty((len(owner) * (nodes - 1), 3), np.int32)
        steps = int(hear(tail, head, arcs.into, owner, number_of_seed(turn), sends))
        if steps < 0:
            raise PlanError(f"{network.spec} is not connected: some node does not reach every other")
        step, slot, chunk = sends.T
        return _Plan(steps, np.stack([step, arcs.entering[slot], chunk]))

    tries = affordable(range(_TRIES), lambda turn: _LOOK * len(owner) ** 2 * nodes**2 // max(len(head), 1))
    return best_of(map(tried, tries), lambda found: (found.steps,), lambda steps: _is_least(steps, network, counts))


def _rows(job: Job[Network], parts: list[tuple[_Plan, Streams]]) -> Rows:
    """Return the rows of plans, one after the other: where a plan says one chunk it carries a stream."""
    found, later = list[Rows](), [0]
    for (steps, sends), (counts, size, before) in parts:
        step, arc, chunk = sends
        first = np.repeat(job.collective.begins() + before, counts) + places(counts) * size
        table = Payloads.of_ranges(first, first + size)
        found.append(rows_over(job.network, table, step.astype(np.int64) * size, arc, payload=chunk))
        later.append(later[-1] + steps * size)
    return joined(found, later[:-1])
