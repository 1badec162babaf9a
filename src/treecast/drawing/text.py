"""Pictures made of characters: trees, runs in space and time, how many nodes are complete when, and messages on their way."""

from collections import defaultdict
from itertools import cycle

import numpy as np

from treecast.description import count_of, spell_range
from treecast.drawing.passages import (
    CERTIFICATE,
    CONTROLS,
    ORDER,
    TOKEN,
    WAKE_UP,
    Controls,
    MessageStreams,
    Passages,
    find_received,
    why_no_passages,
)
from treecast.drawing.registry import TEXT, View, picture
from treecast.drawing.shapes import DrawnTree, chosen_rows, chosen_trees, why_no_trees
from treecast.networks.core import Ints
from treecast.ragged import places
from treecast.schedule import Schedule
from treecast.simulation.replay import Trace, replay
from treecast.steps import NEVER


@picture("trees", of=Schedule, into=TEXT, fits=why_no_trees, summary="the trees, side by side", rank=10)
def trees_text(schedule: Schedule, view: View) -> str:
    """Return the trees of a schedule, one below the other."""
    return "\n\n".join(tree_text(schedule, tree, view.ascii) for tree in chosen_trees(schedule, view))


def tree_text(schedule: Schedule, tree: int, ascii: bool = False, max_nodes: int = 1000) -> str:  # noqa: A002
    """Return one tree of a schedule, a line per node: the port that leads to it, its label, and ``@`` the step from
    which it can hold the first chunk that comes over this tree (towards the root: at which it first sends one); behind it
    the length of its message, where messages have lengths.

    Children stand in the order of their ports; on the star network cyclically from the tree's own port, as in the paper.
    Raises ScheduleError when that tree has no rows, or they form no tree.
    """
    bar, tee, corner, dash = ("|", "|", "`", "-") if ascii else ("│", "├", "└", "─")
    drawn, network, rows = DrawnTree.of(schedule, tree), schedule.network, schedule.rows
    lines: list[str] = []
    lengths = schedule.part.lengths if schedule.part.traits.blocks == "node" else None
    waiting = [(root, "", "") for root in reversed(drawn.roots)]
    while waiting and len(lines) < max_nodes:
        node, branch, margin = waiting.pop()
        row = drawn.row.get(node)
        flits = "" if lengths is None or row is None else f"  {count_of(int(lengths.flits[node]), 'flit')}"
        when = " (root)" if row is None else f" @{rows.step[row] + (schedule.part.direction != 'to')}"
        lines.append(branch + network.label(node) + when + flits)
        children = drawn.children.get(node, [])
        for child in reversed(children):  # a stack: the first child is drawn first
            last, port = child == children[-1], int(rows.port[drawn.row[child]])
            twig = (corner if last else tee) + dash + (network.port_name(port) + dash if port >= 0 else "") + " "
            waiting.append((child, margin + twig, margin + (" " if last else bar).ljust(len(twig))))
    left = len(drawn.row) + len(drawn.roots) - len(lines)
    return "\n".join([*lines, f"left out: {count_of(left, 'node')}"] if left else lines)


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
    # a paced row delivers in every pace-th step
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
        part = "" if ascii or not eighths % 8 else "▏▎▍▌▋▊▉"[eighths % 8 - 1]  # no sign for nothing
        lines.append(f"{int(at[i]):9}  {('#' if ascii else '█') * (eighths // 8) + part:{width}} {int(total[i])}")
    never = living - len(done[done < NEVER])
    if never:
        lines.append(f"{'never':>9}  {'':{width}} {never}")
    if len(shown) < len(at):
        lines.append(f"left out: {count_of(len(at) - len(shown), 'step')} between those shown")
    return "\n".join(lines)


SIGNS = "abcdefghijklmnopqrstuwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
"""The sign of each message, in the order of the lines; v is left out, since it is a mark. Then they begin again."""
MARKS = {WAKE_UP: "↓", TOKEN: "↓", CERTIFICATE: "↑", ORDER: "⇓"}
"""The mark of each control flit."""
ASCII_MARKS = {WAKE_UP: "v", TOKEN: "v", CERTIFICATE: "^", ORDER: "!"}
"""Its mark in ASCII."""
_SEVERAL = "+"


@picture("space-time", of=Schedule, into=TEXT, fits=why_no_passages, summary="the load of each link, by step", rank=20)
def messages_text(schedule: Schedule, view: View) -> str:
    """Return the messages of a schedule on their way."""
    return lanes_text(chosen_rows(schedule, view), view.ascii)


