"""Run by mpirun: by how much an alltoall lets the memory of each rank grow, beside its own buffers. Rank 0 prints the ratio.

usage: memory_cases.py BYTES SURVIVE
"""

import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI

import treecast.mpi as ours


def resident(what):
    """Return what the kernel says of this process's memory, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(what))


comm = MPI.COMM_WORLD
size, survive = int(sys.argv[1]) // comm.size * comm.size, int(sys.argv[2])
small = np.zeros(comm.size, np.uint8)
ours.Alltoall(comm, small, small.copy(), survive=survive)  # plans, and opens connections
out, into = np.full(size, comm.rank, np.uint8), np.ones(size, np.uint8)
comm.Barrier()
before = resident("VmRSS")
Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
ours.Alltoall(comm, out, into, survive=survive)
grown = (resident("VmHWM") - before) / (2 * size)
assert (into.reshape(comm.size, -1) == np.arange(comm.size)[:, None]).all()
most = comm.reduce(grown, MPI.MAX)
if comm.rank == 0:
    print(f"{most:.2f}", flush=True)
