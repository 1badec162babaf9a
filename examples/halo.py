"""Heat in a plate over ranks of which one is killed on the way: treecast launch -n 4 -- python examples/halo.py 2@77"""

import os
import signal
import sys

import numpy as np
from mpi4py import MPI

import treecast.mpi

SIZE, STEPS, EVERY = 120, 400, 50


def share(plate, comm):
    """Return the rows of this rank between one of each neighbour, and how many numbers each rank has."""
    bounds = SIZE * np.arange(comm.size + 1) // comm.size
    rows = np.zeros((bounds[comm.rank + 1] - bounds[comm.rank] + 2, SIZE))
    rows[1:-1] = plate[bounds[comm.rank] : bounds[comm.rank + 1]]
    return rows, np.diff(bounds) * SIZE


comm = treecast.mpi.wrap(MPI.COMM_WORLD, survive=1, on_failed="raise")
plate, step = np.zeros((SIZE, SIZE)), 0
plate[:, 0] = 1
saved, (rows, counts) = (plate, step), share(plate, comm)
while True:
    up = comm.rank - 1 if comm.rank > 0 else MPI.PROC_NULL
    down = comm.rank + 1 if comm.rank < comm.size - 1 else MPI.PROC_NULL
    try:
        if step % EVERY == 0:
            plate = np.empty((SIZE, SIZE))
            comm.Allgatherv(rows[1:-1], [plate, counts])
            saved = plate, step  # the same at all ranks
            if step == STEPS:
                break
        if f"{MPI.COMM_WORLD.rank}@{step}" in sys.argv:
            os.kill(os.getpid(), signal.SIGKILL)
        comm.Sendrecv(rows[1], up, 0, rows[-1], down, 0)
        comm.Sendrecv(rows[-2], down, 1, rows[0], up, 1)
        mean = (rows[:-2, 1:-1] + rows[2:, 1:-1] + rows[1:-1, :-2] + rows[1:-1, 2:]) / 4
        change = comm.allreduce(abs(mean - rows[1:-1, 1:-1]).max(), MPI.MAX)
        rows[1:-1, 1:-1] = mean
        step += 1
    except (MPI.Exception, treecast.mpi.DeliveryError) as error:
        comm = comm.recover(error)  # a communicator of the living, at all of them
        plate, step = saved
        rows, counts = share(plate, comm)
if comm.rank == 0:
    print(f"{comm.size} ranks, heat {plate.sum():.6f}, last change {change:.6f}")
