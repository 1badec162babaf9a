"""Runs a rank on this host for a launcher elsewhere: ``ssh HOST python -m treecast.tcp.seat``, which the launcher writes.

The order is a line of JSON on the standard input. When that input ends, or SIGTERM or SIGHUP comes, the rank is ended. The exit
status is that of the rank, 128 + n when signal n has ended it.
"""

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from threading import Event, Thread

from treecast import __version__
from treecast.jobs.command import ending_the_job
from treecast.jobs.ending import end_all


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
    with suppress(OSError):
        os.chdir(order["folder"])
    ended = Event()  # set by a signal, which may come while the rank is being started

    def end(number: int, frame: object) -> None:
        ended.set()

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)
    tied = {"TREECAST_TIE": str(os.getpid())}  # the rank is in a session of its own, and this may be killed
    try:
        child = subprocess.Popen(
            ending_the_job(line),
            env={**os.environ, **environment, **tied},
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        sys.stderr.write(f"error: {line[0]} cannot be started here: {error.strerror}\n")
        return 2
    Thread(target=_read_input, args=(ended,), daemon=True).start()
    Thread(target=_end_when, args=(ended, child), daemon=True).start()
    status = child.wait()
    return 128 - status if status < 0 else status


def _read_input(ended: Event) -> None:
    while sys.stdin.buffer.read(1 << 10):
        pass
    ended.set()


def _end_when(ended: Event, child: "subprocess.Popen[bytes]") -> None:
    ended.wait()
    end_all(child)


if __name__ == "__main__":
    sys.stdout.flush()
    os._exit(main())
