"""A run as characters: in space and time, a line per node and a column per step; and how many nodes are complete when."""

from collections import defaultdict

import numpy as np

from treecast.description import count_of, spell_range
from treecast.drawing.arrivals import find_received
from treecast.drawing.registry import TEXT, View, picture
from treecast.drawing.shapes import chosen_rows
from treecast.networks.core import Ints
from treecast.ragged import places
from treecast.schedule import Schedule
from treecast.simulation.replay import Trace, replay
from treecast.steps import NEVER

TREE_SIGNS = "0123456789abcdefghijklmnopqrstuvwyz"
"""The sign of each tree; x is left out, since it marks the dead."""


@picture("space-time", of=Schedule, into=TEXT, summary="the arrivals at each node, by tree and step", rank=30)
def run_text(schedule: Schedule, view: View) -> str:
    """Return the run of a schedule in space and time."""
    return space_time_text(replay(chosen_rows(schedule, view).of_node_zero(), view.faults), view.ascii)


def space_time_text(trace: Trace, ascii: bool = False, max_nodes: int = 40, max_steps: int = 100) -> str:  # noqa: A002
    """Return a line per node and a column per step: over which tree the node receives a chunk in that step.

    Only chunks that arrive are shown. At a line's end: the step from which the node holds all that it wants, the chunks that a
    living node lacks, or the step at which the node died. Lines and columns beyond ``max_nodes`` and ``max_steps`` are left out,
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
    lacks = defaultdict[int, list[tuple[int, int]]](list)
    for node, first, stop in trace.lost:
        lacks[node].append((first, stop))
    for u, (label, *cells) in enumerate(zip(labels, count.tolist(), tree.tolist(), strict=True)):
        dies = trace.faults.nodes.get(u, NEVER)
        signs = [nothing if c == 0 else _several(c, ascii) if c > 1 else _sign(t) for c, t in zip(*cells, strict=True)]
        signs[dies:] = ["x"] * len(signs[dies:])
        if dies < NEVER:
            ending = f"dead @{dies}"
        elif u in lacks:
            ending = f"lacks {_spell(lacks[u], cut)}"
        else:
            ending = f"complete @{int(trace.completion[u])}"
        lines.append(f"{label:{width}} {''.join(signs)}  {ending}")
    return "\n".join([*lines, "", *_legend(trace, count, tree, ascii), *_left_out(trace, nodes, steps, lacks)])


def _cells(trace: Trace, nodes: int, steps: int) -> tuple[Ints, Ints]:
    """Return for each of the first nodes and steps how many rows deliver, and the tree of one of them (-1: of no tree)."""
    runs, rows = find_received(trace), trace.schedule.rows
    shown = np.flatnonzero((rows.dst[runs.row] < nodes) & (runs.start < steps))
    pace = np.maximum(rows.pace[runs.row[shown]], 1)
    length = -(-(np.minimum(runs.stop[shown], steps) - runs.start[shown]) // pace)
    row = np.repeat(runs.row[shown], length)
    step = places(length) * np.repeat(pace, length) + np.repeat(runs.start[shown], length)
    count, tree = np.zeros((nodes, steps), np.int64), np.full((nodes, steps), -1, np.int64)
    np.add.at(count, (rows.dst[row], step), 1)
    tree[rows.dst[row], step] = rows.tree[row]
    return count, tree


def _sign(tree: int) -> str:
    return "*" if tree < 0 else TREE_SIGNS[tree] if tree < len(TREE_SIGNS) else "#"


def _several(count: int, ascii: bool) -> str:  # noqa: A002
    return "+" if ascii or count > 9 else "⁰¹²³⁴⁵⁶⁷⁸⁹"[count]


def _legend(trace: Trace, count: Ints, tree: Ints, ascii: bool) -> list[str]:  # noqa: A002
    """Return the meanings of the signs in the picture, in the order of likely questions."""
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
        lines.append(f"left out: the last {count_of(more, 'node')}, of which {dead} dead and {lacking} lacking chunks")
    if later:
        lines.append(f"left out: the last {count_of(later, 'step')}")
    return lines


def _spell(ranges: list[tuple[int, int]], cut: str) -> str:
    shown = ",".join(spell_range(*pair) for pair in ranges[:4])
    return shown if len(ranges) <= 4 else f"{shown},{cut} ({sum(b - a for a, b in ranges)} chunks)"


def completion_text(trace: Trace, ascii: bool = False, width: int = 40, max_lines: int = 20) -> str:  # noqa: A002
    """Return bars: from which step on how many of the living nodes hold all that they want.

    A line per step at which the number grows; of more than ``max_lines`` such steps, some spread evenly over them.
    """
    living = int(trace.living.sum())
    done = trace.completion[trace.living]
    at, growth = np.unique(done[done < NEVER], return_counts=True)
    total = np.cumsum(growth)
    shown = np.unique(np.linspace(0, len(at) - 1, min(len(at), max_lines)).round().astype(int))
    lines = [f"from step  complete, of {count_of(living, 'living ' + trace.schedule.collective.member)}"]
    for i in shown.tolist():
        eighths = int(total[i]) * width * 8 // living
        part = "" if ascii or not eighths % 8 else "▏▎▍▌▋▊▉"[eighths % 8 - 1]
        lines.append(f"{int(at[i]):9}  {('#' if ascii else '█') * (eighths // 8) + part:{width}} {int(total[i])}")
    never = living - len(done[done < NEVER])
    if never:
        lines.append(f"{'never':>9}  {'':{width}} {never}")
    if len(shown) < len(at):
        lines.append(f"left out: {count_of(len(at) - len(shown), 'step')} between those shown")
    return "\n".join(lines)
