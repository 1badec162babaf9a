"""Run by mpirun: what treecast.mpi refuses, it refuses on every rank, and goes on. Rank 0 prints how many refusals were right."""

import networkx as nx
import numpy as np
from mpi4py import MPI

import treecast.mpi as ours

comm = MPI.COMM_WORLD
me, size = comm.rank, comm.size
wrong, done = [], 0


def refused(says, call, error=ValueError):
    """Count what every rank has refused in one line that says so."""
    global done
    try:
        found = f"nothing, but {call()}"
    except error as refusal:
        found = str(refusal)
    done += 1
    if says not in found or "\n" in found:
        wrong.append((says, found))


data, own = np.zeros(12, np.uint8), np.zeros(4, np.uint8)
blocks = np.arange(4 * size, dtype=np.uint8)


def dealt(counts):
    return [blocks, counts, None, MPI.BYTE] if me == 0 else None


refused("unexpected keyword argument 'sruvive'", lambda: ours.Bcast(comm, data, sruvive=1), TypeError)
refused(f"root {size} is no rank", lambda: ours.Bcast(comm, data, size))
refused("survives at most", lambda: ours.Bcast(comm, data, survive=size - 1))
refused("added twice", lambda: ours.Allreduce(comm, data, data.copy(), survive=1))
refused("ring:99 has 99 nodes", lambda: ours.Bcast(comm, data, network="ring:99"))
refused(
    "does not lead from every node to every other",
    lambda: ours.Allgather(comm, own, blocks.copy(), network=nx.DiGraph([(u, u + 1) for u in range(size - 1)])),
)
refused("are sent where", lambda: ours.Allgather(comm, own[:3], blocks.copy()))
refused("rank 1 has a buffer of 1 bytes", lambda: ours.Scatterv(comm, dealt([4] * size), own[: 1 if me == 1 else 4]))
refused("numbers from 0", lambda: ours.Scatterv(comm, dealt([-1] * size), own))
refused("a count for each", lambda: ours.Scatterv(comm, blocks if me == 0 else None, own))
refused("has a buffer of 0 bytes", lambda: ours.Scatterv(comm, dealt([4] * size), MPI.IN_PLACE))
assert ours.Scatterv(comm, dealt([4] * size), own) == ()  # after all that it still works
assert (own == np.arange(4 * me, 4 * me + 4)).all()
found = comm.gather(wrong)
if me == 0:
    print(f"{done} refusals are right" if not any(found) else f"WRONG: {found}", flush=True)
