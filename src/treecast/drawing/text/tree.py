"""Pictures made of characters: a tree, a space-time diagram, a completion curve. Pure functions that return text."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from treecast.errors import ScheduleError
from treecast.networks import Star
from treecast.networks.core import Ints
from treecast.ragged import places
from treecast.schedule import Schedule
from treecast.schedule.tree_of_rows import link_ends, outward, trees_of_rows
from treecast.simulation.replay import Trace
from treecast.steps import NEVER

TREE_SIGNS = "0123456789abcdefghijklmnopqrstuvwyz"
"""The sign of each tree in a space-time text; x is left out, since it marks the dead."""


def drawn_rows(schedule: Schedule, tree: int) -> Ints:
    """Return the rows of one tree; of a reduction whose sums go out again, those by which they go out."""
    return np.flatnonzero((schedule.rows.tree == tree) & outward(schedule))


@dataclass(frozen=True)
class DrawnTree:
    """One tree of a schedule: its roots, the children of each node in order, and the first row by which each node hears."""

    roots: list[int]
    children: dict[int, list[int]]
    row: dict[int, int]

    @staticmethod
    def of(schedule: Schedule, tree: int) -> "DrawnTree":
        """Return one tree of a schedule. Raises ScheduleError when its rows are none, or form no tree."""
        rows, network = schedule.rows, schedule.network
        of_tree = drawn_rows(schedule, tree)
        above, below = (nodes[of_tree] for nodes in link_ends(schedule))
        if not len(of_tree):
            used = ", ".join(map(str, np.unique(rows.tree).tolist())) or "none"
            raise ScheduleError(f"tree {tree} carries nothing; the trees that carry something: {used}")
        known, number = np.unique(
            np.concatenate([above, below]), return_inverse=True
        )  # of a network of any size, a few nodes
        number = number.reshape(2, -1)
        found = trees_of_rows(number[0], number[1], len(known))
        for other in np.flatnonzero(found.clash)[:1].tolist():
            twice, there = int(below[other]), int(above[other])
            one = int(known[found.parent[0, np.searchsorted(known, twice)]])
            u, v, w = (network.label(x) for x in (twice, one, there))
            raise ScheduleError(f"the rows of tree {tree} form no tree: {u} hears from both {v} and {w}")
        # the paper's order of children in T_k: dimension k, k+1, …, n, 2, …
        turn = tree if isinstance(network, Star) else 0
        led_to = np.flatnonzero(found.row[0] >= 0)
        node, parent, first = known[led_to], known[found.parent[0, led_to]], of_tree[found.row[0, led_to]]
        order = np.lexsort((node, (rows.port[first].astype(int) - turn) % network.ports, parent))
        children: dict[int, list[int]] = {}
        for u, v in zip(parent[order].tolist(), node[order].tolist(), strict=True):
            children.setdefault(u, []).append(v)
        row = dict(zip(node.tolist(), first.tolist(), strict=True))
        drawn = DrawnTree([u for u in children if u not in row], children, row)
        circling = len(row) + len(drawn.roots) - sum(1 for _ in drawn.nodes())
        if circling:
            raise ScheduleError(f"the rows of tree {tree} form no tree: {_count(circling, 'node')} hear in a circle")
        return drawn

    def nodes(self) -> Iterator[int]:
        """Yield the nodes, each before its children, and whole subtrees in the order of the children."""
        waiting = self.roots[::-1]
        while waiting:
            node = waiting.pop()
            yield node
            waiting += reversed(self.children.get(node, []))


def tree_text(schedule: Schedule, tree: int, ascii: bool = False, max_nodes: int = 1000) -> str:  # noqa: A002
    """Return one tree of a schedule, a line per node: the port that leads to it, its label, and ``@`` the step from
    which it can hold the first chunk that comes over this tree (towards the root: at which it first sends one); behind it
    the length of its message, where messages have lengths.

    Children stand in the order of their ports; on the star network cyclically from the tree's own port, as in the paper.
    Raises ScheduleError when the rows of that tree are none, or form no tree.
    """
    bar, tee, corner, dash = ("|", "|", "`", "-") if ascii else ("│", "├", "└", "─")
    drawn, network, rows = DrawnTree.of(schedule, tree), schedule.network, schedule.rows
    lines: list[str] = []
    arrives, lengths = schedule.part.direction == "from", schedule.part.lengths
    waiting = [(root, "", "") for root in reversed(drawn.roots)]
    while waiting and len(lines) < max_nodes:
        node, branch, margin = waiting.pop()
        row = drawn.row.get(node)
        flits = "" if lengths is None or row is None else f"  {_count(int(lengths.flits[node]), 'flit')}"
        when = " (root)" if row is None else f" @{int(rows.step[row]) + arrives}"
        lines.append(branch + network.label(node) + when + flits)
        children = drawn.children.get(node, [])
        for child in reversed(children):
            last, port = child == children[-1], int(rows.port[drawn.row[child]])
            twig = (corner if last else tee) + dash + (network.port_name(port) + dash if port >= 0 else "") + " "
            waiting.append((child, margin + twig, margin + (" " if last else bar).ljust(len(twig))))
    left = len(drawn.row) + len(drawn.roots) - len(lines)
    return "\n".join([*lines, f"left out: {_count(left, 'node')}"] if left else lines)


class Received(NamedTuple):
    """What nodes receive, as runs of steps: row ``row[i]`` delivers ``chunks[i]`` chunks during ``start[i] … stop[i]-1``.

    int64, sorted by row and then by step. The runs of a row do not touch; without faults each row has one.
    """

    row: Ints
    start: Ints
    stop: Ints
    chunks: Ints


def received(trace: Trace) -> Received:
    """Return what is really received: what was sent, by a node that had it, to a node that was alive."""
    moves, atoms, rows = trace.moves, trace.atoms, trace.schedule.rows
    dies = np.full(trace.schedule.network.nodes, NEVER)
    dies[list(trace.faults.nodes)] = list(trace.faults.nodes.values())
    # a fault hits all chunks of an atom alike (see simulate), so that the first one's step decides
    arrived = np.flatnonzero(trace.moved & (moves.time < dies[rows.dst[moves.row]]))
    atom = np.repeat(np.arange(len(atoms)), np.diff(moves.start))[arrived]
    row, start, length = moves.row[arrived], moves.time[arrived], atoms.lengths[atom]
    stop = start + np.where(atoms.shift[atom] == 1, length, 1)
    order = np.lexsort((start, row))
    row, start, stop, length = row[order], start[order], stop[order], length[order]
    begins = np.ones(len(row), bool)
    begins[1:] = (row[1:] != row[:-1]) | (start[1:] > stop[:-1])
    run = np.flatnonzero(begins)
    if not len(run):
        return Received(row, start, stop, length)
    return Received(row[run], start[run], np.maximum.reduceat(stop, run), np.add.reduceat(length, run))


def space_time_text(trace: Trace, ascii: bool = False, max_nodes: int = 40, max_steps: int = 100) -> str:  # noqa: A002
    """Return a line per node and a column per step: over which tree the node receives a chunk in that step.

    Only what really arrives is shown. At a line's end: the step from which the node holds all that it wants, what a
    living node lacks, or the step at which the node died. What lies beyond ``max_nodes`` and ``max_steps`` is left out,
    and a line says so.
    """
    nothing, cut = (".", "...") if ascii else ("·", "…")
    schedule, network = trace.schedule, trace.schedule.network
    nodes, steps = min(network.nodes, max_nodes), min(schedule.steps, max_steps)
    count, tree = _cells(trace, nodes, steps)
    labels = [network.label(u) for u in range(nodes)]
    width = max([len("step"), *map(len, labels)])
    units = "".join(str(s % 10) for s in range(steps))
    tens = "".join(str(s // 10 if s else "").ljust(10) for s in range(0, steps, 10))
    digits = [tens, units] if steps > 10 else [units]
    lines = [f"{name:{width}} {line}".rstrip() for name, line in zip(("step", ""), digits, strict=False)]
    lacks = _lacks(trace)
    for u, label in enumerate(labels):
        dies = trace.faults.nodes.get(u, NEVER)
        signs = [
            "x" if s >= dies else nothing if count[u, s] == 0 else _several(int(count[u, s]), ascii) if count[u, s] > 1
            else _sign(int(tree[u, s])) for s in range(steps)
        ]  # fmt: skip
        if dies < NEVER:
            ending = f"dead @{dies}"
        elif u in lacks:
            ending = f"lacks {_spelled(lacks[u], cut)}"
        else:
            ending = f"complete @{int(trace.completion[u])}"
        lines.append(f"{label:{width}} {''.join(signs)}  {ending}")
    return "\n".join([*lines, "", *_legend(trace, count, tree, ascii), *_left_out(trace, nodes, steps, lacks)])


def completion_text(trace: Trace, ascii: bool = False, width: int = 40, max_lines: int = 20) -> str:  # noqa: A002
    """Return bars: from which step on how many of the living nodes hold all that they want.

    A line per step at which the number grows; of more than ``max_lines`` such steps, some spread evenly over them.
    """
    living = int(trace.living.sum())
    done = trace.completion[trace.living]
    at, growth = np.unique(done[done < NEVER], return_counts=True)
    total = np.cumsum(growth)
    shown = np.unique(np.linspace(0, len(at) - 1, min(len(at), max_lines)).round().astype(int))
    lines = [f"from step  complete, of {_count(living, 'living node')}"]
    for i in shown.tolist():
        eighths = int(total[i]) * width * 8 // living
        part = "" if ascii or not eighths % 8 else "▏▎▍▌▋▊▉"[eighths % 8 - 1]
        lines.append(f"{int(at[i]):9}  {('#' if ascii else '█') * (eighths // 8) + part:{width}} {int(total[i])}")
    never = living - len(done[done < NEVER])
    if never:
        lines.append(f"{'never':>9}  {'':{width}} {never}")
    if len(shown) < len(at):
        lines.append(f"left out: {_count(len(at) - len(shown), 'step')} between those shown")
    return "\n".join(lines)


def _cells(trace: Trace, nodes: int, steps: int) -> tuple[Ints, Ints]:
    """Return for each of the first nodes and steps how many rows deliver, and the tree of one of them (-1: of no tree)."""
    runs, rows = received(trace), trace.schedule.rows
    shown = np.flatnonzero((rows.dst[runs.row] < nodes) & (runs.start < steps))
    length = np.minimum(runs.stop[shown], steps) - runs.start[shown]
    row = np.repeat(runs.row[shown], length)
    step = places(length) + np.repeat(runs.start[shown], length)
    count, tree = np.zeros((nodes, steps), np.int64), np.full((nodes, steps), -1, np.int64)
    np.add.at(count, (rows.dst[row], step), 1)
    tree[rows.dst[row], step] = rows.tree[row]
    return count, tree


def _sign(tree: int) -> str:
    return "*" if tree < 0 else TREE_SIGNS[tree] if tree < len(TREE_SIGNS) else "#"


def _several(count: int, ascii: bool) -> str:  # noqa: A002
    return "+" if ascii or count > 9 else "⁰¹²³⁴⁵⁶⁷⁸⁹"[count]


def _legend(trace: Trace, count: Ints, tree: Ints, ascii: bool) -> list[str]:  # noqa: A002
    """Return what the signs mean that occur in the picture, in the order of likely questions."""
    signs = list(dict.fromkeys(_sign(t) for t in np.unique(tree[count == 1]).tolist()))
    named = [sign for sign in signs if sign not in "*#"]
    several = list(dict.fromkeys(_several(c, ascii) for c in np.unique(count[count > 1]).tolist()))
    parts = [f"{' '.join(named)}: a chunk over that tree"] if named else []
    parts += [f"#: over a tree above {len(TREE_SIGNS) - 1}"] if "#" in signs else []
    parts += ["*: over no tree"] if "*" in signs else []
    parts += [f"{' '.join(several)}: {'several' if '+' in several else 'so many'} at once"] if several else []
    parts += [f"{'.' if ascii else '·'}: nothing"]
    parts += ["x: dead"] if trace.faults.nodes else []
    lines = ["   ".join([*parts, "@t: from the beginning of step t"])]
    if trace.faults:
        lines.append("faults: " + ", ".join(trace.faults.describe(trace.schedule.network)))
    return lines


def _left_out(trace: Trace, nodes: int, steps: int, lacks: dict[int, list[tuple[int, int]]]) -> list[str]:
    more, later = trace.schedule.network.nodes - nodes, trace.schedule.steps - steps
    lines: list[str] = []
    if more:
        dead = sum(u >= nodes for u in trace.faults.nodes)
        lacking = sum(u >= nodes for u in lacks)
        lines.append(f"left out: the last {_count(more, 'node')}, of which {dead} dead and {lacking} lacking chunks")
    if later:
        lines.append(f"left out: the last {_count(later, 'step')}")
    return lines


def _lacks(trace: Trace) -> dict[int, list[tuple[int, int]]]:
    found: dict[int, list[tuple[int, int]]] = {}
    for node, first, stop in trace.lost:
        found.setdefault(node, []).append((first, stop))
    return found


def _spelled(ranges: list[tuple[int, int]], cut: str) -> str:
    shown = ",".join(str(a) if b == a + 1 else f"{a}-{b - 1}" for a, b in ranges[:4])
    return shown if len(ranges) <= 4 else f"{shown},{cut} ({sum(b - a for a, b in ranges)} chunks)"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" + ("" if number == 1 else "s")
