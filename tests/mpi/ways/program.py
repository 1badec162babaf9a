"""Run by mpirun: groups of ranks that call collectives while some of them die; each rank writes what became of its calls.

usage: program.py FOLDER CASES. CASES is JSON: a list, one case for each group of ``ranks`` ranks, side by side; see ``run_case``.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path

from mpi4py import MPI

from tests.mpi.ways.collectives import COLLECTIVES
from treecast.errors import DeliveryError
from treecast.mpi.ways.call import Call


class Dying:
    """A communicator whose rank dies (or stops) just before, or just after, it posts message ``at``; agreements count too."""

    def __init__(self, comm, at, after, signal_number):
        self._comm, self._left, self._after, self._signal = comm, at, after, signal_number

    def __getattr__(self, name):
        found = getattr(self._comm, name)
        if name not in ("Isend", "Irecv", "Agree"):
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
        if self._left == 0:
            os.kill(os.getpid(), self._signal)
        self._left -= 1


class Counting(Dying):
    """Counts the messages alone."""

    def __init__(self, comm):
        super().__init__(comm, 0, False, 0)
        self.count = 0

    def _count(self):
        self.count += 1


def outcome_of(call, asked, salt):
    """Make one call; return what this rank saw of it.

    ``collective, size, root``; ``survive``; ``kills``: [rank, message, after] each; ``stop``: they are stopped, not killed;
    ``refused``: ranks whose arguments are wrong; ``count``: say how many messages were posted.
    """
    plain, call.survive = call.comm, asked.get("survive", call.survive)
    for rank, message, after in asked.get("kills", []):
        if rank == call.rank:
            call.comm = Dying(plain, message, after, signal.SIGSTOP if asked.get("stop") else signal.SIGKILL)
    counting = Counting(plain)
    if asked.get("count"):
        call.comm = counting
    call.begin()
    refused = call.rank in asked.get("refused", [])
    job = COLLECTIVES[asked["collective"]](call, None if refused else asked["size"], asked.get("root", 0), salt)
    call.refused = "the count is negative" if refused else ""
    began = time.monotonic()
    try:
        failed = list(job.run())
        found = {"failed": failed} if refused else {"failed": failed, "wrong": job.wrong(failed), "out": job.digest()}
    except DeliveryError as error:
        found = {"error": str(error)}
    call.comm = plain
    return {**found, "refused": refused, "count": counting.count, "seconds": round(time.monotonic() - began, 3)}


def run_case(comm, case):
    """Make the calls of a case: {survive, deadline, calls}. Whoever was stopped is killed at last, or goes on: ``go_on``."""
    call = Call(MPI, comm, case["survive"], case.get("deadline"))
    pids = comm.allgather(os.getpid())
    found = [outcome_of(call, asked, salt) for salt, asked in enumerate(case["calls"])]
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
    if any("kills" in asked for case in cases for asked in case["calls"]):
        os._exit(0)


if __name__ == "__main__":
    main()
