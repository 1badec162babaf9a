"""Run by mpirun: one rank comes late to quick calls of MPI's own. Rank 0 prints what the others know of it.

usage: slow_cases.py SURVIVE, with TREECAST_SLOW=0.3
"""

import sys
import threading
import time

import numpy as np
from mpi4py import MPI

import treecast.mpi

comm = treecast.mpi.wrap(MPI.COMM_WORLD, survive=int(sys.argv[1]))
mine, out = np.ones(10), np.ones(10)
for _ in range(5):
    comm.Allreduce(mine, out)
seen = []
looks = threading.Timer(2.2, lambda: seen.append(comm.waiting()))
looks.start()
if comm.rank == 1:
    time.sleep(3)
comm.Allreduce(mine, out)
looks.join()
found = MPI.COMM_WORLD.gather((seen[0], comm.stats.get("slow", 0)))
if comm.rank == 0:
    wrong = [
        each
        for each in (found[0], found[2])
        if [*each[0]] != [1] or "after call 5, Allreduce" not in each[0][1] or each[1] != 1
    ]
    print(f"WRONG: {found}" if wrong or found[1] != ({}, 0) else "who keeps quick calls waiting is known", flush=True)
