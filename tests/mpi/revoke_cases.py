"""A communicator that one rank revokes while all others are in a call; nobody dies.

usage: revoke_cases.py KIND: rank 0 revokes; the others are in a call of that kind, and have to leave it.
"""

import sys
import time

import numpy as np
from mpi4py import MPI

import treecast.mpi

NULL = MPI.PROC_NULL
comm = treecast.mpi.wrap(MPI.COMM_WORLD, survive=1)
one, few, many = np.ones(1), np.ones(comm.size), np.ones(1 << 20)
calls = {
    "quick": lambda: comm.Allreduce(one, one.copy()),
    "long": lambda: comm.Allreduce(many, many.copy()),
    "object": lambda: comm.allgather("mine"),
    "barrier": comm.Barrier,
    "blocks": lambda: comm.Alltoall(few, few.copy()),
    "begun": lambda: comm.Iallreduce(one, one.copy()).Wait(),
    "message": lambda: comm.Recv(one, 0),
    "one way": lambda: comm.Sendrecv(many, 0, 0, one, NULL, 0),
    "in place": lambda: comm.Sendrecv_replace(many, 0, 0, NULL, 0),
    "later": lambda: time.sleep(1) or comm.Bcast(one, comm.rank),
}
kind = sys.argv[1]
comm.allreduce(1)
if comm.rank == 0:
    time.sleep(0.3)
    comm.Revoke()
for is_later in (False, True):  # the call that it is in, and another one
    try:
        calls[kind]()
        if is_later or kind not in (
            "one way",
            "in place",
        ):  # a send that waits returns from Open MPI as if it were over
            raise SystemExit(f"rank {comm.rank}: it ended")
    except MPI.Exception as error:
        if error.Get_error_class() != MPI.ERR_REVOKED:
            raise
left = comm.Shrink()
print(left.allreduce(1), left.size)
try:
    left.recover(MPI.Exception(MPI.ERR_TRUNCATE))
except MPI.Exception as error:  # nobody has died: it is an error of the program
    print(error.Get_error_class() == MPI.ERR_TRUNCATE, left.allreduce(1))
