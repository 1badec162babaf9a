"""Election: when some nodes or arcs alter what they pass on, each node takes what most of its copies say.

A chunk reaches each node over x = ``copies`` node-disjoint ways, so one liar alters at most one copy of it, and one dead node
or arc takes away at most one. While c + 2l < x, c dead and l lying ones do no harm but to data of their own. Nobody knows who
lies or is dead. A node passes on, in a tree, what it got in that tree, not what it would elect. Bytes move in process, between
one buffer per tree and node.
"""

import hashlib
import time
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treecast.description import Description, Table, count_of, describe, node_table, spell_ranges
from treecast.execution.layout import Bytes, Layout, Ranges, check_memory, file_layout, ranges, ranges_by_node
from treecast.execution.outcome import Outcome
from treecast.networks.core import Ints
from treecast.progress import Progress, report, reporting
from treecast.schedule import Schedule, Sends, describe_job
from treecast.simulation.delivery import describe_sends
from treecast.simulation.faults import Faults, wanted
from treecast.simulation.lies import check_liars, describe_election, honest_nodes
from treecast.units import spell_seconds

_RIGHT, _UNDECIDED, _FOOLED = 1, 2, 3


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Election(Outcome):
    """What every node elected when some nodes and arcs altered what they passed on.

    Parameters
    ----------
    schedule : Schedule
        What ran.
    liars, faults : Faults
        Who lied, and what failed.
    size : int
        The bytes of the data.
    digest : str
        The SHA-256 of the data, in hexadecimal.
    digests : list of str or None
        The SHA-256 of what each node elected, in the order of the chunks, with zeros where it is undecided; None where it failed.
    true_digests : list of str
        The SHA-256 of what each node should have.
    elected : int8 (N, chunks)
        What became of each chunk that a node wants: 1 it elected the right bytes, 2 no bytes had more votes than all others,
        3 it elected wrong bytes; 0 it does not want it.
    steps, transmissions : int
        Of the sends that took place.
    altered : int
        How many of them carried what a liar put in.
    seconds : float
        The time that it took.

    Examples
    --------
    >>> import treecast
    >>> schedule = treecast.plan("broadcast", "star:4", messages=6, copies=3)
    >>> election = treecast.elect(schedule, b"the quick brown fox", ["2134", "3214"])
    >>> election.tolerates, len(election.honest), len(election.right), len(election.fooled) > 0
    (1, 22, 1, True)
    """

    liars: Faults
    faults: Faults
    digest: str
    digests: list[str | None]
    true_digests: list[str]
    elected: NDArray[np.int8]
    altered: int

    def __repr__(self) -> str:
        reached = f"{len(self.right):,} of {count_of(len(self.honest), 'honest node')} right"
        return f"<Election under {count_of(len(self.liars), 'liar')}: {reached}, {count_of(self.steps, 'step')}>"

    @property
    def tolerates(self) -> int:
        """How many liars of what the copies are against can be outvoted when nothing fails: ⌊(copies-1)/2⌋."""
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
    schedule, label = election.schedule, election.schedule.network.label
    right, fooled, undecided = election.right, election.fooled, election.undecided
    verdicts = dict.fromkeys(right, "right") | dict.fromkeys(fooled, "FOOLED") | dict.fromkeys(undecided, "UNDECIDED")
    verdicts |= dict.fromkeys(election.faults.nodes, "dead")
    ranks: list[int] = schedule.collective.ranks.tolist()
    nodes = [
        {
            "node": label(node),
            "verdict": verdicts.get(node, "lies"),
            "sha256": digest,
            "true_sha256": true,
            "fooled": election.fooled_chunks(node),
            "undecided": election.undecided_chunks(node),
        }
        for node in ranks
        for digest, true in [(election.digests[node], election.true_digests[node])]
    ]
    begin = describe_election(schedule, (election.liars, election.faults), right, fooled, undecided)
    figures = {
        "bytes": election.size,
        "sha256": election.digest,
        "tolerates": election.tolerates,
        **election.figures_of_run(),
        "altered": election.altered,
        "node_reports": nodes,
    }
    given = {"input": count_of(election.size, "byte"), "sha256": election.digest}
    sent = f"{describe_sends(election.transmissions, election.lost_sends)}, {election.altered:,} altered"
    return (
        begin.adding(lines=given)
        .joined(describe_job(schedule))
        .adding(
            figures,
            {"steps": election.steps, "transmissions": sent, "moved in": spell_seconds(election.seconds)},
            _node_table(nodes),
        )
    )


