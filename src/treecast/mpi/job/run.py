"""A run of a plan over MPI: what every rank does from its start to the report, which a living rank writes."""

import atexit
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any, NamedTuple

from treecast import formats
from treecast.errors import FaultError, PlanError, TreecastError
from treecast.formats.native.header import header_of, without_rows
from treecast.mpi.engine.engine import Endpoint, Engine
from treecast.mpi.engine.transfers import transfers_of
from treecast.mpi.job import data as data_of
from treecast.mpi.job import records
from treecast.mpi.job.data import Prepared
from treecast.mpi.job.exchange import Circle, exchange, relays_of
from treecast.mpi.job.findings import Found, conclude, holds, record_of
from treecast.mpi.job.program import end_daemon, flush
from treecast.mpi.job.records import Record
from treecast.mpi.library import load_mpi, tags_of
from treecast.networks import Network
from treecast.networks import network as find_network
from treecast.plans import plan_again, program_again
from treecast.schedule import Schedule
from treecast.simulation.faults import parse_faults

_FAULT_TOLERANT = "OMPI_MCA_mpi_ft_enable"  # in the environment of ranks: 1 under ``--with-ft ulfm``
CUT_OFF = 5
"""Deadlines after which also a rank that nobody reaches has left its record."""
_PRINTING = 0.5  # seconds in which mpirun passes on what a rank has printed


class Request(NamedTuple):
    """A run that is to be: the plan, the input, who is to be killed at which step, and the patience of a rank.

    ``rule``: the header of the plan, when each rank can find its own rows from its label alone; else None, and each rank
    reads the plan and keeps its own rows. ``output``: the folder into which files of a scatterv or gatherv are written.
    """

    plan: str
    input: str
    flit: int
    kill: dict[int, int]
    deadline: float
    rule: dict[str, str] | None
    output: str | None = None


def make_request(
    schedule: Schedule,
    path: str,
    name: str,
    *,
    flit: int,
    kill: tuple[str, ...],
    deadline: float,
    output: str | None = None,
) -> Request:
    """Return the run of a verified schedule on an input. Raises PlanError or FaultError when it cannot be."""
    if schedule.sparing:
        raise PlanError(
            "a sparing schedule leaves out what the other side may have, so a rank cannot know what to wait for: "
            "run it without --mpi"
        )
    if not 0 < deadline < 1e9:
        raise PlanError(f"a deadline of {deadline} seconds ends nothing: write --deadline 30, say")
    killed = dict(parse_faults(schedule.network, [name for text in kill for name in text.split(",") if name]).nodes)
    for node, step in killed.items():
        rows = schedule.at(node).rows
        if not bool((rows.step + rows.steps > step).any()):
            raise FaultError(f"{schedule.network.label(node)} does nothing from step {step} on: name an earlier step")
    data_of.find_source(schedule, name, flit, output)
    return Request(path, name, flit, killed, deadline, _rule(schedule), output)


def _rule(schedule: Schedule) -> dict[str, str] | None:
    """Return the header of a schedule whose recipe makes its rows, and tells each rank its own; None of others."""
    header = header_of(schedule)
    try:
        if program_again(without_rows(header), 0) is None or plan_again(schedule).rows != schedule.rows:
            return None
    except TreecastError:
        return None
    return header


def own_program(what: Request, rank: int, ranks: int | None = None) -> Schedule:
    """Return the rows of one rank: from its label, or from the file.

    Raises PlanError when the plan is for another number of nodes than there are ``ranks``.
    """
    if what.rule is not None:
        _check_ranks(find_network(what.rule["network"]), ranks)
        mine = program_again(without_rows(what.rule), rank)
        if mine is not None:
            return mine
    whole = formats.read(what.plan)
    _check_ranks(whole.network, ranks)
    return whole.at(rank)


def _check_ranks(network: Network, ranks: int | None) -> None:
    nodes = network.nodes
    if ranks is not None and ranks != nodes:
        raise PlanError(f"the plan has {nodes:,} nodes, and mpirun started {ranks:,} ranks: start it with -n {nodes}")


class Ended(NamedTuple):
    """How a rank's part in a run ended. ``found``: the findings, or an ``error``, at the one rank that is to report them."""

    found: Found | None
    status: int
    request: Request | None


def run_rank(what: Request | Callable[[], Request], folder: Path | None = None) -> Ended:
    """Do one rank's part of a run, in a process that mpirun has started.

    Parameters
    ----------
    what
        The request; or what makes it, which rank 0 calls, for all.
    folder
        Where records are left for the process that started mpirun. Without it the ranks have a folder of their own, and the first
        of them to ask for it reports.
    """
    mpi = load_mpi()
    world = mpi.COMM_WORLD
    world.Set_errhandler(mpi.ERRORS_RETURN)
    rank, size = int(world.Get_rank()), int(world.Get_size())
    asked, error, place = _request_of_all(world, what, folder)
    prepared: Prepared | None = None
    if asked is not None and place is not None:
        records.note_process(place, rank)
        prepared, error = _attempt(lambda: _prepare(asked, rank, size))
    errors: list[str] = world.allgather(error)
    first = next((other for other, text in enumerate(errors) if text), None)
    if first is not None or prepared is None or asked is None or place is None:
        found = {"error": errors[first or 0]} if rank == first else None
        if folder is not None and found:
            records.write_record(folder, rank, found)
        return Ended(found, 2, asked)
    heard, dead = _carry_out(mpi, prepared, asked, place)
    found, status = None, 0
    if folder is None and records.claim_report(place):
        found, status = _report(prepared, asked, place, heard, dead)
    if dead or any(record["cut"] for record in heard.values()) or os.environ.get(_FAULT_TOLERANT) == "1":
        # MPI_Finalize may wait for ever: for the dead, or for what lies before a cut link
        atexit.register(leave, status)
    if found is not None and found.get("silent"):
        atexit.register(_end_the_rest)  # before that
    return Ended(found, status, asked)


