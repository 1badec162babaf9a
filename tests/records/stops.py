"""A job of which rank 2 stops in one of several ways after its third sum: run by tests/records/test_ring.py."""

import os
import signal
import sys
import time
from functools import partial

face, how = sys.argv[1:]
if face == "torch":
    import torch
    from torch import distributed

    import treecast.torch

    distributed.init_process_group("treecast")
    rank, numbers = distributed.get_rank(), torch.ones(1000)
    call, other = (lambda: distributed.all_reduce(numbers)), distributed.barrier
else:
    import numpy as np

    import treecast

    if face == "mpi":
        from mpi4py import MPI

        comm = treecast.mpi.wrap(MPI.COMM_WORLD, survive=1)
    else:
        comm = treecast.connect(survive=0)
    rank, numbers, total = comm.rank, np.ones(1000), np.empty(1000)
    call, other = (lambda: comm.Allreduce(numbers, total)), comm.Barrier
    if how == "of two":  # the sums of each half go over a communicator of its own
        half = treecast.mpi.wrap(MPI.COMM_WORLD.Split(rank // 2), survive=1)
        call = partial(half.Allreduce, numbers, total)


for step in range(6):
    if rank == 2 and step == 3:
        if how in ("killed", "of two"):
            os.kill(os.getpid(), signal.SIGKILL)
        if how == "aborted":
            os.abort()
        if how == "stopped":
            os.kill(os.getpid(), signal.SIGSTOP)
        if how == "raised":
            raise ValueError("no data")
        if how == "asleep":
            time.sleep(60)
    if not (how == "skipped" and rank == 2 and step == 3):
        call()
    other()
