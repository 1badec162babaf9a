"""Programs of unlike calls over MPI: unlike_cases.py SEED COUNT [DEADLINE].

One rank makes another call than the others in a program, each time on a communicator of its own. Within the next calls all
ranks raise the same error, and the last call is right. Where it makes the same, none does.
"""

import random
import sys

import numpy as np
from mpi4py import MPI

import treecast.mpi
from tests.tcp.unlike import SIZES, table
from treecast.errors import UnlikeCallsError

BEHIND = 18  # calls after which ranks have compared


def vectors(n):
    """Return calls with blocks of any lengths: which ranks do not know of each other, so that no two are of one kind."""
    few, some, much = SIZES.values()
    return {
        "Alltoallv": lambda c: c.Alltoallv([np.ones(n * some), [some] * n], [np.empty(n * some), [some] * n]),
        "Allgatherv": lambda c: c.Allgatherv(np.ones(few), [np.empty(n * few), [few] * n]),
        "Gatherv root 0": lambda c: c.Gatherv(np.ones(few), [np.empty(n * few), [few] * n], 0),
        "Gatherv root 1": lambda c: c.Gatherv(np.ones(few), [np.empty(n * few), [few] * n], 1),
        "Scatterv root 0": lambda c: c.Scatterv([np.ones(n * some), [some] * n], np.empty(some), 0),
        "Scatterv root 1": lambda c: c.Scatterv([np.ones(n * much), [much] * n], np.empty(much), 1),
    }


def main(seed, count, deadline=None):
    world, rng = MPI.COMM_WORLD, random.Random(seed)
    calls = table(world.size, MPI.MAX) | vectors(world.size)
    for number in range(count):
        comm = treecast.mpi.wrap(world.Dup(), survive=1, deadline=deadline)
        program, odd = rng.choices(sorted(calls), k=rng.randint(1, 4)), rng.randrange(world.size)
        other = list(program)
        other[rng.randrange(len(program))] = rng.choice(sorted(calls))
        errors = []
        names = other if comm.rank == odd else program
        for call in [*map(calls.__getitem__, names), *[lambda c: c.Barrier()] * BEHIND]:
            try:
                call(comm)
            except UnlikeCallsError as error:
                errors.append(str(error))
        total = comm.allreduce(1)
        every = world.allgather((errors, total))
        firsts = {said[0] if said else "" for said, _ in every}
        is_told = len(firsts) == 1 and firsts != {""}
        if any(last != comm.size for _, last in every) or (is_told if other == program else not is_told):
            sys.exit(f"program {number}: {other} at rank {odd}, {program} at the others: {every}")
    if world.rank == 0:
        print(f"{count} programs: the same error at all")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), *map(float, sys.argv[3:]))
