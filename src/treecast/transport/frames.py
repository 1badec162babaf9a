"""Frames of a connection, and the messages that they belong to.

A frame is 20 bytes, little endian, and its body: kind u8, instance u8, about u16, call u32, group u16, stage u16, length u32, and
the digest of the call u32.
"""

import struct
from typing import Any

from treecast.transport.base import FrameError, Piece, Ticket

HEAD = struct.Struct("<BBHIHHII")
LENGTH = struct.Struct("<Q")
# length, address and number of the mark, whether it is lent; without an address it cannot be read
OFFER = struct.Struct("<3Q?")
FRAME = 1 << 20
"""Bytes of a frame of a long message at most."""


class Asked:
    """A message that is asked for: where it goes, None to drop it; its length, how much is there, and whether it was granted."""

    __slots__ = ("done", "granted", "length", "place", "ticket")

    def __init__(self, place: Piece | None, ticket: Ticket) -> None:
        self.place, self.ticket, self.done, self.granted = place, ticket, 0, False
        self.length = 0 if place is None else len(place)


def words_of(words: struct.Struct, body: bytes) -> Any:
    """Return the words of a body. Raises FrameError when they are none."""
    if len(body) != words.size:
        raise FrameError("words that are none")
    return words.unpack(body)
