"""One rank of ``treecast run --mpi``: ``python -m treecast.mpi.job.rank REQUEST FINDINGS``, started by mpirun.

It prints nothing: the rank that has the findings writes them to a file, for the process that started mpirun to show.
"""

import json
import sys
from pathlib import Path

from treecast.mpi.job.findings import write_findings
from treecast.mpi.job.run import Request, run_rank


def main(request: str, findings: str) -> None:
    """Do a rank's part in the run that the file ``request`` describes."""
    words = json.loads(Path(request).read_text())
    words["kill"] = {int(node): step for node, step in words["kill"].items()}
    found, *_ = run_rank(Request(**words))
    if found is not None:
        write_findings(findings, found)


if __name__ == "__main__":
    main(*sys.argv[1:])
