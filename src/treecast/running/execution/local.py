"""In-process execution: real bytes, moved step by step between one buffer per node."""

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from treecast.description import Description, count_of, describe, spell_counts, spell_range, spell_ranges
from treecast.networks.core import Ints
from treecast.progress import Progress
from treecast.running.execution.layout import (
    Bytes,
    Layout,
    add_numbers,
    check_memory,
    completions,
    digests_by_node,
    file_layout,
    mask_of,
    missing_contributions,
    ranges,
    ranges_by_node,
    shares_of,
    true_data,
)
from treecast.running.execution.outcome import Digested, Living, carry_out, table_of
from treecast.schedule import Schedule, Sends, describe_job
from treecast.simulation.faults import Faults, describe_delivery, describe_late, living_ranks, wanted

_FEW = 32  # sends
Take = Callable[[int, bytes], None]
"""The use of the bytes that a node ends with."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Execution(Digested):
    """The measured result of a schedule that moved data between the buffers of the nodes.

    Parameters
    ----------
    schedule, size, faults, digest, digests, true_digests, steps, transmissions, lost_sends, seconds
        The run, its data and its outcome, as ``Digested`` says.
    wanted : bool (N, chunks)
        The chunks that each node is to end with: none where it fails, and none whose only source was dead from the start.
    held : bool (N, chunks)
        Which chunks each node ended with; a sum, when all was there that it adds to it.
    first_tree : int16 (N, chunks)
        Over which tree it first got each, and the last contribution of a sum; -1 where it got none.

    Examples
    --------
    >>> import treecast
    >>> schedule = treecast.plan("broadcast", "star:4", messages=6, survive=2)
    >>> done = treecast.run(schedule, b"the quick brown fox", ["2134"])
    >>> len(done.intact), done.digests[6] is None, done.by_tree(23)
    (23, True, {1: 6})
    """

    wanted: NDArray[np.bool_]
    held: NDArray[np.bool_]
    first_tree: NDArray[np.int16]

    def __repr__(self) -> str:
        reached = f"{len(self.intact):,} of {count_of(len(self.living), 'living node')} intact"
        return f"<Execution on {count_of(self.size, 'byte')}: {reached}, {count_of(self.steps, 'step')}>"

    @property
    def living(self) -> list[int]:
        """The nodes that take part and never fail."""
        return np.flatnonzero(living_ranks(self.schedule.collective, self.faults)).tolist()

    @property
    def intact(self) -> list[int]:
        """The living nodes that hold every chunk that they are to end with, each of the right bytes."""
        return [
            node
            for node in self.living
            if self.digests[node] == self.true_digests[node] and not (self.wanted[node] & ~self.held[node]).any()
        ]

    @property
    def holds(self) -> bool:
        """Whether a node lives, and every living node is intact."""
        return len(self.intact) == len(self.living) > 0

    def lost(self, node: int) -> list[tuple[int, int]]:
        """Return the ranges (first, stop) of the chunks that a node is to end with and does not."""
        return ranges(self.wanted[node] & ~self.held[node])

    def by_tree(self, node: int) -> dict[int, int]:
        """Return how many chunks a node first got over each tree; rows of no tree do not count."""
        trees, counts = np.unique(self.first_tree[node][self.first_tree[node] >= 0], return_counts=True)
        return dict(zip(trees.tolist(), counts.tolist(), strict=True))


def run(
    schedule: Schedule,
    data: bytes | memoryview,
    faults: Faults | None = None,
    *,
    progress: Progress | None = None,
    take: Take | None = None,
    layout: Layout | None = None,
) -> Execution:
    """Carry out a schedule on ``data``, step by step, as ``treecast.run`` says; ``relay`` is for a scatterv or gatherv.

    ``take`` is called at the end with each living node that ends with all it wants, and its bytes, in the order of the chunks.
    ``layout``: where the chunks lie in the data; default: it is one file.
    """
    # 1. Layout and buffers, and what nodes have at first.
    began, faults = time.perf_counter(), faults or Faults()
    layout = layout or file_layout(schedule.collective, len(data), schedule.sizes)
    collective, nodes = schedule.collective, schedule.network.nodes
    living = Living(schedule, faults)
    check_memory(collective, nodes, layout.size)
    state = _RunState(schedule, layout, living)
    true = state.begin(data)

    def do(sends: Sends) -> tuple[int, int, Callable[[], None]]:
        sent, heard = _find_sent(state, sends)
        said = state.memory.copy() if collective.shared else state.memory  # the sums so far change
        return len(sent), len(sent) - len(heard), partial(_receive, state, sends, heard, said)

    # 2. Move bytes, step by step.
    went = carry_out(schedule, faults, began, do, progress)
    # 3. What each node has in the end, and whether it is right.
    to_have = wanted(collective, faults)
    every = ranges_by_node(to_have, nodes)
    digests, true_digests = digests_by_node(layout, state.memory, true, every)
    done = Execution(
        size=len(data),
        digest=hashlib.sha256(data).hexdigest(),
        digests=[None if node in faults.nodes else digest for node, digest in enumerate(digests)],
        true_digests=true_digests,
        wanted=mask_of(to_have, nodes, collective.chunks),
        held=state.held,
        first_tree=state.first_tree,
        **went,
    )
    for node in done.intact if take is not None else ():
        if take is not None and every[node]:
            take(node, b"".join(state.memory[node, layout.slice_of(*chunks)].data for chunks in every[node]))
    return done


class _RunState:
    """The data of all nodes at some step; the arrays change as the schedule goes on.

    ``memory``: uint8 (N, bytes). ``held``, ``first_tree``: as in an Execution. ``missing``: int32 (N, sums), the contributions
    that a node still has to add; ``due``: those whose step is still to come. ``completes``: bool (N, sums), which sums a node
    completes. ``sent_over``, ``received_over``: bool (arcs, chunks), which chunks were sent over each arc of a sparing schedule,
    and which arrived there.
    """

    def __init__(self, schedule: Schedule, layout: Layout, living: Living) -> None:
        nodes, chunks = schedule.network.nodes, schedule.collective.chunks
        self.schedule, self.layout, self.living = schedule, layout, living
        self.memory, self.held = np.zeros((nodes, layout.size), np.uint8), np.zeros((nodes, chunks), bool)
        self.first_tree = np.full((nodes, chunks), -1, np.int16)
        self.missing = missing_contributions(schedule)
        self.due, self.completes = self.missing.copy(), completions(schedule)
        arcs = len(living.arc_dies) if schedule.sparing else 0
        self.sent_over, self.received_over = np.zeros((2, arcs, chunks), bool)

    def begin(self, data: bytes | memoryview) -> Bytes:
        """Give nodes their data before the first step; return the true data, laid out like a node's memory."""
        collective, layout, lives = self.schedule.collective, self.layout, self.living.node_dies > 0
        shares = [(share, data[share.there]) for share in shares_of(collective, layout)]
        for share, piece in shares:
            if lives[share.node]:
                share.put(piece, self.memory[share.node])
        self.held[:] = mask_of(collective.given(), *self.held.shape) & lives[:, None]
        if not collective.sums:
            return np.frombuffer(data, np.uint8)
        sums = self.held[:, : collective.sums]
        # a node has its own part of a sum, which is no sum yet; sums that nobody owns go as they are so far
        sums &= (self.missing == 0) | collective.shared
        _finish(self, *np.nonzero(sums & (self.missing == 0)))
        return true_data(collective, layout, shares)


