"""Run by mpirun on 4 ranks: plans of demands, by a plain wrap and by one that survives. Rank 0 prints that all was right.

usage: demand_cases.py [RANK]: this rank dies in the last call.
"""

import os
import signal
import sys

import numpy as np
import pytest
from mpi4py import MPI

import treecast.mpi
from tests.tcp.demands import carry, lengths_of, plan_by_chance
from treecast.errors import DeliveryError, PlanError, UnlikeCallsError
from treecast.running.execution.layout import digest_of

ends = [treecast.mpi.wrap(MPI.COMM_WORLD), treecast.mpi.wrap(MPI.COMM_WORLD.Dup(), survive=1)]
plans = [plan_by_chance(where, "all", seed) for seed, where in enumerate(["complete:4", "ring:4", "complete:4"])]
for comm in ends:
    for seed, plan in enumerate(plans):
        lengths = [length * 300 for length in lengths_of(plan.collective.demand, seed)]
        for op, total in ((MPI.SUM, np.add), (MPI.PROD, np.multiply), (MPI.MAX, np.maximum)):
            assert carry(comm, plan, lengths, op, total)
            assert comm.last[:3] == ((), plan.builder, plan.network.spec)
    assert carry(comm, plans[0], [0] * len(plans[0].collective.demand), None)

plan = plans[comm.rank == 1]
for comm in ends:
    with pytest.raises(UnlikeCallsError, match=f"rank 1 makes run of plan {digest_of(plans[1])[:8]}"):
        carry(comm, plan, [40] * len(plan.collective.demand), None)
with pytest.raises(PlanError, match="the plan is for 3 ranks, and here are 4"):
    comm.run(treecast.plan([(0, 1)], "ring:3"), [], [])
assert comm.allreduce(1) == 4
if len(sys.argv) > 1:
    if comm.rank == int(sys.argv[1]):
        os.kill(os.getpid(), signal.SIGKILL)
    # what rank 2 has rank 3 has, too, and whatever rank 2 would pass on comes another way
    copied = treecast.plan([([2, 3], [0, 1], 2), (0, [1, 2, 3], 1)], "complete:4", survive=1)
    for _ in range(2):
        assert carry(comm, copied, [40_000, 30], None)
    with pytest.raises(DeliveryError, match=f"run: rank {sys.argv[1]} failed"):
        carry(comm, plans[0], [40_000] * len(plans[0].collective.demand), None)
    assert comm.allreduce(1) == 3
if comm.rank == 0:
    print("each rank has what it wants")
