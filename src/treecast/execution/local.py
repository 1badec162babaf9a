"""In-process execution: real bytes, moved step by step between one buffer per node."""

import hashlib
import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treecast.collectives import Collective
from treecast.errors import PlanError
from treecast.networks.core import Ints
from treecast.progress import Progress, report, reporting
from treecast.schedule import Schedule
from treecast.simulation.faults import Faults

_MOST_BYTES = 8 * 2**30
_MOST_CHUNKS = 10_000_000


@dataclass(frozen=True, eq=False)
class Execution:
    """What really happened when a schedule moved data between the buffers of the nodes.

    ``wanted``: bool (N, chunks), what each node is to end with: nothing where it fails, and nothing that a node alone had
    that was dead from the start. ``digests``: the SHA-256, in hexadecimal, of what each node ended with of that, in the order
    of the chunks; None where the node failed. ``true_digests``: of what each node should end with. ``digest``: of the data.
    ``held``: bool (N, chunks), which chunks each node ended with; a sum, when all was there that it adds to it.
    ``first_tree``: int16 (N, chunks), over which tree it first got each, and the last contribution of a sum; -1 where it got
    none. ``steps``, ``transmissions``: of the sends that took place. ``seconds``: taken.
    """

    schedule: Schedule
    faults: Faults
    size: int
    digest: str
    digests: list[str | None]
    true_digests: list[str]
    wanted: NDArray[np.bool_]
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
        """The living nodes that hold every chunk that they are to end with, each of the right bytes."""
        return [
            node
            for node in self.living
            if self.digests[node] == self.true_digests[node] and not (self.wanted[node] & ~self.held[node]).any()
        ]

    def lost(self, node: int) -> list[tuple[int, int]]:
        """Return the ranges (first, stop) of the chunks that a node is to end with and does not."""
        return ranges(self.wanted[node] & ~self.held[node])

    def by_tree(self, node: int) -> dict[int, int]:
        """Return how many chunks a node first got over each tree; rows of no tree do not count."""
        trees, counts = np.unique(self.first_tree[node][self.first_tree[node] >= 0], return_counts=True)
        return dict(zip(trees.tolist(), counts.tolist(), strict=True))