def _find_sent(state: _RunState, sends: Sends) -> tuple[Ints, Ints]:
    """Return which sends of a step take place, and which of these arrive: places in ``sends``."""
    network, schedule = state.schedule.network, state.schedule
    speaks = state.living.can_send(sends.step, sends.src) & state.held[sends.src, sends.chunk]
    if schedule.initiator is not None:  # a node that it has not started sends nothing
        first, stop = (schedule.collective.messages * at for at in (schedule.initiator, schedule.initiator + 1))
        speaks &= ((sends.chunk >= first) & (sends.chunk < stop)) | state.held[sends.src, first]
    if schedule.sparing:
        # a sparing node is silent over arcs by which it has sent a chunk, or got it
        arc = network.arc(sends.src, sends.port)
        back = network.arc(sends.dst, network.back(sends.src, sends.port))
        # who answers sends back what came: the last row is of no arc
        back = np.where(schedule.answers[sends.row], len(state.received_over) - 1, back)
        speaks &= ~state.sent_over[arc, sends.chunk] & ~state.received_over[back, sends.chunk]
        state.sent_over[arc[speaks], sends.chunk[speaks]] = True
    arrives = state.living.can_hear(sends.step, sends.src, sends.port, sends.dst)
    return np.flatnonzero(speaks), np.flatnonzero(speaks & arrives)


def _receive(state: _RunState, sends: Sends, heard: Ints, said: Bytes) -> None:
    """Let nodes take in the sends of a step that reach them: add them to sums, or keep the first copy.

    ``said``: the memory of all nodes when they were sent.
    """
    src, dst, chunk, tree = sends.src[heard], sends.dst[heard], sends.chunk[heard], sends.tree[heard]
    if state.schedule.sparing:
        state.received_over[state.schedule.network.arc(src, sends.port[heard]), chunk] = True
    sums, shared = state.schedule.collective.sums, state.schedule.collective.shared
    if sums:
        added = chunk < sums
        there = ~added
        if shared:
            _receive_shared(state, sends, heard, said)
        else:
            _move(state, src[added], dst[added], chunk[added], add=True)
            np.subtract.at(state.missing, (dst[added], chunk[added]), 1)
            there[added] = state.missing[dst[added], chunk[added]] == 0
        _move(state, src[~added], dst[~added], chunk[~added])
        dst, chunk, tree = dst[there], chunk[there], tree[there]
    new = ~state.held[dst, chunk]
    if not sums:
        _move(state, src[new], dst[new], chunk[new])
    # of copies that come in one step the first row counts, as in a replay
    _, first = np.unique(dst[new] * state.held.shape[1] + chunk[new], return_index=True)
    state.first_tree[dst[new][first], chunk[new][first]] = tree[new][first]
    state.held[dst, chunk] = True
    if sums and not shared:
        _finish(state, dst, chunk)


