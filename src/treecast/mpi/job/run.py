"""A run of a plan over MPI: the work of every rank from its start to the report, which a living rank writes.

    python -m treecast.mpi.job.run REQUEST FOLDER       one rank of ``treecast run --mpi``, started by mpirun

Such a rank prints nothing: it leaves its record in the folder, for the process that started mpirun to read.
"""

import atexit
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from treecast.errors import FaultError, PlanError, TreecastError
from treecast.files import formats
from treecast.mpi.job import data as data_of
from treecast.mpi.job import records
from treecast.mpi.job.data import Prepared
from treecast.mpi.job.exchange import Circle, relays_of
from treecast.mpi.job.outcome import MpiRun, conclude, record_of
from treecast.mpi.job.records import Record
from treecast.mpi.library import load_mpi
from treecast.mpi.plans import PlanTransport
from treecast.running.engine.engine import Engine, MovingChunk
from treecast.running.engine.transfers import Peers, Transfer, transfers_of
from treecast.running.execution.layout import Bytes
from treecast.running.jobs.program import end_daemon, flush
from treecast.running.jobs.watch import letters, note_began
from treecast.running.transport.base import Ticket
from treecast.schedule import Schedule
from treecast.simulation.faults import parse_faults

_FAULT_TOLERANT = "OMPI_MCA_mpi_ft_enable"  # in the environment of ranks: 1 under ``--with-ft ulfm``
CUT_OFF = 5
"""Deadlines after which also a rank that nobody reaches has left its record."""
_CLOSING = 6  # deadlines without any word after which a rank leaves
_PRINTING = 0.5  # seconds in which mpirun passes on the words of a rank


class RunRequest(NamedTuple):
    """A run that is to be: the plan, the input, who is to be killed at which step, and the patience of a rank.

    ``output``: the folder into which files of a scatterv or gatherv are written.
    """

    plan: str
    input: str
    flit: int
    kill: dict[int, int]
    deadline: float
    output: str | None = None


Ask = Callable[[], tuple[Schedule, RunRequest]]
"""Returns the plan and the request of a run; rank 0 calls it, for all."""


