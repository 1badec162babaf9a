"""Run by mpirun: every collective of treecast.mpi against MPI's own, bit by bit. Rank 0 prints how many cases agreed.

usage: api_cases.py SIZES [ROOTS]: sizes in bytes, behind commas; ROOTS "all" or numbers. Each case ten times: in one memory, over
a network that is named, and taking ranks for those of several hosts; with no failure to survive and with two, or as many as go.
"""

import sys

import numpy as np
from hosts import take_for_hosts
from mpi4py import MPI

import treecast.mpi as ours
from treecast.networks import network
from treecast.running.engine.choose import ONE_PORT, most_survived

comm = MPI.COMM_WORLD
me, size = comm.rank, comm.size
random = np.random.default_rng(5 + me)
wrong, done = [], 0


def same(what, mine, theirs):
    """Count a case; remember it when a byte differs on this rank."""
    global done
    done += 1
    if not np.array_equal(mine, theirs):
        wrong.append(what)


def bytes_of(count):
    return random.integers(0, 256, count, np.uint8)


def rooted(length, root, options):
    data = bytes_of(length)
    mine, theirs = data.copy(), data.copy()
    assert ours.Bcast(comm, mine, root=root, **options["broadcast"]) == ()
    comm.Bcast(theirs, root=root)
    same(f"bcast {length} {root}", mine, theirs)
    block = -(-length // size)
    sent = bytes_of(block * size) if me == root else None
    mine, theirs = np.zeros(block, np.uint8), np.zeros(block, np.uint8)
    ours.Scatter(comm, sent, mine, root, **options["scatter"])
    comm.Scatter(sent, theirs, root)
    same(f"scatter {length} {root}", mine, theirs)
    sent = bytes_of(block)
    mine, theirs = (np.zeros(block * size if me == root else 0, np.uint8) for _ in range(2))
    ours.Gather(comm, sent, mine if me == root else None, root, **options["gather"])
    comm.Gather(sent, theirs if me == root else None, root)
    same(f"gather {length} {root}", mine, theirs)
    counts = [(length // size + 7 * rank) % (length + 1) for rank in range(size)]
    mine, theirs = np.zeros(counts[me], np.uint8), np.zeros(counts[me], np.uint8)
    sent = [bytes_of(sum(counts)), counts, None, MPI.BYTE] if me == root else None
    ours.Scatterv(comm, sent, mine, root, **options["scatterv"])
    comm.Scatterv(sent, theirs, root)
    same(f"scatterv {length} {root}", mine, theirs)
    sent = bytes_of(counts[me])
    mine, theirs = (np.zeros(sum(counts) if me == root else 0, np.uint8) for _ in range(2))
    ours.Gatherv(comm, sent, [mine, counts, None, MPI.BYTE] if me == root else None, root, **options["gatherv"])
    comm.Gatherv(sent, [theirs, counts, None, MPI.BYTE] if me == root else None, root)
    same(f"gatherv {length} {root}", mine, theirs)


def alike(length, options):
    block = -(-length // size)
    sent = bytes_of(block)
    mine, theirs = np.zeros(block * size, np.uint8), np.zeros(block * size, np.uint8)
    ours.Allgather(comm, sent, mine, **options["allgather"])
    comm.Allgather(sent, theirs)
    same(f"allgather {length}", mine, theirs)
    again = theirs.copy()
    ours.Allgather(comm, MPI.IN_PLACE, again, **options["allgather"])
    same(f"allgather in place {length}", again, theirs)
    counts = [(length // size + 7 * rank) % (length + 1) * (rank % 3) for rank in range(size)]
    sent, mine, theirs = bytes_of(counts[me]), *(np.zeros(sum(counts), np.uint8) for _ in range(2))
    ours.wrap(comm, **options["allgatherv"]).Allgatherv(sent, [mine, counts, None, MPI.BYTE])
    comm.Allgatherv(sent, [theirs, counts, None, MPI.BYTE])
    same(f"allgatherv {length}", mine, theirs)
    again = theirs.copy()
    ours.wrap(comm, **options["allgatherv"]).Allgatherv(MPI.IN_PLACE, [again, counts, None, MPI.BYTE])
    same(f"allgatherv in place {length}", again, theirs)
    sent, mine, theirs = bytes_of(block * size), *(np.zeros(block * size, np.uint8) for _ in range(2))
    ours.Alltoall(comm, sent, mine, **options["alltoall"])
    comm.Alltoall(sent, theirs)
    same(f"alltoall {length}", mine, theirs)
    for dtype in (np.int64, np.int32, np.float64):
        numbers = random.integers(-1000, 1000, length // np.dtype(dtype).itemsize).astype(dtype)
        a, b, highest = np.zeros_like(numbers), np.zeros_like(numbers), numbers.copy()
        ours.Allreduce(comm, numbers, a, **options["allreduce"])
        comm.Allreduce(numbers, b)
        same(f"allreduce {length} {dtype}", a, b)
        ours.Allreduce(comm, MPI.IN_PLACE, numbers, MPI.MAX, **options["allreduce"])
        comm.Allreduce(MPI.IN_PLACE, highest, MPI.MAX)
        same(f"allreduce in place {length} {dtype}", numbers, highest)


lengths = [int(text) for text in sys.argv[1].split(",")]
roots = range(size) if sys.argv[2:] == ["all"] else [int(r) % size for r in sys.argv[2:]] or [0, size - 1]
kinds = ("broadcast", "scatter", "gather", "allgather", "allgatherv", "alltoall", "scatterv", "gatherv", "allreduce")
NAMED = {
    2: "path:2",
    6: "star:3",
    8: "hypercube:3",
    12: "torus:3x4",
    16: "hypercube:4",
    24: "star:4",
    64: "hypercube:6",
}
WAYS = {
    "circulant": "complete:{hosts}", "disjoint-trees": "complete:{ranks}", "direct": "complete:{ranks}",
    "binomial": "complete:{hosts}", "trees": NAMED.get(size, f"ring:{size}"), "straight": "", "MPI": "",
}  # fmt: skip


def check_last(length, hosts):
    """Check what is told of a broadcast."""
    told = ours.wrap(comm)
    data = np.full(max(length, 1 << 16), me, np.uint8)
    told.Bcast(data, root=size - 1)
    same("who speaks", data, np.full(len(data), size - 1, np.uint8))
    several = len(set(hosts))
    network_named = WAYS[told.last.way].format(hosts=several, ranks=size)
    if (told.last.way, told.last.network) != ("circulant", network_named):
        wrong.append(told.last)


for spec, hosts in (
    (None, None),
    (NAMED.get(size, f"ring:{size}"), None),
    (None, [*range(size)]),
    (None, [rank - rank % 2 for rank in range(size)]),
    (None, [rank % 3 if rank % 3 < 2 else rank for rank in range(size)]),  # in turns, and hosts of one rank
):
    if hosts is not None:
        take_for_hosts(comm, hosts)
    for most in (0, 2):
        where = network(spec or f"complete:{size}")
        model = {"model": ONE_PORT} if hosts else {}
        options = {kind: {"survive": min(most, most_survived(kind, where, **model)), "network": spec} for kind in kinds}
        for length in lengths:
            for root in roots:
                rooted(length, root, options)
            alike(length, options)
            if hosts is not None:
                check_last(length, hosts)
other = comm.Split(me % 2, -me)  # any communicator will do
numbers = np.full(3, me, np.int32)
ours.Bcast(other, [numbers, 3, MPI.INT], root=0)
same("of a part", numbers, np.full(3, size - 1 - (size - 1 - me) % 2, np.int32))
found = comm.gather(wrong)
if me == 0:
    print(f"{done} cases agree" if not any(found) else f"WRONG: {found}", flush=True)
