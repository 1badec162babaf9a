"""Schedules carried out on files: one file for all nodes, or a folder with a file for each."""

from treecast.errors import PlanError
from treecast.execution.election import Election, elect
from treecast.execution.folders import flits_of, node_files
from treecast.execution.local import Execution, run
from treecast.execution.relay import Relay, check_target, read_messages, relay, write_messages
from treecast.files import read_whole
from treecast.schedule import Schedule
from treecast.simulation.faults import Faults


def run_on_file(schedule: Schedule, path: str, faults: Faults, liars: Faults) -> Execution | Election:
    """Carry out a schedule on a file; where something lies, each node elects what most of its copies say.

    Parameters
    ----------
    schedule : Schedule
        What is carried out.
    path : str
        The file with the data of all nodes; ``-`` is standard input.
    faults, liars : Faults
        What fails, and what alters what it passes on: only one of the two.

    Raises
    ------
    FormatError
        When the file cannot be read.
    PlanError, FaultError
        As ``run`` and ``elect`` do, and where there are both faults and liars.
    """
    if len(liars) and len(faults):
        raise PlanError("what is dead and what lies cannot be had in one run: give one or the other")
    data = read_whole(path)
    return elect(schedule, data, liars) if len(liars) else run(schedule, data, faults)


def run_on_folder(
    schedule: Schedule,
    folder: str,
    faults: Faults,
    *,
    flit: int,
    output: str | None = None,
) -> Relay:
    """Carry out a scatterv or gatherv on a folder with a file for each node, and write what arrives into another.

    Parameters
    ----------
    schedule : Schedule
        What is carried out.
    folder : str
        Where the files are, each called by the label of its node.
    faults : Faults
        What fails.
    flit : int
        The bytes of a flit.
    output : str, optional
        The folder to write to; default: nothing is written.

    Raises
    ------
    FormatError, PlanError
        When a file cannot be read or written, or has another length than it was planned for.
    """
    files = node_files(schedule.network, folder, schedule.collective.root)
    flits_of(schedule.network, files, flit)
    if output is not None:
        check_target(files, output)
    done = relay(schedule, read_messages(files), flit, faults)
    if output is not None:
        write_messages(done, files, output)
    return done
