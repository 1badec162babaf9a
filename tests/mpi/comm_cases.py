"""Run by mpirun on several ranks: what a wrapped communicator is. Every rank asserts; rank 0 prints that all was right."""

import subprocess
import sys
import time
from array import array

import numpy as np
import pytest
from mpi4py import MPI

import treecast.mpi
from treecast.errors import PlanError

world = treecast.mpi.wrap(MPI.COMM_WORLD)
me, size = world.rank, world.size

assert isinstance(world, MPI.Intracomm)
assert isinstance(world, treecast.mpi.Comm)
assert world == MPI.COMM_WORLD
assert world.last == ((), "", "", 0.0, "")

# every communicator of the same kind that is made from it is one too, and none that has no ranks here
group = world.Get_group().Incl(range(size - 1))
cloned, (idup, request) = world.Clone(), world.Idup()
request.Wait()
made = [cloned, idup, world.Dup(), world.Split(me % 2), world.Split_type(MPI.COMM_TYPE_SHARED), world.Create(group)]
if me < size - 1:
    made.append(world.Create_group(group))
for comm in made:
    assert isinstance(comm, treecast.mpi.Comm) == (comm != MPI.COMM_NULL)
    if comm != MPI.COMM_NULL:
        numbers = np.full(3, me)
        comm.Bcast(numbers)
        assert (numbers == comm.bcast(me)).all()
        comm.Free()
assert world.Split(MPI.UNDEFINED) == MPI.COMM_NULL
assert not isinstance(world.Create_cart([size]), treecast.mpi.Comm)

total = np.zeros(1, int)
world.Allreduce(np.ones(1, int), total)
assert total[0] == size
assert world.last[:3] == ((), "MPI", "")
assert 0 < world.last.seconds < 100

# counts of a call may be in a list, or in an array of numpy's or Python's: all are one form, which is read once
mine, taken = np.full(1 + me, me, np.uint8), np.zeros(size * (size + 1) // 2, np.uint8)
world._lane._ready.clear()
for form in (np.array, lambda counts: array("i", counts), list):
    world.Allgatherv(mine, [taken, form([1 + rank for rank in range(size)]), MPI.BYTE])
    assert (taken == np.repeat(np.arange(size), np.arange(size) + 1)).all()
    assert len(world._lane._ready) == 1

# down trees, too, equal sums have equal bits, whichever rank is late
numbers = np.random.default_rng(me).standard_normal(1 << 14) * 10.0 ** (np.arange(1 << 14) % 25)
over, sums = treecast.mpi.wrap(MPI.COMM_WORLD, network=f"complete:{size}"), np.zeros((20, 1 << 14))
for turn, out in enumerate(sums):
    time.sleep(0.004 * (turn % size == me))
    over.Allreduce(numbers, out)
assert over.last.way == "trees"
assert (sums == world.bcast(sums[0])).all()

# so have sums that are survived, of little data and of so much that each rank adds a block
survived = treecast.mpi.wrap(MPI.COMM_WORLD.Dup(), survive=1)
for count in (1 << 10, 1 << 12, 1 << 13):
    out = np.zeros(count)
    survived.Allreduce(numbers[:count], out)
    assert (out == world.bcast(out)).all()
    assert np.allclose(out, sum(world.allgather(numbers[:count])))

half = world.Split(me % 2)
between = half.Create_intercomm(0, MPI.COMM_WORLD, 1 - me % 2)
for wrong, says in ((MPI.COMM_NULL, "no ranks"), (between, "intercommunicator"), (3, "not int")):
    with pytest.raises(PlanError, match=says):
        treecast.mpi.wrap(wrong)
if me == 0:
    lazily = "import sys, treecast.mpi; sys.exit(any(name in sys.modules for name in ('mpi4py', 'numpy')))"
    assert subprocess.run([sys.executable, "-c", lazily], check=False, timeout=100).returncode == 0
    print("a wrapped communicator is one of MPI's", flush=True)
