"""Records between ranks and their meeting place: a length, and JSON."""

import json
import socket
import struct
from typing import Any

from treecast.tcp.proof import read_all

_LENGTH = struct.Struct("<I")
_LONGEST = 1 << 24


def send_record(sock: socket.socket, record: Any) -> None:
    """Send a record."""
    sock.sendall(pack(record))


def pack(record: Any) -> bytes:
    """Return the bytes of a record: its length, and JSON."""
    body = json.dumps(record).encode()
    return _LENGTH.pack(len(body)) + body


def read_record(sock: socket.socket, until: float | None) -> Any:
    """Return a record that comes, None: whenever it does. Raises OSError or ValueError when none does."""
    (length,) = _LENGTH.unpack(read_all(sock, _LENGTH.size, until))
    if length > _LONGEST:
        raise ValueError("a record that is too long")
    return json.loads(read_all(sock, length, until))
