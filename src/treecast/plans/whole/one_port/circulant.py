"""Broadcast over one port on complete networks in M - 1 + ⌈log2 N⌉ steps, the fewest there can be, for every N and M.

Communication model: store-and-forward, one-port, full duplex, one message of fixed length per arc and step.
Source: Träff, arXiv 2205.10072, 2312.11236 and 2407.18004; see ``skips``.

All nodes that have something to send it do so to the node as many labels on as the step's skip says. Run backwards it is a
reduction: every node but the root receives every chunk once.
"""

from typing import NamedTuple

import numpy as np

from treecast.networks.complete import Complete
from treecast.networks.core import Ints
from treecast.plans.built import Built, Job, rows_between
from treecast.plans.registry import builder
from treecast.plans.whole.one_port.models import COMBINING, EITHER, check_rows
from treecast.plans.whole.one_port.skips import receive_lists, skips
from treecast.schedule import Claims, Payloads, Rows


def claims(job: Job[Complete]) -> Claims:
    """Return M - 1 + ⌈log2 N⌉ steps and M (N - 1) transmissions of each source."""
    others, messages = job.network.nodes - 1, job.collective.messages
    sources = job.network.nodes if job.collective.all_source else 1
    return Claims(messages - 1 + others.bit_length() if others else 0, messages * others * sources)


def at(job: Job[Complete], node: int) -> Built:
    """One-port: the rows of one node in ``broadcast``, from its label alone."""
    node = int(job.network.untranslate(job.collective.root, node))
    return Built(_rows(job, sends_of(job.network.nodes, job.collective.messages, node)), claims(job))


@builder(
    "circulant",
    "broadcast",
    on=Complete,
    under=EITHER,
    claims=claims,
    at=at,
    summary="all send as many labels on, in turns of ⌈log2 N⌉ skips (Träff)",
)
def broadcast(job: Job[Complete]) -> Built:
    """One-port: M - 1 + ⌈log2 N⌉ steps, M (N - 1) transmissions: both are the fewest there can be."""
    nodes, messages = job.network.nodes, job.collective.messages
    check_rows(messages, nodes - 1, job.network)
    return Built(_rows(job, sends_of(nodes, messages)), claims(job))


@builder(
    "circulant",
    "allgather",
    on=Complete,
    under=COMBINING,
    claims=claims,
    summary="all broadcasts by skips (Träff) at once: each message holds a chunk of each node at most",
)
def allgather(job: Job[Complete]) -> Built:
    """One-port, combining: the broadcasts of all nodes at once, as an orbit: in a step all go as many labels on.

    M - 1 + ⌈log2 N⌉ steps, M (N - 1) N transmissions. A message holds one chunk of each source at most.
    """
    return Built(broadcast(job).rows, claims(job))


class Sends(NamedTuple):
    """Sends of one chunk each: when, from where and to where, which chunk; int64 of one length. Nodes count from the root."""

    step: Ints
    source: Ints
    target: Ints
    chunk: Ints


def sends_of(nodes: int, messages: int, node: int | None = None) -> Sends:
    """Return the sends of a broadcast, or those to and from one node, found from its label alone.

    The last step ends a period, so those at the beginning of the first period that are too many are left out. Chunks beyond the
    last are the last.

    >>> for send in zip(*sends_of(3, 2, 1)):
    ...     print(*send)
    1 0 1 1
    2 2 1 0
    """
    skip = np.array(skips(nodes)[:-1], np.int64)
    step = np.arange(messages - 1 + len(skip) if nodes > 1 else 0)
    index = (step + (1 - messages) % len(skip)) % len(skip) if nodes > 1 else step
    if node is None:
        target = np.arange(1, nodes)[:, None]
        entry = receive_lists(nodes, target[:, 0])[:, index]
    else:
        target = np.stack([np.full_like(step, node), (node + skip[index]) % nodes])
        lists = receive_lists(nodes, np.append(node, (node + skip) % nodes))
        entry = np.stack([lists[0, index], lists[1 + index, index]])
    chunk = np.where(target > 0, np.minimum(entry + step - index, messages - 1), -1)
    every = np.broadcast_arrays(step, (target - skip[index]) % nodes, target, chunk)
    return Sends(*(column[chunk >= 0] for column in every))


def _rows(job: Job[Complete], sends: Sends) -> Rows:
    """Return rows of one chunk each."""
    network, chunks = job.network, np.arange(job.collective.messages)
    source, target = (network.translate(job.collective.root, u) for u in (sends.source, sends.target))
    return rows_between(
        network, Payloads.of_ranges(chunks, chunks + 1), sends.step, source, target, payload=sends.chunk
    )
