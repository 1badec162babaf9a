"""A program whose ranks exchange rows and make calls of all kinds, and go back to saved rows when some of them die.

usage: halo_cases.py WAY [RANK@MS …]: these ranks kill themselves so many milliseconds after all have begun. It prints the sum,
which no death changes, or raises where ranks have saved unlike rows.
"""

import os
import random
import signal
import sys

import numpy as np
from mpi4py import MPI

import treecast.mpi

WAYS = {
    "plain": {},
    "two": {"survive": 2},
    "sure": {"sure": True},
    "deadline": {"deadline": 20},
    "network": {"network": "complete"},
    "nothing": {"survive": 0},
    "warn": {"on_failed": "warn"},
}
SIZE, STEPS = 60, int(os.environ.get("STEPS", "200"))
WIDE = 20_000  # columns: a row is longer than what MPI sends at once
world = MPI.COMM_WORLD


def lay_out(comm):
    if grid:
        cart = comm.Create_cart([comm.size], [False])
        comm = treecast.mpi.wrap(cart, **terms)
    bounds = SIZE * np.arange(comm.size + 1) // comm.size
    return comm, bounds


def cut(whole, comm, bounds):
    rows = np.zeros((bounds[comm.rank + 1] - bounds[comm.rank] + 2, whole.shape[1]))
    rows[1:-1] = whole[bounds[comm.rank] : bounds[comm.rank + 1]]
    return rows


def work(comm, kind, one):
    """Make a call of some kind; return how many ranks have taken part."""
    if kind == 0:
        total = np.zeros(1, int)
        comm.Allreduce(np.ones(1, int), total)
        return total[0]
    if kind == 1:
        return comm.allreduce(1)
    if kind == 2:
        total = np.zeros(WIDE)
        comm.Allreduce(one, total)
        return total[0]
    if kind == 3:
        ones = np.zeros(comm.size)
        comm.Allgather(np.ones(1), ones)
        return ones.sum()
    if kind == 4:
        ones = np.zeros(comm.size)
        comm.Alltoall(np.ones(comm.size), ones)
        return ones.sum()
    if kind == 5:
        comm.Barrier()
        return comm.size
    total = np.zeros(1)
    request = comm.Iallreduce(np.ones(1), total)
    request.Wait()
    return total[0]


way, *deaths = sys.argv[1:]
grid = way.startswith("grid-")
terms = {"survive": 1, "on_failed": "raise", **WAYS[way.removeprefix("grid-")]}
if "network" in terms:
    terms["network"] = f"complete:{world.size}"
columns = WIDE if "wide" in os.environ else 10
comm, bounds = lay_out(world if grid else treecast.mpi.wrap(world, **terms))
for rank, milliseconds in (each.split("@") for each in deaths):
    if int(rank) == world.rank:
        signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGKILL))
        signal.setitimer(signal.ITIMER_REAL, int(milliseconds) / 1000)
whole, step = np.zeros((SIZE, columns)), 0
whole[::7] = 64
saved, rows, one = (whole, step), cut(whole, comm, bounds), np.ones(WIDE)
times, is_back = 0, False
while True:
    up, down = comm.rank - 1, comm.rank + 1
    up, down = (up if up >= 0 else MPI.PROC_NULL), (down if down < comm.size else MPI.PROC_NULL)
    try:
        if is_back and (len(set(comm.allgather(step))) != 1 or np.isnan(whole).any()):
            raise RuntimeError(f"rank {world.rank}: unlike states at step {step}")
        is_back = False
        if step % 5 == 0:
            whole = np.full((SIZE, columns), np.nan)
            comm.Allgatherv(rows[1:-1], [whole, np.diff(bounds) * columns])
            saved = whole, step
            if step == STEPS:
                break
        comm.Sendrecv(rows[1], up, 0, rows[-1], down, 0)
        comm.Sendrecv(rows[-2], down, 1, rows[0], up, 1)
        for _ in range(random.Random(step).randrange(3)):
            work(comm, random.Random(step).randrange(7), one)
        rows[1:-1] = (rows[:-2] + rows[2:]) / 2
        step += 1
    except (MPI.Exception, treecast.mpi.DeliveryError) as error:
        times += 1
        comm, bounds = lay_out(comm.recover(error))
        (whole, step), is_back = saved, True
        rows = cut(whole, comm, bounds)
if comm.rank == 0:
    print(comm.size, times, f"{whole.sum():.9f}")
