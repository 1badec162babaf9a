"""Sums over 4 ranks without MPI: one is killed and comes back, one is stopped and is out.

treecast launch --tcp --respawn 1 -n 4 -- python examples/comeback.py
"""

import os
import signal

import numpy as np

import treecast

comm = treecast.connect(survive=1, deadline=3)
step, total = np.zeros(1, int), np.zeros(100_000)
if comm.is_new:
    comm.share([step])  # it comes in the middle, and is told where the others are
else:
    processes = comm.allgather(os.getpid())
try:
    while step[0] < 30:
        if step[0] == 5 and comm.rank == 2 and not comm.is_new:
            os.kill(os.getpid(), signal.SIGKILL)
        if step[0] == 20 and comm.rank == 0:
            os.kill(processes[3], signal.SIGSTOP)
        comm.Allreduce(np.full(100_000, comm.rank + 1.0), total)
        if comm.rank == 0 and step[0] % 5 == 0:
            print(f"step {step[0]:2}: sum {total[0]:2.0f} of ranks {comm.members}", flush=True)
        step += 1
        while step[0] == 10 and len(comm.members) < comm.size:  # until the one that was killed is back
            comm.admit()
            comm.share([step])
except treecast.Evicted as error:
    print(error, flush=True)
if comm.rank == 0:
    os.kill(processes[3], signal.SIGCONT)
