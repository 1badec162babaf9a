"""Run by three ranks: communicators that are made and freed in turn, while copies of their last calls are still under way.

Open MPI ends a job when a message comes for a communicator that has the number of a freed one, and has fewer ranks.
"""

import numpy as np
from mpi4py import MPI

import treecast.mpi

world = treecast.mpi.wrap(MPI.COMM_WORLD, survive=1)
alone = treecast.mpi.wrap(MPI.COMM_SELF, survive=1)
rank = world.rank
for turn in range(60):
    comm = world.Dup()
    got = np.full(3, rank if turn % 3 == rank else -1, np.int64)
    comm.Bcast(got, root=turn % 3)
    assert (got == turn % 3).all()
    big = np.full(40_000, rank == turn % 3, np.int64)
    comm.Bcast(big, root=turn % 3)
    assert big.all()  # some ranks have left the call before their second copy came
    comm.Free()
    planned = treecast.mpi.wrap(MPI.COMM_WORLD.Dup(), survive=turn % 2, network="complete:3")
    planned.Bcast(big, root=turn % 3)
    total = np.zeros(3, np.int64)
    planned.Allreduce(np.arange(3), total)
    assert (total == np.arange(3) * 3).all()
    plans = planned._state.plans
    planned.Free()
    assert plans.transport.comm == MPI.COMM_NULL  # it was freed, too
    one = alone.Dup()
    assert one.allreduce(1) == 1
    one.Free()
if rank == 0:
    print("what comes late harms no later communicator", flush=True)
