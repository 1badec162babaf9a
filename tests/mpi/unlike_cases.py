"""Pairs of unlike calls over MPI: unlike_cases.py SEED COUNT [DEADLINE].

One rank makes another call than the others, each time on a communicator of its own. Within the next calls all ranks raise the
same error, and the last call is right.
"""

import random
import sys

import numpy as np
from mpi4py import MPI

import treecast.mpi
from treecast.errors import UnlikeCallsError

BEHIND = 18  # calls after which ranks have compared


def whole(comm, count, dtype="f8"):
    return np.full(count, 100 + comm.rank, dtype)


def calls_of(k, n):
    """Return calls of n ranks with k entries."""
    return {
        "Barrier": lambda c: c.Barrier(),
        "Bcast": lambda c: c.Bcast(whole(c, k), 0),
        "Bcast root 1": lambda c: c.Bcast(whole(c, k), 1),
        "Bcast f4": lambda c: c.Bcast(whole(c, 2 * k, "f4"), 0),
        "Allreduce": lambda c: c.Allreduce(whole(c, k), np.empty(k)),
        "Allreduce MAX": lambda c: c.Allreduce(whole(c, k), np.empty(k), MPI.MAX),
        "Allreduce i8": lambda c: c.Allreduce(whole(c, k, "i8"), np.empty(k, "i8")),
        "Allgather": lambda c: c.Allgather(whole(c, k), np.empty(n * k)),
        "Alltoall": lambda c: c.Alltoall(whole(c, n * k), np.empty(n * k)),
        "Gather": lambda c: c.Gather(whole(c, k), np.empty(n * k), 0),
        "Gather root 1": lambda c: c.Gather(whole(c, k), np.empty(n * k), 1),
        "Scatter": lambda c: c.Scatter(whole(c, n * k), np.empty(k), 0),
        "Reduce": lambda c: c.Reduce(whole(c, k), np.empty(k), root=0),
        "Scan": lambda c: c.Scan(whole(c, k), np.empty(k)),
        "bcast": lambda c: c.bcast(("a", c.rank), 0),
        "allgather": lambda c: c.allgather(c.rank),
        "allreduce": lambda c: c.allreduce(c.rank),
    }


def main(seed, count, deadline=None):
    world, rng = MPI.COMM_WORLD, random.Random(seed)
    for number in range(count):
        comm = treecast.mpi.wrap(world.Dup(), survive=1, deadline=deadline)
        calls = calls_of(rng.choice([1, 128, 1 << 15]), comm.size)
        (one, other), odd = rng.sample(sorted(calls), 2), rng.randrange(comm.size)
        errors = []
        for call in [calls[one if comm.rank == odd else other], *[lambda c: c.Barrier()] * BEHIND]:
            try:
                call(comm)
            except UnlikeCallsError as error:
                errors.append(str(error))
        total = comm.allreduce(1)
        every = world.allgather((errors, total))
        right = (
            all(len(said) >= 1 and last == comm.size for said, last in every)
            and len({said[0] for said, _ in every}) == 1
        )
        if not right:
            sys.exit(f"pair {number}: {one} at rank {odd}, {other} at the others: {every}")
    if world.rank == 0:
        print(f"{count} pairs: the same error at all")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), *map(float, sys.argv[3:]))
