"""Rules of bufferless relaying: nothing interrupts a message, and what a node does not keep it sends on in the next step.

A node *keeps* the chunks that it has at first, adds to, or wants, and may send those on later, as its own. All others only
pass through it. Data for several nodes is a message a chunk, and a block for one node is one message. Contributions to a sum
that pass through a node all come in one step, and leave together.

The rules of blocks for one node judge the pieces of rows (Rows.runs): a node sends, or receives, consecutive flits one a step,
so flit c passes in step c + offset. There is one for each row and range of flits, never an entry for each flit. Source: Bhatt,
Pucci, Ranade & Rosenberg.
"""

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treecast.ragged import Ints
from treecast.schedule.atoms import find_moves
from treecast.schedule.tree_of_rows import first_controls, told_trees
from treecast.steps import NEVER
from treecast.verification.case import Case
from treecast.verification.report import Broken


class Passing(NamedTuple):
    """Pieces by node: flits ``first … stop-1`` pass it, flit c in step c + ``offset``, by ``row``.

    All int64, sorted by node, then by flit.
    """

    node: Ints
    first: Ints
    stop: Ints
    offset: Ints
    row: Ints


class Relays:
    """The sends and receipts of every node, in pieces. Combined rows, which another rule refuses, are taken for streams."""

    def __init__(self, case: Case) -> None:
        self.case = case

    def _pieces_by(self, node: NDArray[np.int32] | NDArray[np.int64]) -> Passing:
        row, first, stop, place = self.case.rows.runs
        at = node[row].astype(np.int64)
        offset = self.case.rows.step[row] + np.maximum(self.case.rows.pace[row], 1) * place - first
        order = np.lexsort((first, at))
        return Passing(at[order], first[order], stop[order], offset[order], row[order])

    @cached_property
    def sent(self) -> Passing:
        """The sends of nodes."""
        return self._pieces_by(self.case.rows.src)

    @cached_property
    def received(self) -> Passing:
        """The receipts of nodes."""
        return self._pieces_by(self.case.rows.dst)

    @cached_property
    def kept(self) -> tuple[Ints, Ints]:
        """The first flit that each node has at first, and the one behind the last; and of those that it wants: int64 (2, N)."""
        own, due = np.zeros((2, 2, self.case.nodes), np.int64)
        for ranges, held in ((own, self.case.part.given()), (due, self.case.part.wanted())):
            ranges[:, held.node] = held.first, held.stop
        return own, due

    @cached_property
    def verdicts(self) -> NDArray[np.int8]:
        """For each piece that is sent: 0 it is right, 1 its node does not have it by then, 2 its node delayed it."""
        from treecast.verification.kernels.rules import judge_relays

        own, due = self.kept
        verdict = np.zeros(len(self.sent.node), np.int8)
        judge_relays(*self.sent[:4], *self.received[:4], *own, *due, verdict)
        return verdict


def holds(relays: Relays) -> Broken:
    """Rule ``holds``: a node sends flits that it has from the start or received before."""
    return _rows(relays, "holds", relays.verdicts == 1, "carries flits that its source does not have by then")


def no_buffer(relays: Relays) -> Broken:
    """Rule ``no-buffer``: a flit that a node receives for another node is sent on in the next step."""
    return _rows(relays, "no-buffer", relays.verdicts == 2, "relays flits later than in the step after they came")


def passed_on(case: Case) -> Broken:
    """Rule ``no-buffer``, of any data: what a node does not keep leaves in the step after it came, if it leaves at all.

    Contributions to a sum all came in the step before.
    """
    found, part, rows, atoms = find_moves(case.schedule, case.atoms), case.part, case.rows, len(case.atoms)
    src, dst = (column[found.row].astype(np.int64) for column in (rows.src, rows.dst))
    atom, chunk = found.atom, case.atoms.bounds[found.atom]
    kept = part.given().include(src, chunk) | part.wanted().include(src, chunk)
    # who completes a sum sends it on as its contributions came
    done = (chunk >= part.sums) & (chunk < 2 * part.sums * part.results)
    done[done] = part.source_of(chunk[done]) == src[done]
    summed = (chunk < part.sums) | done
    # when each atom came to each node, and when first
    most, came = int(found.time.max(initial=0)) + 2, dst * atoms + atom
    soonest = np.full(case.nodes * atoms, NEVER, np.int64)
    np.minimum.at(soonest, came, found.time + 1)
    key = src * atoms + atom - case.sums * done
    early = soonest[key] < found.time
    waits = ~kept & early & (summed | ~np.isin(key * most + found.time, came * most + found.time + 1))
    why = "relays what its source does not keep later than in the step after it came"
    return case.broken("no-buffer", case.marked(found.row[waits]), lambda row: why)


