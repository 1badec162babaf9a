"""``treecast run``."""

from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from treecast.cli import console
from treecast.cli.arguments import FLIT_BYTES, File, Flit, LiarOptions, MpiOptions, Output, RandomFaultOptions
from treecast.cli.files import PlaceOptions, load
from treecast.cli.options import Json, check_numbers
from treecast.description import describe
from treecast.errors import TreecastError

if TYPE_CHECKING:
    from treecast.schedule import Schedule


def run(
    file: File,
    /,
    *,
    data: Annotated[str, Parameter(name="--input", allow_leading_hyphen=True)],
    failing: RandomFaultOptions = RandomFaultOptions(),
    lying: LiarOptions = LiarOptions(),
    flit: Flit = None,
    over: MpiOptions = MpiOptions(),
    told: PlaceOptions = PlaceOptions(),
    output: Output = None,
    as_json: Json = False,
) -> int:
    """Carry out a schedule on a real file: move its bytes step by step between one buffer per node, faults and all.

    With lying nodes or links, each node takes the majority value of its copies, and the report names those that take a wrong one.
    Scatterv and gatherv take a folder with a file for each node, and move it flit by flit; allgatherv takes either.
    With --mpi every node is a process of its own, which mpirun starts, and dead nodes are processes that are killed.

    Example: treecast run plan.tc --input photo.png --dead-nodes 2143@3 3142@3

    Parameters
    ----------
    data
        The file: the data of all nodes, one behind the other, cut into as many chunks as the schedule has. For sums each node
        adds one part of it, byte by byte; of a demand the copies lie behind what nodes add. - is standard input. Of scatterv and
        gatherv: the folder, and of allgatherv either.
    output
        Write the data that arrives into this new folder, a file for each node. Over MPI: of scatterv and gatherv only.
    """
    from treecast.running.execution.on_files import run_on_files

    # 1. Over MPI. What cannot be done there is refused before the file is read.
    if over.mpi:
        if failing.cut_links or failing.random_faults or lying:
            raise TreecastError(
                "over MPI only processes can be killed: write --dead-nodes 5@3, and leave other faults out"
            )
        if told != PlaceOptions():
            raise TreecastError(
                f"over MPI {file} is read as it stands: write its schedule by 'treecast verify -o', and run that"
            )
        return _run_over_mpi(file, data, over, as_json, flit=flit, kill=failing.dead_nodes, output=output)
    # 2. Here. Of two readers of standard input the first would take all of it.
    if file == data == "-":
        raise TreecastError("the schedule and the data cannot both be standard input: name a file for one of them")
    schedule, report = load(file, told.read())
    faults, liars = failing.read(schedule), lying.read(schedule)
    # 3. The run, and its report.
    with console.progress("steps"):
        done = run_on_files(schedule, data, faults=faults, liars=liars, flit=_flit(schedule, flit), output=output)
    found = describe(done)
    lines = {"input": f"{data}, {found.lines['input']}"}
    status = console.show(
        found.adding({"input": data, "verified": report.holds, "method": report.method}, lines), as_json
    )
    if output is not None:
        console.wrote(output)
    return status


def _flit(schedule: "Schedule", asked: int | None) -> int:
    """Return the bytes of a flit: as asked for, as planned, or 4,096."""
    if asked is None and schedule.sizes is not None and schedule.collective.lengths is not None:
        return schedule.sizes.chunk
    return FLIT_BYTES if asked is None else asked


def _run_over_mpi(file: str, data: str, over: MpiOptions, as_json: bool, *, flit: int | None, **asked: Any) -> int:
    from treecast.mpi.job.run import RunRequest, make_request
    from treecast.mpi.job.start import run_over_mpi

    check_numbers(timeout=over.timeout)
    if "-" in (file, data):
        raise TreecastError("over MPI many processes read the files: name them, standard input is one process's")
    # Only rank 0 of several asks: the others have no report to show.
    verified: dict[str, object] = {}

    def ask() -> "tuple[Schedule, RunRequest]":
        schedule, report = load(file)
        verified.update(verified=report.holds, method=report.method)
        return schedule, make_request(schedule, file, data, deadline=over.deadline, flit=_flit(schedule, flit), **asked)

    outcome, status = run_over_mpi(ask, over.timeout)
    if outcome is not None:
        console.show(describe(outcome).adding(verified), as_json)
    return status
