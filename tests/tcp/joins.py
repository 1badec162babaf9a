"""A program whose ranks die at random and come back; at the end each has what a serial sum over who took part gives.

joins.py SEED STEPS KILLS
"""

import os
import random
import signal
import sys
import time

import numpy as np

from treecast import tcp

SEED, STEPS, KILLS = map(int, sys.argv[1:4])
WIDTH = 12_000  # numbers: more than is sent without a grant


def given(rank, step):
    return np.random.default_rng((SEED, rank, step)).integers(-1000, 1000, WIDTH).astype(float)


def main():
    comm = tcp.init(survive=2, deadline=30)
    rng = random.Random((SEED << 20) + os.getpid())
    state, step, who = np.zeros(WIDTH), np.zeros(1, int), np.zeros(STEPS, int)
    total, killed, tries = np.zeros(WIDTH), np.zeros(1, int), np.zeros(1, int)
    shared = [state, step, who, killed, tries]
    send = comm.process.transport.send

    def die_or_send(to, key, *given):
        """Die at any frame of any call; one rank at a time may."""
        members = comm.members
        whole = len(members) == comm.size and not comm.is_new
        if whole and killed[0] < KILLS and members[step[0] % comm.size] == comm.rank and rng.random() < 0.05:
            os.kill(os.getpid(), signal.SIGKILL)
        return send(to, key, *given)

    comm.process.transport.send = die_or_send

    def heal():
        """Wait for newcomers, who start slower than these ranks add; they begin here themselves, behind ``admit``."""
        while comm.is_new or tries[0] < 500:
            if not comm.is_new:
                tries[:] += 1
                comm.admit()
            comm.share(shared)
            if len(comm.members) == comm.size:
                break
            time.sleep(0.02)
        tries[:] = 0

    if comm.is_new:
        heal()
    while step[0] < STEPS:
        comm.Allreduce(given(comm.rank, int(step[0])), total)
        living = [rank for rank in range(comm.size) if rank not in comm.last.failed]
        killed += len(comm.last.failed) > 0
        who[step[0]] = sum(1 << rank for rank in living)
        state += total
        step += 1
        if step[0] % 4 == 0:
            heal()
    serial = np.zeros(WIDTH)
    for k in range(STEPS):
        for rank in range(comm.size):
            if who[k] >> rank & 1:
                serial += given(rank, k)
    said = comm.allgather((bool((state == serial).all()), state.tobytes(), who.tobytes()))
    same = len({each for each in said if each is not None}) == 1 and said[comm.rank][0]
    sys.stdout.write(f"{same} {int((who != (1 << comm.size) - 1).sum())}\n")


main()
