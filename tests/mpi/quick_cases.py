"""Run by mpirun: groups of four ranks make calls of little or much data; in each one rank dies at one of its calls of MPI.

Where it dies after that, the call has ended well at the others, but for one that loses all that it brought.

usage: quick_cases.py CASES FOLDER WIDTH: JSON, [victim, step, after] of each group; numbers of a block. Calls end alike at
all that live, and the result is that of all ranks but those that have failed. Each that lives writes what it saw into the folder.
"""

import json
import signal
import sys
import zlib
from functools import reduce
from pathlib import Path

import numpy as np
from mpi4py import MPI

import treecast.mpi
from tests.mpi.ways.program import Dying
from treecast.errors import DeliveryError

RANKS, CALLS = 4, 72
PLACES = {
    "Barrier": None,
    "Bcast": 0,
    "Allgather": 1,
    "Allgatherv": 1,
    "Allreduce": 1,
    "Alltoall": 1,
    "Alltoallv": 1,
    "Gather": 1,
    "Gatherv": 1,
    "Scatter": 1,
    "Scatterv": 1,
}  # of what is received
LONG = 6_000  # numbers whose sum is folded in blocks
cases, folder, WIDTH = json.loads(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
MANY = RANKS * WIDTH
here = slice(MPI.COMM_WORLD.rank % RANKS * WIDTH, (MPI.COMM_WORLD.rank % RANKS + 1) * WIDTH)
victim, step, after = cases[MPI.COMM_WORLD.rank // RANKS]
comm = treecast.mpi.wrap(MPI.COMM_WORLD.Split(MPI.COMM_WORLD.rank // RANKS), survive=1, on_failed="ignore")
me = comm.rank


class Losing:
    """A communicator whose call of number ``step`` fails once it is over, with all that it has brought."""

    def __init__(self, comm, step):
        self._comm, self._left = comm, step

    def __getattr__(self, name):
        found = getattr(self._comm, name)
        if name not in PLACES:
            return found

        def lost(*arguments):
            found(*arguments)
            self._left -= 1
            if self._left == -1:
                where = None if PLACES[name] is None else arguments[PLACES[name]]
                if where is not None and not (name == "Bcast" and arguments[1] == me):
                    place = memoryview(where[0] if isinstance(where, list) else where).cast("B")
                    place[:] = bytes(len(place))
                raise MPI.Exception(MPI.ERR_OTHER)

        return lost


together = comm._state.base.transport.together
if me == victim:
    together.comm = Dying(together.comm, [step], after, signal.SIGKILL)
elif after and me == (victim + 1) % RANKS:
    together.comm = Losing(together.comm, step)
comm._lane.comm = together.comm  # calls that are kept ready have its methods


def given(k, rank, count, kind):
    return (
        np.random.default_rng([k, rank]).random(count).astype(kind) if kind is float else np.arange(count) * (k + rank)
    )


def folded(k, ranks, count, kind):
    return reduce(np.add, [given(k, rank, count, kind) for rank in ranks])


def call(k):
    """Make a call; return its result, and what it has to be, by the ranks whose data came.

    Both are None where the call brings nothing to this rank; results that differ from rank to rank are in a list.
    """
    name, root = k % 18, k % RANKS
    if name == 17:
        comm.Reduce_scatter(given(k, me, RANKS, float), one := np.empty(1))
        return [one], lambda ranks: [folded(k, ranks, RANKS, float)[me : me + 1]]
    if name >= 12:
        return call_of_any_lengths(name, k, root)
    if name >= 6:
        return call_for_some(name, k, root)
    if name == 0:
        count = (3 * WIDTH, 5_000)[k % 4 // 2]
        data = given(k, root, count, int) if me == root else np.zeros(count, int)
        comm.Bcast(data, root)
        return data, lambda ranks: given(k, root, count, int)
    if name == 1:
        rows, many = np.full((RANKS, 7 * WIDTH), -1.0), 7 * WIDTH
        comm.Allgather(given(k, me, many, float), rows)
        return rows, lambda ranks: np.array([given(k, r, many, float) if r in ranks else rows[r] for r in range(RANKS)])
    count, kind = (5 * WIDTH, 5 * WIDTH, LONG, LONG)[name - 2], (int, float)[name % 2]
    total = given(k, me, count, kind)
    if k % 4 > 1:
        comm.Allreduce(MPI.IN_PLACE, total)
    else:
        comm.Allreduce(given(k, me, count, kind), total)
    return total, lambda ranks: folded(k, ranks, count, kind)


def call_for_some(name, k, root):
    mine, rows = given(k, me, MANY, float), [given(k, rank, MANY, float) for rank in range(RANKS)]
    place, many, one = np.full(MANY, -1.0), np.full((RANKS, MANY), -1.0), np.empty(WIDTH)
    if name == 6:
        comm.Gather(mine, many if me == root else None, root)
        return ([many] if me == root else None), lambda ranks: [
            np.where([[r in ranks] for r in range(RANKS)], rows, -1.0)
        ]
    if name == 7:
        comm.Scatter(mine if me == root else None, one, root)
        return [one], lambda ranks: [rows[root][here]]
    if name == 8:
        comm.Alltoall(mine, place)
        blocks = [row[here] for row in rows]
        return [place], lambda ranks: [
            np.concatenate([blocks[r] if r in ranks else np.full(WIDTH, -1.0) for r in range(RANKS)])
        ]
    if name == 9:
        comm.Reduce(mine, place if me == root else None, root=root)
        return ([place] if me == root else None), lambda ranks: [folded(k, ranks, MANY, float)]
    if name == 10:
        comm.Scan(mine, place)
        return [place], lambda ranks: [folded(k, [rank for rank in ranks if rank <= me], MANY, float)]
    comm.Reduce_scatter(mine, one, [WIDTH] * RANKS)
    return [one], lambda ranks: [folded(k, ranks, MANY, float)[here]]


def count_of(k, one, other):
    """Return how many numbers go between two ranks: in some calls none, in others more than a first row has room for."""
    return (k + one + other) % 3 * (1 if WIDTH > 1 and k // 18 % 2 else 150 if k // 18 % 2 else WIDTH)


def call_of_any_lengths(name, k, root):
    counts = [count_of(k, me, rank) for rank in range(RANKS)]
    blocks = [[given(k, one, count_of(k, one, rank), float) for rank in range(RANKS)] for one in range(RANKS)]
    mine, mine_for_root = np.concatenate(blocks[me]), blocks[me][root]
    ends = np.cumsum([count + 1 for count in counts])  # from the last rank's to the first's, with gaps
    places = [ends[-1] - end for end in ends]
    many = np.full(ends[-1], -1.0)

    def spread(ranks, rows, places, into):
        into = into.copy()
        for r in ranks:
            into[places[r] : places[r] + len(rows[r])] = rows[r]
        return [into]

    if name == 12:
        comm.Alltoallv([mine, counts], [many, (counts, places)])
        rows = [row[me] for row in blocks]
        return [many], lambda ranks: spread(ranks, rows, places, np.full(ends[-1], -1.0))
    if name == 13:
        one_by_one = np.cumsum([0, *counts])
        comm.Alltoallv(MPI.IN_PLACE, [place := mine.copy(), counts])
        return [place], lambda ranks: spread(ranks, [row[me] for row in blocks], one_by_one, mine)
    if name == 14:
        lengths = [count_of(k, rank, root) for rank in range(RANKS)]
        comm.Gatherv(mine_for_root, [many, (lengths, places)] if me == root else None, root)
        rows = [row[root] for row in blocks]
        return ([many] if me == root else None), lambda ranks: spread(ranks, rows, places, np.full(ends[-1], -1.0))
    if name == 15:
        comm.Scatterv([mine, counts] if me == root else None, one := np.empty(count_of(k, root, me)), root)
        return [one], lambda ranks: [blocks[root][me]]
    lengths = [count_of(k, rank, root) for rank in range(RANKS)]
    places = np.cumsum([0, *[length + k % 2 for length in lengths]])
    comm.Allgatherv(mine_for_root, [rows := np.full(places[-1], -1.0), (lengths, places[:-1])])
    return [rows], lambda ranks: spread(ranks, [row[root] for row in blocks], places, np.full(places[-1], -1.0))


seen = []
for k in range(CALLS):
    try:
        found, wanted = call(k)
    except DeliveryError as error:
        seen.append(["lost", k % RANKS == victim and "lost with its root" in str(error)])
    else:
        ranks = [rank for rank in range(RANKS) if rank not in comm.last.failed]
        assert set(comm.last.failed) <= {victim}, comm.last
        alike = isinstance(found, np.ndarray)
        assert found is None or np.array_equal(found, wanted(ranks)), (k, comm.last, found, wanted(ranks))
        seen.append([comm.last.failed, zlib.crc32(found[ranks] if found.ndim == 2 else found) if alike else 0])
(folder / f"{MPI.COMM_WORLD.rank}").write_text(json.dumps(seen))
