"""Election: when some nodes or arcs alter chunks in passing, each node takes the value that most of its copies have.

A chunk reaches each node over x = ``copies`` node-disjoint paths, so one liar alters at most one copy of it, and one dead node
or arc takes away at most one. While c + 2l < x, c dead and l lying ones do no harm but to data of their own. Nobody knows who
lies or is dead. A node passes on, in a tree, the copy it got in that tree, not the value it would elect. Bytes move in process,
between one buffer per tree and node.
"""

import hashlib
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treecast.description import Description, count_of, describe, spell_ranges
from treecast.progress import Progress
from treecast.running.execution.layout import Bytes, Layout, Ranges, check_memory, file_layout, ranges, ranges_by_node
from treecast.running.execution.outcome import Digested, Living, carry_out, table_of
from treecast.schedule import Schedule, Sends, describe_job
from treecast.simulation.faults import Faults, wanted
from treecast.simulation.lies import check_liars, describe_election, honest_nodes

_RIGHT, _UNDECIDED, _FOOLED = 1, 2, 3


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Election(Digested):
    """The bytes that every node elected when some nodes and arcs altered chunks in passing.

    Parameters
    ----------
    schedule, size, faults, digest, digests, true_digests, steps, transmissions, lost_sends, seconds
        The run, its data and its outcome, as ``Digested`` says; digests are of the bytes that each node elected, with zeros
        where it is undecided.
    liars : Faults
        Who lied.
    elected : int8 (N, chunks)
        The outcome of each chunk that a node wants: 1 it elected the right bytes, 2 no bytes had more votes than all others,
        3 it elected wrong bytes; 0 it does not want it.
    altered : int
        How many sends carried bytes that a liar put in.

    Examples
    --------
    >>> import treecast
    >>> schedule = treecast.plan("broadcast", "star:4", messages=6, copies=3)
    >>> election = treecast.elect(schedule, b"the quick brown fox", ["2134", "3214"])
    >>> election.tolerates, len(election.honest), len(election.right), len(election.fooled) > 0
    (1, 22, 1, True)
    """

    liars: Faults
    elected: NDArray[np.int8]
    altered: int

    def __repr__(self) -> str:
        reached = f"{len(self.right):,} of {count_of(len(self.honest), 'honest node')} right"
        return f"<Election under {count_of(len(self.liars), 'liar')}: {reached}, {count_of(self.steps, 'step')}>"

    @property
    def tolerates(self) -> int:
        """How many liars, nodes or arcs as the copies are against, can be outvoted when nothing fails: ⌊(copies-1)/2⌋."""
        return (self.schedule.copies - 1) // 2

    @property
    def honest(self) -> list[int]:
        """The nodes that neither lie nor fail; only their verdicts count."""
        return honest_nodes(self.schedule, self.liars, self.faults)

    @property
    def right(self) -> list[int]:
        """The honest nodes that elected all that they want as it is."""
        return [node for node in self.honest if self.elected[node].max(initial=0) <= _RIGHT]

    @property
    def fooled(self) -> list[int]:
        """The honest nodes that elected wrong bytes for some chunk."""
        return [node for node in self.honest if (self.elected[node] == _FOOLED).any()]

    @property
    def undecided(self) -> list[int]:
        """The honest nodes that elected nothing wrong, but nothing at all for some chunk."""
        return [node for node in self.honest if self.elected[node].max(initial=0) == _UNDECIDED]

    @property
    def holds(self) -> bool:
        """Whether every honest node elected all that it wants as it is."""
        return len(self.right) == len(self.honest)

    def fooled_chunks(self, node: int) -> list[tuple[int, int]]:
        """Return the ranges (first, stop) of the chunks for which a node elected wrong bytes."""
        return ranges(self.elected[node] == _FOOLED)

    def undecided_chunks(self, node: int) -> list[tuple[int, int]]:
        """Return the ranges (first, stop) of the chunks for which a node elected nothing."""
        return ranges(self.elected[node] == _UNDECIDED)


