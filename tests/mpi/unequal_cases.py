"""Run by mpirun: Allgatherv and Alltoallv by plans, between hosts and over a named network, against MPI's own, bit by bit.

Rank 0 prints how many cases agreed, and which ways they went.
"""

import numpy as np
from hosts import take_for_hosts
from mpi4py import MPI

import treecast.mpi

comm = MPI.COMM_WORLD
me, size = comm.rank, comm.size
random, wrong, ways = np.random.default_rng(me), list[str](), list[str]()


def compare(counts, **options):
    ours = treecast.mpi.wrap(comm, **options)
    sent = random.integers(0, 1 << 40, counts[me])
    mine, theirs = np.zeros(sum(counts), int), np.zeros(sum(counts), int)
    ours.Allgatherv(sent, [mine, counts, None, MPI.LONG])
    comm.Allgatherv(sent, [theirs, counts, None, MPI.LONG])
    again = theirs.copy()
    ours.Allgatherv(MPI.IN_PLACE, [again, counts, None, MPI.LONG])
    if not (np.array_equal(mine, theirs) and np.array_equal(again, theirs)):
        wrong.append(f"{counts} {options}")
    ways.append(f"{ours.last.way} {ours.last.network}")


def exchange(counts, **options):
    """An Alltoallv by a matrix of counts that no rank knows as a whole."""
    ours = treecast.mpi.wrap(comm, own=True, **options)
    sent, to, of = random.integers(0, 1 << 40, counts[me].sum()), counts[me], counts[:, me]
    mine, theirs = np.zeros(of.sum(), int), np.zeros(of.sum(), int)
    ours.Alltoallv([sent, to], [mine, of])
    comm.Alltoallv([sent, to], [theirs, of])
    if not np.array_equal(mine, theirs):
        wrong.append(f"{counts.tolist()} {options}")
    ways.append(f"{ours.last.way} {ours.last.network}")


MATRICES = [np.random.default_rng(7).integers(0, most, (size, size)) * (most > 1) for most in (1, 5, 9_000)]
CASES = (
    [100_001] + [7] * (size - 1),  # one long block
    [0] * (size - 1) + [30_000],  # one block alone
    [9_000 * (rank % 3) + rank for rank in range(size)],
)
for survive in (0, 1):
    for counts in CASES:
        compare(counts, network=f"ring:{size}", survive=survive)
for counts in MATRICES:
    exchange(counts, network=f"ring:{size}")
take_for_hosts(comm, [*range(size)])
for counts in MATRICES:
    exchange(counts)
for survive in (0, 2):
    for counts in CASES:
        compare(counts, survive=survive)
found = comm.gather(wrong)
if me == 0:
    print(*dict.fromkeys(ways), sep="\n")
    print(f"{len(ways)} cases agree" if not any(found) else f"WRONG: {found}", flush=True)
