"""Ranks of a job, two of which are killed during sums: the others have the bits of one set of ranks; the last line says so.

usage: bits_kill_cases.py SUMS DELAY [NETWORK]; DELAY: milliseconds after the begin at which the first is killed.
"""

import os
import signal
import sys
import threading

from mpi4py import MPI

from tests.tcp.test_bits import judge, patterns
from treecast import mpi

sums, delay, network = sys.argv[1], int(sys.argv[2]) / 1000, (*sys.argv[3:], None)[0]
comm = mpi.wrap(MPI.COMM_WORLD, survive=2, sums=sums, network=network, on_failed="ignore")
comm.Barrier()
KILLED = {2: delay, 5: 2 * delay}
if comm.rank in KILLED:
    threading.Timer(KILLED[comm.rank], os.kill, (os.getpid(), signal.SIGKILL)).start()
said = []
while len(set(comm.allgather(comm.rank)) - {None}) > comm.size - len(KILLED):
    said += patterns(comm, (200, 20_000, 100_000))
said += patterns(comm, (200, 20_000, 100_000))
found = comm.allgather(said)
judge(sums, found, sorted(KILLED))
if comm.rank == 0:
    print("sums have the bits of one set of ranks")
