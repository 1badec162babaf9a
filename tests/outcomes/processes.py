"""A rank of a case that is a process: how it is harmed, and what it says beside the outcome of its calls."""

import io
import os
import signal
import time
from contextlib import redirect_stderr
from pathlib import Path

from tests.outcomes.cases import RANKS
from tests.outcomes.play import play

PATIENCE = 60.0  # seconds after which nobody waits any more


def take_part(comm, case, count, folder, die_at_next):
    """Play a case; return what this rank saw, and what it has written on the standard error.

    ``folder``: of the case, empty at first. ``die_at_next``: has this rank die at its next message.
    """
    folder = Path(folder)

    def harm(fate):
        if fate == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        die_at_next()

    def wait():
        until = time.monotonic() + PATIENCE
        while len(list(folder.glob("went-on-*"))) < RANKS - 1 and time.monotonic() < until:
            time.sleep(0.02)

    with redirect_stderr(io.StringIO()) as told:
        said = play(comm, case, count, harm, wait)
    (folder / f"went-on-{comm.rank}").touch()
    return said, told.getvalue()


def die(*_):
    """End this process at once."""
    os.kill(os.getpid(), signal.SIGKILL)
