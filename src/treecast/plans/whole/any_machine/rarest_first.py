"""Plans for any machine by exchange, step by step: whatever is free carries the rarest chunk that the other end lacks.

Communication model: any in which a message is one chunk and nodes keep the chunks that they relay.
Disjoint trees use the arcs of a root as they fill, and an exchange uses all of them from the first step on. So it is good for
some ten messages, and for one port. The arcs are asked by the rarity of the chunk that they would carry, or by how much their
heads lack. Ties go by chance, several times. Then the ways are timed from the end and from the start again.
"""

from collections.abc import Iterable
from itertools import product

import numpy as np
from numpy.typing import NDArray

from treecast.errors import PlanError
from treecast.models import Takes, takes
from treecast.networks import Network
from treecast.networks.arcs import arcs_of
from treecast.networks.core import Ints
from treecast.plans.built import Built, Job, best_of
from treecast.plans.registry import any_machine
from treecast.plans.times.timetable import Timed, there_and_back
from treecast.plans.ways.trees.packed import number_of_seed
from treecast.plans.ways.ways import Ways, pairs_of
from treecast.plans.whole.any_machine.known import least_steps
from treecast.schedule import Payloads

_MOST_WORK = 2**25  # arcs, chunks and steps of all tries, multiplied
_TRIES = 8


def _work(job: Job[Network]) -> int:
    chunks = job.collective.chunks
    return job.network.arcs * chunks * (chunks + job.network.nodes)


def _fits(job: Job[Network]) -> str:
    if job.model.combining:
        return "is for models under which a message is one chunk"
    if _work(job) > _MOST_WORK:
        return f"looks at every chunk at every arc in every step, {_work(job):,} times, and {_MOST_WORK:,} at most"
    return ""


@any_machine(
    "rarest-first",
    "broadcast",
    "allgather",
    "allgatherv",
    fits=_fits,
    orbit=False,
    rank=100,
    what="step by step, each free arc carries the rarest chunk that the other end lacks; timed from both ends again",
)
def rarest_first(job: Job[Network]) -> Built:
    """Any machine on which a message is one chunk: the fewest steps of some exchanges, timed from both ends again.

    It is not proved how near the bound this is: each schedule shows it.
    """
    least, tries = least_steps(job), max(1, min(_TRIES, _MOST_WORK // max(1, _work(job))))
    some = list(product(range(1, _TRIES), (False, True)))[:tries]
    found = (there_and_back(_exchanged(job, seed, by_need), least=least) for seed, by_need in some)
    return best_of(found, lambda timed: timed.cost, least).built()


def exchanged(
    network: Network, wanted: Takes, given: Iterable[tuple[int, int, int]], *, chunks: int, seed: int, by_need: bool
) -> tuple[Ints, Ints, Ints]:
    """Return the step, arc and chunk of each send of an exchange in which all ranks get all chunks, int64, in order of steps.

    ``wanted``: the resources of arcs. ``given``: who has which ``chunks``: a node, the first and the one behind the last. Arcs
    are asked by how much their heads lack, ``by_need``, or else by the rarity of the chunk they would carry. Raises PlanError
    when some rank cannot be reached.
    """
    from treecast.kernels.plans.rarest_first import spread

    has, wants = np.zeros((network.nodes, chunks), np.bool_), np.zeros(network.nodes, np.bool_)
    for node, first, stop in given:
        has[node, first:stop] = True
    wants[network.ranks] = True
    sent, busy = np.empty((network.nodes * chunks, 3), np.int32), np.full((wanted.resources, 2), -1)
    columns = (*arcs_of(network)[:5], wanted.resource, wanted.key, busy, has, wants)
    count, steps = spread(*columns, by_need, number_of_seed(seed), 4 * (chunks + network.nodes), sent)
    if steps < 0:
        raise PlanError(f"an exchange of {chunks:,} chunks on {network.spec} did not end: some node is not reached")
    step, arc, chunk = sent[:count].astype(np.int64).T
    return step, arc, chunk


def _exchanged(job: Job[Network], seed: int, by_need: bool) -> Timed:
    """Return the sends of one exchange, and their steps, without sends that nobody needs."""
    network, collective, arcs = job.network, job.collective, arcs_of(job.network)
    chunks, wants = collective.chunks, np.isin(np.arange(network.nodes), network.ranks)
    wanted = takes(job.model, network)
    sent = exchanged(network, wanted, collective.given(), chunks=chunks, seed=seed, by_need=by_need)
    step, arc, chunk = np.stack(sent)[:, _needed(network, wants, *sent[1:])]
    at = chunk * network.nodes
    pairs = pairs_of(at + arcs.head[arc], at + arcs.tail[arc])
    payloads = Payloads.of_ranges(np.arange(chunks), np.arange(1, chunks + 1))
    ways = Ways(network, arc, chunk, payloads, np.full_like(arc, -1), np.zeros_like(arc), *pairs)
    return Timed(ways, job.model, step, int(step.max(initial=-1)) + 1)


def _needed(network: Network, wants: NDArray[np.bool_], arc: Ints, chunk: Ints) -> NDArray[np.bool_]:
    """Return which sends, in the order of their steps, bring a node a chunk that it wants or sends on: relays want nothing."""
    arcs = arcs_of(network)
    needed = wants[arcs.head[arc]]
    if not needed.all():
        tail: list[int] = arcs.tail[arc].tolist()
        head: list[int] = arcs.head[arc].tolist()
        passed = set[tuple[int, int]]()
        chunks: list[int] = chunk.tolist()
        for i in reversed(range(len(chunks))):
            c = chunks[i]
            needed[i] |= (head[i], c) in passed
            if needed[i]:
                passed.add((tail[i], c))
    return needed
