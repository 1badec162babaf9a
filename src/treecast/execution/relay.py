"""Scatterv and gatherv on real bytes, flit by flit: no node keeps what is not for it beyond the step in which it came."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from treecast.collectives import Lengths
from treecast.errors import FormatError, PlanError
from treecast.files import named, read_whole, write_whole
from treecast.networks.core import Ints
from treecast.progress import report
from treecast.schedule import Schedule
from treecast.simulation.faults import Faults


@dataclass(frozen=True, eq=False)
class Relay:
    """What became of each node's message. ``contents``: its bytes as they arrived, None where a flit is missing or it has none.

    ``lost``: how many of its flits did not arrive: int64 (N,). ``held``: the most flits that a node held for others at once.
    ``steps``: until the last flit moved; ``transmissions``: of flits of data, and of control flits.
    """

    schedule: Schedule
    faults: Faults
    size: int
    contents: Mapping[int, bytes]
    lost: Ints
    held: int
    steps: int
    transmissions: int
    seconds: float

    @property
    def intact(self) -> list[int]:
        """The nodes whose messages arrived in full."""
        return [node for node in self.contents if not self.lost[node]]


def relay(
    schedule: Schedule,
    messages: Mapping[int, bytes | memoryview],
    flit: int,
    faults: Faults | None = None,
) -> Relay:
    """Carry out a scatterv or gatherv: ``messages[v]`` is the one for, or from, node v, moved in flits of ``flit`` bytes.

    A node sends a flit on in the step after it came, from the one place that it has for it, or loses it. Nobody knows of
    ``faults``. Raises PlanError when the schedule is of another collective, or the messages have other lengths than it was
    planned for.
    """
    began = time.perf_counter()
    faults = faults or Faults()
    faults.check(schedule)
    lengths, collective, network = schedule.collective.lengths, schedule.collective, schedule.network
    if lengths is None:
        raise PlanError(f"{collective.kind} has no messages of different lengths: give a file, not a folder")
    _check(schedule, lengths, messages, flit)
    node_dies, arc_dies = faults.by_step(network)
    scattered = collective.direction == "from"
    arrived = {node: bytearray(len(message)) for node, message in messages.items()}
    there = np.zeros(lengths.total, bool)
    passing: dict[tuple[int, int], bytes] = {}
    held = steps = transmissions = 0
    for sends in schedule.expand():
        arc = network.arc(sends.src, sends.port)
        owner = lengths.node_of(sends.chunk)
        goes = (node_dies[sends.src] > sends.step) & (arc_dies[arc] > sends.step)
        hears = goes & (node_dies[sends.dst] > sends.step)
        came: dict[tuple[int, int], bytes] = {}
        columns = sends.src, sends.dst, sends.chunk, owner, goes, hears
        for src, dst, chunk, node, sent, heard in zip(*(column.tolist() for column in columns), strict=True):
            at = (chunk - int(lengths.first[node])) * flit
            if src == (collective.root if scattered else node):
                data = bytes(messages[node][at : at + flit])
            elif (src, chunk) in passing:
                data = passing[src, chunk]
            else:
                continue
            transmissions += sent
            steps = sends.step + 1 if sent else steps
            if not heard:
                continue
            if dst == (node if scattered else collective.root):
                arrived[node][at : at + flit] = data
                there[chunk] = True
            else:
                came[dst, chunk] = data
        passing = came
        held = max(held, max(np.unique([node for node, _ in came], return_counts=True)[1].tolist(), default=0))
        report(sends.step + 1, schedule.steps, "steps")
    rows = schedule.rows
    told = rows.control & (node_dies[rows.src] > rows.step) & (arc_dies[network.arc(rows.src, rows.port)] > rows.step)
    missing = lengths.flits.copy()
    np.subtract.at(missing, lengths.node_of(np.flatnonzero(there)), 1)
    return Relay(
        schedule, faults, sum(map(len, messages.values())),
        {node: bytes(data) for node, data in arrived.items()}, missing, held,
        max(steps, int((rows.step[told] + 1).max(initial=0))), transmissions + int(told.sum()), time.perf_counter() - began,
    )  # fmt: skip


def _check(schedule: Schedule, lengths: Lengths, messages: Mapping[int, bytes | memoryview], flit: int) -> None:
    for node in range(schedule.network.nodes):
        size = len(messages.get(node, b""))
        if -(-size // flit) != lengths.flits[node]:
            raise PlanError(
                f"the message of node {schedule.network.label(node)} has {size:,} bytes, {-(-size // flit):,} flits of {flit:,}; "
                f"the schedule was planned for {lengths.flits[node]:,}: plan with these files, or give --flit as then"
            )


def read_messages(files: Mapping[int, Path]) -> dict[int, bytes]:
    """Return the contents of each node's file. Raises FormatError when one cannot be read."""
    return {node: read_whole(path) for node, path in files.items()}


def check_target(files: Mapping[int, Path], folder: str) -> None:
    """Raise FormatError when what arrives cannot go into ``folder``: where the files come from, or where others are already."""
    target = Path(folder)
    if folder == "-":
        raise FormatError("files cannot go to standard output: name a folder")
    if any(path.parent.resolve() == target.resolve() for path in files.values()):
        raise FormatError(f"{named(folder)} is where the files come from: name another folder")
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise FormatError(f"{named(folder)} is there already, and not empty: name a new folder")


def write_messages(done: Relay, files: Mapping[int, Path], folder: str) -> None:
    """Write what arrived in full to ``folder``, each file called as before.

    Raises FormatError when the folder cannot be written, is not empty, or is the one that the files are in.
    """
    check_target(files, folder)
    for node in done.intact:
        write_message(done.contents[node], files[node], folder)


def write_message(content: bytes | memoryview, file: Path, folder: str) -> None:
    """Write what arrived of one file into ``folder``, called as before. Raises FormatError when that cannot be."""
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FormatError(f"{named(folder)} cannot be made: {error.strerror}") from None
    write_whole(Path(folder, file.name), content)