def make_request(
    schedule: Schedule,
    path: str,
    name: str,
    *,
    flit: int,
    kill: tuple[str, ...],
    deadline: float,
    output: str | None = None,
) -> RunRequest:
    """Return the run of a verified schedule on an input. Raises PlanError or FaultError when it cannot be."""
    if schedule.sparing:
        raise PlanError(
            "a sparing schedule leaves out chunks that the other side may have, so a rank cannot know its messages: "
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
    return RunRequest(path, name, flit, killed, deadline, output)


def deal_out(ask: Ask, ranks: int) -> tuple[RunRequest, list[Schedule]]:
    """Return the request, and the rows of each rank. Raises PlanError when the plan has another number of nodes."""
    schedule, request = ask()
    nodes = schedule.network.nodes
    if ranks != nodes:
        raise PlanError(f"the plan has {nodes:,} nodes, and mpirun started {ranks:,} ranks: start it with -n {nodes}")
    return request, [schedule.at(rank) for rank in range(ranks)]


def run_rank(ask: Ask, folder: Path | None = None) -> tuple[MpiRun | None, int]:
    """Do one rank's part of a run, in a process that mpirun has started; return the outcome, where it is to be told, and the exit
    status.

    Only rank 0 calls ``ask``, so no other needs the plan. ``folder``: takes the records for the process that started mpirun.
    Without it the ranks have a folder of their own, and the first of them to ask for it has the outcome. Raises PlanError, at
    one rank, for anything that some rank could not do.
    """
    # 1. This process among the others; errors come as codes, so that a death ends nobody else.
    mpi = load_mpi()
    world = mpi.COMM_WORLD
    world.Set_errhandler(mpi.ERRORS_RETURN)
    rank, size = int(world.Get_rank()), int(world.Get_size())
    # 2. Rank 0 alone reads the plan. An error goes on as a text, since the others wait in the broadcast.
    dealt, error = _attempt(lambda: deal_out(ask, size)) if rank == 0 else (None, "")
    request, programs = dealt or (None, None)
    asked: RunRequest | None
    asked, place = world.bcast((request, folder or Path(tempfile.mkdtemp(prefix="treecast-")) if request else None))
    prepared: Prepared | None = None
    if asked is not None and place is not None:
        mine: Schedule = world.scatter(programs)
        note_began(place, rank)
        prepared, error = _attempt(
            lambda: data_of.prepare(mine, rank, data_of.find_source(mine, asked.input, asked.flit))
        )
    # 3. All tell whether they are ready before anybody begins: then no rank waits for one that could not.
    errors: list[str] = world.allgather(error)
    first = next((other for other, text in enumerate(errors) if text), None)
    if first is not None or prepared is None or asked is None or place is None:
        # One rank says it, the lowest: all others end in silence.
        if rank == first and folder is not None:
            records.write_record(folder, rank, {"error": errors[rank]})
        elif rank == first:
            raise PlanError(errors[rank])
        return None, 2
    # 4. Carry it out; the first to claim it reports.
    heard, dead = _carry_out(mpi, prepared, asked, place)
    outcome, error, status = None, "", 0
    if folder is None and records.claim_report(place):
        outcome, error = _attempt(lambda: _report(prepared, asked, place, heard, dead))
        status = 2 if outcome is None else 0 if outcome.holds else 1
    # 5. A way out that waits for nobody.
    if dead or any(record["cut"] for record in heard.values()) or os.environ.get(_FAULT_TOLERANT) == "1":
        # MPI_Finalize may wait for ever: for the dead, or for messages before a cut link
        atexit.register(leave, status)
    if outcome is not None and outcome.silent:
        atexit.register(_end_the_rest)  # before that
    if error:
        raise PlanError(error)
    return outcome, status


class _Doomed(Engine):
    """The engine of a rank that kills itself in the middle of its first message of a step, or a later one."""

    def __init__(self, kill_at: int, *rest: Any) -> None:
        super().__init__(*rest)
        self._kill_at = kill_at

    def _begin(self, transfer: Transfer, chunk: int, buffer: Bytes) -> Ticket:
        ticket = super()._begin(transfer, chunk, buffer)
        if transfer.sends:
            self._die_at(transfer.step_of(chunk))
        return ticket

    def _take_in(self, transfer: Transfer, message: MovingChunk, full: bool) -> None:
        self._die_at(transfer.step_of(message.chunk))
        super()._take_in(transfer, message, full)

    def _die_at(self, step: int) -> None:
        if step >= self._kill_at:
            os.kill(os.getpid(), signal.SIGKILL)  # a message has begun, and nobody will end it


def _carry_out(mpi: Any, prepared: Prepared, asked: RunRequest, folder: Path) -> tuple[dict[int, Record], set[int]]:
    """Send and receive, leave a record, and stay until nobody needs this rank; return whose records came, and who is dead."""
    world = mpi.COMM_WORLD
    transport = PlanTransport(mpi, world.Dup())
    rank = transport.rank
    world.Barrier()
    transfers = transfers_of(prepared.program, rank, transport.tags)
    circle = Circle(transport, relays_of(prepared.program.network, rank, (transfer.peer for transfer in transfers)))
    patience = _CLOSING * asked.deadline
    circle.exchange(0, b"", patience)  # opens all connections: later a cut link would let none through
    # all begin at once; a Barrier could hang when the first of them dies before its end
    circle.exchange(1, b"", patience)
    if rank == 0 and (lab := os.environ.get("TREECAST_LAB")):  # cuts may count from here
        Path(lab, "mark").touch()
    engine = Engine if rank not in asked.kill else partial(_Doomed, asked.kill[rank])
    ended = engine(Peers(transport, range(transport.size)), transfers, prepared.part, asked.deadline).run()
    output, unwritten = asked.output, ""
    if output is not None:
        _, unwritten = _attempt(lambda: data_of.write_arrived(prepared, rank, ended.held, output))
    record = record_of(prepared, rank, ended, unwritten)
    records.write_record(folder, rank, record)

    def is_over(heard: Mapping[int, bytes], dead: AbstractSet[int]) -> bool:
        return nobody_waits(folder, transport.size, {place: json.loads(text) for place, text in heard.items()}, dead)

    circle.near -= ended.cut  # words over a cut link would never be under way
    words, dead = circle.exchange(2, json.dumps(record).encode(), patience, ended.dead, is_over)
    transport.close()
    return {place: json.loads(text) for place, text in words.items()}, dead


def nobody_waits(folder: Path, ranks: int, heard: Mapping[int, Record], dead: AbstractSet[int]) -> bool:
    """Return whether no rank can still need data of another one, or has a record to pass on.

    Either each has left a record, has died or is stopped. Or nobody who has a record still has to do with those without: all that
    had transfers with them have given them up. Those on other hosts are waited for as long as nobody has.
    """
    missing = {rank for rank in range(ranks) if rank not in heard} - dead
    left = records.awaited(folder, missing)
    if not missing or not left:
        return True
    given_up = {rank for record in heard.values() for rank in record["cut"]}
    return left <= given_up | letters(folder).keys() and all(
        left & set(record["peers"]) <= set(record["cut"]) | set(record["dead"]) | dead for record in heard.values()
    )


def _report(
    prepared: Prepared, asked: RunRequest, folder: Path, heard: Mapping[int, Record], dead: AbstractSet[int]
) -> MpiRun:
    """Return the outcome at all ranks."""
    schedule = prepared.program
    records.await_records(folder, set(range(schedule.network.nodes)) - set(heard) - dead, CUT_OFF * asked.deadline)
    ended = {rank for rank, letter in letters(folder).items() if letter in "ZX"}
    everyone = {**heard, **records.read_records(folder)}
    # Before the verdict, which may raise: nothing is left behind.
    records.remove(folder)
    return conclude(schedule, prepared.source, everyone, dead | ended)


def leave(status: int) -> None:
    """End this process without MPI_Finalize."""
    flush()
    os._exit(status)


def _end_the_rest() -> None:
    """End all that mpirun started on this host: it would wait for ranks that are stopped."""
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


def main(text: str, folder: str) -> None:
    """Do a rank's part in the run that ``text`` describes, in JSON."""
    words = json.loads(text)
    request = RunRequest(**words)._replace(kill={int(node): step for node, step in words["kill"].items()})
    try:
        run_rank(lambda: (formats.read(request.plan), request), Path(folder))
    except Exception as error:
        rank = int(os.environ.get("OMPI_COMM_WORLD_RANK", "0"))
        said = " ".join(f"rank {rank} failed: {type(error).__name__}: {error}".split())
        records.write_record(Path(folder), rank, {"error": said})
        raise
    leave(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
