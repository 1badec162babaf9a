"""Start a program that is asked to end (SIGTERM) when the process that started it ends, even by SIGKILL.

    tied.py PARENT COMMAND …       PARENT: the number of the process that starts this

It is run as a file and imports the standard library only, because it stands between a launcher and mpirun.
"""

import contextlib
import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main(parent: int, command: list[str]) -> None:
    """Tie this process to its parent, and become the command."""
    with contextlib.suppress(OSError, AttributeError):  # only Linux has it
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() == parent:  # else it ended before we were tied
        os.execv(command[0], command)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
