"""One rank of ``treecast run --mpi``: ``python -m treecast.mpi.job.rank REQUEST FOLDER``, started by mpirun.

It prints nothing: it leaves its record in the run's folder, for the process that started mpirun to read.
"""

import json
import os
import sys
from pathlib import Path

from treecast.mpi.job.records import write_record
from treecast.mpi.job.run import Request, leave, run_rank


def main(request: str, folder: str) -> None:
    """Do a rank's part in the run that ``request`` describes, in JSON."""
    words = json.loads(request)
    words["kill"] = {int(node): step for node, step in words["kill"].items()}
    try:
        run_rank(Request(**words), Path(folder))
    except Exception as error:
        rank = int(os.environ.get("OMPI_COMM_WORLD_RANK", "0"))
        text = " ".join(f"rank {rank} failed: {type(error).__name__}: {error}".split())
        write_record(Path(folder), rank, {"error": text})
        raise
    leave(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
