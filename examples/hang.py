"""Sums over all ranks, of which one stops to come: TREECAST_DUMP=records treecast launch --tcp -n 4 -- python examples/hang.py"""

import os
import signal
import threading
import time

import numpy as np

import treecast

comm = treecast.connect(survive=1)
numbers, total = np.full(1000, comm.rank + 1.0), np.empty(1000)


def load(step: int) -> None:
    """Read what a step needs; at rank 2 the file server no longer answers."""
    if comm.rank == 2 and step == 3:
        time.sleep(5)
        os._exit(0)


# a job of your own: kill -USR2 the ranks that stand still
threading.Timer(2, os.kill, (os.getpid(), signal.SIGUSR2)).start()
for step in range(10):
    load(step)
    comm.Allreduce(numbers, total)
