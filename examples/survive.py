"""Sums over all ranks, of which one is killed on the way: treecast launch -n 4 -- python examples/survive.py"""

import os
import signal

import numpy as np
from mpi4py import MPI

import treecast.mpi

comm = MPI.COMM_WORLD
comm = treecast.mpi.wrap(comm, survive=1)  # the line that was added

numbers, total = np.full(1_000_000, comm.rank + 1.0), np.empty(1_000_000)
for step in range(10):
    if comm.rank == 2 and step == 5:
        os.kill(os.getpid(), signal.SIGKILL)
    comm.Allreduce(numbers, total)
if comm.rank == 0:
    print(f"sum {total[0]:.0f} of {comm.size} ranks without {comm.last.failed}")