def _node_table(nodes: list[dict[str, Any]]) -> Table:
    return node_table(
        ("node", "verdict", "sha256 …", "wrong", "undecided"),
        [
            (
                one["node"],
                one["verdict"],
                (one["sha256"] or "")[:16],
                spell_ranges(one["fooled"]),
                spell_ranges(one["undecided"]),
            )
            for one in nodes
        ],
        {"right": "good", "lies": "quiet", "dead": "quiet", "FOOLED": "bad", "UNDECIDED": "bad"},
    )


def elect(
    schedule: Schedule,
    data: bytes | memoryview,
    liars: Faults,
    faults: Faults | None = None,
    *,
    progress: Progress | None = None,
) -> Election:
    """Carry out a schedule on ``data`` while ``liars`` alter what they pass on, as ``treecast.elect`` says.

    With several copies a node sends on in a tree only what it got in that tree, so that no liar alters two of them. With one
    copy it sends on what it got first.
    """
    with reporting(progress):
        return _elect(schedule, data, liars, faults or Faults())


def _elect(schedule: Schedule, data: bytes | memoryview, liars: Faults, faults: Faults) -> Election:
    began = time.perf_counter()
    check_liars(schedule, liars)
    faults.check(schedule)
    collective, nodes = schedule.collective, schedule.network.nodes
    layout = file_layout(collective, len(data), schedule.sizes)
    state = _start(schedule, layout, data, (liars, faults))
    steps, transmissions, lost, altered, last = 0, 0, 0, 0, schedule.steps
    for sends in schedule.expand():
        sent, gone, lies = _pass_on(state, sends)
        transmissions, lost, altered = transmissions + sent, lost + gone, altered + lies
        steps = sends.step + 1 if sent else steps
        report(sends.step + 1, last, "steps")
    elected = np.zeros((nodes, collective.chunks), np.int8)
    digests, true_digests = list[str | None](), list[str]()
    existing = Faults({node: step for node, step in faults.nodes.items() if step == 0})
    for node, chunks in enumerate(ranges_by_node(wanted(collective, existing), nodes)):
        if node in faults.nodes:
            digests.append(None)
        else:
            digests.append(layout.digest(_choose(state, node, chunks, elected[node]), chunks))
        true_digests.append(layout.digest(state.true, chunks))
    return Election(
        schedule=schedule,
        liars=liars,
        faults=faults,
        size=len(data),
        digest=hashlib.sha256(data).hexdigest(),
        digests=digests,
        true_digests=true_digests,
        elected=elected,
        steps=steps,
        transmissions=transmissions,
        lost_sends=lost,
        altered=altered,
        seconds=time.perf_counter() - began,
    )


@dataclass(frozen=True, eq=False)
class _State:
    """What all nodes have at some step, tree by tree; the arrays change as the schedule goes on.

    ``memory``: uint8 (trees, N, bytes); rows of no tree are of one more tree, the last. ``held``: bool (trees, N, chunks).
    ``first_tree``: int16 (N, chunks), over which tree the first copy of a chunk came, -1 for none. ``own``: bool (N, chunks),
    what a node has from the beginning. ``true``, ``false``: the data, and what liars put in its place.
    """

    schedule: Schedule
    layout: Layout
    true: Bytes
    false: Bytes
    memory: NDArray[np.uint8]
    held: NDArray[np.bool_]
    first_tree: NDArray[np.int16]
    own: NDArray[np.bool_]
    node_lies: Ints
    arc_lies: Ints
    node_dies: Ints
    arc_dies: Ints


