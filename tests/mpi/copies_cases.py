"""Run by mpirun: a rank on the way dies in a plan over hypercube:2; the others say what came, and by how many plans.

usage: copies_cases.py NAME
"""

import os
import signal
import sys

import numpy as np
from mpi4py import MPI

import treecast.mpi
from treecast.mpi.plans import PlanLane
from treecast.running.engine.lane import Lane

MUCH, VICTIM = 1 << 17, 3
comm = treecast.mpi.wrap(MPI.COMM_WORLD, survive=1, network="hypercube:2", on_failed="ignore")
me, name, plans, carry, send = comm.rank, sys.argv[1], [], Lane.carry, PlanLane.send


def counted(*given):
    plans.append(1)
    return carry(*given)


def dies(*given):
    send(*given)
    if me == VICTIM and plans:
        os.kill(os.getpid(), signal.SIGKILL)


Lane.carry = counted
if me == VICTIM:
    PlanLane.send = dies
data, rows, total = np.full(MUCH, me + 1.0), np.zeros((comm.size, MUCH)), np.zeros(MUCH)
if name == "Bcast":
    comm.Bcast(data, 1)
elif name == "Allgather":
    comm.Allgather(data, rows)
else:
    comm.Allreduce(data, total)
living = [rank for rank in range(comm.size) if rank not in comm.last.failed]
right = {
    "Bcast": (data == 2).all(),
    "Allgather": all((rows[rank] == rank + 1).all() for rank in living),
    "Allreduce": (total == sum(living) + len(living)).all(),
}
left = comm.Shrink()
found = MPI.Intracomm(left).gather((bool(right[name]), len(plans)))
if left.rank == 0:
    print(left.size, *sorted(set(found)), flush=True)
