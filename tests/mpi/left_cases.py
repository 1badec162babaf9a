"""Run under treecast launch: messages of a call that all have left are none of a later call that has the same tags."""

import json
import sys

import numpy as np
from mpi4py import MPI

import treecast.mpi
from treecast.errors import DeliveryError

comm = treecast.mpi.wrap(MPI.COMM_WORLD, **json.loads(sys.argv[1]))
me, size = comm.rank, comm.size


def gather(number, is_wrong=False):
    """Make a call; return whether its data is right, or the kind of its error."""
    room = np.zeros((size, 100), int)
    try:
        comm.Allgather("no" if is_wrong else np.full(100, size * number + me), room)
    except (DeliveryError, TypeError) as error:
        return type(error)
    return bool((size * number + np.arange(size) == room.T).all())


error = TypeError if me == 2 else DeliveryError
found = [gather(0, me == 2), gather(1), gather(2, me == 2)]  # after the first they go from rank to rank
wrong = [number for number in range(3, 2200) if gather(number) is not True]
said = comm.gather((found == [error, True, error], wrong))
if me == 0:
    print("all are right" if said == [(True, [])] * size else f"WRONG: {said}", flush=True)
