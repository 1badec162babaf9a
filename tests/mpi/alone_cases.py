"""Unlike calls that survive nothing, after three alike: alone_cases.py ONE OTHER ODD [ENTRIES]. ODD makes ONE, others OTHER."""

import sys

from mpi4py import MPI

import treecast.mpi
from tests.mpi.unlike_cases import calls_of

one, other, odd, entries = sys.argv[1], sys.argv[2], *map(int, [*sys.argv[3:], 1][:2])
comm = treecast.mpi.wrap(MPI.COMM_WORLD)
calls = {**calls_of(entries, comm.size), "nothing": lambda comm: None}
for _ in range(3):
    comm.Barrier()
calls[one if comm.rank == odd else other](comm)
