"""Run by mpirun: one rank is killed at some moment of many calls on a wrapped communicator; outcomes of the others are compared.

usage: kill_cases.py SEED [hosts | NETWORK]: of the victim, the moment, and the calls; with ``hosts`` every two ranks are taken
for those of a host, with a network calls go down its plans. The least living rank prints how many calls
ended alike.
"""

import os
import random
import signal
import sys
import threading
import time
import zlib

import numpy as np
from hosts import take_for_hosts
from mpi4py import MPI

import treecast.mpi
from treecast.errors import DeliveryError

network = None if sys.argv[2:] in ([], ["hosts"]) else sys.argv[2]
comm = treecast.mpi.wrap(MPI.COMM_WORLD, survive=1, network=network, on_failed="ignore")
me, size = comm.rank, comm.size
if sys.argv[2:] == ["hosts"]:
    take_for_hosts(comm, [rank - rank % 2 for rank in range(size)])
draw = random.Random(int(sys.argv[1]))
victim, when, delay = draw.randrange(size), draw.randrange(5, 25), draw.uniform(0, 0.01)
LONG = 1 << draw.choice((3, 12, 18))
blocks, room, own = np.arange(LONG * size) + me, np.zeros(LONG * size, int), np.arange(LONG) * (me + 1)
parts = [LONG // 2 * (rank % 3) for rank in range(size)]
uneven = np.zeros(sum(parts), int)


def blocking(name, *arguments):
    return lambda: getattr(comm, name)(*arguments)


def waited(name, *arguments):
    def call():
        getattr(comm, name)(*arguments).Wait()

    return call


def started(request):
    def call():
        request.Start()
        request.Wait()

    return call


summed = np.zeros(LONG, int)
again = {  # begun before the death, and started before and after it
    "Allreduce_init": (started(comm.Allreduce_init(own, summed)), summed),
    "Bcast_init": (started(comm.Bcast_init(np.arange(LONG), 0)), None),
    "Barrier_init": (started(comm.Barrier_init()), None),
}


def calls_of(root):
    total = np.zeros(LONG, int)
    return {
        "Bcast": (blocking("Bcast", own.copy(), root), None),
        "Allgather": (blocking("Allgather", own, room), None),
        "Allgatherv": (blocking("Allgatherv", own[: LONG // 2 * (me % 3)], [uneven, parts, None, MPI.LONG]), None),
        "Alltoall": (blocking("Alltoall", blocks, room), None),
        "Scatter": (blocking("Scatter", blocks, own.copy(), root), None),
        "Gather": (blocking("Gather", own, room, root), None),
        "Allreduce": (blocking("Allreduce", own, total), total),
        "Reduce": (blocking("Reduce", own, total, MPI.SUM, root), None),
        "Scan": (blocking("Scan", own, total), None),
        "Reduce_scatter_block": (blocking("Reduce_scatter_block", blocks, total), None),
        "allgather": (blocking("allgather", {"rank": me}), None),
        "bcast": (blocking("bcast", [root], root), None),
        "allreduce": (blocking("allreduce", me), None),
        "alltoall": (blocking("alltoall", [*range(size)]), None),
        "Iallreduce": (waited("Iallreduce", own, total), total),
        "Ibcast": (waited("Ibcast", own.copy(), root), None),
        **again,
    }


seen = []
for k in range(40):
    root = draw.randrange(size)
    name, (call, total) = draw.choice([*calls_of(root).items()])
    if me == victim and k == when:
        threading.Timer(delay, lambda: os.kill(os.getpid(), signal.SIGKILL)).start()
    try:
        result = call()
    except DeliveryError as error:
        seen.append((name, "lost with its root" in str(error)))
    else:
        sums = None if total is None else zlib.crc32(total)
        seen.append((name, comm.last.failed, sums, result if name == "allreduce" else None))
if me == victim:
    time.sleep(10)  # at the latest it dies here
left = comm.Shrink()
found = MPI.Intracomm(left).allgather(seen)
if left.rank == 0:
    different = [(k, each) for k, each in enumerate(zip(*found, strict=True)) if len({*each}) > 1]
    right = [failed for _, *rest in seen[30:] for failed in rest[:1] if failed not in ((), (victim,), True)]
    alike = not different and not right and left.size == size - 1
    print(f"{len(seen)} calls ended alike" if alike else f"WRONG: {different[:3]} {right[:3]} {left.size}", flush=True)
