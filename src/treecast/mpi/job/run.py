"""A run of a plan over MPI: what every rank does from its start to the report, which a living rank writes."""

import atexit
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from treecast import formats
from treecast.errors import FaultError, PlanError, TreecastError
from treecast.formats.native.header import header_of, without_rows
from treecast.mpi.engine.engine import Endpoint, Engine
from treecast.mpi.engine.transfers import transfers_of
from treecast.mpi.job import data as data_of
from treecast.mpi.job.data import Prepared
from treecast.mpi.job.exchange import Circle, exchange, relays_of
from treecast.mpi.job.findings import Found, closing_words, collect_findings
from treecast.mpi.library import load_mpi, tags_of
from treecast.networks import Network
from treecast.networks import network as find_network
from treecast.plans import plan_again, program_again
from treecast.schedule import Schedule
from treecast.simulation.faults import parse_faults


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
    data_of.find_source(schedule.network, schedule.collective, name, flit, output)
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


def run_rank(what: Request | Callable[[], Request]) -> tuple[Found | None, int, Any]:
    """Do one rank's part of a run, in a process that mpirun has started; return the findings, the exit status and the request.

    Exactly one living rank gets the findings, or an ``error`` in their place. ``what``: the request; or what makes it, which
    rank 0 calls, for all.
    """
    mpi = load_mpi()
    world = mpi.COMM_WORLD
    world.Set_errhandler(mpi.ERRORS_RETURN)
    asked, error = _request_of_all(world, what)
    prepared: Prepared | None = None
    if asked is not None:
        prepared, error = _attempt(lambda: _prepare(asked, int(world.Get_rank()), int(world.Get_size())))
    errors: list[str] = world.allgather(error)
    first = next((place for place, text in enumerate(errors) if text), None)
    if first is not None or prepared is None or asked is None:
        return ({"error": errors[first or 0]} if world.Get_rank() == first else None), 2, asked
    records, dead = _carry_out(mpi, prepared, asked)
    found, status = _conclude(prepared, records, dead, int(world.Get_rank()))
    return found, status, asked


def _request_of_all(world: Any, what: Request | Callable[[], Request]) -> tuple[Request | None, str]:
    """Return the request that all ranks carry out, or why there is none."""
    if not callable(what):
        return what, ""
    asked, error = _attempt(what) if world.Get_rank() == 0 else (None, "")
    return world.bcast((asked, error))


def _carry_out(mpi: Any, prepared: Prepared, asked: Request) -> tuple[dict[int, dict[str, Any]], set[int]]:
    """Send and receive, then exchange reports; return those of the living ranks, and who is dead."""
    world = mpi.COMM_WORLD
    rank, comm, closing = int(world.Get_rank()), world.Dup(), world.Dup()
    for each in (comm, closing):
        each.Set_errhandler(mpi.ERRORS_RETURN)
    world.Barrier()
    transfers = transfers_of(prepared.program, rank, tags_of(mpi))
    near = relays_of(prepared.program.network, rank, (transfer.peer for transfer in transfers))
    circle = Circle(mpi, closing, 6 * asked.deadline, near)
    exchange(circle, b"", 0, set())  # opens all connections: later a cut link would let none through
    world.Barrier()  # all begin at once
    if rank == 0:
        _begin_time()
    endpoint, kill_at = Endpoint(mpi, comm), asked.kill.get(rank)
    outcome = Engine(endpoint, transfers, prepared.part, asked.deadline, kill_at=kill_at).run()
    circle = circle._replace(near=near - outcome.cut)  # what is told over a cut link would never be under way
    _, dead = exchange(circle, b"", 1, outcome.dead)
    unwritten = _write(prepared, rank, outcome.held, asked.output)
    words, dead = exchange(circle, closing_words(prepared, rank, outcome, dead, unwritten), 2, dead)
    return {place: json.loads(text) for place, text in words.items()}, dead


def _conclude(
    prepared: Prepared, records: dict[int, dict[str, Any]], dead: set[int], rank: int
) -> tuple[Found | None, int]:
    """Return the findings, at one living rank alone, and the exit status."""
    found, status = None, int(any(record["lacks"] for record in records.values()))
    if rank == min(records):
        found = collect_findings(prepared, records, dead)
        status = int(found["delivered"] < found["living"])
        failed = [record["unwritten"] for record in records.values() if record["unwritten"]]
        if failed:
            found, status = {"error": failed[0]}, 2
    if any(record["cut"] for record in records.values()):
        atexit.register(_leave_unfinalized, status)
    return found, status


def _begin_time() -> None:
    """In a lab, tell it that the transfer begins: cuts may count from there."""
    lab = os.environ.get("TREECAST_LAB")
    if lab:
        Path(lab, "mark").touch()


def _leave_unfinalized(status: int) -> None:
    """End this process without MPI_Finalize, which would wait for ever for messages over a link that is cut."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _attempt(work: Callable[[], Any]) -> tuple[Any, str]:
    try:
        return work(), ""
    except (TreecastError, OSError) as error:
        return None, str(error)
    except MemoryError:
        return None, "there is not enough memory for the data of a rank"


def _prepare(what: Request, rank: int, ranks: int) -> Prepared:
    mine = own_program(what, rank, ranks)
    source = data_of.find_source(mine.network, mine.collective, what.input, what.flit)
    return data_of.prepare(mine, rank, source)


def _write(prepared: Prepared, rank: int, held: set[int], output: str | None) -> str:
    """Write the files that a rank has got; return why that cannot be, or nothing."""
    if output is None:
        return ""
    return _attempt(lambda: data_of.write_arrived(prepared, rank, held, output))[1]
