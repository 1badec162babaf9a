"""A run of a plan over MPI, seen from outside: start as many ranks as the plan has nodes, wait, and read what they found."""

import json
import os
import sys
import tempfile
from pathlib import Path

from treecast.errors import PlanError
from treecast.mpi.job.findings import Found
from treecast.mpi.job.launch import TIMED_OUT, launch
from treecast.mpi.job.run import Request
from treecast.mpi.library import MISSING, has_mpi4py

DEFAULT_TIMEOUT = 600.0


def run_ranks(what: Request, ranks: int, timeout: float = DEFAULT_TIMEOUT) -> Found:
    """Carry a run out in ``ranks`` new processes; return the findings.

    Raises PlanError when it cannot be done: no mpi4py, no mpirun, an input that a rank cannot read, a time limit that passed.
    """
    if not has_mpi4py():
        raise PlanError(MISSING)
    with tempfile.TemporaryDirectory(prefix="treecast-") as folder:
        asked, findings = Path(folder, "request.json"), Path(folder, "findings.json")
        asked.write_text(json.dumps(what._asdict()))
        program = [sys.executable, "-m", "treecast.mpi.job.rank", str(asked), str(findings)]
        status = launch(ranks, program, timeout, environment={"PYTHONPATH": _path()})
        if not findings.exists():
            if status == TIMED_OUT:
                raise PlanError(
                    f"the ranks did not end within {timeout:g} seconds, and were ended: give --timeout more"
                )
            raise PlanError(f"no rank reported anything: mpirun ended with status {status}")
        found: Found = json.loads(findings.read_text())
    if "error" in found:
        raise PlanError(str(found["error"]))
    return {**found, "mpirun_status": status}


def _path() -> str:
    """Return a PYTHONPATH by which ranks find the treecast that runs here."""
    here = str(Path(__file__).parents[3])
    return os.pathsep.join([here, *filter(None, [os.environ.get("PYTHONPATH")])])