@describe.register
def _(election: Election) -> Description:
    schedule, right, fooled, undecided = election.schedule, election.right, election.fooled, election.undecided
    verdicts = dict.fromkeys(right, "right") | dict.fromkeys(fooled, "WRONG") | dict.fromkeys(undecided, "UNDECIDED")
    verdicts |= dict.fromkeys(election.faults.nodes, "dead")
    nodes = election.reports(
        lambda node: verdicts.get(node, "lies"), fooled=election.fooled_chunks, undecided=election.undecided_chunks
    )
    figures = {
        "bytes": election.size,
        "sha256": election.digest,
        "tolerates": election.tolerates,
        **election.figures_of_run(),
        "altered": election.altered,
        "node_reports": nodes,
    }
    table = table_of(
        nodes,
        {"right": "good", "lies": "quiet", "dead": "quiet", "WRONG": "bad", "UNDECIDED": "bad"},
        ("wrong", "fooled", spell_ranges),
        ("undecided", "undecided", spell_ranges),
    )
    begin = describe_election(schedule, (election.liars, election.faults), right, fooled, undecided)
    begin = begin.adding(lines={"input": count_of(election.size, "byte"), "sha256": election.digest})
    lines = election.lines_of_run(f", {election.altered:,} altered")
    return begin.joined(describe_job(schedule)).adding(figures, lines, table)


def elect(
    schedule: Schedule,
    data: bytes | memoryview,
    liars: Faults,
    faults: Faults | None = None,
    *,
    progress: Progress | None = None,
) -> Election:
    """Carry out a schedule on ``data`` while ``liars`` alter chunks in passing, as ``treecast.elect`` says.

    With several copies a node sends on in a tree only the copy it got in that tree, so that no liar alters two of them. With
    one copy it sends on the first that came.
    """
    # 1. Who lies, and room for all data.
    began, faults = time.perf_counter(), faults or Faults()
    check_liars(schedule, liars)
    layout = file_layout(schedule.collective, len(data), schedule.sizes)
    state = _ElectionState(schedule, layout, data, lying=liars, living=Living(schedule, faults))
    # 2. Move bytes, step by step.
    went = carry_out(schedule, faults, began, lambda sends: _pass_on(state, sends), progress)
    # 3. Each living node elects, chunk by chunk.
    nodes = schedule.network.nodes
    elected = np.zeros((nodes, schedule.collective.chunks), np.int8)
    # what came from those who were dead at the beginning was never there
    existing = Faults({node: step for node, step in faults.nodes.items() if step == 0})
    every = ranges_by_node(wanted(schedule.collective, existing), nodes)
    digests = [
        None if node in faults.nodes else layout.digest(_choose(state, node, chunks, elected[node]), chunks)
        for node, chunks in enumerate(every)
    ]
    return Election(
        liars=liars,
        size=len(data),
        digest=hashlib.sha256(data).hexdigest(),
        digests=digests,
        true_digests=[layout.digest(state.true, chunks) for chunks in every],
        elected=elected,
        altered=state.altered,
        **went,
    )


