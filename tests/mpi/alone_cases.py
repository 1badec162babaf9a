"""Unlike calls that survive nothing, after three alike: alone_cases.py ONE OTHER ODD. The rank ODD makes ONE, others OTHER."""

import sys

from mpi4py import MPI

import treecast.mpi
from tests.tcp.unlike import table

one, other, odd = sys.argv[1], sys.argv[2], int(sys.argv[3])
comm = treecast.mpi.wrap(MPI.COMM_WORLD)
calls = {
    **table(comm.size, MPI.MAX),
    "nothing": lambda comm: None,
    "reduce by a function": lambda comm: comm.reduce(1, lambda one, other: one + other),
}
for _ in range(3):
    comm.Barrier()
calls[one if comm.rank == odd else other](comm)
