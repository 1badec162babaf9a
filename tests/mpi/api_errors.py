"""Run by mpirun: what is wrong on one rank, or on all, is said there, and the next call is right. Rank 0 prints how many.

usage: api_errors.py OPTIONS: of ``wrap``, in JSON; with them every call goes treecast's way.
"""

import json
import sys
from array import array
from functools import partial

import networkx as nx
import numpy as np
from mpi4py import MPI

import treecast.mpi
from treecast.errors import DeliveryError, PlanError

comm = treecast.mpi.wrap(MPI.COMM_WORLD, **json.loads(sys.argv[1]))
me, size = comm.rank, comm.size
wrong, done, numbers = [], 0, 0


def raised(call):
    """Return what a call raises, None for nothing."""
    try:
        call()
    except Exception as error:
        return error
    return None


def told(call):
    """Return what a call raises, or the next one: who had returned from it before others left it owes the error."""
    error, later = raised(call), raised(comm.Barrier)
    return later if error is None else error


def check(what, right):
    global done
    done += 1
    if not right:
        wrong.append(what)


def refused(says, call, kind=PlanError):
    """Every rank refuses it in one line that says so."""
    error = raised(call)
    check((says, repr(error)), isinstance(error, kind) and says in str(error) and "\n" not in str(error))


# -- one rank refuses its arguments: it says why, the others that it has, and the next call is right -------------

own, blocks, room = np.full(4, me), np.arange(4 * size), np.zeros(4 * size, int)
CALLS = {
    "Bcast": lambda bad: (bad or own,),
    "Allgather": lambda bad: (bad or own, room),
    "Allgatherv": lambda bad: (bad or own, room),
    "Alltoall": lambda bad: (bad or blocks, room),
    "Alltoallv": lambda bad: (bad or blocks, room),
    "Alltoallw": lambda bad: (bad or [blocks, [4] * size, [32 * r for r in range(size)], [MPI.LONG] * size],
                              [room, [4] * size, [32 * r for r in range(size)], [MPI.LONG] * size]),
    "Scatter": lambda bad: (blocks, bad or own.copy()),
    "Scatterv": lambda bad: (blocks, bad or own.copy()),
    "Gather": lambda bad: (bad or own, room),
    "Gatherv": lambda bad: (bad or own, room),
    "Allreduce": lambda bad: (bad or own, own.copy()),
    "Reduce": lambda bad: (bad or own, own.copy()),
    "Scan": lambda bad: (bad or own, own.copy()),
    "Exscan": lambda bad: (bad or own, own.copy()),
    "Reduce_scatter": lambda bad: (bad or blocks, own.copy()),
    "Reduce_scatter_block": lambda bad: (bad or blocks, own.copy()),
}  # fmt: skip
NEEDS_ALL = {"Allgather", "Allgatherv", "Alltoall", "Alltoallv", "Alltoallw", "Allreduce"}
for name, arguments in CALLS.items():
    for culprit in range(size):
        call = getattr(comm, name)
        error = told(
            lambda call=call, make=arguments, who=culprit: call(*make(["no", "buffer"] if who == me else None))
        )
        if me == culprit:
            check((name, culprit, repr(error)), isinstance(error, TypeError))
        elif comm.terms.survive or name in NEEDS_ALL:
            check((name, culprit, repr(error)), isinstance(error, DeliveryError) and f"rank {culprit}" in str(error))
        numbers += 1
        number = np.full(3, numbers if me == 0 else -1)
        comm.Bcast(number)
        check(("the next call", name, culprit), (number == numbers).all())

# -- so is an argument that no call can have: a root that is no rank, or one too few -------------------------------------------

again = np.zeros(4, int)
for name, good, bad in (
    ("Bcast", (own.copy(), 0), (own, size)),
    ("bcast", ("said", 0), ("said", -1)),
    ("Reduce", (own, again), (own, again, MPI.SUM, size)),
    ("allgather", (me,), ()),
    ("Allreduce", (own, again), (own,)),
    ("Ibcast", (own.copy(), 0), (own, size)),
    ("Allreduce_init", (own, again), (["no", "buffer"], again)),
    ("Bcast_init", (own.copy(), 0), (own, size)),
):
    for culprit in range(size if comm.terms.survive else 0):  # without, as in MPI, the others may wait
        call = partial(getattr(comm, name), *(bad if culprit == me else good))
        error = told((lambda call=call: call().Wait()) if name == "Ibcast" else call)
        kind = (TypeError, MPI.Exception) if culprit == me else DeliveryError
        check((name, culprit, repr(error)), isinstance(error, kind))
        check(("the next call", name, culprit), comm.allgather(me) == [*range(size)])

# -- what gave wrong data without a word ----------------------------------------------------------------------------------

