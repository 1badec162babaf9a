"""Runs a rank on this host for a launcher elsewhere: ``ssh HOST python -m treecast.tcp.seat``, which the launcher writes.

The order is a line of JSON on the standard input. When that input ends, or SIGTERM or SIGHUP comes, the rank is ended. The exit
status is that of the rank, 128 + n when signal n has ended it.
"""

import json
import os
import sys
from contextlib import suppress
from signal import SIGTERM, pthread_kill
from threading import Thread, main_thread

from treecast import __version__
from treecast.errors import PlanError
from treecast.running.jobs.command import ending_the_job, start
from treecast.running.jobs.ending import end_all, ended_by_signals


def main() -> int:
    """Run the rank; return its status."""
    try:
        order = json.loads(sys.stdin.buffer.readline())
        version, line, environment = order["version"], order["command"], order["environment"]
    except (ValueError, KeyError, TypeError):
        sys.stderr.write("error: a launcher starts this: treecast launch --tcp --hosts FILE -- COMMAND\n")
        return 2
    if version != __version__:
        sys.stderr.write(f"error: this host has treecast {__version__}, and the launcher {version}: install the same\n")
        return 2
    with suppress(OSError):  # a folder of the launcher's host may not be here
        os.chdir(order["folder"])
    tied = {"TREECAST_TIE": str(os.getpid())}  # the rank is in a session of its own, and this may be killed
    with ended_by_signals():
        try:
            child = start(ending_the_job(line), {**environment, **tied})
        except PlanError as error:
            sys.stderr.write(f"error: {error}\n")
            return 2
        # the order was a line: what is left of the input tells of the launcher's end
        Thread(target=_end_with_input, daemon=True).start()
        try:
            status = child.wait()
        except BaseException:
            end_all(child)
            raise
    return 128 - status if status < 0 else status  # as a shell says it


def _end_with_input() -> None:
    while os.read(0, 1 << 10):  # nothing comes but its end
        pass
    pthread_kill(main_thread().ident or 0, SIGTERM)


if __name__ == "__main__":
    sys.exit(main())