def _start(
    schedule: Schedule, layout: Layout, data: bytes | memoryview, liars_and_faults: tuple[Faults, Faults]
) -> _State:
    """Return what the nodes have before the first step. Raises PlanError when it would not fit in memory."""
    nodes, chunks = schedule.network.nodes, schedule.collective.chunks
    no_tree = bool((schedule.rows.tree < 0).any())
    trees = max(1, int(schedule.rows.tree.max(initial=-1)) + 1 + no_tree)
    check_memory(schedule.collective, trees * nodes, layout.size)
    true, own = np.frombuffer(data, np.uint8), np.zeros((nodes, chunks), bool)
    memory, held = np.zeros((trees, nodes, layout.size), np.uint8), np.zeros((trees, nodes, chunks), bool)
    for node, given in enumerate(ranges_by_node(schedule.collective.given(), nodes)):
        for first, stop in given:
            place = layout.slice_of(first, stop)
            memory[:, node, place] = true[place]
            own[node, first:stop] = True
    held[:, own] = True
    (node_lies, arc_lies), (node_dies, arc_dies) = (these.by_step(schedule.network) for these in liars_and_faults)
    return _State(
        schedule,
        layout,
        true,
        false=~true,
        memory=memory,
        held=held,
        first_tree=np.full((nodes, chunks), -1, np.int16),
        own=own,
        node_lies=node_lies,
        arc_lies=arc_lies,
        node_dies=node_dies,
        arc_dies=arc_dies,
    )


def _pass_on(state: _State, sends: Sends) -> tuple[int, int, int]:
    """Carry out the sends of one step; return how many took place, were lost, and carried what a liar put in."""
    held, first_tree, own, network = state.held, state.first_tree, state.own, state.schedule.network
    tree, otherwise = np.where(sends.tree < 0, len(held) - 1, sends.tree), np.full(len(sends.src), -1)
    if state.schedule.copies == 1:
        otherwise = first_tree[sends.src, sends.chunk]
    come_by = np.where(held[tree, sends.src, sends.chunk], tree, otherwise)
    # of several copies in one step the first is written last, and stays
    sent = np.flatnonzero((come_by >= 0) & (state.node_dies[sends.src] > sends.step))[::-1]
    src, dst, chunk, arc = sends.src[sent], sends.dst[sent], sends.chunk[sent], network.arc(sends.src, sends.port)[sent]
    lie = ((state.node_lies[src] <= sends.step) & ~own[src, chunk]) | (state.arc_lies[arc] <= sends.step)
    tree, come_by = tree[sent], come_by[sent]
    arrives = (state.arc_dies[arc] > sends.step) & (state.node_dies[dst] > sends.step)
    new = arrives & ~held[tree, dst, chunk]  # in each tree the first copy stays
    bounds = state.layout.bounds
    columns = (c[new].tolist() for c in (tree, come_by, src, dst, bounds[chunk], bounds[chunk + 1], lie))
    for t, s, u, v, a, b, lies in zip(*columns, strict=True):
        state.memory[t, v, a:b] = state.false[a:b] if lies else state.memory[s, u, a:b]
    held[tree[new], dst[new], chunk[new]] = True
    unknown = arrives & (first_tree[dst, chunk] < 0) & ~own[dst, chunk]
    first_tree[dst[unknown], chunk[unknown]] = tree[unknown]
    return len(sent), int((~arrives).sum()), int(lie.sum())


def _choose(state: _State, node: int, wanted: Ranges, elected: NDArray[np.int8]) -> Bytes:
    """Let one node elect; fill its row of ``elected``, and return what it believes, zeros where it is undecided."""
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
