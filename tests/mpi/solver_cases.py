"""Run by mpirun: a solver as people write them, with one line added, of which a rank dies at any time.

usage: solver_cases.py SOLVER SURVIVE SEED: most often a timer kills a rank. Every rank that ends prints its result. With
``serial`` in place of SURVIVE there is no MPI, and nobody dies: that is the truth.
"""

import random
import signal
import sys

import numpy as np

N, STEPS = 96, 60


class Alone:
    """One rank, for the truth."""

    rank, size = 0, 1

    def Allgather(self, sent, received):  # noqa: N802
        received[:] = sent

    def Allreduce(self, sent, received):  # noqa: N802
        received[:] = sent

    def allgather(self, thing):
        return [thing]


def jacobi(comm, mine):
    draw = np.random.default_rng(3)
    matrix, right = draw.random((N, N)) + N * np.eye(N), draw.random(N)
    x, change = np.zeros(N), np.ones(1)
    while change[0] > 1e-24:
        part = x[mine] + (right[mine] - matrix[mine] @ x) / matrix.diagonal()[mine]
        squares = np.array([((part - x[mine]) ** 2).sum()])
        comm.Allgather(part, x)
        comm.Allreduce(squares, change)
    return x


def k_means(comm, mine):
    points = np.random.default_rng(4).random((40 * N, 2)).reshape(N, 40, 2)[mine].reshape(-1, 2)
    centres = np.linspace(0.1, 0.9, 10).reshape(5, 2)
    for _ in range(STEPS):
        near = ((points[:, None] - centres) ** 2).sum(2).argmin(1)
        own = np.array([[*points[near == k].sum(0), (near == k).sum()] for k in range(5)])
        total = np.zeros_like(own)
        comm.Allreduce(own, total)
        centres = total[:, :2] / np.maximum(total[:, 2:], 1)
    return centres


def descent(comm, mine):
    draw = np.random.default_rng(5)
    inputs, wanted = draw.random((N, 8)), draw.random(N)
    weights = np.zeros(8)
    for _ in range(STEPS):
        slope = np.zeros(8)
        comm.Allreduce(inputs[mine].T @ (inputs[mine] @ weights - wanted[mine]), slope)
        weights = weights - 0.01 * slope
    return weights


def power(comm, mine):
    matrix = np.random.default_rng(6).random((N, N))
    x = np.ones(N)
    for _ in range(STEPS):
        x = np.concatenate(comm.allgather(matrix[mine] @ x))
        x = x / np.linalg.norm(x)
    return x


def main(solver, survive, seed):
    comm, die_after = Alone(), 0.0
    if survive != "serial":
        from mpi4py import MPI

        import treecast.mpi

        comm = treecast.mpi.wrap(MPI.COMM_WORLD, survive=int(survive))  # the line that is added
        draw = random.Random(int(seed))
        die_after = draw.uniform(0, 0.1) if draw.random() < 0.9 else 0
        if comm.rank == draw.randrange(comm.size) and die_after:
            signal.setitimer(signal.ITIMER_REAL, die_after)  # whose signal kills it, wherever it is
    share = N // comm.size
    found = globals()[solver](comm, slice(share * comm.rank, share * (comm.rank + 1)))
    sys.stdout.write(" ".join(["result", *(f"{number:.9f}" for number in found.ravel())]) + "\n")
    sys.stdout.flush()


main(*sys.argv[1:])
