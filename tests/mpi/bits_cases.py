"""Ranks of a job: sums over MPI have the bits that the terms say, on every way; the last line says so."""

import sys
from contextlib import nullcontext

import numpy as np
import pytest
from mpi4py import MPI

import treecast
from tests.tcp.test_bits import RIGHT, given, signs
from treecast import mpi

WORLD = MPI.COMM_WORLD
WAYS = ({}, {"own": True}, {"network": "ring:4"}, {"survive": 1}, {"survive": 1, "network": "ring:4"})


class Lent:
    """An array that is not plain memory, so that its rank takes another way to the same calls of MPI."""

    def __init__(self, array):
        self.__dlpack__, self.__dlpack_device__ = array.__dlpack__, array.__dlpack_device__


def lent(comm, *arrays):
    return map(Lent, arrays) if comm.rank == 1 else arrays


def check(comm, sums, count):
    rows = [given(rank, count) for rank in range(comm.size)]
    mine, right = rows[comm.rank], RIGHT[sums](rows)
    total, prefix, less = np.empty_like(mine), np.empty_like(mine), np.full_like(mine, 7)
    comm.Allreduce(mine, total)
    assert (total.tobytes(), comm.last.bits) == (right.tobytes(), sums), (sums, count, comm.last)
    comm.Allreduce(MPI.IN_PLACE, again := mine.copy())
    comm.Reduce(mine, at_root := np.empty_like(mine) if comm.rank == 2 else None, root=2)
    comm.Scan(mine, prefix)
    comm.Exscan(mine, less)
    comm.Allreduce(*lent(comm, mine, mixed := np.empty_like(mine)))
    comm.Iallreduce(mine, later := np.empty_like(mine)).Wait()
    counts = [count // 4, 0, count - count // 4, 0]
    comm.Reduce_scatter(mine, block := np.empty(counts[comm.rank], "f4"), counts)
    first = sum(counts[: comm.rank])
    assert all(each is None or (each == right).all() for each in (again, at_root, later, mixed))
    assert (block == right[first : first + len(block)]).all()
    assert (prefix == RIGHT[sums](rows[: comm.rank + 1])).all()
    assert (less == (RIGHT[sums](rows[: comm.rank]) if comm.rank else 7)).all()


def main():
    for sums in RIGHT:
        for way in WAYS:
            comm = mpi.wrap(WORLD, sums=sums, **way)
            for count in (1, 999, 30_000, 30_001):
                check(comm, sums, count)
            for count in (3, 20_000):
                comm.Allreduce(np.arange(count), total := np.zeros(count, int))
                comm.Allreduce(MPI.IN_PLACE, again := np.arange(count))
                comm.Allreduce(*lent(comm, np.arange(count), mixed := np.zeros(count, int)))
                assert all((each == 4 * np.arange(count)).all() for each in (total, again, mixed))
            total = treecast.Accumulator(np.zeros(3, np.float32))
            total.add(np.array([1e8, 1, -1e8], np.float32)[[comm.rank % 3, 1, 2]])
            assert total.allreduce(comm).tolist() == [1e8, 4, -4e8]
            assert signs(comm, MPI) == [(False, 0x7FC00000), (True, 0)]
            with pytest.raises(treecast.PlanError, match="PROD of float64") if sums == "exact" else nullcontext():
                comm.Allreduce(np.ones(3), np.ones(3), op=MPI.PROD)
    assert mpi.wrap(WORLD).terms.sums == "any"
    print("sums have their bits") if not WORLD.rank else None


sys.exit(main())
