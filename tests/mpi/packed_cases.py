"""Run by mpirun: calls whose lengths other ranks do not know, again and again, against MPI's own, byte by byte.

Blocks of all lengths, with gaps and in place; then one rank awaits another length than comes. Rank 0 prints how many agreed.
"""

from itertools import chain

import numpy as np
from mpi4py import MPI

import treecast.mpi
from treecast.errors import DeliveryError, PlanError

ROOM = 4_000  # numbers of a rank
plain = MPI.COMM_WORLD
comm = treecast.mpi.wrap(plain, survive=1)
me, size, wrong, done = plain.rank, plain.size, list[str](), 0
random = np.random.default_rng(5)  # alike at all ranks


def both(name, make, *root):
    """Make a call on both communicators; what is received has to be alike."""
    global done
    places = [np.full(2 * ROOM * size, -1) for _ in range(2)]
    for each, place in zip((comm, plain), places, strict=True):
        getattr(each, name)(*make(place), *root)
    done += 1
    if not np.array_equal(*places):
        wrong.append(f"{name} at rank {me}: {places}")


def behind(lengths, gap=0):
    return np.concatenate(([0], np.cumsum(lengths + gap)[:-1]))


def typed(buffer, counts, places):
    return [buffer, counts, [8 * place for place in places], [MPI.INT64_T] * size]


def compare(most, root):
    """Compare every call with blocks of fewer than ``most`` numbers."""
    counts = random.integers(0, most, (size, size)) * random.integers(0, 2, (size, size))
    first = behind(counts[me], random.integers(0, 3, size))
    to, of, pairs, data = counts[me], counts[:, me], (counts + counts.T)[me], np.arange(ROOM * size) + (me << 30)
    first_of, at_root = behind(of, 1), me == root
    both("Alltoallv", lambda b: ([data, (to, first)], [b, (of, first_of)]))
    both("Alltoallv", lambda b: ([data, list(to), list(first), MPI.LONG], [b, of, first_of, MPI.LONG]))
    both("Alltoallv", lambda b: (MPI.IN_PLACE, [b, (pairs, behind(pairs))]))
    both("Alltoallw", lambda b: (typed(data, to, first), typed(b, of, first_of)))
    both("Gatherv", lambda b: ([data, to[root]], [b, (of, first_of)] if at_root else None), root)
    both("Scatterv", lambda b: ([data, (to, first)] if at_root else None, [b, counts[root, me]]), root)
    both("Allgatherv", lambda b: ([data, counts[me, root]], [b, (counts[:, root], ROOM * np.arange(size))]))
    both("Allgatherv", lambda b: ([data, counts[me, root]], [b, counts[:, root]]))
    both("Reduce_scatter", lambda b: ([data, int(counts[0].sum())], [b, int(counts[0][me])]))


for most in (1, 4, 4, 40, 400, ROOM - 100):  # none; in the first row; in the second; too long
    for again in range(3):
        compare(most, again % size)


def told(name, here, k):
    """Make the k-th call on a communicator of which one rank awaits another length than comes, in the third call."""
    more, counts, room = int(k == 2 and me == here), [1] * size, [1] * size
    room[(here + 1) % size] += more
    if k == 4:
        ours.Barrier()
    elif name == "Alltoallv":
        ours.Alltoallv([np.ones(size), counts], [np.zeros(size + 1), room])
    elif name == "Gatherv":
        ours.Gatherv(np.ones(1), [np.zeros(size + 1), room] if me == 0 else None)
    else:
        ours.Scatterv([np.ones(size), counts] if me == 0 else None, np.zeros(1 + more))


for name, here in (("Alltoallv", 1), ("Gatherv", 0), ("Scatterv", size - 1)):
    ours, errors = treecast.mpi.wrap(plain.Dup(), survive=1), list[str]()
    for k in range(5):
        try:
            told(name, here, k)
        except (PlanError, DeliveryError) as error:
            errors.append(f"{type(error).__name__}: {error}")
    mine = f"PlanError: rank {here}: 8 bytes come from rank {(here + 1) % size} where 16 are received"
    right = mine if me == here else f"DeliveryError: {name}: the arguments of rank {here} were refused there"
    if errors != [right] or ours.allreduce(1) != size:
        wrong.append(f"{name} of another length at rank {me}: {errors}")
    done += 1
found = plain.gather(wrong)
if me == 0:
    print([*chain(*found)] or f"{done} calls agree")
