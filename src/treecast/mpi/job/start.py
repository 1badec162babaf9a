"""A run of a plan over MPI: in new processes, as many as the plan has nodes, or inside an mpirun that is there."""

import json
import os
import sys
import tempfile
import time
from pathlib import Path

from treecast.errors import PlanError
from treecast.mpi.job import records
from treecast.mpi.job import run as runs
from treecast.mpi.job.data import find_source
from treecast.mpi.job.ending import Process, is_alive, is_stopped
from treecast.mpi.job.launch import TIMED_OUT, launch
from treecast.mpi.job.outcome import MpiRun, conclude
from treecast.mpi.job.run import CUT_OFF, Ask, Request
from treecast.mpi.library import MISSING, has_mpi4py, inside_mpirun
from treecast.schedule import Schedule

_LEAVING = 10.0  # seconds that ranks whose records are there have to end


def run_over_mpi(ask: Ask, timeout: float) -> tuple[MpiRun | None, int]:
    """Carry out a run: in new processes, or where mpirun has started this one, as one of its ranks.

    Parameters
    ----------
    ask : callable
        Returns the schedule and the request. Of several ranks only rank 0 calls it, for all.
    timeout : float
        Seconds after which new processes are ended.

    Returns
    -------
    tuple of MpiRun or None, and int
        The outcome, which one rank gets, and the exit status: 0 it holds, 1 it does not, 124 the time limit was up.

    Raises
    ------
    PlanError
        When it cannot be done: no mpi4py, no mpirun, an input that a rank cannot read.
    """
    if inside_mpirun():
        return runs.run_rank(ask)
    if not has_mpi4py():
        raise PlanError(MISSING)
    outcome = _run_ranks(*ask(), timeout)
    return outcome, TIMED_OUT if outcome.status == TIMED_OUT else 0 if outcome.holds else 1


def _run_ranks(schedule: Schedule, what: Request, timeout: float) -> MpiRun:
    """Carry a run out in new processes, one for each node, and join their records."""
    ranks, source = schedule.network.nodes, find_source(schedule, what.input, what.flit)
    with tempfile.TemporaryDirectory(prefix="treecast-") as name:
        folder = Path(name)
        watch = _Watch(folder, ranks, CUT_OFF * what.deadline)
        program = [sys.executable, "-m", runs.__name__, json.dumps(what._asdict()), name]
        with (folder / "printed").open("wb") as printed:
            ending = launch(
                ranks,
                program,
                timeout,
                environment={"PYTHONPATH": _path()},
                stdout=printed.fileno(),
                is_over=watch.is_over,
            )
        marked, other = records.marked_records((folder / "printed").read_text(errors="replace"))
        sys.stderr.write(other)
        found = {**marked, **records.read_records(folder)}
    status = ending.status
    if not found and status != TIMED_OUT:
        raise PlanError(f"no rank reported anything: {ending.line or f'mpirun ended with status {status}'}")
    silent = watch.silent if status == TIMED_OUT or watch.ended else set[int]()
    named = {int(rank) for record in found.values() for rank in record.get("dead", ())}
    return conclude(schedule, source, found, named | (set(range(ranks)) - set(found) - silent), status)


class _Watch:
    """Looks at a job under way: which ranks are still there without a record, and whether what is left shall be ended.

    ``patience``: seconds after which a rank that all others have left will leave no record.
    """

    def __init__(self, folder: Path, ranks: int, patience: float) -> None:
        self._folder, self._ranks, self._patience = folder, ranks, patience
        self._processes: dict[int, Process] = {}
        self._recorded, self._since = 0, 0.0
        self.silent, self.ended = set(range(ranks)), False

    def is_over(self) -> bool:
        """Return whether all that may report has done so, and others wait for nothing."""
        if len(self._processes) < self._ranks:
            self._processes = records.processes_in(self._folder)
        living = {rank for rank, process in self._processes.items() if is_alive(process)}
        recorded = {rank for rank in range(self._ranks) if records.has_record(self._folder, rank)}
        self.silent = {rank for rank in range(self._ranks) if rank in living or rank not in self._processes} - recorded
        if len(self._processes) < self._ranks or not recorded or (self.silent and living & recorded):
            self._recorded = 0
            return False
        if self.silent and all(is_stopped(self._processes[rank]) for rank in self.silent):
            self.ended = True
        else:
            self.ended = self._lasted(len(recorded))
        return self.ended

    def _lasted(self, recorded: int) -> bool:
        """Return whether no record has come for as long as may be."""
        if recorded != self._recorded:
            self._recorded, self._since = recorded, time.monotonic()
        return time.monotonic() - self._since > (self._patience if self.silent else _LEAVING)


def _path() -> str:
    """Return a PYTHONPATH by which ranks find the treecast that runs here."""
    here = str(Path(__file__).parents[3])
    return os.pathsep.join([here, *filter(None, [os.environ.get("PYTHONPATH")])])
