"""A thousand ranks as threads of one process, over sockets: they start, make calls, ten of them die, and the others end alike."""

import resource
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from tests.tcp.threads import at_once
from treecast.running.groups.terms import Terms
from treecast.tcp.comm import Comm
from treecast.tcp.meeting import MeetingPlace
from treecast.tcp.proof import Trust
from treecast.tcp.start import Options, Start, start_job

pytestmark = pytest.mark.long

SIZE, CALLS, DEATHS = 1024, 100, 10
_MIB = 1 << 20


@pytest.fixture
def patient():
    """Have threads that wait for Python's lock ask for it less often: there are some thousand of them."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(0.2)
    yield
    sys.setswitchinterval(before)


def memory():
    """Return how many bytes of this process are in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def call(comm, step):
    """Make one of four calls; return its result, and who has failed."""
    one, rows, root = np.zeros(1), np.zeros(comm.size), comm.members[step % 7]
    mine = np.full(1, comm.rank + 1.0)
    if step % 4 == 0:
        comm.Allreduce(mine, one)
    elif step % 4 == 1:
        comm.Bcast(mine if comm.rank == root else one, root)
        one = np.full(1, root + 1.0) if comm.rank == root else one
    elif step % 4 == 2:
        comm.Barrier()
    else:
        comm.Allgather(mine, rows)
    return float(one[0]), float(rows.sum()), comm.last.failed


@pytest.mark.usefixtures("patient")
def test_a_thousand_ranks_start_make_calls_die_and_end():
    trust = Trust(bytes(range(32)))
    place = MeetingPlace(SIZE, trust, ("127.0.0.1", 0), start=1800)
    last_step = {SIZE // (DEATHS + 1) * (k + 1): CALLS // (DEATHS + 1) * (k + 1) for k in range(DEATHS)}
    before = memory()

    def be_rank(rank):
        where = Start(rank, SIZE, (("127.0.0.1", place.port),), False)
        job = start_job(where, Options(Terms(survive=1, deadline=900.0, on_failed="ignore"), trust, 1800))
        comm, said = Comm(job, job.add_group(range(SIZE), 0)), []
        for step in range(CALLS):
            if last_step.get(rank) == step:
                job.abandon()
                return None
            said.append(call(comm, step))
        wires = [wire for wire in job.transport._wires.values() if wire.sock is not None and not wire.is_gone]
        used = memory() if rank == 0 else 0
        job.finish()
        return said, comm.members, len(wires), used

    found = [each for each in at_once([partial(be_rank, rank) for rank in range(SIZE)], 3000) if each is not None]
    place.close()
    assert len(found) == SIZE - DEATHS
    assert all(each[:2] == found[0][:2] for each in found)
    assert found[0][1] == tuple(rank for rank in range(SIZE) if rank not in last_step)
    every = sum(range(1, SIZE + 1))
    for step, (total, rows, failed) in enumerate(found[0][0]):
        gone = {rank for rank, last in last_step.items() if last <= step}
        alive = every - sum(rank + 1 for rank in gone)
        assert step % 4 or total == alive
        assert step % 4 != 3 or rows == alive
        assert step % 4 in (1, 2) or set(failed) == gone
    assert max(each[2] for each in found) <= 12
    assert (max(each[3] for each in found) - before) / SIZE < 40 * _MIB
