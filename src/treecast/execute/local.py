"""In-process execution: real bytes, moved step by step between one buffer per node."""

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treecast.errors import PlanError
from treecast.faults import Faults
from treecast.networks.core import Ints
from treecast.schedule import Schedule

_MOST_BYTES = 8 * 2**30
_MOST_MESSAGES = 10_000_000


@dataclass(frozen=True, eq=False)
class Execution:
    """What really happened when a schedule moved data between the buffers of the nodes.

    ``digests``: the SHA-256 of each node's buffer in hexadecimal, None where the node failed. ``digest``: of the data.
    ``held``: bool (N, chunks), which chunks each node ended with. ``first_tree``: int16 (N, chunks), over which tree it
    first got each, -1 where it did not. ``steps``, ``transmissions``: of the sends that took place. ``seconds``: taken.
    """

    schedule: Schedule
    faults: Faults
    size: int
    digest: str
    digests: list[str | None]
    held: NDArray[np.bool_]
    first_tree: NDArray[np.int16]
    steps: int
    transmissions: int
    seconds: float

    @property
    def living(self) -> list[int]:
        """The nodes that never fail."""
        return [node for node, digest in enumerate(self.digests) if digest is not None]

    @property
    def intact(self) -> list[int]:
        """The living nodes whose bytes are all there and right: every chunk held, the digest that of the data."""
        return [node for node in self.living if self.held[node].all() and self.digests[node] == self.digest]

    def lost(self, node: int) -> list[tuple[int, int]]:
        """Return the ranges (first, stop) of the chunks that a node does not end with."""
        without = np.flatnonzero(np.diff(np.concatenate(([1], self.held[node], [1]))))
        return list(zip(without[::2].tolist(), without[1::2].tolist(), strict=True))

    def by_tree(self, node: int) -> dict[int, int]:
        """Return how many chunks a node first got over each tree."""
        trees, counts = np.unique(self.first_tree[node][self.first_tree[node] >= 0], return_counts=True)
        return dict(zip(trees.tolist(), counts.tolist(), strict=True))


def chunk_bounds(size: int, messages: int) -> Ints:
    """Return where each of ``messages`` chunks of ``size`` bytes begins, and the end: int64 (messages + 1,).

    Chunk c is the bytes ⌊c·size/M⌋ … ⌊(c+1)·size/M⌋-1; lengths differ by one at most, and may be 0.
    """
    return np.array([chunk * size // messages for chunk in range(messages + 1)], np.int64)


def run(
    schedule: Schedule,
    data: bytes | memoryview,
    faults: Faults | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Execution:
    """Broadcast ``data`` by ``schedule``, moving its bytes between per-node buffers one step at a time.

    Nobody knows of ``faults``: each node sends what the schedule says when it is alive and holds it, else nothing.
    Raises PlanError for other collectives than broadcast or when the buffers would not fit in memory, FaultError when the
    root is dead from the start.
    """
    began = time.perf_counter()
    faults = faults or Faults()
    faults.check(schedule)
    nodes, messages, root = schedule.network.nodes, schedule.collective.messages, schedule.collective.root
    if schedule.collective.kind != "broadcast":
        raise PlanError(f"{schedule.collective.kind} cannot be run on a file yet: broadcast can")
    if nodes * (len(data) + 3 * messages) > _MOST_BYTES:
        raise PlanError(
            f"{nodes:,} buffers of {len(data):,} bytes do not fit in {_MOST_BYTES >> 30} GiB: take a smaller file or network"
        )
    if messages > _MOST_MESSAGES:
        raise PlanError(f"{messages:,} messages take too long to move one by one: plan for at most {_MOST_MESSAGES:,}")
    bounds = chunk_bounds(len(data), messages)
    buffers = np.zeros((nodes, len(data)), np.uint8)
    buffers[root] = np.frombuffer(data, np.uint8)
    held, first_tree = np.zeros((nodes, messages), bool), np.full((nodes, messages), -1, np.int16)
    held[root] = True
    never = schedule.steps + 1
    network = schedule.network
    node_dies, arc_dies = np.full(nodes, never), np.full(nodes * network.ports + 1, never)
    for node, step in faults.nodes.items():
        node_dies[node] = step
    for (node, port), step in faults.arcs.items():
        arc_dies[network.arc(node, port)] = step
    steps = transmissions = 0
    for sends in schedule.expand():
        alive = (node_dies[sends.src] > sends.step) & (arc_dies[network.arc(sends.src, sends.port)] > sends.step)
        sent = np.flatnonzero(alive & held[sends.src, sends.chunk])
        transmissions += len(sent)
        steps = sends.step + 1 if len(sent) else steps
        heard = sent[node_dies[sends.dst[sent]] > sends.step]
        src, dst, chunk = sends.src[heard], sends.dst[heard], sends.chunk[heard]
        for u, v, a, b in zip(
            src.tolist(), dst.tolist(), bounds[chunk].tolist(), bounds[chunk + 1].tolist(), strict=True
        ):
            buffers[v, a:b] = buffers[u, a:b]
        new = ~held[dst, chunk]
        first_tree[dst[new], chunk[new]] = sends.tree[heard][new]
        held[dst, chunk] = True
        if progress:
            progress(sends.step + 1, schedule.steps)
    digests = [None if node in faults.nodes else hashlib.sha256(buffers[node]).hexdigest() for node in range(nodes)]
    return Execution(
        schedule, faults, len(data), hashlib.sha256(data).hexdigest(), digests, held, first_tree,
        steps, transmissions, time.perf_counter() - began,
    )  # fmt: skip
