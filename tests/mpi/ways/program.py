"""Run by mpirun: groups of ranks that call collectives while some of them die; each rank writes what became of its calls.

usage: program.py FOLDER CASES. CASES is JSON: a list, one case for each group of ``ranks`` ranks, side by side; see ``run_case``.
"""

import json
import os
import resource
import signal
import sys
import time
from pathlib import Path

from mpi4py import MPI

from tests.mpi.ways.collectives import COLLECTIVES
from treecast.errors import DeliveryError
from treecast.mpi.comm.state import Base
from treecast.running.groups.terms import Terms
from treecast.running.groups.unlike import called
from treecast.running.groups.words import Words

_COUNTED = {"Isend", "Irecv", "Barrier", "Bcast", "Allgather", "Allgatherv", "Allreduce", "Alltoall", "Alltoallv"}
_COUNTED |= {"Gather", "Gatherv", "Scatter", "Scatterv"}


class Dying:
    """A communicator whose rank dies (or stops) just before, or just after, it posts message ``at``.

    Frames of control, and calls of all ranks at once, count too.
    """

    def __init__(self, comm, at, after, signal_number):
        self._comm, self._left, self._after, self._signal = comm, at, after, signal_number

    def __getattr__(self, name):
        found = getattr(self._comm, name)
        if name not in _COUNTED:
            return found

        def counted(*arguments):
            if not self._after:
                self._count()
            done = found(*arguments)
            if self._after:
                self._count()
            return done

        return counted

    def _count(self):
        if self._left[0] == 0:
            os.kill(os.getpid(), self._signal)
        self._left[0] -= 1


class Counting(Dying):
    """Counts the messages alone."""

    def __init__(self, comm):
        super().__init__(comm, [0], False, 0)
        self.count = 0

    def _count(self):
        self.count += 1


class Cut:
    """A communicator whose messages to and from some ranks are lost, as on a link that is cut."""

    def __init__(self, comm, peers):
        self._comm, self._peers, self._unused = comm, peers, MPI.COMM_WORLD.Get_attr(MPI.TAG_UB)

    def __getattr__(self, name):
        return getattr(self._comm, name)

    def Isend(self, what, to, tag):  # noqa: N802
        return self._comm.Isend(what, MPI.PROC_NULL if to in self._peers else to, tag)

    def Irecv(self, what, source, tag):  # noqa: N802
        return self._comm.Irecv(what, source, self._unused if source in self._peers else tag)


class Call:
    """The calls of one rank over a group of its own; ``wrap`` puts something around its communicators."""

    def __init__(self, comm, survive, deadline=None):
        self.base, self.survive, self.deadline = Base(comm), survive, deadline
        self.base.survive(comm, Terms(survive, deadline))
        self.rank, self.size, self.number = comm.rank, comm.size, 0

    def begin(self):
        self.number += 1
        self.group = self.base.get_ready(Terms(self.survive, self.deadline), self.number)

    def run(self, steps):
        return self.base.run(self.group, called(self.group, steps)) or ()

    def refuse(self):
        """Make a call whose arguments are wrong."""
        steps = self.group.agreement.until(lambda: False)
        self.base.run(self.group, called(self.group, steps, Words("a call", is_wrong=True)))

    def wrap(self, make):
        transport = self.base.transport
        holders = [transport, transport.together]
        before = [holder.comm for holder in holders]
        for holder in holders:
            holder.comm = make(holder.comm)
        return lambda: [setattr(holder, "comm", comm) for holder, comm in zip(holders, before, strict=True)]


def outcome_of(call, asked, salt):
    """Make one call; return what this rank saw of it.

    ``collective, size, root``; ``survive``; ``kills``: [rank, message, after] each; ``stop``: they are stopped, not killed;
    ``refused``: ranks whose arguments are wrong; ``count``: say how many messages were posted. ``cut``: links, from here on;
    ``fresh``: the call is the first one on its communicator.
    """
    call.survive, undo = asked.get("survive", call.survive), lambda: None
    counts = []

    def counted(comm):
        counts.append(Counting(comm))
        return counts[-1]

    for rank, message, after in asked.get("kills", []):
        if rank == call.rank:
            left = [message]
            number = signal.SIGSTOP if asked.get("stop") else signal.SIGKILL
            undo = call.wrap(lambda comm, left=left, after=after, number=number: Dying(comm, left, after, number))
    if asked.get("count"):
        undo = call.wrap(counted)
    call.begin()
    refused = call.rank in asked.get("refused", [])
    job = COLLECTIVES[asked["collective"]](call, asked["size"], asked.get("root", 0), salt)
    began, before = time.monotonic(), resident()
    try:
        failed = list(call.refuse() if refused else job.run())
        found = {"failed": failed, "wrong": job.wrong(failed), "out": job.digest()}
    except DeliveryError as error:
        found = {"error": str(error)}
    undo()
    seconds, grew = (
        round(time.monotonic() - began, 3),
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before,
    )
    return {**found, "refused": refused, "count": sum(each.count for each in counts), "seconds": seconds, "grew": grew}


def resident():
    """Return how many bytes of this process are in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def run_case(comm, case):
    """Make the calls of a case: {survive, deadline, calls}. Whoever was stopped is killed at last, or goes on: ``go_on``."""
    call = Call(comm, case["survive"], case.get("deadline"))
    pids = comm.allgather(os.getpid())
    found = []
    for salt, asked in enumerate(case["calls"]):
        if asked.get("fresh"):  # which knows of no cut
            call = Call(comm, case["survive"], case["deadline"])
        for a, b in asked.get("cut", []):
            if call.rank in (a, b):
                transport = call.base.transport
                transport.comm = Cut(transport.comm, {a, b} - {call.rank})
        found.append(outcome_of(call, asked, salt))
    stopped = {rank for asked in case["calls"] if asked.get("stop") for rank, *_ in asked["kills"]}
    for rank in stopped if call.rank == min(set(range(call.size)) - stopped) else ():
        time.sleep(3 * case["deadline"])  # until the others have ended, too
        os.kill(pids[rank], signal.SIGCONT if case.get("go_on") else signal.SIGKILL)
    return found


def main():
    folder, cases = Path(sys.argv[1]), json.loads(sys.argv[2])
    world = MPI.COMM_WORLD
    ranks = world.size // len(cases)
    group, rank = divmod(world.rank, ranks)
    comm = world.Split(group, rank).Dup()
    found = run_case(comm, cases[group])
    place = folder / f"{group}-{rank}"
    place.with_suffix(".new").write_text(json.dumps(found))
    place.with_suffix(".new").rename(place)
    until = time.monotonic() + 100
    while cases[group].get("go_on") and len(list(folder.glob(f"{group}-?"))) < ranks and time.monotonic() < until:
        time.sleep(0.1)  # whoever goes on must not find the others dead
    if any("kills" in asked for case in cases for asked in case["calls"]):
        time.sleep(1)  # others may ask still
        os._exit(0)


if __name__ == "__main__":
    main()
