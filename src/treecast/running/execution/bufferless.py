"""Scatterv and gatherv on real bytes, flit by flit: no node keeps a flit that is not for it beyond the step in which it came."""

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np

from treecast.collectives import Lengths
from treecast.description import Description, count_of, describe, list_few, node_table
from treecast.errors import PlanError
from treecast.networks.core import Ints
from treecast.running.execution.layout import Bytes, message_layout
from treecast.running.execution.outcome import Living, Stepped, carry_out
from treecast.schedule import Schedule, Sends, describe_job
from treecast.simulation.faults import Faults, describe_late


@dataclass(frozen=True, eq=False, kw_only=True)
class BufferlessRun(Stepped):
    """The outcome of each node's message. ``contents``: its bytes as they arrived, None where a flit is missing or it has none.

    ``flit``: the bytes of a flit. ``lost``: how many of a message's flits did not arrive: int64 (N,). ``held``: the most flits
    that a node held for others at once. ``steps``: until the last flit moved; ``transmissions``: of flits of data, and of
    control flits. ``lost_sends``: how many of these went over a failed arc or to a failed node.
    """

    flit: int
    contents: Mapping[int, bytes]
    lost: Ints
    held: int

    @property
    def intact(self) -> list[int]:
        """The nodes whose messages arrived in full."""
        return [node for node in self.contents if not self.lost[node]]

    @property
    def holds(self) -> bool:
        """Whether every message arrived in full."""
        return len(self.intact) == len(self.contents)


@describe.register
def _(done: BufferlessRun) -> Description:
    # 1. The outcome of each message.
    schedule, intact = done.schedule, set(done.intact)
    messages: list[dict[str, Any]] = [
        {
            "node": schedule.network.label(node),
            "verdict": "intact" if node in intact else "LOST",
            "bytes": len(content),
            "lost_flits": int(done.lost[node]),
            "sha256": sha256(content).hexdigest() if node in intact else "",
        }
        for node, content in sorted(done.contents.items())
    ]
    # 2. Words and figures of the run.
    faults, total = done.faults.describe(schedule.network), len(messages)
    lines = {
        "delivered": f"{'every one' if done.holds else f'only {len(intact):,}'} of {count_of(total, 'message')}",
        "faults": list_few(faults),
        "input": f"{count_of(done.size, 'byte')} in flits of {done.flit:,}",
    }
    figures = {
        "bytes": done.size,
        "flit_bytes": done.flit,
        "faults": faults,
        "delivered": len(intact),
        **done.figures_of_run(),
        "most_held_for_others": done.held,
        "messages": messages,
    }
    # 3. The line of buffers goes before that of time.
    more = done.lines_of_run()
    more |= {
        "buffers": f"no node ever held more than {count_of(done.held, 'flit')} for others",
        "moved in": more.pop("moved in"),
    }
    late = describe_late(schedule, done.faults)
    table = node_table(
        (
            "to node" if schedule.collective.direction == "from" else "from node",
            "verdict",
            "bytes",
            "lost flits",
            "sha256 …",
        ),
        [(one["node"], one["verdict"], one["bytes"], one["lost_flits"] or "", one["sha256"][:16]) for one in messages],
        {"intact": "good", "LOST": "bad"},
        "messages",
    )
    begin = Description({}, lines, holds=done.holds).joined(late, after="faults")
    return begin.joined(describe_job(schedule)).adding(figures, more, table)


