"""Run by mpirun: ranks that come late by about the deadline. Rank 0 prints how many calls ended alike at all that take part.

usage: late_cases.py SEED CALLS: each call is on a communicator of its own, and each rank comes late by up to four deadlines.
"""

import random
import sys
import time

import numpy as np
from mpi4py import MPI

import treecast.mpi
from treecast.errors import DeliveryError, Evicted

DEADLINE = 0.3
world = MPI.COMM_WORLD
me, size = world.rank, world.size
draw, own = random.Random(int(sys.argv[1])), random.Random(f"{sys.argv[1]} {me}")
wrong, evicted = [], 0
for number in range(int(sys.argv[2])):
    comm = treecast.mpi.wrap(world.Dup(), survive=size // 2, deadline=DEADLINE, on_failed="ignore")
    name, root, length = (
        draw.choice(("Bcast", "Allgather", "Gather", "Allreduce")),
        draw.randrange(size),
        draw.choice((8, 1 << 15)),
    )
    mine, room = np.full(length, me), np.full(length * size, -1)
    arguments = {
        "Bcast": (mine, root),
        "Allgather": (mine, room),
        "Gather": (mine, room, root),
        "Allreduce": (mine, room[:length]),
    }
    time.sleep(own.choice((0, 0, own.uniform(0.2, 4))) * DEADLINE)
    seen = []
    for each in (name, "Barrier"):  # who was put out unawares learns so in the next call
        try:
            getattr(comm, each)(*arguments.get(each, ()))
            seen.append(("done", comm.last.failed))
        except Evicted:
            seen.append("out")
            break
        except DeliveryError as error:
            seen.append(("error", str(error)))
    found = world.allgather(seen)
    living = [each[0] for each in found if "out" not in each]
    evicted += len(found) - len(living)
    if len({*living}) > 1:
        wrong.append((number, name, found))
if me == 0:
    print(f"{evicted} were put out")
    print(f"{number + 1} calls ended alike" if not wrong else f"WRONG: {wrong}", flush=True)
