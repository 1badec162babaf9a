"""Schedules carried out on files: one file for all nodes, or a folder with a file for each."""

from pathlib import Path

from treecast.errors import PlanError
from treecast.execution.bufferless import (
    BufferlessRun,
    check_target,
    read_messages,
    run_bufferless,
    sizes_of,
    write_messages,
)
from treecast.execution.election import Election, elect
from treecast.execution.folders import check_folder, flits_of, node_files
from treecast.execution.layout import message_layout
from treecast.execution.local import Execution, run
from treecast.files import read_whole, write_folder
from treecast.schedule import Schedule
from treecast.simulation.faults import Faults


def run_on_files(
    schedule: Schedule,
    path: str,
    *,
    faults: Faults,
    liars: Faults,
    flit: int,
    output: str | None = None,
) -> Execution | Election | BufferlessRun:
    """Carry out a schedule on a file; where nodes or arcs lie, each node elects the value that most of its copies have.

    A scatterv or gatherv takes a folder with a file for each node instead; an allgatherv takes either. The file of an alltoallv
    is cut by its demands: the messages of node 0 come first.

    ``path``: the file with the data of all nodes, ``-`` for standard input; or the folder. ``flit``: the bytes of a flit, of the
    files in a folder. ``output``: the new folder that arriving data is written to, a file for each living node that has all it
    wants, called like the node; sums are numbers of 8 bytes. Raises FormatError when a file cannot be read or written, PlanError
    or FaultError when the schedule cannot be carried out on these files, or under these faults and liars.
    """
    if schedule.collective.traits.one_way:
        if len(liars):
            raise PlanError(
                "a scatterv or gatherv sends each message one way: there is nothing to elect, leave liars out"
            )
        return _run_on_folder(schedule, path, faults, flit, output)
    files, lengths = dict[int, Path](), schedule.collective.lengths
    if lengths is not None and Path(path).is_dir():
        check_folder(schedule.collective)
        files = node_files(schedule.network, path, None)
        flits_of(schedule.network, files, flit)
        messages = read_messages(files)
        layout = message_layout(lengths, sizes_of(schedule, lengths, messages, flit), flit)
        data = b"".join(messages[node] for node in lengths.sequence.tolist() if node in messages)
    else:
        data, layout = read_whole(path), None
    if len(liars):
        if output is not None:
            raise PlanError("--output writes the data that arrives, not the elected data: leave it out, or the liars")
        if layout is not None:
            raise PlanError("where nodes lie the data is one file, not a folder: name a file, or leave the liars out")
        return elect(schedule, data, liars, faults)
    if output is None:
        return run(schedule, data, faults, layout=layout)
    check_target(files, output)
    received, suffix = list[tuple[str, bytes]](), "" if schedule.collective.sums or files else Path(path).suffix
    done = run(
        schedule,
        data,
        faults,
        take=lambda node, contents: received.append((schedule.network.label(node) + suffix, contents)),
        layout=layout,
    )
    write_folder(output, received)
    return done


def _run_on_folder(schedule: Schedule, folder: str, faults: Faults, flit: int, output: str | None) -> BufferlessRun:
    files = node_files(schedule.network, folder, schedule.collective.root)
    flits_of(schedule.network, files, flit)
    if output is not None:
        check_target(files, output)
    done = run_bufferless(schedule, read_messages(files), flit, faults)
    if output is not None:
        write_messages(done, files, output)
    return done
