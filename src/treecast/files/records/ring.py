"""Reads the ring of a rank, which stays when its process is killed, in the form of PyTorch's flight recorder."""

import json
import os
import socket
import time
from struct import Struct
from typing import Any

from treecast.errors import FormatError
from treecast.files.records.plain import BROKEN

MAGIC = b"treecast ring 1\n"
#   magic 16 | JSON's length u32 | where rows begin u32 | bytes of a row u32 | rows u32 | JSON ...
#   row: number u64 | began i64 | ended i64 | call i64 | JSON's length u16 | failed u8 | JSON ...
HEAD = Struct("<16s4I")
"""``MAGIC``, the length of the head's JSON, where rows begin, the bytes of a row, and how many there are."""
ROW, NUMBER, ENDED = Struct("<Q3qH?"), Struct("<Q"), Struct("<q")
"""Of a row: the number of the call in the record, 0 while it is written; nanoseconds since 1970 at its begin and its end, its
number in its group, the length of what describes it, JSON, and whether it failed."""


def read_ring(data: bytes, place: str, written: float) -> dict[str, Any]:
    """Return the record in a ring. ``place``: its file, which tells whether the process lives, if it is still the one it maps.

    Raises FormatError.
    """
    try:
        _, length, begin, wide, many = HEAD.unpack_from(data)
        head: dict[str, Any] = json.loads(data[HEAD.size : HEAD.size + length])
        # rows do not overlap, whatever a stranger's head says
        wide, entries = max(wide, ROW.size), list[dict[str, Any]]()
        for at in range(begin, min(begin + many * wide, len(data) - wide + 1), wide):
            number, began, ended, call, length, failed = ROW.unpack_from(data, at)
            if number:  # 0: not used yet, or its process died while it wrote it
                entry: dict[str, Any] = json.loads(data[at + ROW.size : at + ROW.size + length])
                entry |= {"record_id": number - 1, **dict.fromkeys(("collective_seq_id", "op_id"), call)}
                entry |= {"p2p_seq_id": 0, "is_p2p": False, "retired": ended > 0, "time_discovered_completed_ns": ended}
                entry |= dict.fromkeys(("time_created_ns", "time_discovered_started_ns"), began)
                entry["state"] = "completed" if ended and not failed else "started"
                entries.append(entry)
        about = head["treecast"]
        is_here = about["host"] == socket.gethostname() and os.path.exists(place)
        # The same name may be another file by now, which another process has locked.
        is_here = is_here and os.stat(place).st_ino == about["file"]
        about["taken_ns"] = time.time_ns() if is_here else int(written * 1e9)
        # The system lets go of a lock when its process ends, however it does.
        about["gone"] = is_here and not about["closed"] and about["pid"] != os.getpid() and _is_free(place)
        entries.sort(key=lambda entry: entry["record_id"])
        return {"version": "2.10", "pg_status": {}, **head, "entries": entries}
    except (*BROKEN, OSError) as error:
        raise FormatError(f"the ring cannot be read: {type(error).__name__}") from None


def _is_free(place: str) -> bool:
    """Return whether no process has locked a file: neither who made it, nor a child that this forked."""
    import fcntl  # not everywhere, nor are rings

    with open(place, "rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return False
    return True
