"""A run of a plan over MPI: in new processes, as many as the plan has nodes, or inside an mpirun that is there."""

import json
import os
import sys
from collections.abc import Collection
from pathlib import Path

from treecast.errors import PlanError
from treecast.mpi.job import records
from treecast.mpi.job import run as runs
from treecast.mpi.job.data import find_source
from treecast.mpi.job.launch import launch
from treecast.mpi.job.outcome import MpiRun, conclude
from treecast.mpi.job.run import CUT_OFF, Ask, RunRequest
from treecast.mpi.job.watch import MpiWatch
from treecast.mpi.library import MISSING, has_mpi4py, inside_mpirun
from treecast.running.jobs.ending import letter_of
from treecast.running.jobs.watch import TIMED_OUT, Ending, folder_of_job
from treecast.schedule import Schedule

_LEAVING = 10.0  # seconds that ranks whose records are there have to end


def run_over_mpi(ask: Ask, timeout: float) -> tuple[MpiRun | None, int]:
    """Carry out a run, in new processes, or where mpirun has started this one as one of its ranks; return its outcome and status.

    Of several ranks only rank 0 calls ``ask``, for all, and one gets the outcome. The status is 0 when it holds, 1 when it does
    not, 124 when new processes were ended after ``timeout`` seconds. Raises PlanError when it cannot be done: no mpi4py, no
    mpirun, an input that a rank cannot read.
    """
    if inside_mpirun():
        return runs.run_rank(ask)
    if not has_mpi4py():
        raise PlanError(MISSING)
    outcome = _run_ranks(*ask(), timeout)
    return outcome, TIMED_OUT if outcome.status == TIMED_OUT else 0 if outcome.holds else 1


def _run_ranks(schedule: Schedule, request: RunRequest, timeout: float) -> MpiRun:
    """Carry a run out in new processes, one for each node, and join their records."""
    ranks, source = schedule.network.nodes, find_source(schedule, request.input, request.flit)
    with folder_of_job() as folder:
        watch = _Watch(folder / "status", ranks, CUT_OFF * request.deadline)
        here = str(Path(__file__).parents[3])  # where the treecast lies that runs here
        program = [sys.executable, "-m", runs.__name__, json.dumps(request._asdict()), str(folder)]
        with (folder / "printed").open("wb") as printed:
            ending = launch(
                ranks,
                program,
                timeout,
                environment={"PYTHONPATH": os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH")]))},
                stdout=printed.fileno(),
                watch=watch,
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


class _Watch(MpiWatch):
    """The news of a run: which ranks are still there without a record (``silent``), and whether the rest was ``ended``.

    ``patience``: seconds after which a rank that all others have left will leave no record.
    """

    def __init__(self, status: Path, ranks: int, patience: float) -> None:
        super().__init__(status, ranks)
        self._patience, self.silent, self.ended = patience, set(range(ranks)), False

    def abandoned(self, well: Collection[int] = ()) -> Ending | None:
        """Return how the job ends when all that may report has done so, and others wait for nothing; None before."""
        began, everyone = self.noted("began"), set(range(self._ranks))
        living = began.keys() - self.noted("ended").keys()
        recorded = {rank for rank in everyone if records.has_record(self.status.parent, rank)}
        self.silent = (everyone - began.keys() | living) - recorded
        # Not yet: some have not begun, nobody has reported, or one with a record still answers others that have none.
        if len(began) < self._ranks or not recorded or (self.silent and living & recorded):
            self._spell("")
            return None
        stopped = bool(self.silent) and all(letter_of(began[rank]) in "Tt" for rank in self.silent)
        lasted = self._spell(f"{len(recorded)} records")  # no other has come
        self.ended = stopped or lasted > (self._patience if self.silent else _LEAVING)
        return self.ending(0) if self.ended else None