plain = MPI.Intracomm(MPI.COMM_WORLD)
for give in (
    lambda b: [b, 2, MPI.LONG],
    lambda b: [b, (2, 1), MPI.LONG],
    lambda b: [b, 2, 1, MPI.LONG],
):
    found = [np.zeros(2 * size + 1, int) for _ in range(2)]
    for each, place in zip((comm, plain), found, strict=True):
        each.Allgather([np.arange(5) + 10 * me, 2, 1, MPI.LONG], give(place))
    check("Allgather of some entries", (found[0] == found[1]).all() and found[0].any())
for make in (lambda: array("i", [me, 2]), lambda: memoryview(array("d", [me, 2]))):
    total, right = array(memoryview(make()).format, [0, 0]), array(memoryview(make()).format, [0, 0])
    comm.Allreduce(make(), total)
    plain.Allreduce(make(), right)
    check("sums of arrays of the standard library", total == right and total[1] == 2 * size)
refused("byte order", lambda: comm.Allreduce(np.ones(2, ">f8"), np.ones(2, ">f8")), BufferError)
given = np.full(2 * size, -1)
given[2 * me : 2 * me + 2] = me
comm.Allgather(None, given)
check("None is IN_PLACE", (given == np.repeat(np.arange(size), 2)).all())

# -- what cannot be done --------------------------------------------------------------------------------------------------

refused("unexpected keyword argument 'sruvive'", lambda: treecast.mpi.Bcast(comm, own, sruvive=1), TypeError)
refused("", lambda: comm.Bcast(own, size), MPI.Exception)
refused("from 0, not -1", lambda: treecast.mpi.Bcast(comm, own, survive=-1))
refused("above 0, not 0", lambda: treecast.mpi.wrap(comm, deadline=0))
refused("'abort' or 'die', not 'ignore'", lambda: treecast.mpi.wrap(comm, on_error="ignore"))
refused("'warn' or 'raise' or 'ignore', not None", lambda: treecast.mpi.wrap(comm, on_failed=None))
refused("survive is a number of failures from 0, not '2'", lambda: treecast.mpi.wrap(comm, survive="2"))
refused("deadline is a number of seconds above 0, not 'x'", lambda: treecast.mpi.wrap(comm, deadline="x"))
refused("own is True or False, not 2", lambda: treecast.mpi.wrap(comm, own=2))
for survive, network in ((me % 2, None), (0, f"complete:{size}" if me else None), (me - 1, None)):
    refused(
        "survive is" if me - 1 == survive < 0 else "the same",
        lambda survive=survive, network=network: treecast.mpi.wrap(comm, survive=survive, network=network),
    )
refused("the same deadline, not 1 (rank 0) and 2 (rank 1)", lambda: treecast.mpi.wrap(comm, deadline=me + 1))
refused("late needs a deadline", lambda: treecast.mpi.wrap(comm, late=1.0))
refused("ring:99 has 99 nodes", lambda: treecast.mpi.Bcast(comm, own, network="ring:99"))
refused("survives at most 1", lambda: treecast.mpi.wrap(comm, survive=2, network=f"ring:{size}"))
line = nx.DiGraph([(u, u + 1) for u in range(size - 1)])
refused("does not lead from every node to every other", lambda: treecast.mpi.wrap(comm, network=line))
refused("are sent to itself where", lambda: comm.Allgather(own[:3], room))

# -- a buffer that is too short: with survive MPI is never asked -----------------------------------------------------------------

MUCH = 1 << 20
ample, short = np.zeros(MUCH * size), np.zeros(MUCH)
for give in (
    lambda: comm.Reduce_scatter_block([ample, MUCH * size, MPI.DOUBLE], [short, MUCH, MPI.DOUBLE]),
    lambda: comm.Reduce_scatter_block([short, MUCH, MPI.DOUBLE], [short, MUCH, MPI.DOUBLE]),
    lambda: comm.Allgather([short, MUCH, MPI.DOUBLE], [short, MUCH, MPI.DOUBLE]),
    lambda: comm.Allgatherv([short, MUCH, MPI.DOUBLE], [short, [MUCH] * size, None, MPI.DOUBLE]),
    lambda: comm.Allreduce([ample, MUCH + 1, MPI.DOUBLE], [short, MUCH + 1, MPI.DOUBLE]),
    lambda: comm.Bcast([short, MUCH, 1, MPI.DOUBLE]),
):
    refused("the buffer has", give, ValueError)
    check("the call after one with a short buffer", comm.allgather(me) == [*range(size)])
said = f"<treecast.mpi.Comm of {size} ranks: survive={comm.terms.survive}, failed=()>"
check("its words", (repr(comm), treecast.DeliveryError) == (said, treecast.mpi.DeliveryError))
found = plain.gather(wrong)
if me == 0:
    print(f"{done} are right" if not any(found) else f"WRONG: {found}", flush=True)