def _request_of_all(
    world: Any, what: Request | Callable[[], Request], folder: Path | None
) -> tuple[Request | None, str, Path | None]:
    """Return the request that all ranks carry out, or why there is none, and the folder for their records."""
    if not callable(what):
        return what, "", folder
    asked, error = _attempt(what) if world.Get_rank() == 0 else (None, "")
    return world.bcast((asked, error, Path(tempfile.mkdtemp(prefix="treecast-")) if asked is not None else None))


def _carry_out(mpi: Any, prepared: Prepared, asked: Request, folder: Path) -> tuple[dict[int, Record], set[int]]:
    """Send and receive, leave a record, and stay until nobody needs this rank; return whose records came, and who is dead."""
    world = mpi.COMM_WORLD
    rank, comm, closing = int(world.Get_rank()), world.Dup(), world.Dup()
    for each in (comm, closing):
        each.Set_errhandler(mpi.ERRORS_RETURN)
    world.Barrier()
    transfers = transfers_of(prepared.program, rank, tags_of(mpi))
    near = relays_of(prepared.program.network, rank, (transfer.peer for transfer in transfers))
    circle = Circle(mpi, closing, 6 * asked.deadline, near)
    exchange(circle, b"", 0, set())  # opens all connections: later a cut link would let none through
    exchange(
        circle, b"", 1, set()
    )  # all begin at once; a Barrier could hang when the first of them dies before its end
    if rank == 0:
        _begin_time()
    endpoint, kill_at = Endpoint(mpi, comm), asked.kill.get(rank)
    outcome = Engine(endpoint, transfers, prepared.part, asked.deadline, kill_at=kill_at).run()
    record = record_of(prepared, rank, outcome, _write(prepared, rank, outcome.held, asked.output))
    records.write_record(folder, rank, record)
    size = int(world.Get_size())

    def is_over(heard: Mapping[int, bytes], dead: AbstractSet[int]) -> bool:
        return nobody_waits(folder, size, {place: json.loads(text) for place, text in heard.items()}, dead)

    # what is told over a cut link would never be under way
    circle = circle._replace(near=near - outcome.cut)
    words, dead = exchange(circle, json.dumps(record).encode(), 2, outcome.dead, is_over)
    return {place: json.loads(text) for place, text in words.items()}, dead


def nobody_waits(folder: Path, ranks: int, heard: Mapping[int, Record], dead: AbstractSet[int]) -> bool:
    """Return whether no rank can still need what another one has, or has a record to pass on.

    Either each has left a record, has died or is stopped. Or nobody who has a record still has to do with those without: all that
    had transfers with them have given them up. Those on other hosts are waited for as long as nobody has.
    """
    missing = {rank for rank in range(ranks) if rank not in heard} - dead
    left = records.awaited(folder, missing)
    if not missing or not left:
        return True
    given_up = {rank for record in heard.values() for rank in record["cut"]}
    return left <= given_up | set(records.processes_in(folder)) and all(
        left & set(record["peers"]) <= set(record["cut"]) | set(record["dead"]) | dead for record in heard.values()
    )


def _report(
    prepared: Prepared, asked: Request, folder: Path, heard: Mapping[int, Record], dead: AbstractSet[int]
) -> tuple[Found, int]:
    """Return the findings of all ranks, and the exit status."""
    network = prepared.program.network
    records.await_records(folder, set(range(network.nodes)) - set(heard) - dead, CUT_OFF * asked.deadline)
    everyone = {**heard, **records.read_records(folder)}
    found = conclude(network, prepared.source, everyone, dead | records.dead_in(folder))
    shutil.rmtree(folder, ignore_errors=True)
    return found, 2 if "error" in found else 0 if holds(found) else 1


def _begin_time() -> None:
    """In a lab, tell it that the transfer begins: cuts may count from there."""
    lab = os.environ.get("TREECAST_LAB")
    if lab:
        Path(lab, "mark").touch()


def leave(status: int) -> None:
    """End this process without MPI_Finalize."""
    flush()
    os._exit(status)


def _end_the_rest() -> None:
    """End what mpirun started on this host: it would wait for ranks that are stopped."""
    flush()
    time.sleep(_PRINTING)
    end_daemon()


def _attempt(work: Callable[[], Any]) -> tuple[Any, str]:
    try:
        return work(), ""
    except (TreecastError, OSError) as error:
        return None, str(error)
    except MemoryError:
        return None, "there is not enough memory for the data of a rank"


def _prepare(what: Request, rank: int, ranks: int) -> Prepared:
    mine = own_program(what, rank, ranks)
    source = data_of.find_source(mine, what.input, what.flit)
    return data_of.prepare(mine, rank, source)


def _write(prepared: Prepared, rank: int, held: set[int], output: str | None) -> str:
    """Write the files that a rank has got; return why that cannot be, or nothing."""
    if output is None:
        return ""
    return _attempt(lambda: data_of.write_arrived(prepared, rank, held, output))[1]
