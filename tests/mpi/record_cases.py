"""Run by mpirun: rank 1 comes late to some calls of MPI's own; the record has every call once, and how long it took."""

import time

import numpy as np
from mpi4py import MPI

import treecast.mpi

CALLS, LATE, SECONDS = 20, (5, 15), 0.7

comm = treecast.mpi.wrap(MPI.COMM_WORLD, survive=1)
out = np.zeros(4)
for number in range(1, CALLS + 1):
    if comm.rank == 1 and number in LATE:
        time.sleep(SECONDS)
    comm.Allreduce(np.ones(4), out)
said = {entry["collective_seq_id"]: entry["duration_ms"] for entry in comm.calls()}
assert len(comm.calls()) == CALLS == len(said)
assert comm.rank == 1 or [number for number, took in said.items() if took > 900 * SECONDS] == list(LATE), said
MPI.COMM_WORLD.Barrier()
if comm.rank == 0:
    print("each call is in the record once")