def contiguous(relays: Relays) -> Broken:
    """Rule ``contiguous``: a node sends all flits of a message to one neighbour, one right after the other."""
    sent, ends = relays.sent, relays.case.part.ends()
    dst = relays.case.rows.dst[sent.row]
    joined = np.zeros(len(sent.node) + 1, np.bool_)
    joined[1:-1] = (sent.node[1:] == sent.node[:-1]) & (sent.first[1:] == sent.stop[:-1])
    joined[1:-1] &= (sent.offset[1:] == sent.offset[:-1]) & (dst[1:] == dst[:-1])
    # a cut inside a message must be none: its two sides go to one neighbour, in steps that follow each other
    wrong = (~np.isin(sent.first, ends) & ~joined[:-1]) | (~np.isin(sent.stop, ends) & ~joined[1:])
    return _rows(relays, "contiguous", wrong, "carries part of a message that is interrupted, or goes two ways")


def once(relays: Relays) -> Broken:
    """Rule ``once``: no flit reaches a node, or leaves it, twice."""
    wrong = [
        pieces.row[1:][(pieces.node[1:] == pieces.node[:-1]) & (pieces.first[1:] < pieces.stop[:-1])]
        for pieces in (relays.sent, relays.received)
    ]
    return relays.case.broken(
        "once",
        relays.case.marked(np.concatenate(wrong)),
        lambda row: "carries flits that its source sent, or its target had, before",
    )


def delivered(relays: Relays) -> Broken:
    """Rule ``delivered``: every flit reaches the node that it is for."""
    case, got, (own, due) = relays.case, relays.received, relays.kept
    low, high = due
    there = np.clip(got.stop, low[got.node], high[got.node]) - np.clip(got.first, low[got.node], high[got.node])
    found = np.bincount(got.node, there, minlength=case.nodes).astype(np.int64)
    lacks = high - low - np.maximum(np.minimum(own[1], high) - np.maximum(own[0], low), 0)  # less what it has at first
    lost = np.flatnonzero(found < lacks)
    return case.at_nodes(
        "delivered", lost, lambda v: f"{case.label(v)} receives {found[v]:,} of {lacks[v]:,} flits that are for it"
    )


def told(case: Case) -> Broken:
    """Rule ``told``, of a gather with control flits: no node begins before it can know that it should.

    The k-th control flit that a node sends to a child leaves after the k-th that came from its parent. The root sends its
    second and later ones after all certificates have arrived. A node certifies to its parent once, after the parent's first
    control flit and after its children have certified. Data leaves after the parent's last control flit: the first one, or the
    second where nodes certify. Where control flits name trees all of that is so in each of them.
    """
    rows, trees = case.rows, told_trees(case.schedule)
    wrong = ~rows.control & ~np.isin(rows.tree, trees) & (len(trees) > 1)
    for tree in trees:
        mine = np.arange(len(rows)) if len(trees) == 1 else np.flatnonzero(rows.tree == tree)
        wrong[mine[_begins_early(case, tree, mine)]] = True
    return case.broken("told", wrong, lambda row: "begins before its source has been told")


def _begins_early(case: Case, tree: int, mine: Ints) -> NDArray[np.bool_]:
    """Return which rows of a tree, the ``mine``, leave before their source has been told: bool (len(mine),)."""
    rows, root = case.rows.take(mine), case.part.root
    control, wrong = np.flatnonzero(rows.control), np.zeros(len(rows), np.bool_)
    src, dst, step = (column[control].astype(np.int64) for column in (rows.src, rows.dst, rows.step))
    down = first_controls(case.schedule, tree)[0][dst] == src
    certified, last = np.full((2, case.nodes), -1, np.int64)
    np.maximum.at(certified, dst[~down], step[~down])
    left, before, heard = down.copy(), np.full(case.nodes, -1, np.int64), np.zeros(case.nodes, np.int64)
    first = np.full(case.nodes, NEVER, np.int64)
    first[dst[down][::-1]] = step[down][::-1]
    need = np.maximum(certified[src], first[src])
    while left.any():
        these = np.flatnonzero(left)[np.unique(dst[left], return_index=True)[1]]  # the next that each node gets
        came = np.full(case.nodes, NEVER, np.int64)
        came[dst[these]] = step[these]
        came[root] = before[root]
        need[these] = came[src[these]]
        last[dst[these]] = step[these]
        heard[dst[these]] += 1
        before[root] = certified[root]
        left[these] = False
    wrong[control[need >= step]] = True
    answers = np.bincount(src[~down], minlength=case.nodes)
    if answers.any():  # who has the token certifies once
        wrong[control[down & (answers[dst] != 1)]] = True
    data = np.flatnonzero(~rows.control)
    told_often = heard[rows.src[data]] == (2 if answers.any() else 1)
    wrong[data[(rows.step[data] <= last[rows.src[data]]) | ~told_often]] = True
    return wrong


def _rows(relays: Relays, rule: str, wrong: NDArray[np.bool_], why: str) -> Broken:
    return relays.case.broken(rule, relays.case.marked(relays.sent.row[wrong]), lambda row: why)
