"""Schedules carried out on files: one file for all nodes, or a folder with a file for each.

A scatterv deals out the files of a folder, a gatherv collects them, and an allgatherv gives them to all.
"""

from collections.abc import Mapping
from pathlib import Path

from treecast.collectives import Collective
from treecast.errors import FormatError, PlanError
from treecast.networks.node_files import flits_of, node_files
from treecast.running.execution.bufferless import BufferlessRun, run_bufferless, sizes_of
from treecast.running.execution.election import Election, elect
from treecast.running.execution.layout import message_layout
from treecast.running.execution.local import Execution, run
from treecast.schedule import Schedule
from treecast.simulation.faults import Faults
from treecast.writing import check_new_folder, read_whole, spell_path, write_folder, write_whole


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
    # 1. Messages for, or from, one node each: flit by flit.
    if schedule.collective.traits.one_way:
        if len(liars):
            raise PlanError(
                "a scatterv or gatherv sends each message one way: there is nothing to elect, leave liars out"
            )
        files = node_files(schedule.network, path, schedule.collective.root)
        flits_of(schedule.network, files, flit)
        if output is not None:
            check_target(files, output)
        moved = run_bufferless(schedule, read_messages(files), flit, faults)
        if output is not None:
            write_messages(moved, files, output)
        return moved
    # 2. The data: of a folder, the files one behind the other.
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
    # 3. An election among copies.
    if len(liars):
        if output is not None:
            raise PlanError("--output writes the data that arrives, not the elected data: leave it out, or the liars")
        if layout is not None:
            raise PlanError("where nodes lie the data is one file, not a folder: name a file, or leave the liars out")
        return elect(schedule, data, liars, faults)
    # 4. An ordinary run; what arrives goes to a folder.
    if output is None:
        return run(schedule, data, faults, layout=layout)
    # before anything runs: nobody waits for a run whose results cannot be written
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


def check_folder(collective: Collective) -> None:
    """Raise PlanError where the data cannot be a folder with a file for each node: a node has something else for each."""
    if collective.traits.blocks == "pair":
        raise PlanError(f"{collective.kind} takes one file: node 0's blocks for each node, then node 1's, and so on")


def read_messages(files: Mapping[int, Path]) -> dict[int, bytes]:
    """Return the contents of each node's file. Raises FormatError when one cannot be read."""
    return {node: read_whole(path) for node, path in files.items()}


def check_target(files: Mapping[int, Path], folder: str) -> None:
    """Raise FormatError when files cannot go into ``folder``: where the files come from, or where others are already."""
    if any(path.parent.resolve() == Path(folder).resolve() for path in files.values()):
        raise FormatError(f"{spell_path(folder)} is where the files come from: name another folder")
    check_new_folder(folder)


def write_messages(done: BufferlessRun, files: Mapping[int, Path], folder: str) -> None:
    """Write files that arrived in full to ``folder``, each file called as before.

    Raises FormatError when the folder cannot be written, is not empty, or is the one that the files are in.
    """
    check_target(files, folder)
    write_folder(folder, [(files[node].name, done.contents[node]) for node in done.intact])


def write_message(content: bytes | memoryview, file: Path, folder: str) -> None:
    """Write one file that arrived into ``folder``, called as before. Raises FormatError when that cannot be."""
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FormatError(f"{spell_path(folder)} cannot be made: {error.strerror}") from None
    write_whole(Path(folder, file.name), content)
