"""Python runs this first where its folder is on PYTHONPATH: it makes ranks fail in ways that no option offers.

TREECAST_FAULT: ``stop``: who would kill itself stops itself (SIGSTOP); ``before 2``, ``after 2``: rank 2 kills itself when its
transfer is over, before it has left its record or after that; ``raise 2``: it raises an exception there.
"""

import os
import signal

fault, _, who = os.environ.get("TREECAST_FAULT", "").partition(" ")
kill = os.kill


def stop_instead(pid, number):
    """Send a signal; to this process SIGSTOP in place of SIGKILL."""
    kill(pid, signal.SIGSTOP if (pid, number) == (os.getpid(), signal.SIGKILL) else number)


def fail(*given):
    """Fail as asked for."""
    if fault == "raise":
        raise RuntimeError("as asked for")
    kill(os.getpid(), signal.SIGKILL)


mine = os.environ.get("OMPI_COMM_WORLD_RANK") == who
if fault == "stop":
    os.kill = stop_instead
elif fault == "raise" and mine:
    from treecast.mpi.job import outcome

    outcome.record_of = fail
elif fault and mine:
    from treecast.mpi.job import records

    write = records.write_record

    def write_then_fail(*given):
        """Leave the record, then fail."""
        write(*given)
        fail()

    records.write_record = write_then_fail if fault == "after" else fail