def _receive_shared(state: _RunState, sends: Sends, heard: Ints, said: Bytes) -> None:
    """Let nodes add contributions of a step to sums that nobody owns; who lacks some of it sends no more of the sum."""
    sums = state.schedule.collective.sums
    heard = heard[sends.chunk[heard] < sums]
    chunks = sends.chunk[sends.chunk < sums]
    for u, v, c in zip(*(column[heard].tolist() for column in (sends.src, sends.dst, sends.chunk)), strict=True):
        place = state.layout.slice_of(c, c + 1)
        add_numbers(state.memory[v, place], said[u, place])
    at = sends.dst[sends.chunk < sums], chunks
    np.subtract.at(state.due, at, 1)  # whether it is heard or not
    np.subtract.at(state.missing, (sends.dst[heard], sends.chunk[heard]), 1)
    # all that was to come by now has come
    state.held[at] = state.missing[at] == state.due[at]
    node, chunk = np.unique(np.stack(at), axis=1)
    whole = state.missing[node, chunk] == 0
    _finish(state, node[whole], chunk[whole])


def _move(state: _RunState, src: Ints, dst: Ints, chunk: Ints, add: bool = False) -> None:
    """Copy chunks from node to node, or add them: consecutive chunks between the same two nodes are one run of bytes."""
    memory, bounds = state.memory, state.layout.bounds
    first = last = np.arange(len(chunk))
    if len(chunk) > _FEW:  # to look for runs among fewer would take longer than to move each chunk
        goes_on = (src[1:] == src[:-1]) & (dst[1:] == dst[:-1]) & (chunk[1:] == chunk[:-1] + 1)
        first = np.flatnonzero(np.append(True, ~goes_on))
        last = np.append(first[1:], len(chunk)) - 1
    columns = zip(
        *(column.tolist() for column in (src[first], dst[first], bounds[chunk[first]], bounds[chunk[last] + 1])),
        strict=True,
    )
    if add:
        for u, v, a, b in columns:
            add_numbers(memory[v, a:b], memory[u, a:b])
        return
    for u, v, a, b in columns:
        memory[v, a:b] = memory[u, a:b]


def _finish(state: _RunState, node: Ints, chunk: Ints) -> None:
    """Where a node has the last contribution to a sum that it completes, it has the finished sum; others' are passed over."""
    collective, layout = state.schedule.collective, state.layout
    if not collective.results:
        return
    own = (chunk < collective.sums) & state.completes[node, np.minimum(chunk, collective.sums - 1)]
    for v, c in zip(node[own].tolist(), chunk[own].tolist(), strict=True):
        result = collective.sums + c
        state.memory[v, layout.slice_of(result, result + 1)] = state.memory[v, layout.slice_of(c, c + 1)]
        state.held[v, result] = True


@describe.register
def _(done: Execution) -> Description:
    intact, living = set(done.intact), len(done.living)

    def verdict(node: int) -> str:
        return "dead" if done.digests[node] is None else "intact" if node in intact else "INCOMPLETE"

    def lost(node: int) -> list[tuple[int, int]]:
        return [] if done.digests[node] is None else done.lost(node)

    nodes = done.reports(verdict, by_tree=done.by_tree, lost=lost)
    figures = {
        "bytes": done.size,
        "sha256": done.digest,
        "lost": [{"node": one["node"], "chunks": chunks} for one in nodes for chunks in one["lost"]],
        **done.figures_of_run(),
        "node_reports": nodes,
    }
    faults = done.faults.describe(done.schedule.network)
    lacking = [f"{one['node']} lacks {spell_range(*chunks)}" for one in nodes for chunks in one["lost"]]
    begin = describe_delivery(len(intact), living, faults, lacking, (done.schedule.collective.member, "faults"))
    begin = begin.joined(describe_late(done.schedule, done.faults))
    begin = begin.adding(lines={"input": count_of(done.size, "byte"), "sha256": done.digest})
    table = table_of(
        nodes,
        {"intact": "good", "dead": "quiet", "INCOMPLETE": "bad"},
        ("tree:chunks", "by_tree", spell_counts),
        ("lacks", "lost", spell_ranges),
    )
    return begin.joined(describe_job(done.schedule)).adding(figures, done.lines_of_run(), table)
