"""The output of ranks: how it is asked for, and how it comes from the watchers of ranks past mpirun."""

import os
import socket
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread

from treecast.errors import PlanError


def variables_of(tag: bool, logs: str | None) -> dict[str, str]:
    """Return the variables that ask the watchers of ranks for ``tag``, the number of its rank before each line, and ``logs``:
    a folder with a file for each rank. Raises PlanError when it cannot be made.

    >>> variables_of(True, None)
    {'TREECAST_TAG': '1'}
    """
    asked = {"TREECAST_TAG": "1"} if tag else {}
    if logs is None:
        return asked
    try:
        os.makedirs(logs, exist_ok=True)
    except OSError as error:
        raise PlanError(f"--logs {logs} is no folder that can be written: {error.strerror}") from None
    return {**asked, "TREECAST_LOGS": os.path.abspath(logs)}


def hand_out(place: Path, files: Sequence[int]) -> None:
    """Hand open files out to each process of this user that connects to a socket in a folder of this process's own."""
    with suppress(OSError):  # a path that is too long, say: then mpirun passes on what ranks print
        server = socket.socket(socket.AF_UNIX)
        server.bind(str(place))
        server.listen(socket.SOMAXCONN)
        Thread(target=_serve, args=(server, files), name="treecast.output", daemon=True).start()


def _serve(server: socket.socket, files: Sequence[int]) -> None:
    with suppress(OSError), server:
        while True:
            with server.accept()[0] as sock:
                socket.send_fds(sock, [b"."], files)