def chunk_bounds(size: int, chunks: int) -> Ints:
    """Return where each of ``chunks`` chunks of ``size`` bytes begins, and the end: int64 (chunks + 1,).

    Chunk c is the bytes ⌊c·size/C⌋ … ⌊(c+1)·size/C⌋-1; lengths differ by one at most, and may be 0.
    """
    return np.array([chunk * size // chunks for chunk in range(chunks + 1)], np.int64)


def ranges(mask: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return the ranges (first, stop) of the entries that are set."""
    ends = np.flatnonzero(np.diff(np.concatenate(([0], mask, [0]))))
    return list(zip(ends[::2].tolist(), ends[1::2].tolist(), strict=True))


def wanted_chunks(collective: Collective, faults: Faults) -> NDArray[np.bool_]:
    """Return what each node is to end with under faults: bool (N, chunks).

    Nothing where the node fails, and nothing that a node alone had that was dead from the start.
    """
    wanted = np.zeros((collective.nodes, collective.chunks), bool)
    holdings = collective.wanted()
    for node, first, stop in zip(*(c.tolist() for c in (holdings.node, holdings.first, holdings.stop)), strict=True):
        wanted[node, first:stop] = True
    wanted[list(faults.nodes)] = False
    return wanted & faults.ever_existed(collective, np.arange(collective.chunks))


def check_size(collective: Collective, buffers: int, size: int) -> None:
    """Raise PlanError when ``buffers`` buffers of ``size`` bytes, or the chunks, are too many to be moved one by one."""
    if buffers * (size + (8 if collective.sums else 4) * collective.chunks) > _MOST_BYTES:
        raise PlanError(
            f"{buffers:,} buffers of {size:,} bytes and {collective.chunks:,} chunks do not fit in {_MOST_BYTES >> 30} GiB: "
            "take a smaller file or network"
        )
    if collective.chunks > _MOST_CHUNKS:
        raise PlanError(
            f"{collective.chunks:,} chunks take too long to move one by one: plan for at most {_MOST_CHUNKS:,}"
        )


def sha256(values: NDArray[np.uint8] | Ints, bounds: Ints, chunks: NDArray[np.bool_]) -> str:
    """Return the SHA-256, in hexadecimal, of the chunks that a mask marks: chunk c is values ``bounds[c] … bounds[c+1]-1``."""
    digest = hashlib.sha256()
    for first, stop in ranges(chunks):
        digest.update(values[bounds[first] : bounds[stop]].data)
    return digest.hexdigest()


def run(
    schedule: Schedule,
    data: bytes | memoryview,
    faults: Faults | None = None,
    *,
    progress: Progress | None = None,
) -> Execution:
    """Carry out a schedule on ``data``, moving its bytes between per-node buffers one step at a time.

    ``data`` is that of all nodes, in the order of the chunks. For sums it is cut into N equal parts, the last filled up with
    zeros: node h contributes part h, its bytes as unsigned numbers, and each sum is exact, in int64.
    Nobody knows of ``faults``: each node sends what the schedule says when it is alive and holds it, else nothing; a sum, when
    all is there that it adds to it. Raises PlanError when the buffers would not fit in memory, FaultError when the root is
    dead from the start.
    """
    with reporting(progress):
        return _run(schedule, data, faults)


def _run(schedule: Schedule, data: bytes | memoryview, faults: Faults | None) -> Execution:
    began = time.perf_counter()
    faults = faults or Faults()
    faults.check(schedule)
    collective, network = schedule.collective, schedule.network
    part = -(-len(data) // network.nodes)  # bytes that each node contributes to sums
    numbers = part * (2 if collective.results else 1)
    check_size(collective, network.nodes, 8 * numbers if collective.sums else len(data))
    if collective.sums:
        bounds, true, buffers = _contributions(collective, data, part)
    else:
        bounds, true = chunk_bounds(len(data), collective.chunks), np.frombuffer(data, np.uint8)
        buffers = np.zeros((network.nodes, len(data)), np.uint8)
    node_dies, arc_dies = faults.by_step(network)

    held = np.zeros((network.nodes, collective.chunks), bool)
    first_tree = np.full(held.shape, -1, np.int16)
    missing = _to_be_added(schedule)
    if collective.sums:
        held[:, : collective.sums] = (missing == 0) & (node_dies > 0)[:, None]
        _finish(collective, bounds, buffers, held, *np.nonzero(held[:, : collective.sums]))
    else:
        given = collective.given()
        for node, first, stop in zip(given.node.tolist(), given.first.tolist(), given.stop.tolist(), strict=True):
            if node_dies[node] > 0:
                buffers[node, bounds[first] : bounds[stop]] = true[bounds[first] : bounds[stop]]
                held[node, first:stop] = True

    said, heard_of = np.zeros((2, len(arc_dies) if schedule.sparing else 0, collective.chunks), bool)
    steps = transmissions = 0
    for sends in schedule.expand():
        arc = network.arc(sends.src, sends.port)
        speaks = (node_dies[sends.src] > sends.step) & held[sends.src, sends.chunk]
        if schedule.sparing:
            back = network.arc(sends.dst, network.port_between(sends.dst, sends.src))
            speaks &= ~said[arc, sends.chunk] & ~heard_of[back, sends.chunk]
            said[arc[speaks], sends.chunk[speaks]] = True
        sent = np.flatnonzero(speaks & (arc_dies[arc] > sends.step))
        transmissions += len(sent)
        steps = sends.step + 1 if len(sent) else steps
        heard = sent[node_dies[sends.dst[sent]] > sends.step]
        src, dst, chunk, tree = sends.src[heard], sends.dst[heard], sends.chunk[heard], sends.tree[heard]
        if schedule.sparing:
            heard_of[arc[heard], chunk] = True
        added = chunk < collective.sums
        for u, v, a, b, add in zip(
            *(c.tolist() for c in (src, dst, bounds[chunk], bounds[chunk + 1], added)), strict=True
        ):
            if add:
                buffers[v, a:b] += buffers[u, a:b]
            else:
                buffers[v, a:b] = buffers[u, a:b]
        np.subtract.at(missing, (dst[added], chunk[added]), 1)
        there = ~added
        there[added] = missing[dst[added], chunk[added]] == 0
        dst, chunk, tree = dst[there], chunk[there], tree[there]
        new = ~held[dst, chunk]
        first_tree[dst[new], chunk[new]] = tree[new]
        held[dst, chunk] = True
        if added.any():
            _finish(collective, bounds, buffers, held, dst, chunk)
        report(sends.step + 1, schedule.steps, "steps")

    wanted = wanted_chunks(collective, faults)
    return Execution(
        schedule, faults, len(data), hashlib.sha256(data).hexdigest(),
        [None if v in faults.nodes else sha256(buffers[v], bounds, wanted[v]) for v in range(network.nodes)],
        [sha256(true, bounds, wanted[v]) for v in range(network.nodes)],
        wanted, held, first_tree, steps, transmissions, time.perf_counter() - began,
    )  # fmt: skip


def _contributions(collective: Collective, data: bytes | memoryview, part: int) -> tuple[Ints, Ints, Ints]:
    """Return where each chunk begins, and the end; the true sums; and a buffer per node with its contribution.

    Finished sums lie behind the sums: int64 (chunks + 1,), (numbers,) and (N, numbers), for ``part`` numbers or twice as many.
    """
    padded = np.zeros(collective.nodes * part, np.uint8)
    padded[: len(data)] = np.frombuffer(data, np.uint8)
    parts = padded.reshape(collective.nodes, part)
    bounds, true = chunk_bounds(part, collective.sums), parts.sum(axis=0, dtype=np.int64)
    buffers = np.zeros((collective.nodes, part * (2 if collective.results else 1)), np.int64)
    buffers[:, :part] = parts
    if collective.results:
        bounds, true = np.concatenate([bounds, part + bounds[1:]]), np.tile(true, 2)
    return bounds, true, buffers


def _to_be_added(schedule: Schedule) -> NDArray[np.int32]:
    """Return how many contributions each node is to add to each sum: int32 (N, sums)."""
    count = np.zeros((schedule.network.nodes, schedule.collective.sums), np.int32)
    if count.size:
        for sends in schedule.expand():
            added = sends.chunk < schedule.collective.sums
            np.add.at(count, (sends.dst[added], sends.chunk[added]), 1)
    return count


def _finish(
    collective: Collective,
    bounds: Ints,
    buffers: NDArray[np.uint8] | Ints,
    held: NDArray[np.bool_],
    node: Ints,
    chunk: Ints,
) -> None:
    """Where a node has the last contribution to a sum that is its own, it has the finished sum; others' are passed over."""
    if not collective.results:
        return
    own = (chunk < collective.sums) & (collective.source_of(chunk) == node)
    for v, c in zip(node[own].tolist(), chunk[own].tolist(), strict=True):
        result = collective.sums + c
        buffers[v, bounds[result] : bounds[result + 1]] = buffers[v, bounds[c] : bounds[c + 1]]
        held[v, result] = True
