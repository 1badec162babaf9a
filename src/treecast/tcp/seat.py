"""Runs a rank on this host for a launcher elsewhere: ``ssh HOST python -m treecast.tcp.seat``, which the launcher writes.

The order is a line of JSON on the standard input. When that input ends, the rank is ended. The exit status is that of the
rank, 128 + n when signal n has ended it.
"""

import json
import os
import subprocess
import sys
from contextlib import suppress
from threading import Thread

from treecast import __version__
from treecast.mpi.job.launch import ending_the_job

_GRACE = 3.0


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
    try:
        child = subprocess.Popen(
            ending_the_job(line), env={**os.environ, **environment}, stdin=subprocess.DEVNULL, start_new_session=True
        )
    except OSError as error:
        sys.stderr.write(f"error: {line[0]} cannot be started here: {error.strerror}\n")
        return 2
    Thread(target=_end_with_input, args=(child,), daemon=True).start()
    status = child.wait()
    return 128 - status if status < 0 else status


def _end_with_input(child: "subprocess.Popen[bytes]") -> None:
    while sys.stdin.buffer.read(1 << 10):
        pass
    child.terminate()
    try:
        child.wait(_GRACE)
    except subprocess.TimeoutExpired:
        child.kill()


if __name__ == "__main__":
    sys.stdout.flush()
    os._exit(main())
