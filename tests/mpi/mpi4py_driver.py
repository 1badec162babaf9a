"""Run by mpirun: mpi4py's own tests, unchanged, after COMM_WORLD and COMM_SELF have been replaced by wrapped ones.

usage: mpi4py_driver.py MAIN OPTIONS [ARGUMENTS]: MAIN is test/main.py of mpi4py's source archive, OPTIONS what ``wrap`` gets, in
JSON, ARGUMENTS what the tests get.
"""

import json
import runpy
import sys
import warnings

warnings.filterwarnings("ignore", category=DeprecationWarning)
main, options, *arguments = sys.argv[1:]

from mpi4py import MPI  # noqa: E402

import treecast.mpi  # noqa: E402

MPI.COMM_WORLD, MPI.COMM_SELF = (
    treecast.mpi.wrap(comm, **json.loads(options)) for comm in (MPI.COMM_WORLD, MPI.COMM_SELF)
)
sys.argv = [main, *arguments]
runpy.run_path(main, run_name="__main__")