def run_bufferless(
    schedule: Schedule, messages: Mapping[int, bytes | memoryview], flit: int, faults: Faults | None = None
) -> BufferlessRun:
    """Carry out a scatterv or gatherv on real bytes, flit by flit.

    A node sends a flit on in the step after it came, from the one place that it has for it, or loses it. Nobody knows of
    ``faults``, the nodes and arcs that fail, and when. ``messages``: those for, or from, the nodes; a node that is left out has
    none. ``flit``: the bytes of a flit. Raises PlanError when the schedule is of another collective, or the messages have other
    lengths than it was planned for.
    """
    began = time.perf_counter()
    faults = faults or Faults()
    living, lengths = Living(schedule, faults), schedule.collective.lengths
    if lengths is None:
        raise PlanError(f"{schedule.collective.kind} has no messages of different lengths: give a file, not a folder")
    sizes = sizes_of(schedule, lengths, messages, flit)
    data = b"".join(messages[node] for node in lengths.sequence.tolist() if sizes[node])
    state = _RelayState(schedule, lengths, sizes, flit, data=np.frombuffer(data, np.uint8), living=living)
    went = carry_out(schedule, faults, began, lambda sends: (*state.move_on(sends), lambda: None))
    control, lost_control = _control_flits(schedule, living)
    went["steps"] = max(went["steps"], int(control.max(initial=-1)) + 1)
    went["transmissions"] += len(control)
    went["lost_sends"] += lost_control
    missing = lengths.flits.copy()
    np.subtract.at(missing, lengths.block_of(np.flatnonzero(state.there)), 1)
    place = {node: state.layout.slice_of(lengths.first[node], lengths.stop[node]) for node in messages}
    return BufferlessRun(
        flit=flit,
        size=sum(map(len, messages.values())),
        contents={node: state.arrived[place[node]].tobytes() for node in messages},
        lost=missing,
        held=state.most_held,
        **went,
    )


def sizes_of(schedule: Schedule, lengths: Lengths, messages: Mapping[int, bytes | memoryview], flit: int) -> Ints:
    """Return how many bytes each node's message has: int64 (N,). Raises PlanError where it was planned for another length."""
    sizes = np.array([len(messages.get(node, b"")) for node in range(schedule.network.nodes)], np.int64)
    flits = -(-sizes // flit)
    if (flits != lengths.flits).any():
        node = int(np.argmax(flits != lengths.flits))
        raise PlanError(
            f"the message of node {schedule.network.label(node)} has {int(sizes[node]):,} bytes, "
            f"{int(flits[node]):,} flits of {flit:,}; the schedule was planned for {int(lengths.flits[node]):,}: "
            "plan with these files, or give --flit as then"
        )
    return sizes


class _RelayState:
    """The state at some step: ``arrived``, the bytes that have come of all messages, and ``there``, which of their flits.

    ``most_held``: the most flits that a node held for others at once.
    """

    def __init__(
        self, schedule: Schedule, lengths: Lengths, sizes: Ints, flit: int, *, data: Bytes, living: Living
    ) -> None:
        chunks = np.arange(lengths.total)
        self.layout, self._data, self._living = message_layout(lengths, sizes, flit), data, living
        self._home, self._target = schedule.collective.source_of(chunks), schedule.collective.destination_of(chunks)
        self.arrived, self.there = np.zeros(self.layout.size, np.uint8), np.zeros(lengths.total, bool)
        self._passing = dict[tuple[int, int], Bytes]()  # by node and chunk, flits for others that came in the last step
        self.most_held = 0

    def move_on(self, sends: Sends) -> tuple[int, int]:
        """Carry out the sends of one step: a node has a flit for others only in the next step.

        Return how many sends took place, and how many of them were lost.
        """
        goes = self._living.can_send(sends.step, sends.src)
        hears = goes & self._living.can_hear(sends.step, sends.src, sends.port, sends.dst)
        begins, ends = self._home[sends.chunk] == sends.src, self._target[sends.chunk] == sends.dst
        came: dict[tuple[int, int], Bytes] = {}
        columns = sends.src, sends.dst, sends.chunk, begins, ends, goes, hears
        moved = lost = 0
        for src, dst, chunk, at_home, at_end, sent, heard in zip(*(column.tolist() for column in columns), strict=True):
            place = self.layout.slice_of(chunk, chunk + 1)
            flit = self._data[place] if at_home else self._passing.get((src, chunk))
            if flit is None:  # it was lost on the way
                continue
            moved += sent
            lost += sent and not heard
            if heard and at_end:
                self.arrived[place] = flit
                self.there[chunk] = True
            elif heard:
                came[dst, chunk] = flit.copy()
        self._passing = came  # what was not sent on is gone
        self.most_held = max(self.most_held, *Counter(node for node, _ in came).values(), 0)
        return moved, lost


def _control_flits(schedule: Schedule, living: Living) -> tuple[Ints, int]:
    """Return the steps of the control flits that are really sent, and how many of these are lost."""
    rows = schedule.rows
    sent = rows.control & living.can_send(rows.step, rows.src)
    arrives = sent & living.can_hear(rows.step, rows.src, rows.port, rows.dst)
    return rows.step[sent].astype(np.int64), int((sent & ~arrives).sum())
