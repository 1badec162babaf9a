"""Run by mpirun: mpi4py's own tests, unchanged, after COMM_WORLD and COMM_SELF have been replaced by wrapped ones.

usage: mpi4py_driver.py MAIN OPTIONS [ARGUMENTS]: MAIN is test/main.py of mpi4py's source archive, OPTIONS what ``wrap`` gets, in
JSON, ARGUMENTS what the tests get. Where MAIN is a folder, its demos of collectives (osu_*.py) are run, with few repetitions.
"""

import json
import runpy
import sys
import warnings
from pathlib import Path

warnings.filterwarnings("ignore", category=DeprecationWarning)
main, options, *arguments = sys.argv[1:]

from mpi4py import MPI  # noqa: E402

import treecast.mpi  # noqa: E402

MPI.COMM_WORLD, MPI.COMM_SELF = (
    treecast.mpi.wrap(comm, **json.loads(options)) for comm in (MPI.COMM_WORLD, MPI.COMM_SELF)
)
sys.argv = [main, *arguments]
if not Path(main).is_dir():
    runpy.run_path(main, run_name="__main__")
else:
    for name in arguments:
        runpy.run_path(str(Path(main, f"osu_{name}.py")))[f"osu_{name}"](skip=1, loop=20, skip_large=1, loop_large=3)
        if MPI.COMM_WORLD.rank == 0:
            print(f"{name} OK", file=sys.stderr)
