"""Broadcast over one port on complete networks in M - 1 + ⌈log2 N⌉ steps, the fewest there can be, for every N and M.

Communication model: store-and-forward, one-port, full duplex, one message of fixed length per arc and step.
Source: Träff, arXiv 2205.10072, 2312.11236 and 2407.18004; see ``skips``.

All nodes that have something to send it do so to the node as many labels on as the step's skip says. Run backwards it is a
reduction: every node but the root receives every chunk once.
"""

import numpy as np

from treecast.networks.complete import Complete
from treecast.networks.core import Ints
from treecast.plans.built import Built, Job
from treecast.plans.registry import builder
from treecast.plans.whole.one_port.models import COMBINING, EITHER, check_rows
from treecast.plans.whole.one_port.skips import lists_of, receive_lists, skips
from treecast.schedule import Claims, Payloads, Rows


def claims(job: Job[Complete]) -> Claims:
    """Return M - 1 + ⌈log2 N⌉ steps and M (N - 1) transmissions of each source."""
    others, messages = job.network.nodes - 1, job.collective.messages
    sources = job.network.nodes if job.collective.all_source else 1
    return Claims(messages - 1 + others.bit_length() if others else 0, messages * others * sources)


def at(job: Job[Complete], node: int) -> Built:
    """One-port: the rows of one node in ``broadcast``, from its label alone."""
    network, root, messages = job.network, job.collective.root, job.collective.messages
    every, seen = skips(network.nodes), int(network.untranslate(root, node))
    if len(every) == 1:
        return Built(_rows(job, *np.zeros((3, 0), np.int64)), claims(job))
    received, sent = lists_of(network.nodes, seen)
    step, index = steps_of(messages, len(every) - 1)
    skip = np.array(every)[index]
    heard = np.where(seen == 0, -1, chunks_of(received[index], step, index, messages))
    told = np.where((seen + skip) % network.nodes == 0, -1, chunks_of(sent[index], step, index, messages))
    source = np.concatenate([(seen - skip) % network.nodes, np.full(len(step), seen)])
    return Built(_rows(job, np.tile(step, 2), source, np.concatenate([heard, told])), claims(job))


@builder(
    "circulant",
    "broadcast",
    on=Complete,
    under=EITHER,
    claims=claims,
    at=at,
    what="all send as many labels on, in turns of ⌈log2 N⌉ skips (Träff)",
    rank=10,
)
def broadcast(job: Job[Complete]) -> Built:
    """One-port: M - 1 + ⌈log2 N⌉ steps, M (N - 1) transmissions: both are the fewest there can be."""
    nodes, messages = job.network.nodes, job.collective.messages
    every = skips(nodes)
    if len(every) == 1:
        return Built(_rows(job, *np.zeros((3, 0), np.int64)), claims(job))
    check_rows(messages, nodes - 1, job.network)
    step, index = steps_of(messages, len(every) - 1)
    node = np.arange(1, nodes)
    lists = receive_lists(nodes, node)
    chunk = chunks_of(lists[:, index], step, index, messages)
    source = (node[:, None] - np.array(every)[index]) % nodes
    step = np.broadcast_to(step, chunk.shape)
    return Built(_rows(job, step.reshape(-1), source.reshape(-1), chunk.reshape(-1)), claims(job))


@builder(
    "circulant",
    "allgather",
    on=Complete,
    under=COMBINING,
    claims=claims,
    what="all broadcasts by skips (Träff) at once: each message holds a chunk of each node at most",
    rank=30,
)
def allgather(job: Job[Complete]) -> Built:
    """One-port, combining: the broadcasts of all nodes at once, as an orbit: in a step all go as many labels on.

    M - 1 + ⌈log2 N⌉ steps, M (N - 1) N transmissions. A message holds one chunk of each source at most.
    """
    return Built(broadcast(job).rows, claims(job))


def steps_of(messages: int, q: int) -> tuple[Ints, Ints]:
    """Return the steps of a broadcast, and the index of the skip of each: int64 (M - 1 + q,) both.

    The last step ends a period, so those at the beginning of the first period that are too many are left out.
    """
    step = np.arange(messages - 1 + q)
    return step, (step + (1 - messages) % q) % q


def chunks_of(entry: Ints, step: Ints, index: Ints, messages: int) -> Ints:
    """Return the chunk that a list's entries stand for in each step: negative for none; those beyond the last are the last.

    ``entry``: int64 (…, steps), the entries of a list at ``index``.
    """
    period = step - index  # of the first step of each, less the steps left out
    return np.minimum(entry + period, messages - 1)


def _rows(job: Job[Complete], step: Ints, source: Ints, chunk: Ints) -> Rows:
    """Return rows of one chunk each, to the node a step's skip on; those of negative chunks are left out.

    ``source`` counts from the root.
    """
    network, messages = job.network, job.collective.messages
    kept = np.flatnonzero(chunk >= 0)
    step, source, chunk = step[kept], source[kept], chunk[kept]
    every = skips(network.nodes)
    index = (step + (1 - messages) % (len(every) - 1)) % (len(every) - 1) if len(kept) else step
    skip = np.array(every)[index]
    src = network.translate(job.collective.root, source)
    dst = network.translate(src, skip)
    chunks = np.arange(messages)
    table = Payloads.of_ranges(chunks, chunks + 1)
    return Rows.of(table, step=step, src=src, dst=dst, port=skip - 1, payload=chunk)
