"""Messages of any length as characters: a line per node for its link towards the root, a column per step."""

from itertools import cycle

import numpy as np

from treecast.description import count_of
from treecast.drawing.passages import (
    CERTIFICATE,
    CONTROLS,
    ORDER,
    TOKEN,
    WAKE_UP,
    Controls,
    Passages,
    Streams,
    why_no_passages,
)
from treecast.drawing.registry import TEXT, View, picture
from treecast.drawing.shapes import chosen_rows
from treecast.networks.core import Ints
from treecast.ragged import places
from treecast.schedule import Schedule

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
    streams = Streams(schedule)
    network, root = schedule.network, schedule.part.root
    walk, rows = streams.walk(), schedule.rows
    among = np.zeros(network.nodes, bool)
    among[walk.order] = True
    line = np.array(walk.order + np.flatnonzero(~among).tolist())
    others = line[line != root]
    shown = others[: max_nodes - 1]
    place = np.full(network.nodes, -1)
    place[shown] = np.arange(len(shown))
    scale = -(-schedule.steps // max_steps) or 1
    controls = streams.controls()
    passages = streams.passages(np.flatnonzero(~rows.control & (place[streams.ends[1]] >= 0)))
    signs = dict(zip(others[streams.flits[others] > 0].tolist(), cycle(SIGNS), strict=False))
    signs[-1], marks = "." if ascii else "·", ASCII_MARKS if ascii else MARKS
    cells = _cells(passages, place, signs, (len(shown), -(-schedule.steps // scale)), scale)
    _mark_controls(cells, controls, place, scale, marks)
    ends = _ends(streams, passages)
    labels = [network.label(u) for u in (root, *shown.tolist())]
    width, far = max(len("step"), *map(len, labels)), max(4, len(str(int(walk.depth[shown].max(initial=0)))))
    columns = len(cells[0]) if cells else 0
    lines = _ruler(columns, scale, width, far)
    lines.append(f"{labels[0]:{width}} {0:{far}}  {'':{columns}}  root".rstrip())
    for label, u, cell in zip(labels[1:], shown.tolist(), cells, strict=True):
        flits = int(streams.flits[u])
        told = f"{signs[u]}: {count_of(flits, 'flit')}" + (f", @{ends[u]}" if ends[u] else "") if flits else "null"
        lines.append(f"{label:{width}} {int(walk.depth[u]):{far}}  {''.join(cell)}  {told}")
    lines += [
        "",
        *_legend({kind: marks[kind] for kind in np.unique(controls.kind).tolist()}, signs[-1], scale, schedule),
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


def _cells(
    passages: Passages, place: Ints, signs: dict[int, str], shape: tuple[int, int], scale: int
) -> list[list[str]]:
    """Return the ``signs`` of messages, -1 of none: of several in a column of ``scale`` steps, the one with most flits in it."""
    most, whose = np.zeros(shape, np.int64), np.full(shape, -1)
    begin, stop = passages.step // scale, -(-(passages.step + passages.flits) // scale)
    which = np.repeat(np.arange(len(begin)), stop - begin)
    column = begin[which] + places(stop - begin)
    start, end = passages.step[which], passages.step[which] + passages.flits[which]
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
    empty = [[cell in ".·" for cell in line] for line in cells]
    line, step, kind = (column.tolist() for column in (place[controls.below], controls.step, controls.kind))
    for i, s, w in zip(line, step, kind, strict=True):
        if i >= 0:
            both = scale == 1 and not empty[i][s]
            cells[i][s // scale] = _SEVERAL if both else marks[w]


def _ends(streams: Streams, passages: Passages) -> Ints:
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
    np.maximum.at(ends, passages.message[there], (passages.step + passages.flits)[there])
    return ends


def _legend(marks: dict[int, str], nothing: str, scale: int, schedule: Schedule) -> list[str]:
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