class _ElectionState:
    """The data of all nodes at some step, tree by tree; the arrays change as the schedule goes on.

    ``memory``: uint8 (trees, N, bytes); rows of no tree are of one more tree, the last. ``held``: bool (trees, N, chunks).
    ``first_tree``: int16 (N, chunks), over which tree the first copy of a chunk came, -1 for none. ``own``: bool (N, chunks),
    the chunks that a node has from the beginning. ``true``, ``false``: the data, and the bytes that liars put in its place;
    ``altered``: how often. Raises PlanError when it would not fit in memory.
    """

    def __init__(
        self, schedule: Schedule, layout: Layout, data: bytes | memoryview, *, lying: Faults, living: Living
    ) -> None:
        nodes, chunks = schedule.network.nodes, schedule.collective.chunks
        no_tree = bool((schedule.rows.tree < 0).any())
        trees = max(1, int(schedule.rows.tree.max(initial=-1)) + 1 + no_tree)
        check_memory(schedule.collective, trees * nodes, layout.size)
        self.schedule, self.layout, self.living, self.altered = schedule, layout, living, 0
        self.node_lies, self.arc_lies = lying.by_step(schedule.network)
        self.true = np.frombuffer(data, np.uint8)
        self.false = ~self.true  # no byte is right
        self.own = np.zeros((nodes, chunks), bool)
        self.memory, self.held = np.zeros((trees, nodes, layout.size), np.uint8), np.zeros((trees, nodes, chunks), bool)
        self.first_tree = np.full((nodes, chunks), -1, np.int16)
        for node, given in enumerate(ranges_by_node(schedule.collective.given(), nodes)):
            for first, stop in given:
                place = layout.slice_of(first, stop)
                self.memory[:, node, place] = self.true[place]
                self.own[node, first:stop] = True
        self.held[:, self.own] = True


def _pass_on(state: _ElectionState, sends: Sends) -> tuple[int, int, Callable[[], None]]:
    """Carry out the sends of one step; return how many took place, how many of these were lost, and what to do on arrival."""
    held, first_tree, own, network = state.held, state.first_tree, state.own, state.schedule.network
    # rows of no tree are of the last one
    tree, otherwise = np.where(sends.tree < 0, len(held) - 1, sends.tree), np.full(len(sends.src), -1)
    if state.schedule.copies == 1:
        otherwise = first_tree[sends.src, sends.chunk]
    come_by = np.where(held[tree, sends.src, sends.chunk], tree, otherwise)
    # of several copies in one step the first is written last, and stays
    sent = np.flatnonzero((come_by >= 0) & state.living.can_send(sends.step, sends.src))[::-1]
    src, dst, chunk, port = sends.src[sent], sends.dst[sent], sends.chunk[sent], sends.port[sent]
    # of its own data whatever a node says is true
    lie = (state.node_lies[src] <= sends.step) & ~own[src, chunk]
    lie |= state.arc_lies[network.arc(src, port)] <= sends.step
    tree, come_by = tree[sent], come_by[sent]
    arrives = state.living.can_hear(sends.step, src, port, dst)

    def arrive() -> None:
        new = arrives & ~held[tree, dst, chunk]  # in each tree the first copy stays
        bounds = state.layout.bounds
        columns = (c[new].tolist() for c in (tree, come_by, src, dst, bounds[chunk], bounds[chunk + 1], lie))
        for t, s, u, v, a, b, lies in zip(*columns, strict=True):
            state.memory[t, v, a:b] = state.false[a:b] if lies else state.memory[s, u, a:b]
        held[tree[new], dst[new], chunk[new]] = True
        unknown = arrives & (first_tree[dst, chunk] < 0) & ~own[dst, chunk]
        first_tree[dst[unknown], chunk[unknown]] = tree[unknown]

    state.altered += int(lie.sum())
    return len(sent), int((~arrives).sum()), arrive


def _choose(state: _ElectionState, node: int, wanted: Ranges, elected: NDArray[np.int8]) -> Bytes:
    """Let one node elect; fill its row of ``elected``, and return the bytes that it believes, zeros where it is undecided."""
    true, copies = state.true, state.memory[:, node]
    chosen = np.zeros_like(true)
    for chunk in (chunk for first, stop in wanted for chunk in range(first, stop)):
        place = state.layout.slice_of(chunk, chunk + 1)
        votes = defaultdict[bytes, int](int)
        for tree in np.flatnonzero(state.held[:, node, chunk]).tolist():
            votes[copies[tree, place].tobytes()] += 1
        most = [copy for copy, count in votes.items() if count == max(votes.values())]
        if len(most) != 1:
            elected[chunk] = _UNDECIDED
            continue
        chosen[place] = np.frombuffer(most[0], np.uint8)
        elected[chunk] = _RIGHT if np.array_equal(chosen[place], true[place]) else _FOOLED
    return chosen