def lanes_text(schedule: Schedule, ascii: bool = False, max_nodes: int = 40, max_steps: int = 100) -> str:  # noqa: A002
    """Return a line per node of a scatterv or gatherv, branch by branch, with its distance from the root.

    A node's line shows the load of its link towards the root in each step: flits, of the message with that sign, or a control
    flit. Of more than ``max_steps`` steps several share a column. Of more than ``max_nodes`` nodes the first are shown.
    """
    # 1. Which nodes have a line, in the order of a walk through the tree.
    streams = MessageStreams(schedule)
    network, root = schedule.network, schedule.part.root
    walk, rows = streams.walk(), schedule.rows
    among = np.zeros(network.nodes, bool)
    among[walk.order] = True
    line = np.array(walk.order + np.flatnonzero(~among).tolist())
    others = line[line != root]
    shown = others[: max_nodes - 1]
    place = np.full(network.nodes, -1)
    place[shown] = np.arange(len(shown))
    # 2. How many steps share a column, and what stands in each.
    # rounded up: no column is left over
    scale = -(-schedule.steps // max_steps) or 1
    controls = streams.controls()
    passages = streams.passages(np.flatnonzero(~rows.control & (place[streams.ends[1]] >= 0)))
    signs = dict(zip(others[streams.flits[others] > 0].tolist(), cycle(SIGNS), strict=False))
    signs[-1], marks = "." if ascii else "·", ASCII_MARKS if ascii else MARKS
    cells = _cells_of_lanes(passages, place, signs, (len(shown), -(-schedule.steps // scale)), scale)
    _mark_controls(cells, controls, place, scale, marks)
    ends = _ends(streams, passages)
    # 3. The lines, below a ruler and the root.
    labels = [network.label(u) for u in (root, *shown.tolist())]
    width, far = max(len("step"), *map(len, labels)), max(4, len(str(int(walk.depth[shown].max(initial=0)))))
    columns = len(cells[0]) if cells else 0
    lines = _ruler(columns, scale, width, far)
    lines.append(f"{labels[0]:{width}} {0:{far}}  {'':{columns}}  root".rstrip())
    for label, u, cell in zip(labels[1:], shown.tolist(), cells, strict=True):
        flits = int(streams.flits[u])
        told = f"{signs[u]}: {count_of(flits, 'flit')}" + (f", @{ends[u]}" if ends[u] else "") if flits else "null"
        lines.append(f"{label:{width}} {int(walk.depth[u]):{far}}  {''.join(cell)}  {told}")
    # 4. What signs mean, and what is left out.
    lines += [
        "",
        *_legend_of_lanes(
            {kind: marks[kind] for kind in np.unique(controls.kind).tolist()}, signs[-1], scale, schedule
        ),
    ]
    if left := network.nodes - 1 - len(shown):
        null = int((streams.flits[others[len(shown) :]] == 0).sum())
        lines.append(f"left out: the last {count_of(left, 'node')}, of which {null:,} null")
    return "\n".join(lines)


def _ruler(columns: int, scale: int, width: int, far: int) -> list[str]:
    """Return two lines that number the columns: every tenth by its step, and each by the last digit where it is one step."""
    tens = ""
    for column in range(0, columns, 10):
        tens = tens.ljust(column) + (str(column * scale) if column or scale > 1 else "")
    above = f"{'step':{width}} {'dist':>{far}}  "
    if scale > 1:
        return [above + tens]
    units = above + "".join(str(column % 10) for column in range(columns))
    return [units] if columns <= 10 else [(" " * len(above) + tens).rstrip(), units]


def _cells_of_lanes(
    passages: Passages, place: Ints, signs: dict[int, str], shape: tuple[int, int], scale: int
) -> list[list[str]]:
    """Return the ``signs`` of messages, -1 of none: of several in a column of ``scale`` steps, the one with most flits in it."""
    most, whose = np.zeros(shape, np.int64), np.full(shape, -1)
    begin, stop = passages.step // scale, -(-(passages.step + passages.steps) // scale)
    which = np.repeat(np.arange(len(begin)), stop - begin)
    column = begin[which] + places(stop - begin)
    start, end = passages.step[which], passages.step[which] + passages.steps[which]
    flits = np.minimum(end, (column + 1) * scale) - np.maximum(start, column * scale)
    at = place[passages.below[which]], column
    np.maximum.at(most, at, flits)
    first = np.flatnonzero(flits == most[at])[::-1]  # of equally many, the earlier
    whose[at[0][first], at[1][first]] = passages.message[which[first]]
    cells = [[signs[u] for u in line] for line in whose.tolist()]
    if scale == 1:
        count = np.zeros(shape, np.int64)
        np.add.at(count, at, 1)
        for i, c in np.argwhere(count > 1).tolist():
            cells[i][c] = _SEVERAL
    return cells


def _mark_controls(cells: list[list[str]], controls: Controls, place: Ints, scale: int, marks: dict[int, str]) -> None:
    """Write the signs of control flits over those of the data."""
    # before any mark is written over it
    empty = [[cell in ".·" for cell in line] for line in cells]
    line, step, kind = (column.tolist() for column in (place[controls.below], controls.step, controls.kind))
    for i, s, w in zip(line, step, kind, strict=True):
        if i >= 0:
            both = scale == 1 and not empty[i][s]
            cells[i][s // scale] = _SEVERAL if both else marks[w]


def _ends(streams: MessageStreams, passages: Passages) -> Ints:
    """Return the step from which each message is whole where it is to go, 0 where none of it comes there: int64 (N,).

    ``passages``: those on the links above the nodes whose messages are asked for.
    """
    schedule = streams.schedule
    if schedule.part.direction == "to":
        passages = streams.passages(np.flatnonzero(~schedule.rows.control & (schedule.rows.dst == schedule.part.root)))
        there = slice(None)
    else:
        there = passages.below == passages.message
    ends = np.zeros(schedule.network.nodes, np.int64)
    np.maximum.at(ends, passages.message[there], (passages.step + passages.steps)[there])
    return ends


def _legend_of_lanes(marks: dict[int, str], nothing: str, scale: int, schedule: Schedule) -> list[str]:
    away = schedule.part.direction == "from"
    parts = [
        f"a letter: a flit {'for' if away else 'of'} the node with that letter, {'down' if away else 'up'} the link"
    ]
    parts += [f"{mark}: {CONTROLS[k]}, {'up' if k == CERTIFICATE else 'down'}" for k, mark in marks.items()]
    parts.append(f"{nothing}: nothing")
    lines = [
        "a line: the link of a node towards the root",
        "   ".join(parts),
        f"@t: whole at {'its node' if away else 'the root'} from the beginning of step t, of {count_of(schedule.steps, 'step')}",
    ]
    if scale > 1:
        lines.append(f"a column is {scale} steps: a control flit in them, or the message with most flits in them")
    return lines
